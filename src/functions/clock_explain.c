/*-------------------------------------------------------------------------
 *
 * clock_explain.c
 *	  EXPLAIN ANALYZE without its own weight: clock_explain(),
 *	  clock_explain_text() and clock_explain_json().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "executor/instrument.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"

#include "clock/progress.h"
#include "clock/source.h"
#include "compat.h"
#include "core/reference.h"
#include "explain/explain_output.h"
#include "explain/node_timing.h"
#include "explain/plan_run.h"
#include "functions/args.h"
#include "functions/row.h"

PG_FUNCTION_INFO_V1(clock_explain);
PG_FUNCTION_INFO_V1(clock_explain_text);
PG_FUNCTION_INFO_V1(clock_explain_json);

typedef enum ExplainMethod
{
	METHOD_SAMPLING,
	METHOD_FULL,
	METHOD_ISOLATE
} ExplainMethod;

/* Of two runs that should be alike, one that takes so much longer does not count. */
#define DISTURBED	1.25

static const char *const method_names[] = {
	[METHOD_SAMPLING] = "sampling",
	[METHOD_FULL] = "full",
	[METHOD_ISOLATE] = "isolate",
};

/* What was measured of a node, apart from the run that tells the rest. */
typedef struct MeasuredNode
{
	NodeRecord	leader;
	int			nworkers;
	NodeRecord *workers;
} MeasuredNode;

/* One call of a function, and what comes of it. */
typedef struct Explained
{
	ExecutorQuery *query;
	ExplainMethod method;
	int			sampling;
	bool		with_output;	/* "output" is wanted ... */
	ExplainFormat format;		/* ... in this format */

	PlanNodeInfo *nodes;
	int			nnodes;
	PlanEstimate *plan;
	double	   *removed_ns;		/* by place in plan; NULL: does not apply */
	double		planning_ms;
	double		plain_ms;		/* NaN if not measured; full: of the runs
								 * around the timed one */
	char	   *output;

	/* while it runs */
	NodeTimingOptions options;
	QueryTiming *timing;
	MeasuredNode *measured;		/* full and isolate: by plan_node_id */
	int			nmeasured;
	double		full_ms;		/* full: the run timed by the server */
} Explained;

/* What is wanted of the run that tells all, as it ends. */
static void
put_output(QueryDesc *desc, Explained *explained)
{
	TimedPlan	timed = {
		.estimate = explained->plan,
		.method = method_names[explained->method],
		.sampling = explained->method == METHOD_SAMPLING ? explained->sampling : 0,
		.planning_ms = explained->planning_ms,
		.plain_ms = explained->plain_ms
	};

	if (explained->with_output)
		explained->output = explain_output(desc, &timed, explained->format);
	else
		explained->nodes = explain_nodes(desc, &explained->nnodes);
}

static void
timed_started(QueryDesc *desc, void *arg)
{
	Explained  *explained = arg;

	explained->timing = node_timing_attach(desc, &explained->options);
	node_timing_start(explained->timing);
}

static void
timed_ran(void *arg)
{
	Explained  *explained = arg;

	node_timing_ran(explained->timing);
}

static void
timed_ended(void *arg)
{
	Explained  *explained = arg;

	node_timing_stop(explained->timing);
}

static void
timed_finished(QueryDesc *desc, void *arg)
{
	Explained  *explained = arg;

	explained->plan = node_timing_detach(explained->timing);
	/* auto_explain may look at it as the execution ends */
	node_timing_show(desc, explained->plan);
}

static void
sampling_finished(QueryDesc *desc, void *arg)
{
	timed_finished(desc, arg);
	put_output(desc, arg);
}

static double
plain_run_ms(const Explained *explained)
{
	ExecutorWatch watch = {0};

	executor_watch(explained->query, &watch);
	return watch.run_ms;
}

/* One run, timed as "options" say. */
static ExecutorWatch
timed_run(Explained *explained, int sampling, int only_node,
		  void (*finished) (QueryDesc *desc, void *arg))
{
	ExecutorWatch watch = {
		.instrument_options = only_node < 0 ? INSTRUMENT_ROWS : 0,
		.started = timed_started,
		.ran = timed_ran,
		.ended = timed_ended,
		.finished = finished,
		.arg = explained
	};

	explained->options.sampling = sampling;
	explained->options.only_node = only_node;
	executor_watch(explained->query, &watch);
	return watch;
}

