/*
 * Estimates the time of all calls of a plan node from a random sample of timed calls, in
 * nanoseconds or ticks. doc/plans.md has the formulas.
 */
#ifndef CLOCKTIMING_CALL_SERIES_H
#define CLOCKTIMING_CALL_SERIES_H

#include <stdint.h>

/*
 * Kinds of work during a call of a node, mostly by the nodes below it.  Each kind is counted for
 * each timed call, and in total for all calls.  These "counts below" explain part of a call's time.
 */
typedef enum CountBelow
{
	BELOW_FIRST,				/* first calls of loops of the nodes below */
	BELOW_LATER,				/* other calls of these nodes */
	BELOW_REMOVED				/* rows filtered out by node or nodes below */
} CountBelow;

#define N_BELOW (BELOW_REMOVED + 1)

/* The counts below, by CountBelow. */
typedef struct CallsBelow
{
	int64_t		n[N_BELOW];
} CallsBelow;

/* Sums, over timed calls, of products of two counts below.  Index CALL_TIME: the call's time. */
#define CALL_TIME	N_BELOW

typedef double CallProducts[N_BELOW + 1][N_BELOW + 1];

/*
 * A stratum: successive calls with the same probability of being timed.  The time of a call
 * excludes the time of nodes below whose calls were all timed, because that time is known exactly.
 */
typedef struct CallStratum
{
	int64_t		calls;			/* number of calls */
	int64_t		timed;			/* number of timed calls */
	double		sum;			/* time of the timed calls */
	double		below_sum[N_BELOW]; /* sums of their counts below */
	CallProducts products;		/* sums over the timed calls */
} CallStratum;

/* Successive strata.  Closing a stratum adds its estimate to the members after "before". */
typedef struct CallSeries
{
	CallStratum now;			/* current stratum */
	CallStratum before;			/* previous stratum, not yet closed */
	int64_t		calls;			/* number of calls of the closed strata */
	int64_t		timed;			/* number of their timed calls */
	double		total;			/* their estimated time */
	double		variance;		/* variance of total */

	/* sums over closed strata, for the regression of times on counts below */
	CallProducts products;		/* of deviations from the stratum's means */
	CallProducts weighted;		/* the same, weighted as for "variance" */
	double		expected[N_BELOW];	/* estimated totals of the counts below */

	/* input: time of long gaps that may be in untimed calls of the node */
	double		hidden;
} CallSeries;

/* Adds a timed call to the sums; the caller counts "calls". */
extern void call_stratum_add(CallStratum *stratum, double time, const CallsBelow *below);

extern void call_series_next(CallSeries *series);	/* Begins a new stratum. */

/* Closes the last stratum, and completes calls, timed, total and variance. */
extern void call_series_end(CallSeries *series);

/* Adds another series, after call_series_end() for both. */
extern void call_series_join(CallSeries *series, const CallSeries *other);

/*
 * Corrects the total by regression of the times on the counts below.  "below" are the counts below
 * during all calls of the series.  "known" are calls of the same node, all of which were timed.
 */
extern void call_series_regress(CallSeries *series, const CallStratum *known,
								const CallsBelow *below);

/*
 * A long gap is a long time without a reading of the clock.  Certain gaps were in untimed calls of
 * the node.  Hidden gaps were in such calls, or elsewhere.  Returns the share of the hidden gaps in
 * untimed calls of the node, and sets its standard error.  "prior" is the prior probability of the
 * share 1.  Timed calls are a random sample, so some of them contain long gaps, too.  "seen" is the
 * number of these gaps.  The expected number is "certain" because of the certain gaps, and
 * "expected" more if all hidden gaps were in the node's calls.
 */
extern double long_gap_share(double prior, int64_t seen, double certain, double expected,
							 double *error);

/* Estimates the times per first call, later call and removed row below, from the sample so far. */
extern void call_series_slopes(const CallSeries *series, const CallStratum *known, double *slopes);

#endif							/* CLOCKTIMING_CALL_SERIES_H */
