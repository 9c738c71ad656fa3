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
#include "utils/snapmgr.h"

#include "clock_source.h"
#include "compat.h"
#include "executor.h"
#include "explain_output.h"
#include "node_timing.h"
#include "reference.h"
#include "row.h"

PG_FUNCTION_INFO_V1(clock_explain);
PG_FUNCTION_INFO_V1(clock_explain_text);
PG_FUNCTION_INFO_V1(clock_explain_json);

typedef enum ExplainMethod
{
	METHOD_SAMPLING,
	METHOD_FULL,
	METHOD_ISOLATE
} ExplainMethod;

static const char *const method_names[] = {
	[METHOD_SAMPLING] = "sampling",
	[METHOD_FULL] = "full",
	[METHOD_ISOLATE] = "isolate",
};

/* One call of a function, and what comes of it. */
typedef struct Explained
{
	ExecutorQuery *query;
	ExplainMethod method;
	int			sampling;
	bool		verify;
	bool		with_output;	/* "output" is wanted ... */
	ExplainFormat format;		/* ... in this format */

	PlanNodeInfo *nodes;
	int			nnodes;
	PlanEstimate *plan;
	double	   *removed_ns;		/* by place in plan; NULL: does not apply */
	double		planning_ms;
	double		plain_ms;		/* NaN if not measured */
	char	   *output;

	/* while it runs */
	NodeTimingOptions options;
	QueryTiming *timing;
	PlanEstimate *counted;		/* full: the first run that only counted */
	PlanEstimate *full;
	double		full_ns;
	NodeEstimate *isolated;		/* isolate: by place in plan */
} Explained;

/* What the nodes are, from a query that is started, but not executed. */
static void
get_nodes(Explained *explained)
{
	QueryDesc  *desc;

	PushCopiedSnapshot(GetActiveSnapshot());
	UpdateActiveSnapshotCommandId();
	desc = CreateQueryDesc(explained->query->plan, explained->query->text,
						   GetActiveSnapshot(), InvalidSnapshot, None_Receiver,
						   NULL, NULL, INSTRUMENT_ROWS);
	ExecutorStart(desc, EXEC_FLAG_EXPLAIN_ONLY);
	explained->nodes = explain_nodes(desc, &explained->nnodes);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	PopActiveSnapshot();
}

static PlanEstimate *isolated_plan(Explained *explained, const PlanEstimate *last);
static void last_finished(QueryDesc *desc, void *arg);

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
}

