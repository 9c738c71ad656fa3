/*
 * Bounds of the offset between the clocks of two CPUs, from readings that two processes or
 * threads, one on each CPU, exchange in shared memory.  A reading was taken before the other side
 * sees it, so own reading - reading seen >= own clock - other's clock.  A clock that does not
 * advance yields no bounds.  doc/clocks.md has the method.
 */
#ifndef CLOCKTIMING_SKEW_BOUNDS_H
#define CLOCKTIMING_SKEW_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/* Number of exchanges in a batch, which shows changes of the offset. */
#define SKEW_BATCH		100

/* Number of advances in a row after which a clock is taken to be finer than a reading. */
#define SKEW_FRESH		32

/* Two cache lines, because some processors fetch them in pairs. */
#define SKEW_ALIGNMENT	128

typedef struct SkewClock
{
	uint64_t	(*read) (const void *arg);	/* in ticks, never 0 */
	const void *arg;
} SkewClock;

/* Results of one side, private to it during the exchange. */
typedef struct SkewFound
{
	int64_t		exchanges;		/* readings of the other side seen */
	int64_t		stalls;			/* own readings equal to the previous one */
	int64_t		stall_run;		/* current number of them in a row */
	int64_t		longest_stall;	/* largest number in a row */
	int64_t		warps;			/* own readings below one seen before */
	int64_t		warp_max;		/* ticks */
	int64_t		round_trip;		/* shortest, in ticks; INT64_MAX: none */
	int64_t		least;			/* smallest difference; INT64_MAX: none */

	/* the current batch, and the greatest difference of complete ones */
	int64_t		batch;			/* exchanges */
	int64_t		batch_least;
	int64_t		batches_greatest;	/* INT64_MIN: none */

	/* latest own reading, and the exchange that waits for the next one */
	bool		has_own;
	uint64_t	own;
	int64_t		advances;		/* in a row, up to the latest reading */
	uint64_t	seen;			/* other side's latest reading; 0: none */
	bool		pending;		/* whether an exchange waits */
	uint64_t	pending_seen;	/* the other side's reading of it */
	uint64_t	pending_echo;	/* echo of its round trip; 0: none */
} SkewFound;

typedef struct SkewSide
{
	/* read by the other side: the latest reading; 0: none */
	uint64_t	reading __attribute__((aligned(SKEW_ALIGNMENT)));

	/* the other side's reading seen before; 0: none */
	uint64_t	echo;

	/* read by the other side, but not between readings */
	int64_t		readings __attribute__((aligned(SKEW_ALIGNMENT)));	/* number of readings */
	int64_t		still;			/* readings since the latest advance */
	int64_t		bounds;			/* number of exchanges that bound the offset */

	SkewFound	found;
} SkewSide;

typedef struct SkewResult
{
	bool		known;			/* both bounds exist */
	bool		steady;			/* one offset explains all exchanges */

	/* of the second clock's lead, in ticks; if not steady, over batches */
	int64_t		offset_min;
	int64_t		offset_max;
	int64_t		round_trip;		/* of the first side; INT64_MAX: none */
	int64_t		exchanges;		/* in both directions */
	int64_t		still;			/* the larger one of both sides */
	int64_t		stalls;			/* of both sides */
	int64_t		longest_stall;	/* of either side */
	int64_t		warps;
	int64_t		warp_max;
} SkewResult;

extern void skew_init(SkewSide *side);

/* Takes readings for the calling side, publishes and judges them.  Never waits for the other. */
extern void skew_exchange(SkewSide *mine, const SkewSide *theirs,
						  const SkewClock *clock, int readings);

/* Returns one of the three numbers of a side that may be in use. */
static inline int64_t
skew_shared(const int64_t *number)
{
	return __atomic_load_n(number, __ATOMIC_RELAXED);
}

/* Combines the results of two sides that are no longer in use. */
extern SkewResult skew_result(const SkewSide *first, const SkewSide *second);

#endif							/* CLOCKTIMING_SKEW_BOUNDS_H */
