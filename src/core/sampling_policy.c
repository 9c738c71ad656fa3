#include <math.h>
#include <string.h>

#include "core/sampling_policy.h"

/* Length of a class's history in timed calls.  Older calls decay, because call times drift. */
#define REMEMBERED		512.0

/*
 * Deviation of an imaginary call from the mean, in multiples of the mean.  The variance of a class
 * includes this call, because unusually long calls may not have been timed yet.
 */
#define TAIL			8.0

/*
 * Share of the budget spent on all calls with the same probability, in case that the deviation of a
 * class is larger than measured (a defensive mixture: Hesterberg, Technometrics 37, 1995).
 */
#define DEFENSIVE		0.25

/* Age at which a batch's weight in the sums has halved, as a share of the query's time so far. */
#define RECENT			0.25

#define GAP_STEP		1.5		/* smallest factor by which a gap changes */
#define RAMP			4.0		/* largest growth of a gap if budget is left */
#define K_STEP			4.0		/* largest factor by which k grows */

/* Time in which the unspent budget is to be spent, in multiples of the elapsed time. */
#define SPEND_OVER		2.0

/* The first batch of a class may use the unspent budget divided by this number. */
#define NEW_CLASS_PART		16

/* Share of the budget that timing can always spend, even if the budget is exhausted. */
#define LEAST_SHARE		0.2

static double
clamp(double x, double low, double high)
{
	return fmin(fmax(x, low), high);
}

static double
elapsed(const SamplingPolicy *policy)
{
	return fmax((double) (policy->now - policy->start), 1);
}

/* Returns the share of the elapsed time that counting leaves for timing. */
static double
share(const SamplingPolicy *policy)
{
	return fmax(policy->share - policy->counting / elapsed(policy), LEAST_SHARE * policy->share);
}

/* Returns the unspent budget: the number of ticks that timing may still add at this time. */
static double
remaining_ticks(const SamplingPolicy *policy)
{
	return share(policy) * (double) (policy->now - policy->start) +
		(POLICY_ALLOWANCE - (double) policy->timed) * policy->cost;
}

/* Returns the number of timed calls per tick that the budget allows. */
static double
affordable(const SamplingPolicy *policy)
{
	return fmax(share(policy) + remaining_ticks(policy) / (SPEND_OVER * elapsed(policy)),
				LEAST_SHARE * policy->share) / policy->cost;
}

void
policy_init(SamplingPolicy *policy, double share, double cost_ticks, int sampling,
			double long_ticks, uint64_t start)
{
	memset(policy, 0, sizeof(*policy));
	policy->share = share;
	policy->cost = fmax(cost_ticks, 1);
	policy->least = 1.0 / sampling;
	policy->long_ticks = long_ticks;
	policy->start = policy->now = start;
}

void
policy_class_init(const SamplingPolicy *policy, SamplingClass *class, double counting_ticks,
				  bool vary)
{
	memset(class, 0, sizeof(*class));
	class->counting = counting_ticks;
	class->least = vary ? policy->least : 0;
	class->gap = 1;
	class->batch = (int) clamp(remaining_ticks(policy) / policy->cost / NEW_CLASS_PART, POLICY_FEW,
							   POLICY_BATCH);
}

/*
 * Adds times to the mean and variance of a class (Chan, Golub and LeVeque, The American
 * Statistician 37, 1983).  In both, truncates long times, because they may include the time of
 * another process.  Returns the mean of the times before truncation.
 */
static double
remember(const SamplingPolicy *policy, SamplingClass *class, const double *ticks, int n)
{
	double		about = class->n < 1 ? ticks[0] : class->mean;
	double		most = class->n < 1 ? INFINITY : fmax(policy->long_ticks, 2 * TAIL * about);
	double		kept = fmin(class->n, REMEMBERED - n);
	double		sum = 0;
	double		off_sum = 0;
	double		off_square = 0;
	double		off;

	for (int i = 0; i < n; i++)
	{
		off = (ticks[i] < most ? ticks[i] : most) - about;
		sum += ticks[i];
		off_sum += off;
		off_square += off * off;
	}
	class->square *= class->n < 1 ? 0 : kept / class->n;
	class->n = kept + n;
	off = about + off_sum / n - class->mean;
	class->square += off_square - off_sum * off_sum / n + off * off * kept * n / class->n;
	class->mean += off * n / class->n;
	return fmax(sum / n, 0);
}

/*
 * Returns the standard deviation of a class's calls.  It includes the imaginary call of TAIL, whose
 * weight decreases with the number of timed calls.
 */
static double
deviation_of(const SamplingPolicy *policy, const SamplingClass *class)
{
	double		tail = TAIL * class->mean;
	double		typical = TAIL * fmin(policy->elapsed, policy->seen) / fmax(policy->calls, 1) /
		class->n;

	return sqrt((fmax(class->square, 0) + tail * tail) / (class->n + 1) + typical * typical) + 1e-3;
}

int
policy_see_batch(SamplingPolicy *policy, SamplingClass *class, const double *ticks, int n,
				 int64_t calls, uint64_t now)
{
	double		age = now > policy->now ? (double) (now - policy->now) : 0;
	double		passed = (double) (calls - class->calls);
	double		mean;
	double		keep;
	double		rate;
	double		deviation;
	double		least;
	double		k;
	double		gap;

	mean = remember(policy, class, ticks, n);
	policy->now += (uint64_t) age;
	class->calls = calls;
	policy->counting += passed * class->counting;
	keep = 1 / (1 + age / (RECENT * elapsed(policy)));
	policy->elapsed = policy->elapsed * keep + fmax(age, n * policy->cost);
	policy->calls = policy->calls * keep + passed;
	policy->seen = policy->seen * keep + passed * mean + n * policy->cost;
	deviation = deviation_of(policy, class);
	if (policy->k == 0)
		policy->k = 1 / deviation;
	k = policy->k;

	/* the budget for time outside of these calls is left to new classes */
	rate = affordable(policy) * fmin(policy->elapsed, policy->seen);

	/* lowers the minimum only after a full batch */
	least = policy->least;
	if (class->n >= POLICY_BATCH)
		least = fmax(fmin(least, DEFENSIVE * rate / fmax(policy->calls, 1)), class->least);

	/* k must not grow at probability 1, nor fall far below the minimum */
	policy->demand = policy->demand * keep + passed * clamp(k * deviation, least, 1) / k;
	policy->k = clamp(rate / policy->demand, fmin(k, least / deviation / K_STEP),
					  k * deviation >= 1 ? k : k * K_STEP);

	gap = rint(1 / clamp(policy->k * deviation, fmax(least, 1e-6), 1));
	if (remaining_ticks(policy) > 0)
		gap = fmin(gap, RAMP * class->gap);
	/* ignores small changes: each begins a new stratum (call_series.h) */
	if (gap >= GAP_STEP * class->gap || gap * GAP_STEP <= class->gap)
		class->gap = (int) gap;
	class->batch = (int) clamp(class->n, POLICY_FEW, POLICY_BATCH);
	return class->gap;
}
