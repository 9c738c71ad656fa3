/*
 * The method "full" times all nodes in one execution, "isolate" each node in an execution of its
 * own.  A last execution then only counts calls, and provides all figures that are not times.
 */
#include "postgres.h"

#include <math.h>

#include "executor/instrument.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "clock/progress.h"
#include "clock/source.h"
#include "explain/explain_query.h"
#include "explain/plan_record.h"

/* Ratio of the durations of two plain runs above which the longer run is ignored. */
#define DISTURBED	1.25

const char *const explain_methods[N_EXPLAIN_METHODS] = {
	[METHOD_SAMPLING] = "sampling",
	[METHOD_FULL] = "full",
	[METHOD_ISOLATE] = "isolate",
};

typedef struct MeasuredNode
{
	bool		there;			/* the node is in the first run's plan */
	NodeRecord	leader;
	int			nworkers;
	NodeRecord *workers;
} MeasuredNode;

static double
run_plain_ms(const ExplainedQuery *explained)
{
	PlanObserver nobody = {0};

	return plan_run(explained->query, &nobody);
}

/* Executes the query with wrappers that count all calls: as the last run, or as one of a series. */
static void
run_last(ExplainedQuery *explained, int sampling, void (*finished) (QueryDesc *desc, void *arg))
{
	explained->run.options = explained->options;
	explained->run.options.sampling = sampling;
	explained->run.options.only_node = -1;

	/* in a series, only the last run's estimates must outlive the run */
	explained->run.context =
		explained->series.runs + 1 < explained->runs ? NULL : CurrentMemoryContext;
	explained->run.finished = finished;
	explained->run.arg = explained;
	sampled_run(explained->query, &explained->run);
}

static void
sampling_finished(QueryDesc *desc, void *arg)
{
	ExplainedQuery *explained = arg;

	if (explained->runs > 1)
	{
		run_series_add(&explained->series, explained->run.plan);
		if (explained->series.runs < explained->runs)
			return;
		run_series_put(&explained->series, explained->run.plan);
		node_timing_show(desc, explained->run.plan);
	}
	explained->plan = explained->run.plan;
	explained->finished(desc, explained->arg);
}

/* Executes the query several times.  "plan" becomes the last run's plan with means of all runs. */
static void
explain_series(ExplainedQuery *explained)
{
	double		plain_ms = 0;
	Progress	progress;

	explained->series.context = CurrentMemoryContext;
	progress_start(&progress, "clock_explain", 0);
	for (int run = 1; run <= explained->runs; run++)
	{
		double		elapsed_s = progress_elapsed_s(&progress);

		if (run > 1 && progress_due(&progress, elapsed_s))
		{
			progress.total_s = elapsed_s / (run - 1) * explained->runs;
			progress_report(&progress, elapsed_s, "%d of %d runs done", run - 1, explained->runs);
		}
		if (explained->verify)
		{
			plain_ms += run_plain_ms(explained);
			explained->plain_ms = plain_ms / run;
		}
		run_last(explained, explained->options.sampling, sampling_finished);
	}
}

/* Returns a node's measured times.  NULL if the node was pruned in the first run. */
static MeasuredNode *
measured_node(const ExplainedQuery *explained, int id)
{
	return id >= 0 && id < explained->nmeasured && explained->measured[id].there ?
		&explained->measured[id] : NULL;
}

/* Replaces the last run's times by those of earlier runs; clears figures derived from times. */
static PlanEstimate *
put_measured(ExplainedQuery *explained)
{
	PlanEstimate *plan = explained->plan = explained->run.plan;

	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];
		const MeasuredNode *measured = measured_node(explained, node->id);
		NodeEstimate counted = *node;

		*node = (NodeEstimate)
		{
			.id = counted.id, .parent = counted.parent, .gathers = counted.gathers,
				.read_to_end = counted.read_to_end, .starts_parent = counted.starts_parent,
				.is_shared = counted.is_shared, .kind = counted.kind,
				.untimed_rows = counted.untimed_rows, .untimed_loops = counted.untimed_loops
		};
		if (counted.workers != NULL)
			node->workers = palloc0(sizeof(NodeRecord) * plan->nworkers);
		if (measured == NULL)
			continue;
		node->leader = measured->leader;
		for (int j = 0; j < Min(plan->nworkers, measured->nworkers) && node->workers != NULL; j++)
			node->workers[j] = measured->workers[j];

		/* from the last run, because the server does not count calls */
		if (explained->method == METHOD_FULL && plan->nworkers == 0)
			node->leader.calls = counted.leader.calls;
	}
	return plan;
}

