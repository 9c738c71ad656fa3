/*-------------------------------------------------------------------------
 *
 * plan_record.c
 *	  From what was counted and timed to the estimates of a plan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "explain/call_samples.h"
#include "explain/plan_attach.h"
#include "explain/plan_record.h"

/* Rows that a node has returned. */
static double
returned_rows(const NodeTiming *t)
{
	return (double) (t->calls - (t->reading == INPUT_READ_TO_END ? t->first_calls : t->ends));
}

static double
loops_of(const NodeTiming *t)
{
	if (t->reading == INPUT_ENDED_BY_MATCH)
		return returned_rows(query_node(t->query, outerPlanState(t->parent->node)));
	return (double) t->first_calls - t->calls_again;
}

/* All of the node's calls were timed by the server. */
static void
record_server_times(const InstrCounts *counts, int64 calls, NodeRecord *record)
{
	record->calls = record->timed = calls;
	record->rows = counts->rows;
	record->loops = counts->loops;
}

static void
record_samples(NodeTiming *t, const InstrCounts *counts, const Preempted *others, NodeRecord *record)
{
	double		scale = query_ns_per_tick(t->query);
	CallSeries	drawn = end_samples(t);
	const CallClass *first = &t->samples->first;
	double		known_ns = scale * (t->known + drawn.measured);
	double		drawn_ns = scale * (drawn.total - drawn.measured);
	double		first_ns = scale * first->all_timed_sum;

	record->calls = t->calls;
	record->timed = first->all_timed + t->samples->later.all_timed + drawn.timed;
	record->rows = returned_rows(t);
	/* those that a foreign server has changed without handing them out */
	if (plan_shape(t->node)->counts_rows)
		record->rows += instr_own_rows(&t->instr);
	record->loops = loops_of(t);
	record->removed[0] = counts->removed[0];
	record->removed[1] = counts->removed[1];
	if (first->drawn.timed > 0)
		first_ns += scale * first->drawn_sum *
			(double) first->drawn.calls / (double) first->drawn.timed;
	if (t->reading == INPUT_ENDED_BY_MATCH && t->calls > 0)
		first_ns += (known_ns + drawn_ns * (1 + others->share)) *
			Min(record->loops / (double) t->calls, 1);
	record_add_times(record, (double) t->calls, record->loops, known_ns, drawn_ns,
					 scale * scale * drawn.variance, first_ns, t->query->cost.inside_ns, others);
}

/*
 * A node of which no call came to a wrapper.  The server has called and timed it:
 * in a parallel Hash Join, whose function it has exchanged and which returned
 * nothing in its first call, and where another extension has put the server's
 * function in place of the wrapper.
 */
static void
record_server_calls(const NodeTiming *t, InstrCounts counts, NodeRecord *record)
{
	InstrCounts worker;

	/* the server has added its workers to its own */
	for (int i = 0; instr_of_worker(t->node, i, &worker); i++)
	{
		counts.rows -= worker.rows;
		counts.loops -= worker.loops;
		counts.total_ns -= worker.total_ns;
		counts.first_ns -= worker.first_ns;
	}
	if (counts.loops <= 0)
		return;
	record_server_times(&counts, (int64) (counts.rows + counts.loops), record);
	record->total_ns = counts.total_ns;
	record->first_ns = counts.first_ns;
}

void
record_node(NodeTiming *t, NodeRecord *record)
{
	const QueryTiming *query = t->query;
	Preempted	others = query_preempted(query);
	bool		in_loop = instr_in_loop(&t->instr);
	InstrCounts counts;

	if (in_loop)
		end_loop(t);
	counts = instr_end(&t->instr);
	if (t->kind == NODE_WHOLE)
	{
		record_server_times(&counts, (int64) counts.loops, record);
		record_add_times(record, counts.loops, counts.loops, counts.total_ns, 0, 0,
						 counts.total_ns, query->cost.whole_ns, &others);
	}
	else if (t->begun)
		record_samples(t, &counts, &others, record);
	else
		record_server_calls(t, counts, record);
}

void
record_add(NodeRecord *sum, const NodeRecord *record)
{
	sum->calls += record->calls;
	sum->timed += record->timed;
	sum->rows += record->rows;
	sum->loops += record->loops;
	sum->total_ns += record->total_ns;
	sum->first_ns += record->first_ns;
	sum->variance += record->variance;
	sum->removed[0] += record->removed[0];
	sum->removed[1] += record->removed[1];
}

/*
 * Where the server itself counts, it has added up its workers by now, which have
 * counted so much.
 */
static void
take_off_worker(const NodeTiming *t, const NodeRecord *worker, NodeRecord *leader)
{
	if (t->kind == NODE_WHOLE)
	{
		leader->calls -= worker->calls;
		leader->timed -= worker->timed;
		leader->rows -= worker->rows;
		leader->loops -= worker->loops;
		leader->total_ns -= worker->total_ns;
		leader->first_ns -= worker->first_ns;
	}
	else if (plan_shape(t->node)->counts_rows)
		leader->rows -= worker->rows;
}

