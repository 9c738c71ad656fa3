/*
 * The options exist on PostgreSQL 18 and later.  While the server executes EXPLAIN (ANALYZE,
 * CLOCK_SAMPLING 64), es->timing is off, so that it only counts rows; when it prints the times, it
 * is on.  The server's hooks print the margins; before 18, explain_output.c does.
 */
#include "postgres.h"

#include <math.h>

#include "commands/defrem.h"
#include "executor/instrument.h"
#include "parser/parse_node.h"
#include "utils/guc.h"

#include "compat.h"
#include "explain/explain_option.h"

ExplainAtWork *explain_at_work = NULL;

static void (*need_executor_hooks) (void);

static bool show_margins = false;

static TimedPlan
timed_plan(const SampledRun *run)
{
	return (TimedPlan)
	{
		.estimate = run->plan, .method = "sampling", .sampling = run->options.sampling,
			.plain_ms = NAN
	};
}

#if PG_VERSION_NUM >= 180000

static int	extension_id = -1;

static explain_validate_options_hook_type previous_validate = NULL;
static explain_per_node_hook_type previous_per_node = NULL;
static explain_per_plan_hook_type previous_per_plan = NULL;

static void
warn_no_effect(const ExplainOption *option, const char *detail, const char *hint)
{
	ereport(WARNING,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("EXPLAIN option %s has no effect", option->name),
			 errdetail_internal("%s", _(detail)),
			 hint == NULL ? 0 : errhint("%s", _(hint))));
}

/* Handles both options.  The state's "name" is that of the first one given. */
static void
option_handler(ExplainState *es, DefElem *opt, ParseState *pstate)
{
	bool		of_sampling = strcmp(opt->defname, "clock_sampling") == 0;
	ExplainOption *option = GetExplainExtensionState(es, extension_id);
	NodeTimingOptions *options;
	ParseCallbackState position;

	if (option == NULL)
	{
		option = palloc0(sizeof(ExplainOption));
		option->name = of_sampling ? "CLOCK_SAMPLING" : "CLOCK_MAX_OVERHEAD";
		option->options.sampling = SAMPLING_DEFAULT;
		option->options.only_node = -1;
		option->options.max_overhead = MAX_OVERHEAD_DEFAULT;
		SetExplainExtensionState(es, extension_id, option);
	}
	options = &option->options;
	setup_parser_errposition_callback(&position, pstate, opt->location);
	if (of_sampling)
		options->sampling = sampling_check("EXPLAIN option CLOCK_SAMPLING",
										   opt->arg == NULL ? SAMPLING_DEFAULT : defGetInt64(opt));
	else
		options->max_overhead = max_overhead_check("EXPLAIN option CLOCK_MAX_OVERHEAD",
												   opt->arg == NULL ? MAX_OVERHEAD_DEFAULT :
												   defGetNumeric(opt));
	cancel_parser_errposition_callback(&position);
}

static void
option_validate(ExplainState *es, List *options, ParseState *pstate)
{
	ExplainOption *option = GetExplainExtensionState(es, extension_id);
	bool		expected = explain_at_work != NULL && explain_at_work->es == NULL &&
		pstate->p_sourcetext == explain_at_work->text;
	bool		buffers_given = false;
	ListCell   *cell;

	if (expected)
		explain_at_work->es = es;
	if (previous_validate != NULL)
		previous_validate(es, options, pstate);
	if (option == NULL)
		return;
	if (!es->analyze)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("EXPLAIN option %s requires ANALYZE", option->name)));
	if (!es->timing)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("EXPLAIN option %s requires TIMING", option->name),
				 errhint("Leave TIMING out.")));

	/* no hook is called at the end of another extension's EXPLAIN */
	if (!expected)
	{
		warn_no_effect(option, "EXPLAIN is not executed as a statement, but by another extension.", NULL);
		return;
	}

	/* counting buffers at each call costs as much as timing it */
	foreach(cell, options)
		buffers_given |= strcmp(lfirst_node(DefElem, cell)->defname, "buffers") == 0;
	if (!buffers_given)
		es->buffers = false;

	/* now, so that the server's measurement does not include it */
	(void) node_timing_prepare(option->options.sampling == 1, false);
	es->timing = false;
	need_executor_hooks();
	explain_at_work->option = option;
}

