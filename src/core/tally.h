/*
 * Counts of a run: durations in ticks, stalls and backward steps.  Durations below TALLY_DIRECT
 * have two tables of counters, which the hot loop uses alternately, so that increments do not wait
 * for each other.  Longer durations have a hash table of TALLY_LONG slots.  When it fills, their
 * precision is reduced.
 */
#ifndef CLOCKTIMING_TALLY_H
#define CLOCKTIMING_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#define TALLY_DIRECT	4096	/* smaller durations are counted by index */
#define TALLY_LONG		8192	/* slots for longer durations, a power of 2 */
#define TALLY_FULL		(TALLY_LONG / 4 * 3)	/* limit of used slots */
#define TALLY_MOST		(TALLY_DIRECT + TALLY_FULL) /* limit of distinct
													 * durations */
#define TALLY_EXACT		64		/* precision_bits of exact durations */
#define TALLY_FAILURE	199		/* length of a stall that is a failure */
#define TALLY_JUMPS		12		/* number of jumps in a window */

typedef struct TallyEntry
{
	uint64_t	ticks;
	uint64_t	count;			/* 0: free slot */
} TallyEntry;

/* Events since the latest reading of the reference.  Its next reading tells gaps from warps. */
typedef struct TallyWindow
{
	int			njumps;			/* elements of "jumps" */
	uint64_t	jumps[TALLY_JUMPS]; /* the longest jumps, unordered */
	uint64_t	backward_ticks; /* sum of backward steps */
} TallyWindow;

typedef struct Tally
{
	uint64_t	direct[2][TALLY_DIRECT];
	TallyEntry	longer[TALLY_LONG];
	TallyEntry	scratch[TALLY_LONG];	/* used while the table is rebuilt */
	int			nlonger;		/* used slots */
	int			precision_bits; /* significant bits of long durations */
	uint64_t	largest;		/* largest duration, always exact */
	uint64_t	usual;			/* shortest duration that may be a jump */

	uint64_t	stall_value;	/* latest repeated reading */
	uint64_t	stall_run;		/* number of its repetitions in a row */
	uint64_t	longest_stall;	/* longest stall_run */
	uint64_t	failures;		/* number of stalls that are failures */

	uint64_t	backward_steps;
	uint64_t	backward_max;	/* largest backward step in ticks */
	bool		went_back;		/* backward step without a return so far */
	uint64_t	back_from;		/* reading before that backward step */

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

/* Sets "usual", clamped to the range from 2 to TALLY_DIRECT. */
extern void tally_set_usual(Tally *tally, double ticks);

extern void tally_add(Tally *tally, uint64_t ticks, uint64_t count);

/* Limits the precision of long durations, also future ones, to this number of significant bits. */
extern void tally_round(Tally *tally, int bits);

/*
 * Counts the interval between successive readings a and b if the hot loop cannot count it: a stall
 * (b = a), a backward step (b below a in 64-bit arithmetic), or a duration of "usual" ticks or more.
 * Accepts any other interval, too.
 */
extern void tally_unusual(Tally *tally, uint64_t a, uint64_t b);

/* Adds a long duration to the window without counting it. */
extern void tally_window_jump(Tally *tally, uint64_t ticks);

extern void tally_window_reset(Tally *tally);

/* Returns the number of distinct durations, fewer than TALLY_MOST. */
extern int	tally_distinct(const Tally *tally);

/*
 * Writes the distinct durations in ascending order; returns their number, at most TALLY_MOST.
 * "entries" needs tally_distinct() + 1 elements.  The last duration is exact.
 */
extern int	tally_export(const Tally *tally, TallyEntry *entries);

extern TallyMoments tally_moments(const Tally *tally);

/*
 * Returns the q-quantile (0 <= q <= 1): the inverse of the empirical distribution function (type 1
 * of Hyndman and Fan, 1996).  Entries are in ascending order; "total" is the sum of their counts,
 * above 0.
 */
extern uint64_t tally_quantile(const TallyEntry *entries, int n,
							   uint64_t total, double q);

#endif							/* CLOCKTIMING_TALLY_H */
