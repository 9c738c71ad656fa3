#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "core/stats.h"
#include "explain/call_samples.h"
#include "explain/plan_record.h"

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

/* Sets a node's counts and times from its timed calls; "record" has the server's counts already. */
static void
record_samples(NodeTiming *t, NodeRecord *record)
{
	double		scale = query_ns_per_tick(t->query);
	CallSeries	drawn = end_samples(t);
	const NodeSamples *samples = t->samples;
	const CallClass *first = &samples->first;
	double		error;
	double		prior = samples->hidden_ticks > 0 ?
		samples->hidden_prior_ticks / samples->hidden_ticks : 0;
	double		share = long_gap_share(prior, samples->long_seen, samples->long_certain,
									   samples->long_expected, &error);
	double		first_ns = scale * (first->all_timed_sum + samples->long_first_ticks);

	record->calls = t->calls;
	record->timed = first->all_timed + samples->later.all_timed + drawn.timed;
	record->rows = returned_rows(t);

	/* adds rows that a foreign server has changed but not returned */
	if (plan_shape(t->node)->counts_rows)
		record->rows += instr_own_rows(&t->instr) - t->shown_rows;
	record->loops = loops_of(t);
	/* if calls_vary, rare long calls are normal, so they are not reported */
	if (!t->calls_vary)
		record->rare_ns = NORMAL_975 * error * scale * drawn.hidden;
	if (first->drawn.timed > 0)
		first_ns += scale * first->drawn_sum *
			(double) first->drawn.calls / (double) first->drawn.timed;
	record->total_ns = scale *
		(t->known + drawn.total + samples->long_ticks + share * drawn.hidden);
	record->variance = scale * scale *
		(drawn.variance + error * error * drawn.hidden * drawn.hidden);
	if (t->reading == INPUT_ENDED_BY_MATCH && t->calls > 0)
		first_ns += record->total_ns * Min(record->loops / (double) t->calls, 1);
	record->first_ns = first_ns;
}

/*
 * Sets the record of a node from the server's times, because its wrapper, the function that
 * replaces ExecProcNode, was never called.  There are two reasons.  The node may be a parallel Hash
 * Join below Gather: for its first call the server replaces the wrapper, and this call returned no
 * tuple.  Or another extension has replaced the wrapper by the server's function.
 */
static void
record_server_calls(const NodeTiming *t, NodeRecord *record)
{
	NodeRecord	worker;

	/* the server has added the workers' counts to the leader's */
	for (int i = 0; instr_of_worker(t->node, i, &worker); i++)
		record_add(record, &worker, -1);
	if (record->loops > 0)
		record->calls = record->timed = (int64) (record->rows + record->loops);
	else
		*record = (NodeRecord)
	{
		0
	};
}

/*
 * Returns a node's time, as measured by the server, without the time in which other processes used
 * the CPU.  If no other node is timed, nothing reads the clock during the node's calls.  Then other
 * processes are assumed to have used the same share of the node's time as of the run.
 */
static double
server_ns(const NodeTiming *t, double ns)
{
	const QueryTiming *query = t->query;
	double		run_ns = query_run_ns(query);

	if (query->only_node >= 0)
		return run_ns > 0 ? ns * (1 - Min(query->preempted_ns / run_ns, 1)) : ns;
	return ns - t->off_ticks * query_ns_per_tick(query);
}

void
record_node(NodeTiming *t, NodeRecord *record)
{
	end_loop(t);
	*record = instr_end(&t->instr);
	if (t->kind == NODE_WHOLE)
	{
		record->calls = record->timed = (int64) record->loops;
		record->total_ns = record->first_ns = server_ns(t, record->total_ns);
	}
	else if (t->begun)
		record_samples(t, record);
	else
		record_server_calls(t, record);
}

void
record_show_counts(QueryTiming *query)
{
	for (int id = 0; id < query->nnodes; id++)
	{
		NodeTiming *t = query->nodes[id];
		NodeTiming	ended;
		double		rows;
		double		loops;

		if (t == NULL || t->kind != NODE_SAMPLED || !t->begun)
			continue;
		ended = *t;
		end_loop(&ended);
		rows = returned_rows(&ended);
		/* the server counts the loops, unless a match ends them */
		loops = t->reading == INPUT_ENDED_BY_MATCH ? loops_of(&ended) : 0;
		instr_add_counts(&t->instr, rows - t->shown_rows, loops - t->shown_loops);
		t->shown_rows = rows;
		t->shown_loops = loops;
	}
}

void
record_add(NodeRecord *sum, const NodeRecord *record, int sign)
{
	sum->calls += sign * record->calls;
	sum->timed += sign * record->timed;
	sum->rows += sign * record->rows;
	sum->loops += sign * record->loops;
	sum->total_ns += sign * record->total_ns;
	sum->first_ns += sign * record->first_ns;
	sum->variance += sign * record->variance;
	sum->removed[0] += sign * record->removed[0];
	sum->removed[1] += sign * record->removed[1];
	sum->part_ns += sign * record->part_ns;
	sum->rare_ns += sign * record->rare_ns;
}

