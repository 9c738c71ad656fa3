/*
 * EXPLAIN's option CLOCK_SAMPLING exists on PostgreSQL 18 and later.  With the option, timing
 * is off in the ExplainState when the plan's execution starts, so that the server only counts
 * rows.  Timing is on while the plan is printed.  On 18 and later, EXPLAIN's hooks print the
 * margins of times.  On older versions, explain_output.c inserts the margins.
 */
#include "postgres.h"

#include <math.h>

#include "commands/defrem.h"
#include "executor/instrument.h"
#include "parser/parse_node.h"

#include "compat.h"
#include "plan/explain/explain_option.h"
#include "plan/sampler/plan_sampler.h"
#include "server/settings.h"

ExplainAtWork *explain_at_work = NULL;

static void (*need_executor_hooks) (void);

static bool show_margins = false;

#if PG_VERSION_NUM >= 180000

static int	extension_id = -1;

static explain_validate_options_hook_type previous_validate = NULL;
static explain_per_node_hook_type previous_per_node = NULL;

static void
warn_no_effect(const char *detail, const char *hint)
{
	ereport(WARNING,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("EXPLAIN option %s has no effect", "CLOCK_SAMPLING"),
			 errdetail_internal("%s", _(detail)),
			 hint == NULL ? 0 : errhint("%s", _(hint))));
}

static void
option_handler(ExplainState *es, DefElem *opt, ParseState *pstate)
{
	bool	   *option = GetExplainExtensionState(es, extension_id);

	(void) pstate;
	if (option == NULL)
		option = palloc0(sizeof(bool));
	*option = defGetBoolean(opt);
	SetExplainExtensionState(es, extension_id, option);
}

/*
 * Checks the option after all options have been read, and notes the ExplainState of the statement.
 * Switches the server's timing off, so that its timers do not slow down the execution.
 */
static void
option_validate(ExplainState *es, List *options, ParseState *pstate)
{
	const bool *option = GetExplainExtensionState(es, extension_id);
	bool		expected = explain_at_work != NULL && explain_at_work->es == NULL &&
		pstate->p_sourcetext == explain_at_work->text;
	bool		buffers_given = false;
	ListCell   *cell;

	if (expected)
		explain_at_work->es = es;
	if (previous_validate != NULL)
		previous_validate(es, options, pstate);
	if (option == NULL || !*option)
		return;
	if (!es->analyze)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("EXPLAIN option %s requires ANALYZE", "CLOCK_SAMPLING")));
	if (!es->timing)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("EXPLAIN option %s requires TIMING", "CLOCK_SAMPLING"),
				 errhint("Remove TIMING OFF.")));

	/*
	 * if another extension executes EXPLAIN, the option has no effect,
	 * because no hook is called at the end of that EXPLAIN
	 */
	if (!expected)
	{
		warn_no_effect("EXPLAIN is not executed as a statement, but by another extension.", NULL);
		return;
	}

	/*
	 * With this option, BUFFERS is off by default, as counting buffers at
	 * each call costs as much as timing.
	 */
	foreach(cell, options)
		buffers_given |= strcmp(lfirst_node(DefElem, cell)->defname, "buffers") == 0;
	if (!buffers_given)
		es->buffers = false;

	plan_sampler_prepare(true);
	es->timing = false;
	need_executor_hooks();
	explain_at_work->option = true;
}

void
explain_option_starts(bool sampled)
{
	if (!explain_at_work->option)
		return;

	/* from now on, es->timing only affects serialization and printing */
	explain_at_work->es->timing = true;
	if ((explain_at_work->desc->instrument_options & INSTRUMENT_TIMER) != 0 && !sampled)
	{
		warn_no_effect("Another extension requests timers for all plan nodes.",
					   gettext_noop("If it is auto_explain, set clocktiming.sampled_timing to auto_explain."));
		explain_at_work->option = false;
	}
}

