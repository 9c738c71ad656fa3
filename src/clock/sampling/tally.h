/*
 * Counts the durations of a run in ticks, its stalls (equal readings) and its backward steps.
 * Durations below TALLY_DIRECT are exact.  If there are too many distinct longer ones, they are
 * rounded to fewer bits.
 */
#ifndef CLOCKTIMING_TALLY_H
#define CLOCKTIMING_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#define TALLY_DIRECT	4096	/* shorter durations have their own counters */
#define TALLY_LONG		8192	/* slots of the hash table, a power of 2 */
#define TALLY_FULL		(TALLY_LONG / 4 * 3)	/* limit of used slots */
#define TALLY_MOST		(TALLY_DIRECT + TALLY_FULL) /* limit of distinct
													 * durations */
#define TALLY_EXACT		64		/* precision_bits while durations are exact */
#define TALLY_FAILURE	199		/* stalls in a row that count as a failure */
#define TALLY_JUMPS		12		/* number of jumps that a TallyWindow holds */

typedef struct TallyEntry
{
	uint64_t	ticks;
	uint64_t	count;			/* 0: free slot */
} TallyEntry;

/*
 * Events since the latest reading of the reference clock.  A jump is a duration of at least
 * "jump" ticks.  The next reading of the reference shows whether a jump is a gap or a warp.
 */
typedef struct TallyWindow
{
	int			njumps;			/* elements of "jumps" */
	uint64_t	jumps[TALLY_JUMPS]; /* the longest jumps, in ticks, unordered */
	uint64_t	backward_ticks; /* sum of backward steps */
} TallyWindow;

typedef struct Tally
{
	uint64_t	direct[2][TALLY_DIRECT];
	TallyEntry	longer[TALLY_LONG]; /* hash table */
	TallyEntry	scratch[TALLY_LONG];	/* used while the table is rebuilt */
	int			nlonger;		/* used slots of the table */
	int			precision_bits; /* significant bits of long durations */
	uint64_t	largest;		/* largest duration, always exact */
	uint64_t	usual;			/* shorter durations are counted in "direct"
								 * only */
	uint64_t	jump;			/* durations from this one on are jumps; at
								 * least "usual" */

	uint64_t	stall_value;	/* latest reading that was repeated */
	uint64_t	stall_run;		/* number of its repetitions in a row */
	uint64_t	longest_stall;	/* longest stall_run */
	uint64_t	failures;		/* one per TALLY_FAILURE stalls in a row */

	uint64_t	backward_steps; /* number of readings below the previous one */
	uint64_t	backward_max;	/* largest backward step in ticks */
	bool		went_back;		/* the clock has not yet returned to back_from */
	uint64_t	back_from;		/* reading before the latest backward step */

	TallyWindow window;
} Tally;

/* Number, sum and sum of squares of durations in ticks. */
typedef struct TallyMoments
{
	uint64_t	count;
	double		sum;
	double		sumsq;
} TallyMoments;

extern void tally_init(Tally *tally);

/* Sets "usual", clamped to the range from 2 to TALLY_DIRECT, and "jump" to the same. */
extern void tally_set_usual(Tally *tally, double ticks);

/* Sets "jump", which is at least "usual". */
extern void tally_set_jump(Tally *tally, double ticks);

extern void tally_add(Tally *tally, uint64_t ticks, uint64_t count);

/* Limits the precision of long durations, also future ones, to this number of significant bits. */
extern void tally_round(Tally *tally, int bits);

/*
 * Counts the interval between successive readings a and b.  The loop of sampler_loop.h calls it
 * only for a stall (b = a), a backward step (b < a) and a duration of "usual" ticks or more.
 */
extern void tally_unusual(Tally *tally, uint64_t a, uint64_t b);

/* Adds a jump to the window without counting it as a duration. */
extern void tally_window_jump(Tally *tally, uint64_t ticks);

extern void tally_window_reset(Tally *tally);

/* Returns the number of distinct durations, fewer than TALLY_MOST. */
extern int	tally_distinct(const Tally *tally);

/*
 * Writes the distinct durations and their counts in ascending order; returns their number, at most
 * TALLY_MOST.  "entries" needs tally_distinct() + 1 elements, because the largest duration has
 * an exact entry of its own.
 */
extern int	tally_export(const Tally *tally, TallyEntry *entries);

extern TallyMoments tally_moments(const Tally *tally);

/*
 * Returns the q-quantile (0 <= q <= 1): the inverse of the empirical distribution function (type 1
 * of Hyndman and Fan, 1996).  Entries are in ascending order.  "total" > 0 is the sum of their
 * counts.
 */
extern uint64_t tally_quantile(const TallyEntry *entries, int n, uint64_t total, double q);

#endif							/* CLOCKTIMING_TALLY_H */
