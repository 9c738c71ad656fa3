/*
 * Estimates the time of all calls of a plan node from the timed ones, in nanoseconds or ticks.
 * doc/plans.md has the formulas.
 */
#ifndef CLOCKTIMING_CALL_SERIES_H
#define CLOCKTIMING_CALL_SERIES_H

#include <stdint.h>

/* Kinds of work below a node, which are counted during a call.  Each kind has its own cost. */
typedef enum CountBelow
{
	BELOW_FIRST,				/* first calls of loops of the nodes below */
	BELOW_LATER,				/* other calls of these nodes */
	BELOW_REMOVED				/* rows removed by these nodes and this one */
} CountBelow;

#define N_BELOW (BELOW_REMOVED + 1)

typedef struct CallsBelow
{
	int64_t		n[N_BELOW];
} CallsBelow;

/* Sums of products of counts below.  The last row and column are for times of calls. */
#define CALL_TIME	N_BELOW

typedef double CallProducts[N_BELOW + 1][N_BELOW + 1];

/*
 * Calls with the same probability of being timed.  Times exclude the known part of a call.  The
 * total of the counts below is also known for all calls, timed or not.
 */
typedef struct CallStratum
{
	int64_t		calls;
	int64_t		timed;
	double		sum;			/* time of the timed calls */
	double		below_sum[N_BELOW]; /* sums of their counts below */
	CallProducts products;
} CallStratum;

/* Successive strata.  A stratum without timed calls is merged with the adjacent one. */
typedef struct CallSeries
{
	CallStratum now;			/* current stratum */
	CallStratum before;			/* previous stratum, not yet closed */
	int64_t		calls;			/* sums over the closed strata */
	int64_t		timed;
	double		total;			/* estimated time of the closed strata */
	double		variance;		/* variance of total */

	/*
	 * For the regression of a call's time on the counts below: sums over
	 * strata of products of deviations, plain and weighted as in the
	 * variance; and estimated totals of the counts below.
	 */
	CallProducts products;
	CallProducts weighted;
	double		expected[N_BELOW];

	double		hidden;			/* input: time of long gaps without readings */
} CallSeries;

/* Adds a timed call. */
extern void call_stratum_add(CallStratum *stratum, double time, const CallsBelow *below);

extern void call_series_next(CallSeries *series);	/* Begins a new stratum. */

/* Closes the last stratum, and completes calls, timed, total and variance. */
extern void call_series_end(CallSeries *series);

/* Adds another series, after call_series_end(). */
extern void call_series_join(CallSeries *series, const CallSeries *other);

/*
 * Corrects the total by regression.  "below" are the counts below during all calls of the series.
 * "known" are calls of the same node that were all timed.
 */
extern void call_series_regress(CallSeries *series, const CallStratum *known,
								const CallsBelow *below);

/*
 * Estimates the share of long gaps between readings that a node caused.  In each of these gaps, an
 * untimed call of the node may have been long.  "seen" is the number of long gaps in the node's
 * timed calls.  "expected" is the number expected there if the node caused all these gaps.
 * "certain" is the number expected there from gaps that the node certainly caused.  "prior" is the
 * prior probability that it caused all these gaps.  Returns the share, and sets its standard error.
 */
extern double long_gap_share(double prior, int64_t seen, double certain, double expected,
							 double *error);

/* Estimates the cost of each of the N_BELOW kinds of work from the sample so far. */
extern void call_series_slopes(const CallSeries *series, const CallStratum *known,
							   double *slopes);

#endif							/* CLOCKTIMING_CALL_SERIES_H */
