/*-------------------------------------------------------------------------
 *
 * cpu_skew.h
 *	  The offset between the clocks of two CPUs, from readings that two
 *	  processes or threads, one on each, show each other in shared memory.
 *
 * Each side publishes its latest reading, over and over, and looks at what the
 * other has published; neither ever waits for the other.  A reading was taken
 * before it is seen, so whoever sees it and then reads its own clock learns a
 * bound of the offset:
 *
 *		own reading - reading seen >= own clock - other's clock
 *
 * The least such difference on one side bounds the offset from above, the
 * least on the other side from below.  Nothing is assumed of how long a
 * reading takes to be seen, nor that it takes as long both ways.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CPU_SKEW_H
#define CLOCKTIMING_CPU_SKEW_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Exchanges that are looked at by themselves, in case the offset changes: so
 * many that some of them were quick.
 */
#define SKEW_BATCH		100

/* Two lines of the cache, since some processors fetch them in pairs. */
#define SKEW_ALIGNMENT	128

typedef struct SkewClock
{
	uint64_t	(*read) (const void *arg);	/* a reading in ticks, not 0 */
	const void *arg;
} SkewClock;

/* What one side publishes, and what it has found. */
typedef struct SkewSide
{
	/* seen by the other side: the latest reading, 0 if none yet ... */
	uint64_t	reading __attribute__((aligned(SKEW_ALIGNMENT)));
	/* ... and the other's that it or one before was taken after, 0 if none */
	uint64_t	echo;

	/* readings of the other side seen */
	int64_t		exchanges __attribute__((aligned(SKEW_ALIGNMENT)));
	int64_t		warps;			/* own readings below the one seen before */
	int64_t		warp_max;		/* ticks */
	int64_t		round_trip;		/* shortest, ticks; INT64_MAX: none */
	int64_t		least;			/* difference, ticks; INT64_MAX: none */

	/* the same of the batch under way, and the greatest of those complete */
	int64_t		batch;			/* exchanges */
	int64_t		batch_least;
	int64_t		batches_greatest;	/* INT64_MIN: none */
} SkewSide;

typedef struct SkewResult
{
	bool		known;			/* readings were seen both ways */
	bool		steady;			/* one offset explains all of them */

	/*
	 * Bounds of what the second side's clock is ahead of the first's, in
	 * ticks.  If the offset was not steady, of all that it has been for long
	 * enough for a batch.
	 */
	int64_t		offset_min;
	int64_t		offset_max;
	int64_t		round_trip;		/* first side's shortest; INT64_MAX: none */
	int64_t		exchanges;		/* both ways */
	int64_t		warps;
	int64_t		warp_max;
} SkewResult;

/* Neither side may be in use. */
extern void skew_init(SkewSide *side);

/*
 * Reads the clock so many times, on the calling side's behalf, shows the
 * readings and judges them.  Takes as long as the readings do, whatever the
 * other side does.
 */
extern void skew_exchange(SkewSide *mine, const SkewSide *theirs,
						  const SkewClock *clock, int readings);

/* Whether a side, which may be in use, has seen anything. */
extern bool skew_has_seen(const SkewSide *side);

/* What both sides have found, once neither is in use any more. */
extern SkewResult skew_result(const SkewSide *first, const SkewSide *second);

#endif							/* CLOCKTIMING_CPU_SKEW_H */
