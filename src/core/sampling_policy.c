/* Which share of a plan node's calls is timed. */
#include <math.h>
#include <string.h>

#include "core/sampling_policy.h"

/* So many timed calls of a class are remembered: its times change. */
#define REMEMBERED		512.0

/*
 * However alike the calls seen are, one more may take so many times their mean
 * longer: it is among the squares from the start.
 */
#define TAIL			8.0

/*
 * This part of what is affordable goes to all calls alike, since rare ones have
 * not been seen yet (a defensive mixture: Hesterberg, Technometrics 37, 1995).
 */
#define DEFENSIVE		0.25

/* The query is looked at over about this part of its elapsed time. */
#define RECENT			0.25

/*
 * A gap is changed by this factor at least, and made longer by the other at most
 * unless too much has been spent; k is raised by the third at most.
 */
#define GAP_STEP		1.5
#define RAMP			4.0
#define K_STEP			4.0

/* What is left is spent over so many times the elapsed time. */
#define SPEND_OVER		2.0

/* Of what is left, a class that begins may take one in so many. */
#define NEW_CLASS_PART		16

/* However much was spent, and counting takes, this part of the share can be spent on timing. */
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

/* The share that counting leaves. */
static double
share(const SamplingPolicy *policy)
{
	return fmax(policy->share - policy->counting / elapsed(policy), LEAST_SHARE * policy->share);
}

/* Budget that is not yet spent: ticks that timing may still add by now. */
static double
remaining_ticks(const SamplingPolicy *policy)
{
	return share(policy) * (double) (policy->now - policy->start) +
		(POLICY_ALLOWANCE - (double) policy->timed) * policy->cost;
}

/* Timed calls a tick from now on, by which what is left is spent in that time. */
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
	class->batch = (int) clamp(remaining_ticks(policy) / policy->cost / NEW_CLASS_PART, POLICY_FEW, POLICY_BATCH);
}

/*
 * Adds to the moments of a class, and returns the mean (Chan, Golub and LeVeque, The
 * American Statistician 37, 1983).  What is long is cut off: something else may have
 * had the processor.
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
 * How much calls differ, as far as that is known: one that is not like those seen may
 * always come, and of a class of which few are seen the query tells more than
 * these do.
 */
static double
deviation_of(const SamplingPolicy *policy, const SamplingClass *class)
{
	double		tail = TAIL * class->mean;
	double		typical = TAIL * fmin(policy->elapsed, policy->seen) / fmax(policy->calls, 1) / class->n;

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

	/* classes that have not been seen yet will need what their time affords */
	rate = affordable(policy) * fmin(policy->elapsed, policy->seen);

	/* a few calls tell too little of a class for it to be timed more rarely */
	least = policy->least;
	if (class->n >= POLICY_BATCH)
		least = fmax(fmin(least, DEFENSIVE * rate / fmax(policy->calls, 1)), class->least);

	/* where all are timed already, or the least, another k changes nothing */
	policy->demand = policy->demand * keep + passed * clamp(k * deviation, least, 1) / k;
	policy->k = clamp(rate / policy->demand, fmin(k, least / deviation / K_STEP),
					  k * deviation >= 1 ? k : k * K_STEP);

	gap = rint(1 / clamp(policy->k * deviation, fmax(least, 1e-6), 1));
	if (remaining_ticks(policy) > 0)
		gap = fmin(gap, RAMP * class->gap);
	/* each change begins a stratum */
	if (gap >= GAP_STEP * class->gap || gap * GAP_STEP <= class->gap)
		class->gap = (int) gap;
	class->batch = (int) clamp(class->n, POLICY_FEW, POLICY_BATCH);
	return class->gap;
}