static void
explain_by_sampling(Explained *explained)
{
	(void) timed_run(explained, explained->sampling, -1, sampling_finished);
}

/* The nodes whose times are to be taken. */
static void
expect_nodes(Explained *explained, QueryDesc *desc)
{
	explained->nodes = explain_list_nodes(desc, &explained->nnodes);
	explained->nmeasured = 0;
	for (int i = 0; i < explained->nnodes; i++)
		explained->nmeasured = Max(explained->nmeasured, explained->nodes[i].id + 1);
	explained->measured = palloc0(sizeof(MeasuredNode) * explained->nmeasured);
}

/* NULL for a node that is not in each of the runs: partitions may be pruned. */
static MeasuredNode *
measured_node(const Explained *explained, int id)
{
	return id >= 0 && id < explained->nmeasured ? &explained->measured[id] : NULL;
}

/* What the server's own instrumentation has counted and timed. */
static NodeRecord
server_record(const CompatNodeInstrumentation *instr)
{
	NodeRecord	record = {
		.total_ns = instr_total_s(instr) * 1e9,
		.first_ns = instr_startup_s(instr) * 1e9,
		.rows = instr->ntuples,
		.loops = instr->nloops
	};

	return record;
}

/* The same of all nodes and processes. */
static bool
take_server_times(PlanState *node, void *context)
{
	MeasuredNode *measured = measured_node(context, node->plan->plan_node_id);

	if (measured != NULL && node->instrument != NULL)
	{
		InstrEndLoop(node->instrument);
		measured->leader = server_record(node->instrument);
	}
	if (measured != NULL && node->worker_instrument != NULL)
	{
		measured->nworkers = node->worker_instrument->num_workers;
		measured->workers = palloc(sizeof(NodeRecord) * measured->nworkers);
		for (int i = 0; i < measured->nworkers; i++)
		{
			NodeRecord *worker = &measured->workers[i];

			/* the server has added its workers to its own */
			*worker = server_record(&node->worker_instrument->instrument[i]);
			measured->leader.total_ns -= worker->total_ns;
			measured->leader.first_ns -= worker->first_ns;
			measured->leader.rows -= worker->rows;
			measured->leader.loops -= worker->loops;
		}
	}
	return planstate_tree_walker(node, take_server_times, context);
}

static void
full_finished(QueryDesc *desc, void *arg)
{
	Explained  *explained = arg;

	expect_nodes(explained, desc);
	(void) take_server_times(desc->planstate, explained);
}

/*
 * The plan with what was measured in place of what the last run, that only
 * counted, says of its nodes.
 */
static PlanEstimate *
measured_plan(const Explained *explained, const PlanEstimate *last)
{
	PlanEstimate *plan = palloc(sizeof(PlanEstimate));

	*plan = *last;
	plan->nodes = palloc0(sizeof(NodeEstimate) * last->nnodes);
	for (int i = 0; i < last->nnodes; i++)
	{
		/* what comes in stays, and what comes out is not there yet */
		const NodeEstimate *counted = &last->nodes[i];
		const MeasuredNode *measured = measured_node(explained, counted->id);
		NodeEstimate *node = &plan->nodes[i];

		node->id = counted->id;
		node->parent = counted->parent;
		node->gathers = counted->gathers;
		node->drained = counted->drained;
		node->kind = counted->kind;
		node->untimed_rows = counted->untimed_rows;
		node->untimed_loops = counted->untimed_loops;
		if (counted->workers != NULL)
			node->workers = palloc0(sizeof(NodeRecord) * last->nworkers);
		if (measured == NULL)
			continue;
		node->leader = measured->leader;
		for (int j = 0; j < Min(last->nworkers, measured->nworkers) && node->workers != NULL; j++)
			node->workers[j] = measured->workers[j];
	}
	node_timing_choose_cte_parents(explained->timing, plan);
	return plan;
}

/*
 * How often the server has timed a node: it does not tell, but the run that
 * counts has called nodes as often, unless workers share them in another way.
 */
