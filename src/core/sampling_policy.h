/*
 * Which share of a plan node's calls is timed.  Timing is spent where it lowers the variance of the
 * nodes' times most: calls of a class (those that begin a node's loops, or its others) are timed
 * with a probability proportional to the standard deviation of their times (Neyman's allocation:
 * Cochran, Sampling Techniques, 1977, 5.5).  Times are in ticks of any clock.
 */
#ifndef CLOCKTIMING_SAMPLING_POLICY_H
#define CLOCKTIMING_SAMPLING_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* Number of additional timed calls of a query, and of calls of a new class that are all timed. */
#define POLICY_ALLOWANCE	512
#define POLICY_FEW		4

/* Largest number of timed calls of a class between two decisions of the policy. */
#define POLICY_BATCH	32

/* Policy of a query. */
typedef struct SamplingPolicy
{
	double		share;
	double		cost;			/* ticks that timing a call adds */
	double		least;			/* least probability within the budget */
	double		long_ticks;		/* longer times of calls are truncated */
	uint64_t	start;
	uint64_t	now;			/* time of the latest batch */
	int64_t		timed;			/* input: number of timed calls */
	double		counting;		/* ticks that counting calls has added */
	double		k;				/* probability / deviation; 0: unknown */

	/* recent sums, with weights that decrease with age */
	double		elapsed;		/* elapsed ticks */
	double		seen;			/* ticks in the calls of known classes */
	double		calls;			/* number of their calls, timed or not */
	double		demand;			/* number of their timed calls if k were 1 */
} SamplingPolicy;

/* A class of calls. */
typedef struct SamplingClass
{
	int			gap;			/* mean gap: one call in this many is timed */
	int			batch;			/* timed calls until policy_see_batch() */
	double		counting;		/* ticks that counting a call adds */
	double		least;			/* least probability, whatever the cost */
	int64_t		calls;			/* number of calls at the latest batch */
	double		n;				/* number of timed calls in the history */
	double		mean;			/* mean of their times */
	double		square;			/* sum of squared deviations from it */
} SamplingClass;

/*
 * Initializes the policy.  At least one call in "sampling" is timed, as far as the budget allows.
 */
extern void policy_init(SamplingPolicy *policy, double share, double cost_ticks,
						int sampling, double long_ticks, uint64_t start);

/*
 * Initializes a class; all its calls are timed until the end of the first batch.  Counting a call
 * adds counting_ticks.  "vary": few calls may take most of the time, so one in "sampling" is timed
 * whatever that costs.
 */
extern void policy_class_init(const SamplingPolicy *policy, SamplingClass *class,
							  double counting_ticks, bool vary);

/*
 * Adds a class's latest n times of calls, without their known part and without what the counts
 * below explain; "calls" is the number of the class's calls so far.  Returns the new gap, which
 * differs from the previous one only if it differs much.
 */
extern int	policy_see_batch(SamplingPolicy *policy, SamplingClass *class,
							 const double *ticks, int n, int64_t calls, uint64_t now);

#endif							/* CLOCKTIMING_SAMPLING_POLICY_H */
