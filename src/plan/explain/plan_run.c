/*
 * Executes a plan once, as the server's own code does for a portal: with a snapshot of its own, and
 * through the executor's hooks.  The rows are discarded, or written to the table of CREATE TABLE
 * AS.
 *
 * In an extension such as auto_explain, a hook may request instrumentation for the query.  Its
 * overhead would be part of the result, so that is an error.
 */
#include "postgres.h"

#include "commands/createas.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "tcop/dest.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "core/reference.h"
#include "plan/explain/plan_guard.h"
#include "plan/explain/plan_run.h"
#include "plan/explain/plan_shape.h"
#include "plan/explain/running_executions.h"
#include "plan/explain/server_instr.h"

const QueryDesc *plan_run_desc = NULL;

/*
 * Number of times that an execution is started if another extension instruments it.  With a sample
 * rate of 0.5, one in a million executions is instrumented each time.  Starting is cheap: it does
 * not execute the plan.
 */
#define MAX_STARTS		20

/*
 * Settings by which other extensions instrument executions.  If "by_statement", the extension
 * chooses statements of the client at random, and then instruments all executions within these.
 * Starting the execution again would not help there.  So the setting is off during the execution,
 * which needs no privilege.
 */
static const struct
{
	const char *name;
	bool		by_statement;
}			instrumenting[] = {
	{"auto_explain.log_analyze", false},
	{"pg_qualstats.enabled", true},
	{"pg_store_plans.log_analyze", false},
};

/* Adds a node's calls: one for each loop's end and, if it returns tuples, one for each tuple. */
static bool
count_node_calls(PlanState *node, void *context)
{
	double	   *calls = context;

	if (node->instrument != NULL)
	{
		ServerCounts counts = instr_end(node->instrument);

		*calls += counts.loops;
		if (plan_shape(node)->output == OUTPUT_TUPLES)
			*calls += counts.rows;
	}
	return planstate_tree_walker(node, count_node_calls, context);
}

double
plan_node_calls(QueryDesc *desc)
{
	double		calls = 0;

	(void) count_node_calls(desc->planstate, &calls);
	return calls;
}

typedef struct PlanRun
{
	const PlanQuery *query;
	const PlanObserver *observer;
	double		ms;
	int			starts;
	bool		instrumented;	/* by another extension, and so not executed */
} PlanRun;

static bool
is_on(const char *setting)
{
	const char *value = GetConfigOption(setting, true, false);

	return value != NULL && strcmp(value, "on") == 0;
}

/* Switches off other extensions until the end of the subtransaction, which resets the settings. */
static void
switch_off_random_choice(void)
{
	for (int i = 0; i < (int) lengthof(instrumenting); i++)
	{
		if (instrumenting[i].by_statement && is_on(instrumenting[i].name))
			(void) set_config_option(instrumenting[i].name, "off", PGC_USERSET, PGC_S_SESSION,
									 GUC_ACTION_SAVE, true, DEBUG1, false);
	}
}

/* Raises an ERROR whose hint names the settings to switch off. */
static void
refuse_instrumented(void)
{
	StringInfoData statements;

	initStringInfo(&statements);
	for (int i = 0; i < (int) lengthof(instrumenting); i++)
	{
		if (is_on(instrumenting[i].name))
			appendStringInfo(&statements, "%sSET %s = off;", statements.len > 0 ? " " : "",
							 instrumenting[i].name);
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("another extension instruments the query, too"),
			 errdetail("The result would include the other extension's overhead."),
			 statements.len > 0 ? errhint("In this session, execute: %s", statements.data) :
			 errhint("Switch the extension off in this session. SELECT name FROM pg_settings WHERE name LIKE '%%.%%' lists the settings of extensions.")));
}

/*
 * Executes the plan, calls the observer between the steps, and measures the time.  With "whole",
 * this includes ExecutorStart() and ExecutorEnd().  It never includes the callbacks after
 * ExecutorFinish().  If another extension instruments the execution, returns after ExecutorStart()
 * with "instrumented" set.  The caller's rollback then removes the execution.  ExecutorFinish() and
 * ExecutorEnd() would execute statements of WITH that write.
 */
static void
run_it(void *arg)
{
	PlanRun    *run = arg;
	const PlanQuery *query = run->query;
	const PlanObserver *observer = run->observer;
	IntoClause *into = copyObject(query->into);
	DestReceiver *dest = into != NULL ? CreateIntoRelDestReceiver(into) : None_Receiver;
	uint64		start;
	QueryDesc  *desc;

	PushCopiedSnapshot(GetActiveSnapshot());
	UpdateActiveSnapshotCommandId();

	if (run->starts++ > 0)
		switch_off_random_choice();
	start = reference_ns();
	desc = CreateQueryDesc(query->plan, query->source_text, GetActiveSnapshot(),
						   InvalidSnapshot, dest, query->params, NULL,
						   observer->instrument_options);
	ExecutorStart(desc, into != NULL ? GetIntoRelEFlags(into) : 0);
	run->instrumented = desc->instrument_options != observer->instrument_options;
	if (run->instrumented)
	{
		if (run->starts == MAX_STARTS)
			refuse_instrumented();
		return;
	}
	if (observer->before_run != NULL)
		observer->before_run(desc, observer->arg);
	if (!observer->whole)
		start = reference_ns();
	plan_run_desc = desc;
	set_unusual(&running_state.unusual, UNUSUAL_PLAN_RUN, true);
	compat_ExecutorRun(desc);
	if (observer->after_run != NULL)
		observer->after_run(desc, observer->arg);
	if (observer->before_finish != NULL)
		observer->before_finish(desc, observer->arg);
	ExecutorFinish(desc);

	/* skipped if not needed, because reading the clock is a system call */
	if (!observer->whole || observer->after_finish != NULL)
	{
		run->ms = (reference_ns() - start) / 1e6;
		if (observer->after_timed != NULL)
			observer->after_timed(desc, observer->arg, run->ms);
		if (observer->after_finish != NULL)
			observer->after_finish(desc, observer->arg);
		if (observer->whole)
			start = reference_ns();
	}
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	if (observer->whole)
		run->ms += (reference_ns() - start) / 1e6;
	if (into != NULL)
		dest->rDestroy(dest);
	PopActiveSnapshot();
}

double
plan_run(const PlanQuery *query, const PlanObserver *observer)
{
	PlanRun		run = {query, observer, 0, 0, false};

	do
	{
		guarded_work(query->text, query->may_write, true, query->role, run_it, &run);
	} while (run.instrumented);
	return run.ms;
}