static void
put_calls(NodeRecord *record, const NodeEstimate *node, const NodeEstimate *counted)
{
	if (counted != NULL)
		record->calls = counted->leader.calls;
	else if (node->kind == NODE_WHOLE)
		record->calls = (int64) record->loops;
	else						/* a call for each tuple, and one for the end */
		record->calls = (int64) (record->rows + record->loops);
	record->timed = record->calls;
}

/* All of a node's processes together. */
static double
all_processes_ns(const PlanEstimate *plan, const NodeEstimate *node)
{
	double		ns = node->leader.total_ns;

	for (int i = 0; i < plan->nworkers && node->workers != NULL; i++)
		ns += node->workers[i].total_ns;
	return ns;
}

/* In proportion. */
static void
scale_record(NodeRecord *record, double factor)
{
	record->total_ns *= factor;
	record->first_ns *= factor;
}

/*
 * The server's own times, less what timing has cost: as much as the run took
 * longer than plain ones, shared out by calls.  If it did not, the machine was
 * faster just then.
 */
static PlanEstimate *
full_plan(Explained *explained, const PlanEstimate *last)
{
	PlanEstimate *plan = measured_plan(explained, last);
	double		cost_ns = (explained->full_ms - explained->plain_ms) * 1e6;
	double		slower = cost_ns < 0 ? explained->plain_ms / explained->full_ms : 1;
	double		calibrated_ns = 0;
	double		scale;

	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		scale_record(&node->leader, slower);
		put_calls(&node->leader, node, plan->nworkers == 0 ? &last->nodes[i] : NULL);
		for (int j = 0; j < plan->nworkers && node->workers != NULL; j++)
		{
			scale_record(&node->workers[j], slower);
			put_calls(&node->workers[j], node, NULL);
		}
		calibrated_ns += (double) node->leader.timed * plan->cost.server_ns;
	}

	scale = calibrated_ns > 0 ? Max(cost_ns, 0) / calibrated_ns : 0;
	plan->cost.server_ns *= scale;
	plan->cost.whole_ns *= scale;
	plan->cost.timed_ns = plan->cost.server_ns;
	plan->cost.inside_ns = plan->cost.whole_ns;
	plan->cost.error_ns = plan->cost.inside_ns / 2;
	plan->run_ns = explained->full_ms * 1e6 * slower;
	plan->outside_ns = get_float8_nan();
	plan->preempted_ns = 0;		/* that of the other run */

	explained->removed_ns = palloc(sizeof(double) * plan->nnodes);
	for (int i = 0; i < plan->nnodes; i++)
		explained->removed_ns[i] = all_processes_ns(plan, &plan->nodes[i]);
	plan_estimate(plan, palloc(sizeof(double) * 2 * plan->nnodes));
	for (int i = 0; i < plan->nnodes; i++)
		explained->removed_ns[i] -= plan->nodes[i].total_ns;
	plan->run_ns /= slower;
	plan->root_estimate_ns /= slower;
	plan->clock = clock_of_explain();
	return plan;
}

/*
 * The times of runs in each of which one node was timed: nothing else has cost
 * anything.
 */
static PlanEstimate *
isolated_plan(const Explained *explained, const PlanEstimate *last)
{
	PlanEstimate *plan = measured_plan(explained, last);

	plan->cost.timed_ns = 0;
	plan->cost.server_ns = 0;
	plan->cost.counted_ns = 0;
	plan->cost.drained_ns = 0;
	plan->as_it_is = true;
	plan_estimate(plan, palloc(sizeof(double) * 2 * plan->nnodes));
	plan->whole_ns = last->whole_ns;
	plan->root_estimate_ns = plan->nodes[0].total_ns;
	return plan;
}

/* The run that only counts, after all others: everything is known. */
static void
last_finished(QueryDesc *desc, void *arg)
{
	Explained  *explained = arg;

	timed_finished(desc, arg);
	explained->plan = explained->method == METHOD_FULL ?
		full_plan(explained, explained->plan) : isolated_plan(explained, explained->plan);
	put_output(desc, explained);
}