static void
isolated_finished(QueryDesc *desc, void *arg)
{
	ExplainedQuery *explained = arg;
	const PlanEstimate *plan = explained->run.plan;
	int			id = explained->run.options.only_node;
	const NodeEstimate *node = node_estimate(plan, id);
	MeasuredNode *measured;

	(void) desc;
	if (explained->measured == NULL)
	{
		explained->nmeasured = plan->nids;
		explained->measured = palloc0(sizeof(MeasuredNode) * plan->nids);
		for (int i = 0; i < plan->nids; i++)
			explained->measured[i].there = plan->places[i] >= 0;
	}
	measured = measured_node(explained, id);
	if (node == NULL || measured == NULL)
		return;
	measured->leader = node->leader;
	if (node->workers == NULL)
		return;
	measured->nworkers = plan->nworkers;
	measured->workers = palloc(sizeof(NodeRecord) * plan->nworkers);
	memcpy(measured->workers, node->workers, sizeof(NodeRecord) * plan->nworkers);
}

static void
run_isolated(ExplainedQuery *explained, int id)
{
	explained->run = (SampledRun)
	{
		.options =
		{
			.sampling = 1, .only_node = id, .max_overhead = explained->options.max_overhead
		},
			.finished = isolated_finished, .arg = explained
	};
	sampled_run(explained->query, &explained->run);
}

/* Callback of the last run.  The cost of timing is 0, because each run timed only one node. */
static void
isolated_last(QueryDesc *desc, void *arg)
{
	ExplainedQuery *explained = arg;
	double		whole_ns = explained->run.plan->whole_ns;
	PlanEstimate *plan = put_measured(explained);

	plan->cost.timed_ns = 0;
	plan->cost.server_ns = 0;
	plan->cost.counted_ns = 0;
	plan->cost.unseen_ns = 0;
	plan->besides_ns = 0;
	plan->as_it_is = true;
	plan->whole_ns = whole_ns;
	plan_estimate(plan);
	plan->root_estimate_ns = plan->nodes[0].total_ns;
	explained->finished(desc, explained->arg);
}

static void
explain_isolated(ExplainedQuery *explained)
{
	int			root = explained->query->plan->planTree->plan_node_id;
	int			nnodes = 0;
	int			done = 1;
	Progress	progress;

	progress_start(&progress, "clock_explain", 0);
	run_isolated(explained, root);
	for (int id = 0; id < explained->nmeasured; id++)
		nnodes += explained->measured[id].there;
	for (int id = 0; id < explained->nmeasured; id++)
	{
		double		elapsed_s = progress_elapsed_s(&progress);

		if (id == root || !explained->measured[id].there)
			continue;
		if (progress_due(&progress, elapsed_s))
		{
			/* plus the last run, which only counts */
			progress.total_s = elapsed_s / done * (nnodes + 1);
			progress_report(&progress, elapsed_s, "%d of %d nodes timed", done, nnodes);
		}
		run_isolated(explained, id);
		done++;
	}
	run_last(explained, 0, isolated_last);
}

static bool
take_server_times(PlanState *node, void *context)
{
	MeasuredNode *measured = &((ExplainedQuery *) context)->measured[node->plan->plan_node_id];

	measured->there = true;
	if (node->instrument != NULL)
		measured->leader = instr_end(node->instrument);
	measured->nworkers = instr_nworkers(node);
	measured->workers = palloc0(sizeof(NodeRecord) * measured->nworkers);
	/* the server has added the workers' counts to the leader's */
	for (int i = 0; instr_of_worker(node, i, &measured->workers[i]); i++)
		record_add(&measured->leader, &measured->workers[i], -1);
	return planstate_tree_walker(node, take_server_times, context);
}

static void
full_finished(QueryDesc *desc, void *arg)
{
	ExplainedQuery *explained = arg;

	explained->nmeasured = plan_node_ids(desc);
	explained->measured = palloc0(sizeof(MeasuredNode) * explained->nmeasured);
	(void) take_server_times(desc->planstate, arg);
}

