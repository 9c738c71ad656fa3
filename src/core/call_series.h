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
	BELOW_REMOVED				/* rows removed by the node and those below */
} CountBelow;

#define N_BELOW (BELOW_REMOVED + 1)

/* The counts below, by CountBelow. */
typedef struct CallsBelow
{
	int64_t		n[N_BELOW];
} CallsBelow;

/* Sums of products of two counts below.  The index CALL_TIME stands for the call's time instead. */
#define CALL_TIME	N_BELOW

typedef double CallProducts[N_BELOW + 1][N_BELOW + 1];

/*
 * A stratum: successive calls with the same probability of being timed.  The time of a call
 * excludes its known part: the time of calls below it whose nodes timed every call.
 */
typedef struct CallStratum
{
	int64_t		calls;			/* number of calls */
	int64_t		timed;			/* number of timed calls */
	double		sum;			/* time of the timed calls */
	double		below_sum[N_BELOW]; /* sums of their counts below */
	CallProducts products;		/* sums over the timed calls */
} CallStratum;

/* Successive strata.  A closed stratum has been added to the sums. */
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
	CallProducts weighted;		/* the same, with the weights of "variance" */
	double		expected[N_BELOW];	/* estimated totals of the counts below */

	/* input: time of the hidden long gaps, see long_gap_share() */
	double		hidden;
} CallSeries;

/* Adds a timed call to the sums; the caller counts "calls". */
extern void call_stratum_add(CallStratum *stratum, double time, const CallsBelow *below);

extern void call_series_next(CallSeries *series);	/* Begins a new stratum. */

/* Closes the last stratum, and completes calls, timed, total and variance. */
extern void call_series_end(CallSeries *series);

/* Adds another series, after call_series_end(). */
extern void call_series_join(CallSeries *series, const CallSeries *other);

/*
 * Corrects the total by regression of the times on the counts below.  "below" are the counts below
 * during all calls of the series.  "known" are calls of the same node of which every one was timed.
 */
extern void call_series_regress(CallSeries *series, const CallStratum *known,
								const CallsBelow *below);

/*
 * A long gap is a long time without a reading of the clock.  Some were certainly in an untimed call
 * of the node; others, the hidden ones, may have been.  Returns the share of the hidden gaps that
 * the node has caused, and sets its standard error.  "prior" is the prior probability that the node
 * caused all hidden gaps.  Timed calls are a random sample, so gaps in untimed calls let us expect
 * gaps in timed calls, too: "certain" of them because of the certain gaps, and "expected" more if
 * the node caused all hidden gaps.  "seen" is the number of long gaps that its timed calls had.
 */
extern double long_gap_share(double prior, int64_t seen, double certain, double expected,
							 double *error);

/* Estimates the time that one unit of each kind of work takes, from the sample so far. */
extern void call_series_slopes(const CallSeries *series, const CallStratum *known,
							   double *slopes);

#endif							/* CLOCKTIMING_CALL_SERIES_H */