static void
timed_started(QueryDesc *desc, void *arg)
{
	Explained  *explained = arg;

	compat_time_triggers(desc);
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

/* What the server's own instrumentation has counted and timed. */
static void
server_record(const CompatNodeInstrumentation *instr, NodeKind kind, NodeRecord *record)
{
	memset(record, 0, sizeof(NodeRecord));
	record->total_ns = instr_total_s(instr) * 1e9;
	record->first_ns = instr_startup_s(instr) * 1e9;
	record->rows = instr->ntuples;
	record->loops = instr->nloops;
	/* once for each tuple and once more for the end, as a rule */
	record->calls = (int64) (kind == NODE_WHOLE ? instr->nloops :
							 instr->ntuples + instr->nloops);
	record->timed = record->calls;
}

/* The same of all nodes and processes. */
static bool
take_server_times(PlanState *node, void *context)
{
	PlanEstimate *plan = context;
	NodeEstimate *estimate = node_timing_estimate(plan, node);

	if (estimate != NULL && node->instrument != NULL)
	{
		InstrEndLoop(node->instrument);
		server_record(node->instrument, estimate->kind, &estimate->leader);
		for (int i = 0; i < plan->nworkers && estimate->workers != NULL; i++)
		{
			NodeRecord *worker = &estimate->workers[i];
			NodeRecord *leader = &estimate->leader;

			memset(worker, 0, sizeof(NodeRecord));
			if (node->worker_instrument == NULL ||
				i >= node->worker_instrument->num_workers)
				continue;
			/* the server has added its workers to its own */
			server_record(&node->worker_instrument->instrument[i], estimate->kind, worker);
			leader->total_ns -= worker->total_ns;
			leader->first_ns -= worker->first_ns;
			leader->rows -= worker->rows;
			leader->loops -= worker->loops;
			leader->calls -= worker->calls;
			leader->timed -= worker->timed;
		}
	}
	return planstate_tree_walker(node, take_server_times, context);
}

static void
full_finished(QueryDesc *desc, void *arg)
{
	Explained  *explained = arg;

	(void) take_server_times(desc->planstate, explained->plan);
}

/* What all that was timed would have cost at the calibrated cost. */
static double
calibrated_overhead_ns(const PlanEstimate *plan)
{
	double		ns = 0;

	for (int i = 0; i < plan->nnodes; i++)
	{
		const NodeEstimate *node = &plan->nodes[i];

		ns += (double) node->leader.timed * plan->cost.server_ns;
	}
	return ns;
}

/*
 * The server's own times, less what timing has cost: as much as the run took
 * longer than runs that only counted, shared out by calls.
 */
static void
correct_full(Explained *explained, const PlanEstimate *first, const PlanEstimate *last,
			 double run_ns)
{
	PlanEstimate *plan = explained->plan;
	double		counted_ns = (first->run_ns - first->overhead_ns +
							  last->run_ns - last->overhead_ns) / 2;
	double		calibrated_ns;
	double		scale;

	/* the server cannot tell how often a node was called, but counting can */
	for (int i = 0; i < plan->nnodes && plan->nworkers == 0; i++)
		plan->nodes[i].leader.calls = plan->nodes[i].leader.timed = last->nodes[i].leader.calls;

	calibrated_ns = calibrated_overhead_ns(plan);
	scale = calibrated_ns > 0 ? Max(run_ns - counted_ns, 0) / calibrated_ns : 0;
	plan->cost.server_ns *= scale;
	plan->cost.whole_ns *= scale;
	plan->cost.timed_ns = plan->cost.server_ns;
	plan->cost.inside_ns = plan->cost.whole_ns;
	plan->cost.error_ns = plan->cost.inside_ns / 2;
	plan->run_ns = run_ns;
	plan->outside_ns = get_float8_nan();

	explained->removed_ns = palloc(sizeof(double) * plan->nnodes);
	for (int i = 0; i < plan->nnodes; i++)
	{
		double		ns = plan->nodes[i].leader.total_ns;

		for (int j = 0; j < plan->nworkers && plan->nodes[i].workers != NULL; j++)
			ns += plan->nodes[i].workers[j].total_ns;
		explained->removed_ns[i] = ns;
	}
	plan_estimate(plan, palloc(sizeof(double) * 2 * plan->nnodes));
	for (int i = 0; i < plan->nnodes; i++)
		explained->removed_ns[i] -= plan->nodes[i].total_ns;
	plan->clock = clock_of_explain();
}

static PlanEstimate *
copy_of_plan(const PlanEstimate *plan)
{
	PlanEstimate *copy = palloc(sizeof(PlanEstimate));

	*copy = *plan;
	copy->nodes = palloc(sizeof(NodeEstimate) * plan->nnodes);
	for (int i = 0; i < plan->nnodes; i++)
	{
		/* what comes in stays, and what comes out is not there yet */
		const NodeEstimate *node = &plan->nodes[i];

		memset(&copy->nodes[i], 0, sizeof(NodeEstimate));
		copy->nodes[i].id = node->id;
		copy->nodes[i].parent = node->parent;
		copy->nodes[i].gathers = node->gathers;
		copy->nodes[i].drained = node->drained;
		copy->nodes[i].kind = node->kind;
		copy->nodes[i].leader = node->leader;
		copy->nodes[i].workers = node->workers;
	}
	return copy;
}

static void
explain_in_full(Explained *explained)
{
	ExecutorWatch watch = {
		.instrument_options = INSTRUMENT_TIMER,
		.finished = full_finished,
		.arg = explained
	};
	PlanEstimate *first;

	(void) timed_run(explained, 0, -1, timed_finished);
	first = explained->plan;
	explained->plan = copy_of_plan(first);
	executor_watch(explained->query, &watch);
	explained->full = explained->plan;
	explained->counted = first;
	explained->full_ns = watch.run_ms * 1e6;
	(void) timed_run(explained, 0, -1, last_finished);
}

/* The run that only counts, after all others: everything is known. */
static void
last_finished(QueryDesc *desc, void *arg)
{
	Explained  *explained = arg;
	PlanEstimate *last;

	timed_finished(desc, arg);
	last = explained->plan;
	if (explained->method == METHOD_FULL)
	{
		explained->plan = explained->full;
		correct_full(explained, explained->counted, last, explained->full_ns);
	}
	else
		explained->plan = isolated_plan(explained, last);
	put_output(desc, explained);
}

/*
 * The times of runs in each of which one node was timed: nothing else has cost
 * anything.
 */
static PlanEstimate *
isolated_plan(Explained *explained, const PlanEstimate *last)
{
	PlanEstimate *plan = copy_of_plan(last);

	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		node->leader = explained->isolated[i].leader;
		node->workers = explained->isolated[i].workers;
	}
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

static void
explain_in_isolation(Explained *explained)
{
	explained->isolated = palloc0(sizeof(NodeEstimate) * explained->nnodes);
	for (int i = 0; i < explained->nnodes; i++)
	{
		(void) timed_run(explained, 1, explained->nodes[i].id, timed_finished);
		for (int j = 0; j < explained->plan->nnodes; j++)
		{
			if (explained->plan->nodes[j].id == explained->nodes[i].id)
				explained->isolated[j] = explained->plan->nodes[j];
		}
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
	double		first_plain_ms = get_float8_nan();
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
	explained.verify = PG_GETARG_BOOL(3);

	/* before it is planned: what runs is to find the caches as it leaves them */
	explained.options.sampling = explained.sampling;
	node_timing_prepare(&explained.options);
	start = reference_ns();
	explained.query = executor_prepare(text_to_cstring(PG_GETARG_TEXT_PP(0)),
									   PG_GETARG_BOOL(4));
	explained.planning_ms = (reference_ns() - start) / 1e6;

	/* one before, one after: what is compared has had the same neighbours */
	if (explained.verify)
		first_plain_ms = plain_run_ms(&explained);
	explained.plain_ms = first_plain_ms;
	switch (explained.method)
	{
		case METHOD_SAMPLING:
			explain_by_sampling(&explained);
			get_nodes(&explained);
			break;
		case METHOD_FULL:
			get_nodes(&explained);
			explain_in_full(&explained);
			break;
		case METHOD_ISOLATE:
			get_nodes(&explained);
			explain_in_isolation(&explained);
			break;
	}
	if (explained.verify)
		explained.plain_ms = Min(first_plain_ms, plain_run_ms(&explained));
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
put_count_or_null(Row *row, const NodeEstimate *node, double count)
{
	if (node->kind == NODE_UNTIMED)
		row_put_null(row);
	else
		row_put_count(row, (int64) rint(count));
}

Datum
clock_explain(PG_FUNCTION_ARGS)
{
	Explained	explained = explain(fcinfo, false, EXPLAIN_FORMAT_TEXT);
	PlanEstimate *plan = explained.plan;
	Row			row;

	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	for (int i = 0; i < explained.nnodes; i++)
	{
		const PlanNodeInfo *info = &explained.nodes[i];
		int			place = node_estimate_place(plan, info->id);
		const NodeEstimate *node;

		if (place < 0)
			elog(ERROR, "plan node %d has not been timed", info->id);
		node = &plan->nodes[place];
		row_put(&row, Int32GetDatum(i + 1));
		row_put(&row, Int32GetDatum(info->depth));
		row_put_text(&row, info->line);
		row_put_text(&row, info->type);
		row_put_text(&row, info->relation);
		put_count_or_null(&row, node, node->loops);
		put_count_or_null(&row, node, node->rows);
		put_count_or_null(&row, node, (double) node->calls);
		put_count_or_null(&row, node, (double) node->timed);
		put_ms(&row, node, node->total_ns);
		put_ms(&row, node, node->total_error_ns);
		put_ms(&row, node, node->self_ns);
		put_ms(&row, node, node->self_error_ns);
		if (plan->whole_ns > 0 && node->kind != NODE_UNTIMED)
			row_put_number(&row, node->self_ns / Max(node->processes, 1) /
						   plan->whole_ns * 100, 4);
		else
			row_put_null(&row);
		if (explained.removed_ns != NULL)
			put_ms(&row, node, explained.removed_ns[place]);
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
