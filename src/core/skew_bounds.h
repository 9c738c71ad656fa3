/*-------------------------------------------------------------------------
 *
 * skew_bounds.h
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
 * That holds for a clock that runs.  One that stands still, be it because it is
 * coarse or because it is broken, shows a time that is over, and then its
 * reading may be too small.  So a reading counts only once the next one of the
 * same side is larger.  If the clock has advanced in each of the SKEW_FRESH
 * readings before, too, the reading is as good as any; if not, the first larger
 * one takes its place, which the clock had not reached when the other side's
 * reading was seen.  A clock that does not advance proves nothing, and gives no
 * bounds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SKEW_BOUNDS_H
#define CLOCKTIMING_SKEW_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Exchanges that are looked at by themselves, in case the offset changes: so
 * many that some of them were quick.
 */
#define SKEW_BATCH		100

/*
 * Advances in a row after which a clock is one that advances in every reading.
 * One that is coarser than a reading takes is found out by that.
 */
#define SKEW_FRESH		32

/* Two lines of the cache, since some processors fetch them in pairs. */
#define SKEW_ALIGNMENT	128

typedef struct SkewClock
{
	uint64_t	(*read) (const void *arg);	/* a reading in ticks, not 0 */
	const void *arg;
} SkewClock;

/* What one side has found, which only that side looks at meanwhile. */
typedef struct SkewFound
{
	int64_t		exchanges;		/* readings of the other side seen */
	int64_t		stalls;			/* own readings equal to the one before */
	int64_t		stall_run;		/* such ones in a row, at present ... */
	int64_t		longest_stall;	/* ... and at most */
	int64_t		warps;			/* own readings below the one seen before */
	int64_t		warp_max;		/* ticks */
	int64_t		round_trip;		/* shortest, ticks; INT64_MAX: none */
	int64_t		least;			/* difference, ticks; INT64_MAX: none */

	/* the same of the batch under way, and the greatest of those complete */
	int64_t		batch;			/* exchanges */
	int64_t		batch_least;
	int64_t		batches_greatest;	/* INT64_MIN: none */

	/* the latest own reading, and what waits for the next one */
	bool		has_own;
	uint64_t	own;
	int64_t		advances;		/* in a row, up to it */
	uint64_t	seen;			/* the other side's latest, 0 if none */
	bool		pending;		/* an exchange, of ... */
	uint64_t	pending_seen;	/* ... this reading of the other side */
	uint64_t	pending_echo;	/* of a round trip, 0 if none */
} SkewFound;

typedef struct SkewSide
{
	/* seen by the other side: the latest reading, 0 if none yet ... */
	uint64_t	reading __attribute__((aligned(SKEW_ALIGNMENT)));
	/* ... and the other's that it or one before was taken after, 0 if none */
	uint64_t	echo;

	/* looked at by the other side, too, but not between readings */
	int64_t		readings __attribute__((aligned(SKEW_ALIGNMENT)));	/* taken */
	int64_t		still;			/* of these, since the clock last advanced */
	int64_t		bounds;			/* exchanges that bound the offset */

	SkewFound	found;
} SkewSide;

typedef struct SkewResult
{
	bool		known;			/* there are bounds, from both sides */
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
	int64_t		still;			/* as skew_still(), of either side */
	int64_t		stalls;			/* of both sides */
	int64_t		longest_stall;	/* on either */
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

/* Whether a side, which may be in use, knows a bound. */
extern bool skew_has_bound(const SkewSide *side);

/* Readings that a side, which may be in use, has taken. */
extern int64_t skew_readings(const SkewSide *side);

/* How many of these it has taken since it last saw its clock advance. */
extern int64_t skew_still(const SkewSide *side);

/* What both sides have found, once neither is in use any more. */
extern SkewResult skew_result(const SkewSide *first, const SkewSide *second);

#endif							/* CLOCKTIMING_SKEW_BOUNDS_H */
