/*-------------------------------------------------------------------------
 *
 * query_timing.c
 *	  What is kept of a plan while it is timed: the run as a whole.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

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
const ExecutionWatcher *execution_watcher = NULL;

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
	query->last_reading = query->start_ticks;
	query->typical_gap = query->long_ticks / MANY_GAPS;
}

void
query_restore_loops(QueryTiming *query, const NodeTiming *calling)
{
	for (int id = 0; id < query->nnodes; id++)
	{
		NodeTiming *t = query->nodes[id];

		if (t == NULL || !t->in_loop || instr_in_loop(&t->instr) || (t == calling && t->rescanned))
			continue;
		instr_begin_loop(&t->instr);
		instr_add_counts(&t->instr, 0, -1);
		next_due(t) = t->ended || t->returned != 0 ? 0 : t->first_calls + t->later_due;
	}
	if (!instr_in_loop(&query->root->instr))
	{
		instr_begin_loop(&query->root->instr);
		instr_add_counts(&query->root->instr, 0, -1);
	}
}

/*
 * Whether a long gap is no sign of a long call of a node's input: the node has read it to its
 * end, and no other loop has begun, or its own work explains the gap.
 */
static bool
explains_gap(const NodeTiming *t, const NodeTiming *input, const NodeTiming *timed)
{
	double		rows = (double) input->calls;
	bool		in_loop = t->kind == NODE_SAMPLED ? t->in_loop : instr_in_loop(&t->instr);

	if (plan_works_between(t->node, rows) || (t == timed && plan_works_after(t->node, rows)))
		return true;
	return plan_input_reading(t->node, input->node) == INPUT_READ_TO_END && in_loop &&
		(t->samples == NULL || t->first_calls == t->samples->timed_first);
}

/*
 * Whether a node can have spent a gap: an untimed call has begun since its latest timed one,
 * and no node above explains the gap.
 */
static bool
may_have_spent(const NodeTiming *node, const NodeTiming *t, bool within)
{
	const NodeTiming *above = caller_of(node);

	if (node->samples == NULL || node->calls - (node == t) <= node->samples->timed_at)
		return false;
	for (const NodeTiming *input = node; above != NULL; input = above, above = caller_of(above))
	{
		if (input->subplan == NULL && explains_gap(above, input, t))
			return false;
		if (within && above == t)
			return true;
	}
	return !within;
}

/*
 * Adds a long gap to each node that may have spent it: an untimed call of the node may have
 * been long, or the process was stopped.
 */
void
query_note_gap(QueryTiming *query, const NodeTiming *t, bool within, double ticks)
{
	for (int id = 0; id < query->nnodes; id++)
	{
		NodeTiming *node = query->nodes[id];
		int			gap;

		if (node == NULL || !may_have_spent(node, t, within))
			continue;
		gap = Max(node->samples->first.policy.gap, node->samples->later.policy.gap);
		node->samples->hidden_ticks += ticks;
		node->samples->hidden_chance += gap > 0 ? 1.0 / gap : 0;
	}
}

void
query_timing_ran(QueryTiming *query)
{
	NodeTiming *root = query->root;

	query->ran_ticks = now_ticks();
	(void) query_end_gap(query, NULL, false, query->ran_ticks);
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
	query->ran_ticks = query->last_reading = now;
	query->in_parts |= again;

	/* a cursor may have been rewound, or the plan explained */
	if (query_was_read(query))
	{
		query->rewound = again && (query->desc->estate->es_top_eflags & EXEC_FLAG_REWIND) != 0;
		if (query->rewound)
			instr_begin_loop(&query->root->instr);
		else
			query_restore_loops(query, NULL);
	}
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
