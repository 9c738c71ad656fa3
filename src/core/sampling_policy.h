/*
 * Decides which share of a plan node's calls is timed.  A node's calls have two classes: those that
 * begin a loop, and all others.  The probability of timing a call is k times the standard deviation
 * of its class's times.  The overhead budget, which limits the time that timing adds, determines k.
 * These probabilities minimize the variance of the nodes' estimated times (Neyman's allocation:
 * Cochran, Sampling Techniques, 1977, 5.5).  Times are in ticks of any clock.
 */
#ifndef CLOCKTIMING_SAMPLING_POLICY_H
#define CLOCKTIMING_SAMPLING_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* Number of timed calls that a query may have in addition to its budget. */
#define POLICY_ALLOWANCE	512

/* Limits of the size of a batch: the timed calls that policy_see_batch() gets at a time. */
#define POLICY_FEW		4
#define POLICY_BATCH	32

/* Policy of a query, for all classes of its nodes. */
typedef struct SamplingPolicy
{
	double		share;			/* budget as a share of the elapsed time */
	double		cost;			/* ticks that timing a call adds */
	double		least;			/* minimum probability if budget allows */
	double		long_ticks;		/* longer times of calls may be truncated */
	uint64_t	start;			/* time at which the query started */
	uint64_t	now;			/* time of the latest batch */
	int64_t		timed;			/* number of timed calls, set by the caller */
	double		counting;		/* ticks that counting calls has added */
	double		k;				/* probability / deviation; 0: unknown */

	/* sums over recent batches, with weights that decrease with age */
	double		elapsed;		/* ticks that have passed */
	double		seen;			/* estimated ticks in calls, timed or not */
	double		calls;			/* number of these calls */
	double		demand;			/* number of calls to time if k were 1 */
} SamplingPolicy;

typedef struct SamplingClass
{
	int			gap;			/* one call in this many is timed */
	int			batch;			/* size of the next batch */
	double		counting;		/* ticks that counting a call adds */
	double		least;			/* minimum probability, whatever the cost */
	int64_t		calls;			/* number of calls at the latest batch */
	double		n;				/* number of timed calls; old ones decay */
	double		mean;			/* mean time of these calls */
	double		square;			/* sum of squared deviations from mean */
} SamplingClass;

/* Initializes the policy.  If the budget allows, at least one call in "sampling" is timed. */
extern void policy_init(SamplingPolicy *policy, double share, double cost_ticks,
						int sampling, double long_ticks, uint64_t start);

/*
 * Initializes a class.  All its calls are timed until the end of the first batch.  If "vary" is
 * set, few calls may take most of the time, so at least one call in policy_init()'s "sampling" is
 * timed, whatever the cost.
 */
extern void policy_class_init(const SamplingPolicy *policy, SamplingClass *class,
							  double counting_ticks, bool vary);

/*
 * Adds the times of a class's latest n timed calls.  The caller has subtracted the time of nodes
 * below whose calls were all timed, and the time that a regression attributes to the number of
 * calls of nodes below (call_series.h).  "calls" is the number of the class's calls so far.
 * Returns the new gap.  Small changes of the gap are suppressed.
 */
extern int	policy_see_batch(SamplingPolicy *policy, SamplingClass *class,
							 const double *ticks, int n, int64_t calls, uint64_t now);

#endif							/* CLOCKTIMING_SAMPLING_POLICY_H */
