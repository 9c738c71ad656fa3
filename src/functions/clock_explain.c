/* clock_explain(), clock_explain_text() and clock_explain_json(): EXPLAIN ANALYZE by sampling. */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "core/reference.h"
#include "explain/explain_output.h"
#include "explain/explain_query.h"
#include "functions/args.h"
#include "functions/row.h"

PG_FUNCTION_INFO_V1(clock_explain);
PG_FUNCTION_INFO_V1(clock_explain_text);
PG_FUNCTION_INFO_V1(clock_explain_json);

typedef struct Explained
{
	ExplainedQuery query;
	double		planning_ms;
	bool		with_output;	/* "output" is set, else "nodes" */
	ExplainFormat format;		/* of "output" */
	char	   *output;
	PlanNodeInfo *nodes;
	int			nnodes;
} Explained;

static void
put_output(QueryDesc *desc, void *arg)
{
	Explained  *explained = arg;
	const ExplainedQuery *query = &explained->query;
	TimedPlan	timed = {
		.estimate = query->plan,
		.method = explain_methods[query->method],
		.sampling = query->method == METHOD_SAMPLING ? query->options.sampling : 0,
		.runs = query->runs,
		.planning_ms = explained->planning_ms,
		.plain_ms = query->plain_ms
	};

	if (explained->with_output)
		explained->output = explain_output(desc, &timed, explained->format);
	else
		explained->nodes = explain_nodes(desc, &explained->nnodes);
}

static int
get_runs(int runs, ExplainMethod method)
{
	if (runs < 1 || runs > MAX_RUNS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("runs must be between 1 and %d", MAX_RUNS),
				 errdetail("The number given is %d.", runs)));
	if (runs > 1 && method != METHOD_SAMPLING)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("runs can be given with method sampling only"),
				 errdetail("Method %s executes the query several times by itself.",
						   explain_methods[method]),
				 errhint("Leave out either runs or method.")));
	return runs;
}

/* Executes the query with the arguments, which are the same for all three functions. */
static Explained *
explain(FunctionCallInfo fcinfo, bool with_output, ExplainFormat format)
{
	static const char *const names[] = {
		"query", "sampling", "method", "verify", "allow_writes", "max_overhead"
	};
	Explained  *explained = palloc0(sizeof(Explained));
	ExplainedQuery *query = &explained->query;
	uint64		start;

	for (int i = 0; i < (int) lengthof(names); i++)
		check_not_null(fcinfo, i, names[i]);
	check_not_null(fcinfo, 7, "runs");	/* argument 6, params, may be null */
	query->options.sampling = sampling_check("sampling", PG_GETARG_INT32(1));
	query->options.max_overhead = max_overhead_check("max_overhead", PG_GETARG_FLOAT8(5));
	query->method = arg_choice(fcinfo, 2, "method", explain_methods, N_EXPLAIN_METHODS,
							   "Methods are sampling, full and isolate.");
	query->runs = get_runs(PG_GETARG_INT32(7), query->method);
	query->verify = PG_GETARG_BOOL(3);
	query->finished = put_output;
	query->arg = explained;
	explained->with_output = with_output;
	explained->format = format;

	/*
	 * Prepare before planning: the preparation may measure the cost of timing for a
	 * millisecond, and would thereby evict a finished plan from the CPU's caches.
	 */
	(void) node_timing_prepare(query->options.sampling == 1, false);
	start = reference_ns();
	query->query = plan_query(text_to_cstring(PG_GETARG_TEXT_PP(0)),
							  PG_ARGISNULL(6) ? NULL : PG_GETARG_ARRAYTYPE_P(6),
							  PG_GETARG_BOOL(4));
	explained->planning_ms = (reference_ns() - start) / 1e6;
	explain_query(query);
	return explained;
}

/*
 * Returns a node's note about its share, or NULL.  A node may have taken the most time if the upper
 * limit of its share is not below the lower limit of any other node's.  Shares vary between runs.
 */