void
explain_option_starts(QueryDesc *desc, bool sampled)
{
	ExplainOption *option = explain_at_work->option;

	explain_at_work->desc = desc;
	if (option == NULL)
		return;

	/* from here on, es->timing is for the serialization and for printing */
	explain_at_work->es->timing = true;
	if ((desc->instrument_options & INSTRUMENT_TIMER) != 0 && !sampled)
	{
		warn_no_effect(option, "Another extension requests timers for all plan nodes.",
					   gettext_noop("If it is auto_explain, set clocktiming.sampled_timing to auto_explain."));
		explain_at_work->option = NULL;
	}
}

void
explain_option_finished(SampledRun *run)
{
	explain_at_work->run = run;
}

void
explain_option_ends(void)
{
	if (explain_at_work->option != NULL)
		explain_at_work->es->timing = false;
}

/* Returns the timing of the plan that is being printed, or NULL if it was not timed. */
static const SampledRun *
printed_run(const ExplainState *es, const PlannedStmt *plan)
{
	if (explain_at_work == NULL || explain_at_work->es != es || explain_at_work->run == NULL ||
		explain_at_work->desc->plannedstmt != plan || !es->timing)
		return NULL;
	return explain_at_work->run;
}

static void
option_per_node(PlanState *node, List *ancestors, const char *relationship,
				const char *plan_name, ExplainState *es)
{
	const SampledRun *run;

	if (previous_per_node != NULL)
		previous_per_node(node, ancestors, relationship, plan_name, es);
	run = printed_run(es, node->state->es_plannedstmt);
	if (run != NULL && (show_margins || explain_at_work->option != NULL))
	{
		const NodeEstimate *estimate =
			node_estimate(run->plan, node->plan->plan_node_id);

		if (estimate != NULL)
			explain_put_node(es, estimate);
	}
}

static void
option_per_plan(PlannedStmt *plan, IntoClause *into, ExplainState *es,
				const char *text, ParamListInfo params, QueryEnvironment *env)
{
	const SampledRun *run;

	if (previous_per_plan != NULL)
		previous_per_plan(plan, into, es, text, params, env);
	run = printed_run(es, plan);
	if (run != NULL)
	{
		TimedPlan	timed = timed_plan(run);

		if (es->summary || explain_at_work->option == NULL)
			explain_put_summary(es, &timed);
	}
	else if (explain_at_work != NULL && explain_at_work->es == es &&
			 explain_at_work->option != NULL && explain_at_work->desc == NULL)
		warn_no_effect(explain_at_work->option, "Another extension has executed the plan by itself.", NULL);
}

#if PG_VERSION_NUM >= 190000
/* As a setting of auto_explain, the option would be printed although it does not apply. */
static bool
option_not_in_settings(const char *name, const char *value, NodeTag type)
{
	(void) value;
	(void) type;
	GUC_check_errdetail("EXPLAIN option \"%s\" is allowed in EXPLAIN statements only.", name);
	return false;
}
#define REGISTER_OPTION(name, handler) \
	RegisterExtensionExplainOption(name, handler, option_not_in_settings)
#else
#define REGISTER_OPTION(name, handler) \
	RegisterExtensionExplainOption(name, handler)
#endif

#define TAKE_OPTION_HOOK(hook, function) (previous_##function = hook, hook = option_##function)

static void
take_hooks(void)
{
	extension_id = GetExplainExtensionId("clocktiming");
	REGISTER_OPTION("clock_sampling", option_handler);
	REGISTER_OPTION("clock_max_overhead", option_handler);

	TAKE_OPTION_HOOK(explain_validate_options_hook, validate);
	TAKE_OPTION_HOOK(explain_per_node_hook, per_node);
	TAKE_OPTION_HOOK(explain_per_plan_hook, per_plan);
}