static void
explain_in_full(Explained *explained)
{
	ExecutorWatch watch = {
		.instrument_options = INSTRUMENT_TIMER,
		.finished = full_finished,
		.arg = explained
	};
	double		before_ms = plain_run_ms(explained);
	double		after_ms;

	executor_watch(explained->query, &watch);
	explained->full_ms = watch.run_ms;
	after_ms = plain_run_ms(explained);
	explained->plain_ms = (before_ms + after_ms) / 2;
	/* caches were cold, or one of them was disturbed */
	if (Max(before_ms, after_ms) > DISTURBED * Min(before_ms, after_ms))
		explained->plain_ms = Min(before_ms, after_ms);
	(void) timed_run(explained, 0, -1, last_finished);
}

/* A run in which one node was timed; the first tells which nodes there are. */
static void
isolated_finished(QueryDesc *desc, void *arg)
{
	Explained  *explained = arg;
	MeasuredNode *measured;
	PlanEstimate *plan;
	int			place;
	MemoryContext scratch;
	MemoryContext old;

	/* there are as many of these as nodes */
	scratch = AllocSetContextCreate(CurrentMemoryContext, "clocktiming isolated run",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(scratch);
	plan = node_timing_detach(explained->timing);
	MemoryContextSwitchTo(old);
	if (explained->measured == NULL)
		expect_nodes(explained, desc);
	place = node_estimate_place(plan, explained->options.only_node);
	measured = measured_node(explained, explained->options.only_node);
	if (place >= 0 && measured != NULL)
	{
		const NodeEstimate *node = &plan->nodes[place];

		measured->leader = node->leader;
		if (node->workers != NULL && plan->nworkers > 0)
		{
			Size		size = sizeof(NodeRecord) * plan->nworkers;

			measured->nworkers = plan->nworkers;
			measured->workers = memcpy(palloc(size), node->workers, size);
		}
	}
	MemoryContextDelete(scratch);
}

static void
explain_in_isolation(Explained *explained)
{
	uint64		start = reference_ns();
	Progress	progress;

	progress_start(&progress, "clock_explain", 0);
	(void) timed_run(explained, 1, explained->query->plan->planTree->plan_node_id,
					 isolated_finished);
	for (int i = 1; i < explained->nnodes; i++)
	{
		double		elapsed_s = (reference_ns() - start) / 1e9;

		if (progress_due(&progress, elapsed_s))
		{
			/* there is one more run to come, which times nothing */
			progress.total_s = elapsed_s / i * (explained->nnodes + 1);
			progress_report(&progress, elapsed_s, "%d of %d nodes timed", i, explained->nnodes);
		}
		(void) timed_run(explained, 1, explained->nodes[i].id, isolated_finished);
	}
	(void) timed_run(explained, 0, -1, last_finished);
}

static ExplainMethod
get_method(const char *name)
{
	for (int i = 0; i < (int) lengthof(method_names); i++)
	{
		if (pg_strcasecmp(name, method_names[i]) == 0)
			return (ExplainMethod) i;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown method \"%s\"", name),
			 errhint("Methods are sampling, full and isolate.")));
}

/* What the arguments of all three functions say: they are the same. */
static Explained
explain(FunctionCallInfo fcinfo, bool with_output, ExplainFormat format)
{
	Explained	explained = {.with_output = with_output, .format = format};
	bool		verify;
	uint64		start;

	check_not_null(fcinfo, 0, "query");
	check_not_null(fcinfo, 1, "sampling");
	check_not_null(fcinfo, 2, "method");
	check_not_null(fcinfo, 3, "verify");
	check_not_null(fcinfo, 4, "allow_writes");
	explained.sampling = PG_GETARG_INT32(1);
	if (explained.sampling < 1 || explained.sampling > NODE_SAMPLING_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sampling must be between 1 and %d", NODE_SAMPLING_MAX),
				 errdetail("The number given is %d.", explained.sampling),
				 errhint("One call in so many is timed: 1 times every call, and 64, the default, costs next to nothing.")));
	explained.method = get_method(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	/* a matter of course where the result is anchored to such runs */
	verify = PG_GETARG_BOOL(3) && explained.method != METHOD_FULL;

	/* before it is planned: what runs is to find the caches as it leaves them */
	explained.options.sampling = explained.sampling;
	node_timing_prepare(&explained.options);
	start = reference_ns();
	explained.query = executor_prepare(text_to_cstring(PG_GETARG_TEXT_PP(0)),
									   PG_GETARG_BOOL(4));
	explained.planning_ms = (reference_ns() - start) / 1e6;

	/* one before, one after: what is compared has had the same neighbours */
	explained.plain_ms = get_float8_nan();
	if (verify)
		explained.plain_ms = plain_run_ms(&explained);
	switch (explained.method)
	{
		case METHOD_SAMPLING:
			explain_by_sampling(&explained);
			break;
		case METHOD_FULL:
			explain_in_full(&explained);
			break;
		case METHOD_ISOLATE:
			explain_in_isolation(&explained);
			break;
	}
	if (verify)
	{
		double		after_ms = plain_run_ms(&explained);

		explained.plain_ms = Min(explained.plain_ms, after_ms);
	}
	return explained;
}

