#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"

#include "core/random.h"
#include "explain/call_samples.h"
#include "explain/timing_clock.h"

/*
 * Factors by which a node's interval_spread is multiplied after each interval between two timed
 * calls: SPREAD_UP if the interval deviates from its expected length by more than interval_spread,
 * else SPREAD_DOWN.  Their product is about 1, so interval_spread converges to the median
 * deviation, within few intervals.  Higher quantiles than the median may depend on long calls: if
 * every fifth interval contains a long call, quantiles above 80 % do.
 */
#define SPREAD_UP		1.3
#define SPREAD_DOWN		0.77

/*
 * Factor by which sums over a node's earlier intervals between timed calls decay at each new
 * interval.
 */
#define INTERVALS_KEPT	0.9

static uint64 random_state = 0;

void
call_samples_prepare(void)
{
	while (random_state == 0)
		random_state = pg_prng_uint64(&pg_global_prng_state);
}

/* Draws from the geometric distribution: each call has the same probability of being timed. */
int64
draw_gap(const CallClass *class)
{
	if (class->policy.gap == 1)
		return 0;
	if (class->policy.gap == 0)
		return NEVER;
	return (int64) (random_exponential(&random_state) * class->gap_scale);
}

void
set_gap(CallClass *class, int gap)
{
	class->policy.gap = gap;
	class->gap_scale = gap <= 1 ? 0 : (float) (-1 / log1p(-1.0 / gap));
}

void
draw_later(NodeTiming *t)
{
	t->later_due = later_calls(t) + draw_gap(&t->samples->later);
	next_due(t) = t->first_calls + t->later_due;
}

void
begin_samples(NodeTiming *t)
{
	QueryTiming *query = t->query;
	double		counting_ns = t->seen ? query->cost.counted_ns : query->cost.unseen_ns;
	double		counting_ticks = counting_ns * query->ticks_per_ns;

	if (query->nspare > 0)
		t->samples = &query->spare[--query->nspare];
	else
		t->samples = MemoryContextAllocZero(query->context, sizeof(NodeSamples));
	policy_class_init(&query->policy, &t->samples->first.policy, counting_ticks, t->calls_vary);
	policy_class_init(&query->policy, &t->samples->later.policy, counting_ticks, t->calls_vary);
	set_gap(&t->samples->first, Min(query->sampling, 1));
	set_gap(&t->samples->later, Min(query->sampling, 1));
	t->later_due = draw_gap(&t->samples->later);
}

CallsBelow
calls_below(const NodeTiming *t)
{
	CallsBelow	below = {{0, 0, removed_rows(t)}};

	for (int i = 0; i < t->nbelow; i++)
	{
		const NodeTiming *b = t->below[i];

		below.n[BELOW_FIRST] += b->first_calls;
		below.n[BELOW_LATER] += later_calls(b);
		below.n[BELOW_REMOVED] += removed_rows(b);
	}
	return below;
}

static inline int64
calls_of(const NodeTiming *t, const CallClass *class)
{
	return class == &t->samples->first ? t->first_calls : later_calls(t);
}

/*
 * Ends a stratum of calls and begins another one.  A stratum is a series of successive calls with
 * the same sampling interval.  That of the ended stratum is gap_before.
 */
static void
change_gap(NodeTiming *t, CallClass *class, int gap_before)
{
	int64		calls = calls_of(t, class);

	if (gap_before > 1)
	{
		class->drawn.now.calls = calls - class->before;
		call_series_next(&class->drawn);
	}
	class->before = calls;
	set_gap(class, class->policy.gap);
}

void
add_samples(NodeTiming *t, CallClass *class)
{
	for (int i = 0; i < class->nsamples; i++)
	{
		const CallSample *sample = &class->samples[i];
		double		ticks = sample->ticks - sample->known;

		if (class->policy.gap > 1)
		{
			call_stratum_add(&class->drawn.now, ticks, &sample->below);
			class->drawn_sum += sample->ticks;
		}
		else if (!t->query->all_timed)	/* if every call is timed, nothing is
										 * estimated */
			call_stratum_add(&t->samples->known_calls, ticks, &sample->below);
		if (sample->use != NULL)
		{
			sample->use->ticks += Max(class->policy.gap, 1) * sample->ticks;
			t->uses_ticks += Max(class->policy.gap, 1) * sample->ticks;
		}
	}
	class->nsamples = 0;
}

/*
 * Adds the timed calls to the sums and returns their number.  Sets ticks[] to their durations,
 * minus the known part (calls below that were all timed), and minus the part that is explained by
 * the work counted in the nodes below.
 */
static int
take_samples(NodeTiming *t, CallClass *class, double *ticks)
{
	double		slopes[N_BELOW];
	int			n = class->nsamples;

	add_samples(t, class);
	call_series_slopes(&class->drawn, &t->samples->known_calls, slopes);
	for (int i = 0; i < n; i++)
	{
		const CallSample *sample = &class->samples[i];

		ticks[i] = sample->ticks - sample->known;
		for (int j = 0; j < N_BELOW; j++)
			ticks[i] -= slopes[j] * (double) sample->below.n[j];
		if (class->policy.gap <= 1)
			continue;
		if (ticks[i] > class->largest)
		{
			class->second_largest = class->largest;
			class->largest = ticks[i];
			class->largest_gap = class->policy.gap;
		}
		else
			class->second_largest = Max(class->second_largest, ticks[i]);
	}
	return n;
}

