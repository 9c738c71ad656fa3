/*
 * Bounds of the offset between the clocks of two CPUs.  Two processes or threads, one on each CPU,
 * are the sides.  Each publishes its readings in shared memory, and reads those of the other side.
 */
#ifndef CLOCKTIMING_SKEW_BOUNDS_H
#define CLOCKTIMING_SKEW_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/* Least number of exchanges (seen readings) in a batch.  Batches show how an offset varies. */
#define SKEW_BATCH		100

/* Number of successive rising readings that show that the clock is not standing still. */
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
	int64_t		round_trip;		/* shortest, in ticks; INT64_MAX: none */
	int64_t		least;			/* smallest own - seen; INT64_MAX: none */

	/* the current batch of exchanges, and complete batches */
	int64_t		batch;			/* number of its exchanges so far */
	int64_t		batch_least;	/* smallest own - seen in it */
	int64_t		batches_greatest;	/* largest batch_least; INT64_MIN: none */

	bool		has_own;		/* "own" is set */
	uint64_t	own;			/* latest own reading */
	int64_t		advances;		/* current number of rising readings in a row */
	uint64_t	seen;			/* other side's latest reading; 0: none */
	bool		pending;		/* an exchange waits for the next own reading */
	uint64_t	pending_seen;	/* other side's reading of that exchange */
	uint64_t	pending_echo;	/* own reading seen by other side; 0: none */
} SkewFound;

/* State of one side.  The other side reads the members before "found". */
typedef struct SkewSide
{
	/* latest own reading; 0: none */
	uint64_t	reading __attribute__((aligned(SKEW_ALIGNMENT)));

	/* other side's reading that was seen before "reading"; 0: none */
	uint64_t	echo;

	/* updated at the end of skew_exchange(); also read by skew_shared() */
	int64_t		readings __attribute__((aligned(SKEW_ALIGNMENT)));	/* number of readings */
	int64_t		still;			/* readings since the latest advance */
	int64_t		bounds;			/* number of exchanges that bound the offset */

	SkewFound	found;
} SkewSide;

typedef struct SkewResult
{
	bool		known;			/* both bounds exist */
	bool		steady;			/* one offset explains all exchanges */

	/* bounds of the second clock's lead in ticks; if not steady, its range */
	int64_t		offset_min;
	int64_t		offset_max;
	int64_t		round_trip;		/* the first side's; INT64_MAX: none */
	int64_t		exchanges;		/* sum of both sides */
	int64_t		still;			/* larger one of both sides */
	int64_t		stalls;			/* sum of both sides */
	int64_t		longest_stall;	/* larger one of both sides */
	int64_t		warps;			/* sum of both sides */
	int64_t		warp_max;		/* larger one of both sides */
} SkewResult;

extern void skew_init(SkewSide *side);

/*
 * Takes and publishes one side's readings, and bounds the offset.  Never waits for the other side.
 */
extern void skew_exchange(SkewSide *mine, const SkewSide *theirs,
						  const SkewClock *clock, int readings);

/* Returns a member ("readings", "still" or "bounds") of a side that may be running. */
static inline int64_t
skew_shared(const int64_t *number)
{
	return __atomic_load_n(number, __ATOMIC_RELAXED);
}

/* Combines the results of two sides that are no longer running. */
extern SkewResult skew_result(const SkewSide *first, const SkewSide *second);

#endif							/* CLOCKTIMING_SKEW_BOUNDS_H */
