/*-------------------------------------------------------------------------
 *
 * call_series.h
 *	  From the calls of a plan node that were timed to the time of all.
 *
 * Times are in any unit, nanoseconds or ticks.  How the formulas come about is
 * in doc/plans.md.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CALL_SERIES_H
#define CLOCKTIMING_CALL_SERIES_H

#include <stdint.h>

/*
 * What has been counted, besides time, while a call lasted: each of these costs
 * something, and not all the same.
 */
typedef enum CountBelow
{
	BELOW_FIRST,				/* first calls of loops of the nodes below */
	BELOW_LATER,				/* other calls of these */
	BELOW_REMOVED				/* rows removed, by them and the node itself */
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
 * Calls that are timed with the same chance.  What is added up is a call's
 * time less the part of it that is known anyway, and what was counted below,
 * which is known of all calls together.
 */
typedef struct CallStratum
{
	int64_t		calls;
	int64_t		timed;
	double		sum;			/* of the timed ones */
	double		below_sum[N_BELOW];
	CallProducts products;
} CallStratum;

/*
 * Strata that follow each other.  A stratum of few timed calls is thrown
 * together with the one before it.
 */
typedef struct CallSeries
{
	CallStratum now;
	CallStratum before;
	int64_t		calls;			/* of all strata, and so on */
	int64_t		timed;
	double		total;			/* estimate of the strata before "before" */
	double		variance;		/* of it: 1.96 times its root is the margin */

	/*
	 * What a call takes goes with what is done below: sums of products of
	 * deviations over strata, plain and weighted for the variance, and how
	 * much is done below if the sample is right.
	 */
	CallProducts products;
	CallProducts weighted;
	double		expected[N_BELOW];

	/* calls that took much longer than others, and what they stand for */
	int64_t		nlong;
	double		long_sum;
	double		long_total;
	double		long_variance;
	double		disturbances;	/* in: so many of them are time slices of
								 * other processes */
	double		hidden;			/* in: long gaps between timed calls, in each
								 * of which a call may have been long */
	double		chance;			/* in: number of these calls that would have
								 * been timed, if there was one in each gap */
	double		timed_sum;		/* of all that were timed */
	double		measured;		/* of total: not estimated, or with other
								 * processes' time slices in it */
} CallSeries;

/* One more timed call. */
extern void call_stratum_add(CallStratum *stratum, double time, const CallsBelow *below);

/*
 * A timed call, one of "gap" calls, in which so much was done below.
 * "long_time" is what no call takes as a rule: something else may have had the
 * processor.  Where much more is done below than as a rule, that explains as
 * much.  Returns the number of calls that the call stands for.
 */
extern int	call_series_add(CallSeries *series, double time, const CallsBelow *below,
							int gap, double long_time);

extern void call_series_next(CallSeries *series);	/* a new stratum begins */

/* Closes the last stratum: calls, timed, total and variance are complete. */
extern void call_series_end(CallSeries *series);

/* Adds what is known of other calls, both being closed. */
extern void call_series_join(CallSeries *series, const CallSeries *other);

/*
 * How much has really been done below while these calls lasted.  "known" are
 * calls of the same node that were all timed.
 */
extern void call_series_regress(CallSeries *series, const CallStratum *known,
								const CallsBelow *below);

/*
 * Adds calls that were long in gaps between timed calls, after call_series_regress().
 * Returns half of a 95 % confidence interval, which becomes part of the variance.
 */
extern double call_series_hidden(CallSeries *series);

/* What each of the N_BELOW counts seems to take, by all that is known so far. */
extern void call_series_slopes(const CallSeries *series, const CallStratum *known,
							   double *slopes);

#endif							/* CLOCKTIMING_CALL_SERIES_H */
