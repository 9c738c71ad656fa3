#include "postgres.h"

#include "commands/createas.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "tcop/dest.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "core/reference.h"
#include "plan/explain/plan_guard.h"
#include "plan/explain/plan_run.h"
#include "plan/explain/plan_shape.h"
#include "plan/explain/server_instr.h"

const QueryDesc *plan_run_desc = NULL;

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
} PlanRun;

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

	start = reference_ns();
	desc = CreateQueryDesc(query->plan, query->source_text, GetActiveSnapshot(),
						   InvalidSnapshot, dest, query->params, NULL,
						   observer->instrument_options);
	ExecutorStart(desc, into != NULL ? GetIntoRelEFlags(into) : 0);
	if (desc->instrument_options != observer->instrument_options)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("another extension instruments the query, too"),
				 errdetail("The result would include the other extension's overhead."),
				 errhint("If it is auto_explain, set auto_explain.log_analyze to off in this session.")));
	if (observer->before_run != NULL)
		observer->before_run(desc, observer->arg);
	if (!observer->whole)
		start = reference_ns();
	plan_run_desc = desc;
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
	PlanRun		run = {query, observer, 0};

	guarded_work(query->text, query->writes, true, query->role, run_it, &run);
	return run.ms;
}
