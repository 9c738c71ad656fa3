/*
 * Estimates the time of all calls of a plan node from the timed ones, in nanoseconds or ticks.
 * doc/plans.md has the formulas.
 */
#ifndef CLOCKTIMING_CALL_SERIES_H
#define CLOCKTIMING_CALL_SERIES_H

#include <stdint.h>

/* Counts of work below a node during a call.  Each kind has its own cost. */
typedef enum CountBelow
{
	BELOW_FIRST,				/* first calls of loops of the nodes below */
	BELOW_LATER,				/* other calls of these nodes */
	BELOW_REMOVED				/* rows removed by them and the node itself */
} CountBelow;

#define N_BELOW (BELOW_REMOVED + 1)

typedef struct CallsBelow
{
	int64_t		n[N_BELOW];
} CallsBelow;

/* Sums of products: of counts below and, in the last row and column, times. */
#define CALL_TIME	N_BELOW

typedef double CallProducts[N_BELOW + 1][N_BELOW + 1];

/*
 * Calls with the same probability of being timed.  A value is a call's time without its known part.
 * Counts below are also known for all calls together.
 */
typedef struct CallStratum
{
	int64_t		calls;
	int64_t		timed;
	double		sum;			/* of timed calls */
	double		below_sum[N_BELOW];
	CallProducts products;
} CallStratum;

/* Successive strata.  A stratum with few timed calls is merged with the previous one. */
typedef struct CallSeries
{
	CallStratum now;
	CallStratum before;
	int64_t		calls;			/* sums over all strata */
	int64_t		timed;
	double		total;			/* estimate of the strata before "before" */
	double		variance;		/* its variance */

	/*
	 * For the regression of a call's time on the counts below: sums of
	 * products of deviations over strata, plain and weighted for the
	 * variance, and the counts below that the sample predicts.
	 */
	CallProducts products;
	CallProducts weighted;
	double		expected[N_BELOW];

	double		hidden;			/* input: long gaps between timed calls */
} CallSeries;

/* Adds a timed call. */
extern void call_stratum_add(CallStratum *stratum, double time, const CallsBelow *below);

extern void call_series_next(CallSeries *series);	/* Begins a new stratum. */

/* Closes the last stratum, and completes calls, timed, total and variance. */
extern void call_series_end(CallSeries *series);

/* Adds another closed series. */
extern void call_series_join(CallSeries *series, const CallSeries *other);

/*
 * Corrects the total by the counts below during all these calls.  "known" are calls of the same
 * node that were all timed.
 */
extern void call_series_regress(CallSeries *series, const CallStratum *known,
								const CallsBelow *below);

/*
 * Estimates a node's share of the time of long gaps between readings, in each of which an untimed
 * call of the node may have been long.  "seen" is the number of long gaps in the node's timed
 * calls.  "expected" is the number expected there if the node caused all these gaps, and "certain"
 * the same for gaps that it certainly caused.  "prior" is the prior probability that it caused
 * them.  Returns the share, and sets its standard error.
 */
extern double long_gap_share(double prior, int64_t seen, double certain, double expected,
							 double *error);

/* Estimates the cost of each of the N_BELOW counts from the present sample. */
extern void call_series_slopes(const CallSeries *series, const CallStratum *known,
							   double *slopes);

#endif							/* CLOCKTIMING_CALL_SERIES_H */