/* Subtracts a worker's counts, which the server has added to the leader's. */
static void
take_off_worker(const NodeTiming *t, const NodeRecord *worker, NodeRecord *leader)
{
	if (t->kind == NODE_WHOLE)
		record_add(leader, worker, -1);
	else if (plan_shape(t->node)->counts_rows)
		leader->rows -= worker->rows;
}

/* Adds the server's counts of workers in which the node was not timed. */
static void
add_untimed_workers(const NodeTiming *t, int nworkers, NodeEstimate *estimate)
{
	bool		timed = estimate->leader.loops > 0;
	NodeRecord	counts;

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

/* Copies the workers' records of a node or, if id >= nnodes, of a use of a shared subplan. */
static void
copy_workers(const QueryTiming *query, int id, int nworkers, const NodeRecord *records,
			 NodeEstimate *estimate)
{
	if (nworkers > 0)
		estimate->workers = palloc(sizeof(NodeRecord) * nworkers);
	for (int i = 0; i < nworkers; i++)
		estimate->workers[i] = records[i * (query->nnodes + query->nparts) + id];
}

void
record_estimate(NodeTiming *t, int nworkers, const NodeRecord *records, NodeEstimate *estimate)
{
	estimate->id = t->id;
	estimate->parent = t->parent == NULL ? -1 : t->parent->place;
	estimate->is_shared = t->is_shared;
	for (const SubplanUse *use = t->query->uses; t->is_shared && use != NULL; use = use->next)
	{
		if (use->subplan == t)
			estimate->parent = use->user->place;
	}
	estimate->gathers = plan_shape(t->node)->gathers;
	estimate->kind = t->kind;
	estimate->read_to_end = !t->seen;
	estimate->starts_parent = t->parent != NULL && outerPlanState(t->parent->node) == t->node;
	if (t->kind == NODE_UNTIMED)
	{
		if (t->node->instrument != NULL)
		{
			NodeRecord	counts = instr_end(t->node->instrument);

			estimate->leader = (NodeRecord)
			{
				.rows = counts.rows, .loops = counts.loops
			};
		}
		return;
	}
	record_node(t, &estimate->leader);
	copy_workers(t->query, t->id, nworkers, records, estimate);
	for (int i = 0; i < nworkers; i++)
	{
		instr_add_removed(&t->instr, estimate->workers[i].removed);
		if (t->query->desc->instrument_options != 0)
			take_off_worker(t, &estimate->workers[i], &estimate->leader);
	}
	add_untimed_workers(t, nworkers, estimate);
}

void
record_part(const SubplanUse *use, double whole_ns, NodeRecord *record)
{
	double		ticks = use->subplan->uses_ticks;

	record->calls = use->calls;
	record->loops = (double) use->first_calls;
	record->part_ns = ticks > 0 ? whole_ns * use->ticks / ticks : NAN;
}

void
record_parts(const QueryTiming *query, const NodeRecord *records, PlanEstimate *plan)
{
	for (const SubplanUse *use = query->uses; use != NULL; use = use->next)
	{
		NodeEstimate *estimate = &plan->nodes[use->place];

		estimate->id = -1;
		estimate->parent = use->user->place;
		estimate->kind = NODE_PART;
		estimate->whole = use->subplan->place;
		estimate->read_to_end = !use->subplan->seen;
		record_part(use, plan->nodes[estimate->whole].leader.total_ns, &estimate->leader);
		copy_workers(query, query->nnodes + use->place - query->nplaces, plan->nworkers, records,
					 estimate);
	}
}

/*
 * Sets the time outside of the root's calls.  It consists of the times between calls; of the time
 * before the first call, if that call was timed; of the time from the last call to the end of
 * ExecutorRun(), if that call was timed; and of ExecutorFinish(), which fires triggers.
 */
void
record_outside(const QueryTiming *query, PlanEstimate *plan)
{
	const OutsideCalls *outside = &query->outside;
	double		scale = query_ns_per_tick(query);
	double		calls = (double) query->root->calls;
	double		n = (double) outside->n;
	double		ends = outside->ends;
	double		mean;
	double		square;

	if (outside->first_ticks > query->start_ticks)
		ends += (double) (outside->first_ticks - query->start_ticks);
	plan->outside_ns = (ends + outside->long_sum) * scale;
	plan->outside_variance = 0;
	plan->besides_ns += 2 * n * query->cost.outside_ns;
	if (n < 1 || calls < 2)
		return;
	mean = outside->sum / n;
	square = n < 2 ? mean * mean : Max(outside->sum_sq - n * mean * mean, 0) / (n - 1);
	plan->outside_ns += Max((mean * scale - query->cost.outside_ns) * (calls - 1), 0);
	plan->outside_variance = calls * calls * square * scale * scale / n +
		pow(COST_UNCERTAINTY / 2 * query->cost.outside_ns * calls, 2);
}
