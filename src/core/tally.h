/*-------------------------------------------------------------------------
 *
 * tally.h
 *	  What a run has counted: exact durations, stalls, backward steps.
 *
 * A tally counts durations in the ticks of the clock that they came from and
 * knows nothing of that clock.  Durations below TALLY_DIRECT ticks are counted
 * in two tables of counters, which the hot loop uses in turn so that
 * increments of the same counter do not wait for each other.  It does so
 * itself with those below "usual"; all others go through tally_unusual().
 * Long durations are kept exactly, too, in a table of TALLY_LONG distinct
 * values; only when there are more does it give up digits, the least
 * significant first (see precision_bits).
 *
 * One tally takes some 330 kB and owns nothing outside itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_TALLY_H
#define CLOCKTIMING_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#define TALLY_DIRECT	4096	/* durations below this many ticks: by index */
#define TALLY_LONG		8192	/* slots for longer ones, a power of two */
#define TALLY_FULL		(TALLY_LONG / 4 * 3)	/* with so many, give up
												 * digits */
#define TALLY_MOST		(TALLY_DIRECT + TALLY_FULL) /* distinct durations */
#define TALLY_EXACT		64		/* precision_bits while nothing was rounded */
#define TALLY_FAILURE	199		/* durations of 0 in a row: 200 equal readings */
#define TALLY_JUMPS		12		/* long durations remembered one by one */

typedef struct TallyEntry
{
	uint64_t	ticks;
	uint64_t	count;			/* 0 means that the slot is free */
} TallyEntry;

/*
 * What has happened since the sampler last looked at the reference clock: the
 * evidence from which it tells gaps from warps.
 */
typedef struct TallyWindow
{
	int			njumps;			/* long durations, as tally_unusual() knows
								 * them */
	uint64_t	jumps[TALLY_JUMPS]; /* the longest of them, unordered */
	uint64_t	backward_ticks; /* sum of backward steps */
} TallyWindow;

typedef struct Tally
{
	uint64_t	direct[2][TALLY_DIRECT];
	TallyEntry	longer[TALLY_LONG];
	TallyEntry	scratch[TALLY_LONG];	/* for making room in "longer" */
	int			nlonger;		/* slots in use */
	int			precision_bits; /* significant bits kept of long durations */
	uint64_t	largest;		/* exact, whatever precision_bits is */
	uint64_t	usual;			/* 2..TALLY_DIRECT: durations from here on may
								 * be jumps; after tally_init() TALLY_DIRECT */

	uint64_t	stall_value;	/* the reading that the clock last stood at */
	uint64_t	stall_run;		/* how often it has repeated it */
	uint64_t	longest_stall;	/* the longest such run */
	uint64_t	failures;		/* times that it did so TALLY_FAILURE times in
								 * a row */

	uint64_t	backward_steps;
	uint64_t	backward_max;	/* ticks */
	bool		went_back;		/* and has not been seen to return */
	uint64_t	back_from;		/* the reading before that step */

	TallyWindow window;
} Tally;

/* Number, sum and sum of squares of durations, in ticks. */
typedef struct TallyMoments
{
	uint64_t	count;
	double		sum;
	double		sumsq;
} TallyMoments;

extern void tally_init(Tally *tally);

/* Durations of so many ticks may be jumps; at least 2, TALLY_DIRECT at most. */
extern void tally_set_usual(Tally *tally, double ticks);

/* Counts the durations of "count" readings that took "ticks" each. */
extern void tally_add(Tally *tally, uint64_t ticks, uint64_t count);

/*
 * Gives up digits of long durations, also of those still to come: no more than
 * so many significant bits (1..TALLY_EXACT) are kept.
 */
extern void tally_round(Tally *tally, int bits);

/*
 * Judges two successive readings that the hot loop does not count by itself:
 * the clock stood still (b = a), went backwards (b below a, in the sense of
 * 64-bit arithmetic), or advanced by "usual" ticks or more.  Any other
 * pair is counted too.
 */
extern void tally_unusual(Tally *tally, uint64_t a, uint64_t b);

/* Lets the window know of a long duration that is not to be counted. */
extern void tally_window_jump(Tally *tally, uint64_t ticks);

/* Forgets the window. */
extern void tally_window_reset(Tally *tally);

/* Distinct durations counted; fewer than TALLY_MOST. */
extern int	tally_distinct(const Tally *tally);

/*
 * Writes the distinct durations in ascending order to "entries", which has
 * room for tally_distinct() + 1, and returns how many there are: TALLY_MOST at
 * most.  The last one is exact.
 */
extern int	tally_export(const Tally *tally, TallyEntry *entries);

extern TallyMoments tally_moments(const Tally *tally);

/*
 * The smallest duration that at least the share q (0..1) of all are not above:
 * the inverse of the empirical distribution function (type 1 of Hyndman and
 * Fan, 1996).  "entries" ascend; "total" is the sum of their counts, above 0.
 */
extern uint64_t tally_quantile(const TallyEntry *entries, int n,
							   uint64_t total, double q);

#endif							/* CLOCKTIMING_TALLY_H */
