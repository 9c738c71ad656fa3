/*-------------------------------------------------------------------------
 *
 * explain_option.c
 *	  EXPLAIN (ANALYZE, CLOCK_SAMPLING 64), on PostgreSQL 18 and later.
 *
 * The server is told that no timing is wanted, so that it only counts rows;
 * the plan is timed by sampling as it is executed; and then the server is told
 * that timing is wanted, so that it prints what it finds.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "explain/explain_option.h"

#if PG_VERSION_NUM >= 180000

#include <math.h>

#include "commands/defrem.h"
#include "executor/instrument.h"
#include "parser/parse_node.h"
#include "tcop/utility.h"

#include "explain/explain_output.h"
#include "explain/sampled_run.h"

/* What belongs to one EXPLAIN. */
typedef struct ExplainOption
{
	ExplainState *es;
	const char *name;			/* of the option that was given first */
	MemoryContext context;		/* in which it executes its plans */

	/*
	 * the plan that is being executed and printed, of which there may be
	 * several
	 */
	QueryDesc  *desc;
	SampledRun	run;
} ExplainOption;

static int	extension_id = -1;

/* The EXPLAIN that is at work and has the option; NULL if there is none. */
static ExplainOption *current = NULL;

/* The text of the EXPLAIN statement whose options are still to be read. */
static const char *expected_text = NULL;

static explain_validate_options_hook_type previous_validate = NULL;
static explain_per_node_hook_type previous_per_node = NULL;
static explain_per_plan_hook_type previous_per_plan = NULL;
static ProcessUtility_hook_type previous_ProcessUtility = NULL;
static ExecutorStart_hook_type previous_ExecutorStart = NULL;
static ExecutorRun_hook_type previous_ExecutorRun = NULL;
static ExecutorFinish_hook_type previous_ExecutorFinish = NULL;
static ExecutorEnd_hook_type previous_ExecutorEnd = NULL;

#define NEXT(function) (previous_##function != NULL ? previous_##function : standard_##function)

static void
warn_no_effect(const ExplainOption *option, const char *detail, const char *hint)
{
	ereport(WARNING,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("EXPLAIN option %s has no effect", option->name),
			 errdetail_internal("%s", _(detail)),
			 hint == NULL ? 0 : errhint("%s", _(hint))));
}

/* Either option; "name" in the state is that of the first. */
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
		option->es = es;
		option->name = of_sampling ? "CLOCK_SAMPLING" : "CLOCK_MAX_OVERHEAD";
		option->run.options.sampling = SAMPLING_DEFAULT;
		option->run.options.only_node = -1;
		option->run.options.max_overhead = MAX_OVERHEAD_DEFAULT;
		SetExplainExtensionState(es, extension_id, option);
	}
	options = &option->run.options;
	setup_parser_errposition_callback(&position, pstate, opt->location);
	if (of_sampling)
		options->sampling = sampling_check("EXPLAIN option CLOCK_SAMPLING",
										   opt->arg == NULL ? SAMPLING_DEFAULT : defGetInt64(opt));
	else
		options->max_overhead = max_overhead_check("EXPLAIN option CLOCK_MAX_OVERHEAD",
												   opt->arg == NULL ? MAX_OVERHEAD_DEFAULT : defGetNumeric(opt));
	cancel_parser_errposition_callback(&position);
}

static void
option_validate(ExplainState *es, List *options, ParseState *pstate)
{
	ExplainOption *option = GetExplainExtensionState(es, extension_id);
	bool		expected = expected_text != NULL && pstate->p_sourcetext == expected_text;
	bool		buffers_given = false;
	ListCell   *cell;

	if (expected)
		expected_text = NULL;
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

	/*
	 * Nobody would tell when another extension's EXPLAIN ends: the server
	 * times that one.
	 */
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

	/* not while the server measures the execution */
	node_timing_prepare(&option->run.options);
	es->timing = false;
	option->context = CurrentMemoryContext;
	current = option;
}

/*
 * What option_validate() has made current is so until its statement ends,
 * however that does.  Another EXPLAIN may be at work, of which this one is part.
 */
static void
option_ProcessUtility(PlannedStmt *statement, const char *text, bool read_only_tree,
					  ProcessUtilityContext context, ParamListInfo params,
					  QueryEnvironment *env, DestReceiver *receiver, QueryCompletion *completion)
{
	ExplainOption *outer = current;
	const char *outer_text = expected_text;

	if (!IsA(statement->utilityStmt, ExplainStmt))
	{
		NEXT(ProcessUtility) (statement, text, read_only_tree, context, params, env,
							  receiver, completion);
		return;
	}
	current = NULL;
	expected_text = text;

	PG_TRY();
	{
		NEXT(ProcessUtility) (statement, text, read_only_tree, context, params, env,
							  receiver, completion);
	}
	PG_FINALLY();
	{
		current = outer;
		expected_text = outer_text;
	}
	PG_END_TRY();
}

/*
 * Whether it is the execution of what is explained, and not one by a function
 * that is called by the planner, by the arguments of EXECUTE, or as the plan is
 * started.  EXPLAIN executes a plan in the memory context in which it has read
 * its options, and in which no function is called: each has contexts of its own.
 */
