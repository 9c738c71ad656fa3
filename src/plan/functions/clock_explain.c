/* clock_explain(), clock_explain_text() and clock_explain_json(): EXPLAIN ANALYZE by sampling. */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "core/reference.h"
#include "plan/explain/explain_output.h"
#include "plan/explain/explain_query.h"
#include "plan/sampler/plan_sampler.h"
#include "server/args.h"
#include "server/row.h"

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
	PlanNodeInfo *nodes;		/* by place */
} Explained;

static void
put_output(QueryDesc *desc, void *arg)
{
	Explained  *explained = arg;
	const ExplainedQuery *query = &explained->query;
	TimedPlan	timed = {
		.observation = query->observation,
		.estimate = query->plan,
		.method = explain_methods[query->method],
		.with_times = true,
		.runs = query->runs,
		.planning_ms = explained->planning_ms,
		.plain_ms = query->plain_ms
	};

	(void) desc;
	if (explained->with_output)
		explained->output = explain_output(&timed, explained->format);
	else
		explained->nodes = explain_nodes(query->observation);
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
		"query", "method", "verify", "allow_writes"
	};
	Explained  *explained = palloc0(sizeof(Explained));
	ExplainedQuery *query = &explained->query;
	uint64		start;

	for (int i = 0; i < (int) lengthof(names); i++)
		check_not_null(fcinfo, i, names[i]);
	check_not_null(fcinfo, 5, "runs");	/* argument 4, params, may be null */
	query->method = arg_choice(fcinfo, 1, "method", explain_methods, N_EXPLAIN_METHODS,
							   "Methods are sampling and full.");
	query->runs = get_runs(PG_GETARG_INT32(5), query->method);
	query->verify = PG_GETARG_BOOL(2);
	query->finished = put_output;
	query->arg = explained;
	explained->with_output = with_output;
	explained->format = format;

	plan_sampler_prepare(true);
	start = reference_ns();
	query->query = plan_query(text_to_cstring(PG_GETARG_TEXT_PP(0)),
							  PG_ARGISNULL(4) ? NULL : PG_GETARG_ARRAYTYPE_P(4),
							  PG_GETARG_BOOL(3));
	explained->planning_ms = (reference_ns() - start) / 1e6;
	explain_query(query);
	return explained;
}

/*
 * Returns a node's note about its share, or NULL.  A node may have taken the most time if the upper
 * limit of its share is not below the lower limit of any other node's, and of the time outside of
 * the nodes.  Shares vary between runs.
 */
static const char *
note_of_share(const PlanEstimate *plan, int runs, const NodeEstimate *node)
{
	double		lower = 1e-4;	/* excludes nodes that were never executed */
	int			n = 0;

	for (int i = -1; i < plan->nnodes; i++)
	{
		const NodeEstimate *other = i < 0 ? &plan->outside : &plan->nodes[i];

		lower = fmax(lower, other->share_percent - other->share_margin_percent);
		if (isnan(other->share_margin_percent))
			lower = fmax(lower, other->share_percent);
	}
	for (int i = -1; i < plan->nnodes; i++)
	{
		const NodeEstimate *other = i < 0 ? &plan->outside : &plan->nodes[i];

		n += other->share_percent + fmax(other->share_margin_percent, 0) >= lower;
	}
	if (plan->nnodes < 2 || !(node->share_percent + fmax(node->share_margin_percent, 0) >= lower))
		return NULL;
	return n > 1 ? "may have taken the most time" :
		runs > 1 ? "took the most time" : "took the most time in this run";
}

static const char *
note_of_row(const PlanEstimate *plan, int runs, const NodeEstimate *node)
{
	const char *share = note_of_share(plan, runs, node);
	const char *note = explain_note(node);

	return share == NULL ? note : note == NULL ? share : psprintf("%s, %s", share, note);
}

/* Adds the columns self_ms to total_margin_ms. */
static void
put_times(Row *row, const NodeEstimate *node)
{
	const NodeTimes *times = &node->times;

	row_put_numbers(row, 4, times->self_ns / 1e6, node->self_margin_ns / 1e6, node->share_percent,
					node->share_margin_percent, times->cpu_ns / 1e6, times->wait_ns / 1e6);
	row_put_text(row, explain_waits(node));
	row_put_numbers(row, 4, times->cpu_wait_ns / 1e6, times->total_ns / 1e6,
					node->total_margin_ns / 1e6);
}

/* The row of the query has the time outside of the nodes, so that times add up to the run. */
static void
put_run(Row *row, const ExplainedQuery *query)
{
	const PlanEstimate *plan = query->plan;
	NodeEstimate outside = plan->outside;
	bool		sampled = query->method == METHOD_SAMPLING;

	outside.times.total_ns = plan->share_ns;
	outside.total_margin_ns = sampled ? 0 : NAN;
	row_put(row, Int32GetDatum(0));
	row_put_null(row);
	row_put_text(row, "Query");
	row_put_nulls(row, 4);
	put_times(row, &outside);
	row_put_text(row, explain_run(plan, "\n  "));
	row_put_numbers(row, 4, plan->run_ns / 1e6, query->plain_ms);
	if (sampled)
		row_put_counts(row, (int64) plan->samples);
	else
		row_put_null(row);
	row_put_numbers(row, 4, sampled ? plan->sampler_cpu_ns / 1e6 : NAN, NAN);
}

/* Returns a row for the query, whose time is that outside of the nodes, and a row per node. */
Datum
clock_explain(PG_FUNCTION_ARGS)
{
	const Explained *explained = explain(fcinfo, false, EXPLAIN_FORMAT_TEXT);
	const ExplainedQuery *query = &explained->query;
	const PlanEstimate *plan = query->plan;
	int			n = 0;
	Row			row;

	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	put_run(&row, query);
	row_to_set(&row, fcinfo);
	for (int i = 0; i < plan->nnodes; i++)
	{
		const PlanNodeInfo *info = &explained->nodes[i];
		const NodeEstimate *node = &plan->nodes[i];

		CHECK_FOR_INTERRUPTS();
		row_put(&row, Int32GetDatum(++n));
		row_put(&row, Int32GetDatum(info->depth));
		row_put_text(&row, info->line);
		row_put_text(&row, info->type);
		row_put_text(&row, info->relation);
		row_put_counts(&row, (int64) rint(node->loops), (int64) rint(node->rows));
		put_times(&row, node);
		row_put_text(&row, note_of_row(plan, query->runs, node));
		row_put_nulls(&row, 4);
		row_put_numbers(&row, 4, node->total_stddev_ns / 1e6);
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