/* Passes a batch of timed calls to sampling_policy.c, which may change the sampling interval. */
static pg_noinline void
use_samples(NodeTiming *t, CallClass *class)
{
	double		ticks[POLICY_BATCH];
	int			gap = class->policy.gap;
	int			n;

	if (t->query->all_timed)
	{
		add_samples(t, class);
		return;
	}
	n = take_samples(t, class, ticks);
	if (policy_see_batch(&t->query->policy, &class->policy, ticks, n, calls_of(t, class),
						 now_ticks()) != gap)
		change_gap(t, class, gap);
}

void
add_known(NodeTiming *t, CallClass *class, double ticks, double known)
{
	class->all_timed++;
	class->all_timed_sum += ticks;
	for (NodeTiming *a = t; a != NULL; a = a->parent)
		a->known += ticks - known;
}

void
begin_timed_call(NodeTiming *t, uint64 start)
{
	NodeSamples *samples = t->samples;
	double		calls = (double) (t->calls - samples->timed_at);
	double		ticks;

	start += t->query->long_off_ticks;
	ticks = (double) (int64) (start - samples->timed_start);

	if (samples->timed_at > 0)
	{
		if (samples->interval_calls > 0)
		{
			double		off =
				fabs(ticks - calls * samples->interval_ticks / samples->interval_calls);

			samples->interval_spread *= off > samples->interval_spread ? SPREAD_UP : SPREAD_DOWN;
		}
		else
			samples->interval_spread = ticks;
		samples->interval_ticks = samples->interval_ticks * INTERVALS_KEPT + ticks;
		samples->interval_calls = samples->interval_calls * INTERVALS_KEPT + calls;
	}
	samples->timed_at = t->calls;
	samples->timed_first = t->first_calls;
	samples->timed_start = start;
}

void
keep_sample(NodeTiming *t, CallClass *class, uint64 start, uint64 stop,
			double known, CallsBelow below)
{
	QueryTiming *query = t->query;
	CallSample *sample = &class->samples[class->nsamples];
	double		ticks = (double) (int64) (stop + query->long_off_ticks - t->samples->timed_start);

	class->latest_mean += (ticks - class->latest_mean) *
		(class->latest_mean > 0 ? 1 - INTERVALS_KEPT : 1);
	/* if the clock went backwards, the time is 0 */
	sample->ticks = stop > start ? (double) (stop - start) : 0;
	sample->known = known;
	sample->below = below;
	sample->use = t->use;
	if (class->policy.gap == 1)
		add_known(t, class, sample->ticks, known);
	query->policy.timed++;
	if (++class->nsamples == class->policy.batch)
		use_samples(t, class);
}

/*
 * Ends sampling of a class.  At first, every call was timed.  The calls made after that may be so
 * few that none of them was timed.  Then they are assumed to take as long as the timed calls.
 */
static void
end_class(NodeTiming *t, CallClass *class)
{
	CallSeries *drawn = &class->drawn;
	const CallStratum *known = &t->samples->known_calls;
	double		ticks[POLICY_BATCH];

	(void) take_samples(t, class, ticks);
	change_gap(t, class, class->policy.gap);
	drawn->hidden = t->samples->hidden_ticks;
	call_series_end(drawn);

	/*
	 * Winsorized mean: the largest duration is replaced by the second
	 * largest. That has a smaller mean squared error if few calls are much
	 * longer than others (Rivest, Biometrika 81, 1994).  An interrupt of 5 us
	 * in one of 50 timed calls of 0.1 us would double their mean.
	 */
	if (class->second_largest > 0)
		drawn->total -= (class->largest_gap - 1) * (class->largest - class->second_largest);
	if (drawn->timed == 0 && drawn->calls > 0 && class->all_timed > 0)
	{
		double		calls = (double) drawn->calls;
		double		ticks = class->all_timed_sum / (double) class->all_timed * calls;

		drawn->total += ticks;
		drawn->variance += ticks * ticks / 4;
		for (int i = 0; i < N_BELOW; i++)
			drawn->expected[i] += known->below_sum[i] / (double) Max(known->timed, 1) * calls;
	}
}

CallSeries
end_samples(NodeTiming *t)
{
	CallsBelow	below = calls_below(t);
	CallSeries	drawn;

	end_class(t, &t->samples->first);
	end_class(t, &t->samples->later);
	for (int i = 0; i < N_BELOW; i++)
		below.n[i] -= (int64) t->samples->known_calls.below_sum[i];
	drawn = t->samples->later.drawn;
	call_series_join(&drawn, &t->samples->first.drawn);
	call_series_regress(&drawn, &t->samples->known_calls, &below);
	return drawn;
}