static bool
is_explained(const QueryDesc *desc, int eflags)
{
	if (current->desc != NULL || CurrentMemoryContext != current->context ||
		(eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return false;
	switch (desc->dest->mydest)
	{
		case DestNone:
		case DestIntoRel:
		case DestExplainSerialize:
			return true;
		default:
			return false;
	}
}

static void
option_ExecutorStart(QueryDesc *desc, int eflags)
{
	bool		ours = unlikely(current != NULL) && is_explained(desc, eflags);

	if (ours)
	{
		current->desc = desc;
		current->run.timing = NULL;
	}
	NEXT(ExecutorStart) (desc, eflags);
	if (!ours)
		return;

	/*
	 * The server knows by now that it is not to time the nodes.  From here on
	 * this is about its serializing the output, and later about printing.
	 */
	current->es->timing = true;
	if ((desc->instrument_options & INSTRUMENT_TIMER) != 0)
	{
		warn_no_effect(current, "Another extension has every call of every plan node timed.",
					   gettext_noop("If it is auto_explain, set auto_explain.log_analyze or auto_explain.log_timing to off in this session."));
		current = NULL;
	}
}

static void
option_ExecutorRun(QueryDesc *desc, ScanDirection direction, uint64 count)
{
	bool		ours = unlikely(current != NULL) && current->desc == desc &&
		current->run.timing == NULL;

	if (ours)
		sampled_before_run(desc, &current->run);
	NEXT(ExecutorRun) (desc, direction, count);
	if (ours && current != NULL)
		sampled_after_run(desc, &current->run);
}

static void
option_ExecutorFinish(QueryDesc *desc)
{
	NEXT(ExecutorFinish) (desc);
	if (unlikely(current != NULL) && current->desc == desc &&
		current->run.timing != NULL)
		sampled_after_finish(desc, &current->run);
}

static void
option_ExecutorEnd(QueryDesc *desc)
{
	if (unlikely(current != NULL) && current->desc == desc)
	{
		/* the plan is freed with the query's memory, and there may be another */
		current->desc = NULL;
		current->run.plan = NULL;
		current->es->timing = false;
	}
	NEXT(ExecutorEnd) (desc);
}

/* What is to be printed with a plan; false if it is not ours. */
static bool
timed_plan(ExplainState *es, const PlannedStmt *plan, TimedPlan *timed)
{
	ExplainOption *option = GetExplainExtensionState(es, extension_id);

	if (option == NULL || option != current || option->run.plan == NULL ||
		option->desc->plannedstmt != plan)
		return false;
	*timed = (TimedPlan)
	{
		.estimate = option->run.plan, .method = "sampling",
			.sampling = option->run.options.sampling, .plain_ms = NAN
	};
	return true;
}

static void
option_per_node(PlanState *node, List *ancestors, const char *relationship,
				const char *plan_name, ExplainState *es)
{
	TimedPlan	timed;

	if (previous_per_node != NULL)
		previous_per_node(node, ancestors, relationship, plan_name, es);
	if (timed_plan(es, node->state->es_plannedstmt, &timed))
	{
		const NodeEstimate *estimate = node_timing_estimate(timed.estimate, node);

		if (estimate != NULL)
			explain_put_node(es, estimate);
	}
}

static void
option_per_plan(PlannedStmt *plan, IntoClause *into, ExplainState *es,
				const char *text, ParamListInfo params, QueryEnvironment *env)
{
	TimedPlan	timed;

	if (previous_per_plan != NULL)
		previous_per_plan(plan, into, es, text, params, env);
	if (timed_plan(es, plan, &timed))
	{
		if (es->summary)
			explain_put_summary(es, &timed);
	}
	else if (current != NULL && current->es == es && current->desc == NULL)
		warn_no_effect(current, "Another extension has executed the plan in a way of its own.", NULL);
}

#if PG_VERSION_NUM >= 190000
/* auto_explain would print with it what was executed without it. */
static bool
option_not_in_settings(const char *name, const char *value, NodeTag type)
{
	(void) value;
	(void) type;
	GUC_check_errdetail("EXPLAIN option \"%s\" is for EXPLAIN itself.", name);
	return false;
}
#define REGISTER_OPTION(name, handler) \
	RegisterExtensionExplainOption(name, handler, option_not_in_settings)
#else
#define REGISTER_OPTION(name, handler) \
	RegisterExtensionExplainOption(name, handler)
#endif

#define TAKE_HOOK(hook, function) (previous_##function = hook, hook = option_##function)

void
explain_option_init(void)
{
	extension_id = GetExplainExtensionId("clocktiming");
	REGISTER_OPTION("clock_sampling", option_handler);
	REGISTER_OPTION("clock_max_overhead", option_handler);

	TAKE_HOOK(explain_validate_options_hook, validate);
	TAKE_HOOK(explain_per_node_hook, per_node);
	TAKE_HOOK(explain_per_plan_hook, per_plan);
	TAKE_HOOK(ProcessUtility_hook, ProcessUtility);
	TAKE_HOOK(ExecutorStart_hook, ExecutorStart);
	TAKE_HOOK(ExecutorRun_hook, ExecutorRun);
	TAKE_HOOK(ExecutorFinish_hook, ExecutorFinish);
	TAKE_HOOK(ExecutorEnd_hook, ExecutorEnd);
}

#else

void
explain_option_init(void)
{
}

#endif