static void
put_ms(Row *row, const NodeEstimate *node, double ns)
{
	if (node->kind == NODE_UNTIMED)
		row_put_null(row);
	else
		row_put_number(row, ns / Max(node->processes, 1) / 1e6, 4);
}

static void
put_calls_or_null(Row *row, const NodeEstimate *node, int64 calls)
{
	if (node->kind == NODE_UNTIMED)
		row_put_null(row);
	else
		row_put_count(row, calls);
}

Datum
clock_explain(PG_FUNCTION_ARGS)
{
	static const NodeEstimate never_executed = {.parent = -1};
	Explained	explained = explain(fcinfo, false, EXPLAIN_FORMAT_TEXT);
	PlanEstimate *plan = explained.plan;
	Row			row;

	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	for (int i = 0; i < explained.nnodes; i++)
	{
		const PlanNodeInfo *info = &explained.nodes[i];
		int			place = node_estimate_place(plan, info->id);

		/* partitions may be pruned in one run that are not in another */
		const NodeEstimate *node = place < 0 ? &never_executed : &plan->nodes[place];

		CHECK_FOR_INTERRUPTS();
		row_put(&row, Int32GetDatum(i + 1));
		row_put(&row, Int32GetDatum(info->depth));
		row_put_text(&row, info->line);
		row_put_text(&row, info->type);
		row_put_text(&row, info->relation);
		row_put_count(&row, (int64) rint(node->loops + node->untimed_loops));
		row_put_count(&row, (int64) rint(node->rows + node->untimed_rows));
		put_calls_or_null(&row, node, node->calls);
		put_calls_or_null(&row, node, node->timed);
		put_ms(&row, node, node->total_ns);
		put_ms(&row, node, node->total_error_ns);
		put_ms(&row, node, node->self_ns);
		put_ms(&row, node, node->self_error_ns);
		if (plan->whole_ns > 0 && node->kind != NODE_UNTIMED && !node->self_unknown)
			row_put_number(&row, node->self_ns / Max(node->processes, 1) /
						   plan->whole_ns * 100, 4);
		else
			row_put_null(&row);
		if (explained.removed_ns != NULL)
			put_ms(&row, node, place < 0 ? 0 : explained.removed_ns[place]);
		else
			row_put_null(&row);
		row_put_text(&row, explain_mark(node));
		if (i == 0)
		{
			row_put_number(&row, plan->root_estimate_ns / 1e6, 4);
			row_put_number(&row, plan->run_ns / 1e6, 4);
			row_put_number(&row, explained.plain_ms, 4);
		}
		else
		{
			row_put_null(&row);
			row_put_null(&row);
			row_put_null(&row);
		}
		row_to_set(&row, fcinfo);
	}
	return (Datum) 0;
}

Datum
clock_explain_text(PG_FUNCTION_ARGS)
{
	Explained	explained = explain(fcinfo, true, EXPLAIN_FORMAT_TEXT);
	char	   *line = explained.output;
	Row			row;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	row = row_of_set(fcinfo);
	while (*line != '\0')
	{
		Size		length = strcspn(line, "\n");

		row_put_text(&row, pnstrdup(line, length));
		row_to_set(&row, fcinfo);
		line += length + (line[length] == '\n');
	}
	return (Datum) 0;
}

Datum
clock_explain_json(PG_FUNCTION_ARGS)
{
	Explained	explained = explain(fcinfo, true, EXPLAIN_FORMAT_JSON);

	PG_RETURN_TEXT_P(cstring_to_text(explained.output));
}