static const char *
note_of_share(const PlanEstimate *plan, int runs, const NodeEstimate *node)
{
	double		lower = 1e-4;	/* excludes nodes that were never executed */
	int			n = 0;

	for (int i = 0; i < plan->nnodes; i++)
		lower = fmax(lower, plan->nodes[i].share_percent - plan->nodes[i].share_margin_percent);
	for (int i = 0; i < plan->nnodes; i++)
		n += plan->nodes[i].share_percent + plan->nodes[i].share_margin_percent >= lower;
	if (plan->nnodes < 2 || !(node->share_percent + node->share_margin_percent >= lower))
		return NULL;
	return n > 1 ? "may have taken the most time" :
		runs > 1 ? "took the most time" : "took the most time in this run";
}

/*
 * Returns a node's notes, separated by commas.  Below a Gather, only the topmost node's note states
 * the number of processes.
 */
static const char *
note_of_row(const PlanEstimate *plan, int runs, const NodeEstimate *node)
{
	bool		same_as_above = node->parent >= 0 &&
		plan->nodes[node->parent].processes == node->processes;
	const char *share = note_of_share(plan, runs, node);
	const char *note = explain_note(node, !same_as_above);

	return share == NULL ? note : note == NULL ? share : psprintf("%s, %s", share, note);
}

static void
put_run(Row *row, const ExplainedQuery *query)
{
	const PlanEstimate *plan = query->plan;

	row_put(row, Int32GetDatum(0));
	row_put_null(row);
	row_put_text(row, "Query");
	row_put_nulls(row, 13);
	row_put_text(row, explain_run(plan, "\n  ", false));
	row_put_numbers(row, 4, plan->root_estimate_ns / 1e6, plan->run_ns / 1e6, query->plain_ms,
					plan->preempted_ns / 1e6, NAN);
}

Datum
clock_explain(PG_FUNCTION_ARGS)
{
	static const NodeEstimate never_executed = {.parent = -1};
	const Explained *explained = explain(fcinfo, false, EXPLAIN_FORMAT_TEXT);
	const ExplainedQuery *query = &explained->query;
	const PlanEstimate *plan = query->plan;
	Row			row;

	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	put_run(&row, query);
	row_to_set(&row, fcinfo);
	for (int i = 0; i < explained->nnodes; i++)
	{
		const PlanNodeInfo *info = &explained->nodes[i];
		int			place = node_estimate_place(plan, info->id);

		/* a node without an estimate counts as never executed */
		const NodeEstimate *node = place < 0 ? &never_executed : &plan->nodes[place];
		double		ms = node->kind == NODE_UNTIMED ? NAN : 1e-6 / Max(node->processes, 1);

		CHECK_FOR_INTERRUPTS();
		row_put(&row, Int32GetDatum(i + 1));
		row_put(&row, Int32GetDatum(info->depth));
		row_put_text(&row, info->line);
		row_put_text(&row, info->type);
		row_put_text(&row, info->relation);
		row_put_counts(&row, (int64) rint(node->loops + node->untimed_loops),
					   (int64) rint(node->rows + node->untimed_rows));
		if (node->kind == NODE_UNTIMED)
			row_put_nulls(&row, 2);
		else
			row_put_counts(&row, node->calls, node->timed);
		row_put_numbers(&row, 4, node->total_ns * ms, node->total_margin_ns * ms,
						node->self_ns * ms, node->self_margin_ns * ms,
						node->share_percent, node->share_margin_percent,
						query->removed_ns == NULL ? NAN :
						place < 0 ? 0 : query->removed_ns[place] * ms);
		row_put_text(&row, note_of_row(plan, query->runs, node));
		row_put_nulls(&row, 4);
		row_put_numbers(&row, 4, place < 0 ? NAN : node->total_stddev_ns * ms);
		row_to_set(&row, fcinfo);
	}
	return (Datum) 0;
}

Datum
clock_explain_text(PG_FUNCTION_ARGS)
{
	const char *text = explain(fcinfo, true, EXPLAIN_FORMAT_TEXT)->output;
	char	   *line;
	Row			row;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	row = row_of_set(fcinfo);
	while ((line = explain_next_line(&text)) != NULL)
	{
		row_put_text(&row, line);
		row_to_set(&row, fcinfo);
	}
	return (Datum) 0;
}

Datum
clock_explain_json(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(explain(fcinfo, true, EXPLAIN_FORMAT_JSON)->output));
}
