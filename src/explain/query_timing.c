/*-------------------------------------------------------------------------
 *
 * query_timing.c
 *	  What is kept of a plan while it is timed: the run as a whole.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "core/reference.h"
#include "explain/query_timing.h"
#include "explain/timing_clock.h"

/* A run of so long tells the TSC's frequency well enough, to 0.1 %. */
#define LONG_RUN_NS		100000

/*
 * What calls may take before they are suspected to have been disturbed: more
 * than an interrupt, less than another process's turn.
 */
#define LONG_CALL_NS	20000

/*
 * What timing a call adds to a query, as against in the loops of
 * call_calibration.c: the processor has to end what it does ahead.  Measured, see
 * doc/diary.md.
 */
#define TIMED_IN_QUERY	3

QueryTiming *timed_in_worker = NULL;
void
query_set_cost(QueryTiming *query, const CallCost *cost, double ticks_per_ns)
{
	query->cost = *cost;
	query->ticks_per_ns = ticks_per_ns;
	query->long_ticks = LONG_CALL_NS * ticks_per_ns;
	policy_init(&query->policy, query->max_overhead / 100, TIMED_IN_QUERY * cost->timed_ns * ticks_per_ns,
				Max(query->sampling, 1), query->long_ticks, now_ticks());
}

void
query_timing_start(QueryTiming *query)
{
	query->start_usage = cpu_usage_before();
	query->start_ns = reference_ns();
	query->start_ticks = now_ticks();
	query->policy.start = query->policy.now = query->start_ticks;
}

void
query_timing_ran(QueryTiming *query)
{
	NodeTiming *root = query->root;

	query->ran_ticks = now_ticks();
	if (query->outside.last_ticks != 0 && query->ran_ticks > query->outside.last_ticks)
		query->outside.ends += (double) (query->ran_ticks - query->outside.last_ticks);
	query->outside.last_ticks = 0;

	/*
	 * what the root's next call follows, if there will be one, is no part of
	 * the query
	 */
	if (root->returned != 0)
	{
		root->returned = 0;
		next_due(root) = root->first_calls + root->later_due;
	}
}

void
query_timing_resume(QueryTiming *query, bool again)
{
	uint64		now = now_ticks();
	uint64		pause = now - query->ran_ticks;

	query->paused_ticks += pause;
	query->policy.start += pause;
	query->policy.now += pause;
	query->ran_ticks = now;
	query->in_parts |= again;
}

void
query_timing_stop(QueryTiming *query)
{
	query->stop_ticks = now_ticks();
	query->stop_ns = reference_ns();
	query->stop_usage = cpu_usage_after();
}

double
query_ns_per_tick(const QueryTiming *query)
{
	double		ticks = (double) (int64) (query->stop_ticks - query->start_ticks);
	double		ns = (double) (query->stop_ns - query->start_ns);

	if (!timing_by_counter)
		return 1;
	if (ns >= LONG_RUN_NS && ticks > 0)
		return ns / ticks;
	return 1 / query->ticks_per_ns;
}

double
query_run_ns(const QueryTiming *query)
{
	double		ticks = (double) (int64) (query->stop_ticks - query->start_ticks - query->paused_ticks);

	/* not by the reference, of which a reading may be a system call */
	return Max(ticks, 0) * query_ns_per_tick(query);
}

Preempted
query_preempted(const QueryTiming *query)
{
	/* what else this process has done meanwhile is in its usage, too */
	if (query->in_parts)
	{
		Preempted	none = {0};

		none.run_ns = query_run_ns(query);
		return none;
	}
	return preempted_between(&query->start_usage, &query->stop_usage,
							 query_run_ns(query));
}

double
query_expected_turns(const QueryTiming *query, double ticks)
{
	Preempted	others = query_preempted(query);
	double		by_itself = others.run_ns - others.ns;

	if (others.ns <= 0 || by_itself <= 0)
		return 0;
	return others.turns * Max(ticks, 0) * query_ns_per_tick(query) / by_itself;
}