/* Workers in which a node is not timed: what the server has counted there. */
static void
add_untimed_workers(const NodeTiming *t, int nworkers, NodeEstimate *estimate)
{
	bool		timed = estimate->leader.loops > 0;
	InstrCounts counts;

	for (int i = 0; instr_of_worker(t->node, i, &counts); i++)
	{
		NodeRecord	worker = {.rows = counts.rows, .loops = counts.loops};

		if (worker.loops <= 0 || (i < nworkers && estimate->workers[i].loops > 0))
			continue;
		if (t->kind == NODE_WHOLE)
			worker.calls = worker.timed = (int64) worker.loops;
		take_off_worker(t, &worker, &estimate->leader);
		estimate->untimed_rows += worker.rows;
		estimate->untimed_loops += worker.loops;
	}
	for (int i = 0; i < nworkers; i++)
		timed |= estimate->workers[i].loops > 0;
	if (!timed && estimate->untimed_loops > 0)
	{
		estimate->kind = NODE_UNTIMED;
		estimate->leader.rows = estimate->untimed_rows;
		estimate->leader.loops = estimate->untimed_loops;
		estimate->untimed_rows = estimate->untimed_loops = 0;
	}
}

void
record_estimate(NodeTiming *t, int nworkers, const NodeRecord *workers, size_t stride,
				NodeEstimate *estimate)
{
	estimate->id = t->id;
	estimate->parent = t->parent == NULL ? -1 : t->parent->place;
	estimate->gathers = plan_shape(t->node)->gathers;
	estimate->kind = t->kind;
	estimate->read_to_end = is_read_to_end(t);
	estimate->starts_parent = t->parent != NULL && outerPlanState(t->parent->node) == t->node;
	if (t->kind == NODE_UNTIMED)
	{
		if (t->node->instrument != NULL)
		{
			InstrCounts counts = instr_end(t->node->instrument);

			estimate->leader.rows = counts.rows;
			estimate->leader.loops = counts.loops;
		}
		return;
	}
	record_node(t, &estimate->leader);
	if (nworkers > 0)
		estimate->workers = palloc(sizeof(NodeRecord) * nworkers);
	for (int i = 0; i < nworkers; i++)
	{
		estimate->workers[i] = workers[i * stride];
		instr_add_removed(&t->instr, estimate->workers[i].removed);
		if (t->query->desc->instrument_options != 0)
			take_off_worker(t, &estimate->workers[i], &estimate->leader);
	}
	add_untimed_workers(t, nworkers, estimate);
}

/* Of the nodes that scan this CTE the one that has taken longest. */
static int
longest_cte_scan(const QueryTiming *query, const PlanEstimate *plan, const PlanState *cte)
{
	int			longest = -1;

	for (const NodeTiming *t = query->cte_scans; t != NULL; t = t->next_cte_scan)
	{
		if (((const CteScanState *) t->node)->cteplanstate == cte &&
			(longest < 0 || plan->nodes[t->place].leader.total_ns > plan->nodes[longest].leader.total_ns))
			longest = t->place;
	}
	return longest;
}

/*
 * A CTE is called by the nodes that scan it, wherever EXPLAIN shows it.  Of several
 * the one that takes longest is taken to have made all the calls, not the
 * first one, which may have read a single row and left the rest to others.  One
 * that modifies data and may not be read to its end is called again when all
 * is done, which is in no node.
 */
void
record_cte_parents(const QueryTiming *query, PlanEstimate *plan)
{
	for (const NodeTiming *t = query->cte_scans; t != NULL; t = t->next_cte_scan)
	{
		const PlanState *cte = ((const CteScanState *) t->node)->cteplanstate;
		const NodeTiming *called = cte == NULL ? NULL : query_node(query, cte);
		const NodeTiming *only_scan;

		CHECK_FOR_INTERRUPTS();
		if (called == NULL)
			continue;
		only_scan = only_cte_scan(query, cte);
		if (IsA(cte, ModifyTableState) && (only_scan == NULL || only_scan->reading != INPUT_READ_TO_END))
			plan->nodes[called->place].parent = -1;
		else
			plan->nodes[called->place].parent = longest_cte_scan(query, plan, cte);
	}
}

/*
 * What comes before the root's first call and after its last, as far as these were
 * timed, which is where workers end and triggers fire; and what is between its
 * calls.
 */
void
record_outside(const QueryTiming *query, PlanEstimate *plan)
{
	const OutsideCalls *outside = &query->outside;
	double		scale = query_ns_per_tick(query);
	double		calls = (double) query->root->calls;
	double		n = (double) outside->n;
	double		ends = (double) (query->stop_ticks - query->ran_ticks);
	double		mean;
	double		square;

	if (outside->first_ticks > query->start_ticks)
		ends += (double) (outside->first_ticks - query->start_ticks);
	ends += outside->ends;
	plan->outside_ns = (ends + outside->long_sum) * scale;
	plan->outside_variance = 0;
	if (n < 1 || calls < 2)
		return;
	mean = outside->sum / n;
	square = n < 2 ? mean * mean : Max(outside->sum_sq - n * mean * mean, 0) / (n - 1);
	plan->outside_ns += Max((mean * scale - query->cost.outside_ns) * (calls - 1), 0) *
		(1 + query_preempted(query).share);
	plan->outside_variance = calls * calls * square * scale * scale / n +
		pow(query->cost.margin_ns / 2 * calls, 2);
}