/*
 * Multiplies a process's times by "slower".  If the number of timed calls is not known, sets it to
 * one per tuple and one for each loop's end.  For NODE_WHOLE, called once per loop, sets it to the
 * number of loops.
 */
static void
put_server_record(NodeRecord *record, double slower, NodeKind kind)
{
	record->total_ns *= slower;
	record->first_ns *= slower;
	if (record->calls == 0)
		record->calls = (int64) ((kind == NODE_WHOLE ? 0 : record->rows) + record->loops);
	record->timed = record->calls;
}

/*
 * Callback of the last run: subtracts the cost of timing from the server's times.  The cost is the
 * timed run's duration minus that of plain runs, distributed among the nodes by their calls.  If
 * the timed run was shorter than plain runs, the machine was faster during it.  Then times are
 * scaled to the plain runs.
 */
static void
full_last(QueryDesc *desc, void *arg)
{
	ExplainedQuery *explained = arg;
	double		cost_ns = (explained->full_ms - explained->plain_ms) * 1e6;
	double		slower = cost_ns < 0 ? explained->plain_ms / explained->full_ms : 1;
	double		calibrated_ns = 0;
	double		scale;
	PlanEstimate *plan = put_measured(explained);

	explained->removed_ns = palloc(sizeof(double) * plan->nnodes);
	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		put_server_record(&node->leader, slower, node->kind);
		calibrated_ns += (double) node->leader.timed * plan->cost.server_ns;
		explained->removed_ns[i] = node->leader.total_ns;
		for (int j = 0; j < plan->nworkers && node->workers != NULL; j++)
		{
			put_server_record(&node->workers[j], slower, node->kind);
			explained->removed_ns[i] += node->workers[j].total_ns;
		}
	}

	scale = calibrated_ns > 0 ? Max(cost_ns, 0) / calibrated_ns : 0;
	plan->cost.server_ns *= scale;
	plan->cost.whole_ns *= scale;
	plan->cost.timed_ns = plan->cost.server_ns;
	plan->cost.inside_ns = plan->cost.whole_ns;
	plan->run_ns = explained->full_ms * 1e6 * slower;
	plan->outside_ns = NAN;
	plan->preempted_ns = plan->slept_ns = plan->besides_ns = 0; /* unknown for the timed
																 * run */
	plan_estimate(plan);
	for (int i = 0; i < plan->nnodes; i++)
		explained->removed_ns[i] -= plan->nodes[i].total_ns;
	plan->run_ns /= slower;
	plan->root_estimate_ns /= slower;
	plan->clock = clock_of_explain();
	explained->finished(desc, explained->arg);
}

static void
explain_full(ExplainedQuery *explained)
{
	PlanObserver observer = {
		.instrument_options = INSTRUMENT_TIMER,
		.after_finish = full_finished,
		.arg = explained
	};
	double		before_ms = run_plain_ms(explained);
	double		after_ms;

	explained->full_ms = plan_run(explained->query, &observer);
	after_ms = run_plain_ms(explained);
	explained->plain_ms = (before_ms + after_ms) / 2;
	/* caches were cold in the first run, or one of the runs was disturbed */
	if (Max(before_ms, after_ms) > DISTURBED * Min(before_ms, after_ms))
		explained->plain_ms = Min(before_ms, after_ms);
	run_last(explained, 0, full_last);
}

void
explain_query(ExplainedQuery *explained)
{
	/* METHOD_FULL always executes plain runs */
	bool		verify = explained->verify && explained->method != METHOD_FULL;

	if (explained->runs > 1)
	{
		explained->plain_ms = NAN;
		explain_series(explained);
		return;
	}

	/* plain runs before and after, because the load may change meanwhile */
	explained->plain_ms = verify ? run_plain_ms(explained) : NAN;
	if (explained->method == METHOD_FULL)
		explain_full(explained);
	else if (explained->method == METHOD_ISOLATE)
		explain_isolated(explained);
	else
		run_last(explained, explained->options.sampling, sampling_finished);
	if (verify)
		explained->plain_ms = fmin(explained->plain_ms, run_plain_ms(explained));
}
