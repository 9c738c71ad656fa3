/*
 * Which share of a plan node's calls is timed.
 *
 * Counting and timing calls may add a share of the elapsed time to a query.  What
 * counting leaves of it is spent where timing lowers the variance of the nodes' times most: calls of a class (those that begin
 * a node's loops, or its others) are timed with a probability proportional to the
 * standard deviation of their times, which is Neyman's allocation where each
 * timed call costs as much (Cochran, Sampling Techniques, 1977, 5.5).  Times are
 * in ticks of any clock.
 */
#ifndef CLOCKTIMING_SAMPLING_POLICY_H
#define CLOCKTIMING_SAMPLING_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* The share of the elapsed time by default. */
#define POLICY_SHARE	0.01

/* So many timed calls, in all, a query may have besides, and a class at its beginning. */
#define POLICY_ALLOWANCE	512
#define POLICY_FEW		4

/* After so many timed calls of a class at most the policy looks at them. */
#define POLICY_BATCH	32

/* Of one query. */
typedef struct SamplingPolicy
{
	double		share;
	double		cost;			/* ticks that timing a call adds */
	double		least;			/* probability, unless it costs too much */
	double		long_ticks;		/* what no call takes, as in call_series_add() */
	uint64_t	start;
	uint64_t	now;			/* of the latest batch */
	int64_t		timed;			/* in: calls, counted by whoever times them */
	double		counting;		/* ticks that counting calls has added */
	double		k;				/* probability over standard deviation; 0:
								 * nothing is known yet */

	/* of late, each a sum with weights that decrease with age */
	double		elapsed;		/* ticks */
	double		seen;			/* of these in the calls of classes seen */
	double		calls;			/* in these, timed or not */
	double		demand;			/* timed calls in these, if k were 1 */
} SamplingPolicy;

/* Of one class of calls. */
typedef struct SamplingClass
{
	int			gap;			/* one call of so many is timed */
	int			batch;			/* timed calls until policy_see_batch() */
	double		counting;		/* ticks that counting a call adds */
	double		least;			/* probability, whatever that costs */
	int64_t		calls;			/* at the latest batch */
	double		n;				/* timed ones that are remembered, */
	double		mean;			/* their mean, */
	double		square;			/* and the squares of deviations from it */
} SamplingClass;

/* One call in "sampling" is timed at least, as long as the share allows. */
extern void policy_init(SamplingPolicy *policy, double share, double cost_ticks,
						int sampling, double long_ticks, uint64_t start);

/*
 * A class whose calls begin: all are timed until the first batch is over.  Counting
 * a call adds so many ticks.  Where few calls may take most of the time ("vary"), one
 * in "sampling" is timed whatever that costs, since these few are not seen else.
 */
extern void policy_class_init(const SamplingPolicy *policy, SamplingClass *class,
							  double counting_ticks, bool vary);

/*
 * A class's latest n timed calls, without what is known of them or follows from
 * what was done below; "calls" of the class are over.  Returns the new gap,
 * which differs from the one before only if it does so by much.
 */
extern int	policy_see_batch(SamplingPolicy *policy, SamplingClass *class,
							 const double *ticks, int n, int64_t calls, uint64_t now);

#endif							/* CLOCKTIMING_SAMPLING_POLICY_H */
