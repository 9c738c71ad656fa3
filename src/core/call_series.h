/*
 * From the calls of a plan node that were timed to the time of all.
 *
 * Times are in any unit, nanoseconds or ticks.  How the formulas come about is
 * in doc/plans.md.
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

	double		hidden;			/* in: long gaps between timed calls, in each
								 * of which an untimed call may have been long */
} CallSeries;

/* One more timed call. */
extern void call_stratum_add(CallStratum *stratum, double time, const CallsBelow *below);

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
 * Long gaps between readings of the clock that a node may have spent in untimed calls.
 * "expected" is the number of these calls that would have been timed if all were the node's, and
 * "certain" the same of long gaps that surely were the node's; "seen" is the number of long gaps
 * in timed calls; "prior" is the probability that they are the node's if nothing was seen.
 * Returns the node's share of the gaps' time, and sets its standard error.
 */
extern double long_gap_share(double prior, int64_t seen, double certain, double expected,
							 double *error);

/* What each of the N_BELOW counts seems to take, by all that is known so far. */
extern void call_series_slopes(const CallSeries *series, const CallStratum *known,
							   double *slopes);

#endif							/* CLOCKTIMING_CALL_SERIES_H */