static void
option_per_node(PlanState *node, List *ancestors, const char *relationship,
				const char *plan_name, ExplainState *es)
{
	const ExplainAtWork *explain = explain_at_work;
	int			place;

	if (previous_per_node != NULL)
		previous_per_node(node, ancestors, relationship, plan_name, es);
	if (explain == NULL || explain->es != es)
		return;
	if (explain->desc == NULL && explain->option && ancestors == NIL)
		warn_no_effect("Another extension has executed the plan by itself.", NULL);
	if (explain->run == NULL || explain->run->plan == NULL ||
		explain->desc->plannedstmt != node->state->es_plannedstmt || !es->timing)
		return;
	place = observed_place(explain->run->observation, node);
	if (place >= 0)
		explain_put_node(es, &explain->run->plan->nodes[place],
						 explain->option || show_margins);
}

#if PG_VERSION_NUM >= 190000
/* Rejects the option in auto_explain.log_extension_options, where it would have no effect. */
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

	TAKE_OPTION_HOOK(explain_validate_options_hook, validate);
	TAKE_OPTION_HOOK(explain_per_node_hook, per_node);
}

#else

static ExplainOneQuery_hook_type previous_ExplainOneQuery = NULL;

/*
 * Sets markers: numbers in the output that explain_output.c replaces by the nodes' margins.  Sets
 * none if EXPLAIN itself prints WAL usage, because markers are printed as WAL usage.
 */
void
explain_option_finished(void)
{
	ExplainState *es = explain_at_work->es;

	if ((explain_at_work->desc->instrument_options & INSTRUMENT_TIMER) == 0)
		return;
	if (es == NULL)
	{
		ereport(NOTICE,
				(errmsg("times of plan nodes are estimated by sampling"),
				 errdetail("On this version of PostgreSQL, EXPLAIN EXECUTE prints neither margins nor a summary.")));
		return;
	}
	/* EXPLAIN or auto_explain may print WAL usage itself */
	if (!es->timing || es->wal ||
		(explain_at_work->desc->instrument_options & INSTRUMENT_WAL) != 0 ||
		(es->format != EXPLAIN_FORMAT_TEXT && es->format != EXPLAIN_FORMAT_JSON))
		return;
	explain_at_work->markers = explain_set_markers(explain_at_work->run->observation);
	explain_at_work->marked_from = es->str->len;
	es->wal = true;
}

/* Does what EXPLAIN does without this hook.  Before 17, the server does not export this code. */
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

/* Stores the ExplainState.  Before 18, no other hook of EXPLAIN provides it. */
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

/*
 * Prints the summary, and before PostgreSQL 18 replaces the markers, when the plan has been
 * printed.
 */
void
explain_option_ends(void)
{
	ExplainState *es = explain_at_work->es;
	const ObservedRun *run = explain_at_work->run;

	if (es != NULL && es->timing && run != NULL && run->plan != NULL)
	{
		TimedPlan	timed = {
			.observation = run->observation, .estimate = run->plan, .method = "sampling",
			.with_times = show_margins, .plain_ms = NAN
		};

		/* 0: another extension has started the plan without the hook */
		if (explain_at_work->start_ns != 0)
			timed.start_ns = fmax((double) (int64) (explain_at_work->stop_ns -
													explain_at_work->start_ns) -
								  run->plan->run_ns, 0);

		if (explain_at_work->markers.base != 0)
		{
			es->wal = false;
			explain_put_margins(es, explain_at_work->marked_from, &timed,
								&explain_at_work->markers);
			explain_at_work->markers.base = 0;
		}
		if (es->summary || !explain_at_work->option)
			explain_put_summary(es, &timed);
	}
	/* off again, because the statement may execute another plan */
	if (explain_at_work->option)
		es->timing = false;
}

void
explain_option_init(void (*need_hooks) (void))
{
	need_executor_hooks = need_hooks;
	setting_define_bool(SETTING_SHOW_MARGINS, &show_margins, NULL, NULL);
	take_hooks();
}
