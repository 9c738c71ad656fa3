/*
 * Bounds of the offset between the clocks of two CPUs, from readings that two processes or
 * threads, one on each CPU, exchange in shared memory.  A side sees a reading of the other side
 * only after it was taken.  So its own next reading minus the reading seen is an upper bound of its
 * clock's lead.  A clock that does not advance yields no bounds.  doc/clocks.md has the method.
 */
#ifndef CLOCKTIMING_SKEW_BOUNDS_H
#define CLOCKTIMING_SKEW_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/* Number of exchanges in a batch, which shows changes of the offset. */
#define SKEW_BATCH		100

/* Number of advances in a row after which a reading of the clock counts as up to date. */
#define SKEW_FRESH		32

/* Bytes of two cache lines, because some processors fetch lines in pairs. */
#define SKEW_ALIGNMENT	128

typedef struct SkewClock
{
	uint64_t	(*read) (const void *arg);	/* in ticks, never 0 */
	const void *arg;
} SkewClock;

/* Results of one side, private to it during the exchange. */
typedef struct SkewFound
{
	int64_t		exchanges;		/* number of the other side's readings seen */
	int64_t		stalls;			/* own readings equal to the previous one */
	int64_t		stall_run;		/* current number of stalls in a row */
	int64_t		longest_stall;	/* largest number of stalls in a row */
	int64_t		warps;			/* own readings below a reading seen before */
	int64_t		warp_max;		/* largest such difference in ticks */
	int64_t		round_trip;		/* shortest one in ticks; INT64_MAX: none */
	int64_t		least;			/* smallest own - seen; INT64_MAX: none */

	/* the current batch, and the greatest batch_least of complete batches */
	int64_t		batch;			/* number of its exchanges */
	int64_t		batch_least;
	int64_t		batches_greatest;	/* INT64_MIN: none */

	/* latest own reading, and the exchange that waits for the next one */
	bool		has_own;
	uint64_t	own;
	int64_t		advances;		/* current number of advances in a row */
	uint64_t	seen;			/* other side's latest reading; 0: none */
	bool		pending;		/* exchange waits for the next own reading */
	uint64_t	pending_seen;	/* other side's reading of that exchange */
	uint64_t	pending_echo;	/* echo seen in that exchange; 0: none */
} SkewFound;

typedef struct SkewSide
{
	/* read by the other side: own latest reading; 0: none */
	uint64_t	reading __attribute__((aligned(SKEW_ALIGNMENT)));

	/* other side's reading that was seen before "reading"; 0: none */
	uint64_t	echo;

	/* read by the other side between its calls of skew_exchange() */
	int64_t		readings __attribute__((aligned(SKEW_ALIGNMENT)));	/* number of readings */
	int64_t		still;			/* readings since the latest advance */
	int64_t		bounds;			/* number of exchanges that bound the offset */

	SkewFound	found;
} SkewSide;

typedef struct SkewResult
{
	bool		known;			/* both bounds exist */
	bool		steady;			/* one offset explains all exchanges */

	/* bounds of the second clock's lead in ticks; if not steady, of its range */
	int64_t		offset_min;
	int64_t		offset_max;
	int64_t		round_trip;		/* of the first side; INT64_MAX: none */
	int64_t		exchanges;		/* in both directions */
	int64_t		still;			/* larger SkewSide.still of both sides */
	int64_t		stalls;			/* of both sides */
	int64_t		longest_stall;	/* of either side */
	int64_t		warps;
	int64_t		warp_max;
} SkewResult;

extern void skew_init(SkewSide *side);

/* Takes readings for one side, publishes and judges them.  Never waits for the other side. */
extern void skew_exchange(SkewSide *mine, const SkewSide *theirs,
						  const SkewClock *clock, int readings);

/* Returns readings, still or bounds of a side that may be running. */
static inline int64_t
skew_shared(const int64_t *number)
{
	return __atomic_load_n(number, __ATOMIC_RELAXED);
}

/* Combines the results of two sides that are no longer running. */
extern SkewResult skew_result(const SkewSide *first, const SkewSide *second);

#endif							/* CLOCKTIMING_SKEW_BOUNDS_H */
