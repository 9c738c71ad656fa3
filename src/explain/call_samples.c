/*-------------------------------------------------------------------------
 *
 * call_samples.c
 *	  Which calls of a node are timed, and what is kept of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"

#include "core/random.h"
#include "explain/call_samples.h"
#include "explain/timing_clock.h"

/* A gap is longer than another process's turn in it by this factor: caches are cold after it. */
#define TURN_COST		1.25

static uint64 random_state = 0;

void
call_samples_prepare(void)
{
	while (random_state == 0)
		random_state = pg_prng_uint64(&pg_global_prng_state);
}

/*
 * Geometric, the only distribution without memory: each call has the same chance,
 * however loops begin and end.
 */
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

/* Those of a class that are over. */
static inline int64
calls_of(const NodeTiming *t, const CallClass *class)
{
	return class == &t->samples->first ? t->first_calls : later_calls(t);
}

/* The next stratum begins, with another gap than the one before. */
static void
change_gap(NodeTiming *t, CallClass *class, int gap_before)
{
	QueryTiming *query = t->query;
	int64		calls = calls_of(t, class);

	if (gap_before > 1)
	{
		class->drawn.now.calls = calls - class->before;
		call_series_next(&class->drawn);
	}
	class->before = calls;
	set_gap(class, class->policy.gap);
	/* gaps between timed calls will be longer, without any call being so */
	if (class->policy.gap > gap_before && calls > 0)
		query->typical_gap = Max(query->typical_gap,
								 (double) (query->policy.now - query->policy.start) / (double) calls * class->policy.gap);
}

void
add_samples(NodeTiming *t, CallClass *class)
{
	for (int i = 0; i < class->nsamples; i++)
	{
		const CallSample *sample = &class->samples[i];
		double		ticks = sample->ticks - sample->known;
		int			stands_for = 1;

		if (class->policy.gap > 1)
		{
			stands_for = call_series_add(&class->drawn, ticks, &sample->below, class->policy.gap,
										 t->query->long_ticks);
			class->drawn_sum += sample->ticks;
		}
		else if (!t->query->all_timed)	/* else nothing is to be estimated */
			call_stratum_add(&t->samples->known_calls, ticks, &sample->below);
		if (sample->use != NULL)
		{
			sample->use->ticks += stands_for * sample->ticks;
			t->uses_ticks += stands_for * sample->ticks;
		}
	}
	class->nsamples = 0;
}

/*
 * So many calls have been timed that the policy shall see them: without what follows
 * from what was done below.
 */
static pg_noinline void
use_samples(NodeTiming *t, CallClass *class)
{
	double		ticks[POLICY_BATCH];
	double		slopes[N_BELOW];
	int			n = class->nsamples;
	int			gap = class->policy.gap;

	add_samples(t, class);
	if (t->query->all_timed)
		return;
	call_series_slopes(&class->drawn, &t->samples->known_calls, slopes);
	for (int i = 0; i < n; i++)
	{
		const CallSample *sample = &class->samples[i];

		ticks[i] = sample->ticks - sample->known;
		for (int j = 0; j < N_BELOW; j++)
			ticks[i] -= slopes[j] * (double) sample->below.n[j];
	}
	if (policy_see_batch(&t->query->policy, &class->policy, ticks, n, calls_of(t, class),
						 now_ticks()) != gap)
		change_gap(t, class, gap);
}

/* What is known of a call is known to the nodes above, too. */
void
add_known(NodeTiming *t, CallClass *class, double ticks, double known)
{
	class->all_timed++;
	class->all_timed_sum += ticks;
	for (NodeTiming *a = t; a != NULL; a = a->parent)
		a->known += ticks - known;
}

void
keep_sample(NodeTiming *t, CallClass *class, uint64 start, uint64 stop,
			double known, CallsBelow below)
{
	QueryTiming *query = t->query;
	CallSample *sample = &class->samples[class->nsamples];

	/* a clock that goes backwards is not worth more than 0 here */
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
 * Closes a class.  If none was timed of a few calls after those that all were,
 * they are taken to be like them.
 */
static void
end_class(NodeTiming *t, CallClass *class, double hidden)
{
	CallSeries *drawn = &class->drawn;
	const CallStratum *known = &t->samples->known_calls;

	add_samples(t, class);
	change_gap(t, class, class->policy.gap);
	drawn->disturbances = query_expected_turns(t->query, class->drawn_sum - drawn->long_sum);
	drawn->hidden = hidden;
	drawn->chance = t->samples->hidden_chance;
	call_series_end(drawn);
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
end_samples(NodeTiming *t, double preempted_ticks)
{
	CallsBelow	below = calls_below(t);
	double		hidden = Max(t->samples->hidden_ticks - TURN_COST * preempted_ticks, 0);
	CallSeries	drawn;

	end_class(t, &t->samples->first, hidden);
	end_class(t, &t->samples->later, hidden);
	for (int i = 0; i < N_BELOW; i++)
		below.n[i] -= (int64) t->samples->known_calls.below_sum[i];
	drawn = t->samples->later.drawn;
	call_series_join(&drawn, &t->samples->first.drawn);
	call_series_regress(&drawn, &t->samples->known_calls, &below);
	return drawn;
}