#else

static ExplainOneQuery_hook_type previous_ExplainOneQuery = NULL;

void
explain_option_starts(QueryDesc *desc, bool sampled)
{
	(void) sampled;
	explain_at_work->desc = desc;
}

/* Before 18, EXPLAIN prints markers in place of margins, unless it prints the values itself. */
void
explain_option_finished(SampledRun *run)
{
	ExplainState *es = explain_at_work->es;

	explain_at_work->run = run;
	if ((explain_at_work->desc->instrument_options & INSTRUMENT_TIMER) == 0)
		return;
	if (es == NULL)
	{
		ereport(NOTICE,
				(errmsg("times of plan nodes are estimated by sampling"),
				 errdetail("On this version of PostgreSQL, EXPLAIN EXECUTE prints neither margins nor a summary.")));
		return;
	}
	/* auto_explain may print these values, too */
	if (!es->timing || !show_margins || es->wal ||
		(explain_at_work->desc->instrument_options & INSTRUMENT_WAL) != 0 ||
		(es->format != EXPLAIN_FORMAT_TEXT && es->format != EXPLAIN_FORMAT_JSON))
		return;
	explain_at_work->markers = explain_set_markers(explain_at_work->desc);
	explain_at_work->marked_from = es->str->len;
	es->wal = true;
}

void
explain_option_ends(void)
{
	ExplainState *es = explain_at_work->es;
	TimedPlan	timed;

	if (es == NULL || !es->timing || explain_at_work->run == NULL)
		return;
	timed = timed_plan(explain_at_work->run);
	if (explain_at_work->markers.base != 0)
	{
		es->wal = false;
		explain_put_margins(es, explain_at_work->marked_from, &timed, &explain_at_work->markers);
		explain_at_work->markers.base = 0;
	}
	explain_put_summary(es, &timed);
}

/* Does what the server does if there is no hook. */
static void
explain_one_query(Query *query, int cursor_options, IntoClause *into, ExplainState *es,
				  const char *text, ParamListInfo params, QueryEnvironment *env)
{
#if PG_VERSION_NUM >= 170000
	standard_ExplainOneQuery(query, cursor_options, into, es, text, params, env);
#else
	BufferUsage before = pgBufferUsage;
	BufferUsage usage = {0};
	PlannedStmt *plan;
	instr_time	start;
	instr_time	duration;

	INSTR_TIME_SET_CURRENT(start);
	plan = pg_plan_query(query, text, cursor_options, params);
	INSTR_TIME_SET_CURRENT(duration);
	INSTR_TIME_SUBTRACT(duration, start);
	if (es->buffers)
		BufferUsageAccumDiff(&usage, &pgBufferUsage, &before);
	ExplainOnePlan(plan, into, es, text, params, env, &duration, es->buffers ? &usage : NULL);
#endif
}

/* Before 18, the only hook that gets the ExplainState of an EXPLAIN. */
static void
option_ExplainOneQuery(Query *query, int cursor_options, IntoClause *into, ExplainState *es,
					   const char *text, ParamListInfo params, QueryEnvironment *env)
{
	if (explain_at_work != NULL && text == explain_at_work->text)
		explain_at_work->es = es;
	(previous_ExplainOneQuery != NULL ? previous_ExplainOneQuery : explain_one_query)
		(query, cursor_options, into, es, text, params, env);
}

static void
take_hooks(void)
{
	previous_ExplainOneQuery = ExplainOneQuery_hook;
	ExplainOneQuery_hook = option_ExplainOneQuery;
}

#endif

void
explain_option_init(void (*need_hooks) (void))
{
	need_executor_hooks = need_hooks;
	DefineCustomBoolVariable("clocktiming.show_margins",
							 gettext_noop("Prints the margins of sampled times in the output of EXPLAIN."),
							 NULL,
							 &show_margins, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	take_hooks();
}
