/*-------------------------------------------------------------------------
 *
 * executor_hooks.c
 *	  Which of the server's executions are timed by sampling.
 *
 * What is timed is decided at an execution's first ExecutorRun(): by then
 * everybody has said which instrumentation he wants, whose hook came before
 * ours as well as whose came after it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "storage/ipc.h"
#include "tcop/utility.h"
#include "utils/guc.h"

#include "compat.h"
#include "core/reference.h"
#include "core/system_clock.h"
#include "explain/executor_hooks.h"
#include "explain/explain_option.h"
#include "explain/long_statements.h"
#include "explain/parallel_timing.h"
#include "explain/plan_run.h"
#include "explain/timing_clock.h"

/* So many calls are timed in the time that preparing the sampling takes. */
#define FEW_CALLS		800

/*
 * What has taken longer is worth sampling the next time: a millisecond, or some tenths of
 * one where ticks are shorter than nanoseconds.
 */
#define LONG_TICKS		1000000

typedef enum SampledTiming
{
	SAMPLED_OFF,
	SAMPLED_AUTO_EXPLAIN,
	SAMPLED_ON
} SampledTiming;

static const struct config_enum_entry sampled_timing_values[] = {
	{"off", SAMPLED_OFF, false},
	{"auto_explain", SAMPLED_AUTO_EXPLAIN, false},
	{"on", SAMPLED_ON, false},
	{"false", SAMPLED_OFF, true},
	{"no", SAMPLED_OFF, true},
	{"0", SAMPLED_OFF, true},
	{"true", SAMPLED_ON, true},
	{"yes", SAMPLED_ON, true},
	{"1", SAMPLED_ON, true},
	{NULL, 0, false}
};

static int	sampled_timing = SAMPLED_OFF;
static bool sampled_counting = false;

const ExecutionSampler *execution_sampler = NULL;

/* Executions that are timed, as long as their memory is there. */
static dlist_head executions = DLIST_STATIC_INIT(executions);

/* An execution of plan_run() that is about to begin: its observer alone decides on its nodes. */
static const QueryDesc *observed_desc = NULL;

/* Statements of which the planner expects few calls, but of which one took long. */
static LongStatements long_statements;

static ProcessUtility_hook_type previous_ProcessUtility = NULL;
static ExecutorStart_hook_type previous_ExecutorStart = NULL;
static ExecutorRun_hook_type previous_ExecutorRun = NULL;
static ExecutorFinish_hook_type previous_ExecutorFinish = NULL;
static ExecutorEnd_hook_type previous_ExecutorEnd = NULL;

#define NEXT(function) (previous_##function != NULL ? previous_##function : standard_##function)

/*
 * Each hook costs a short statement some 10 ns, so they are taken as they are needed, and given
 * back.  Those that others have put theirs over stay where they are.
 */
static bool have_ProcessUtility = false;
static bool have_ExecutorStart = false;
static bool have_ExecutorRun = false;
static bool have_ExecutorFinish = false;
static bool have_ExecutorEnd = false;

#define TAKE_HOOK(function) \
do { \
	if (!have_##function) \
	{ \
		previous_##function = function##_hook; \
		function##_hook = hooked_##function; \
		have_##function = true; \
	} \
} while (0)
#define GIVE_BACK_HOOK(function) \
do { \
	if (have_##function && function##_hook == hooked_##function) \
	{ \
		function##_hook = previous_##function; \
		have_##function = false; \
	} \
} while (0)

static void hooked_ExecutorStart(QueryDesc *desc, int eflags);
static void hooked_ExecutorFinish(QueryDesc *desc);
static void hooked_ExecutorEnd(QueryDesc *desc);

static TimedExecution *
execution_of(const QueryDesc *desc)
{
	dlist_iter	i;

	dlist_foreach(i, &executions)
	{
		TimedExecution *execution = dlist_container(TimedExecution, link, i.cur);

		if (execution->desc == desc)
			return execution;
	}
	return NULL;
}

/*
 * Whether an execution that is not finished has ended by an error, and not because ROLLBACK or the
 * session's end has closed its cursor.  The error may have been raised between two
 * ExecutorRun(), as in the body of a PL/pgSQL loop.  The ROLLBACK of a procedure looks the same.
 */
static bool
ended_by_error(const TimedExecution *execution)
{
	return execution->under_way || (!proc_exit_inprogress && TransactionBlockStatusCode() != 'E');
}

/* Called when the query's memory goes, after an error, too. */
static void
end_execution(void *arg)
{
	TimedExecution *execution = arg;

	dlist_delete(&execution->link);
	if (dlist_is_empty(&executions) && execution_watcher == NULL)
		GIVE_BACK_HOOK(ExecutorFinish);
	if (explain_at_work != NULL && explain_at_work->execution == execution)
		explain_at_work->execution = NULL;
	if (execution->drawn.weight > 0 && execution->stop_ns == 0 && execution_sampler != NULL &&
		ended_by_error(execution))
		execution_sampler->failed(execution);
}

/*
 * About how many calls a plan's nodes have that are executed so many times, by what the
 * planner expects; or more than FEW_CALLS.
 */
static double
expected_calls(const Plan *plan, double loops)
{
	double		calls = loops * (plan->plan_rows + 1);

	if (calls <= FEW_CALLS && outerPlan(plan) != NULL)
		calls += expected_calls(outerPlan(plan), loops);
	if (calls <= FEW_CALLS && innerPlan(plan) != NULL)
		calls += expected_calls(innerPlan(plan), IsA(plan, NestLoop) ? loops * outerPlan(plan)->plan_rows : loops);
	return calls;
}

/* Whether its nodes' timers, or counters, may be ours. */
static bool
is_replaced(const QueryDesc *desc, bool explained)
{
	if ((desc->instrument_options & INSTRUMENT_TIMER) != 0)
		return sampled_timing == SAMPLED_ON || (sampled_timing == SAMPLED_AUTO_EXPLAIN && !explained);
	return sampled_counting && desc->instrument_options != 0;
}

/*
 * Before an execution's first ExecutorRun(): returns NULL if it is not to be timed.
 * "whole": it goes on until there are no more rows.  "is_short" is set if nodes are left to
 * the server, as the planner expects few calls.
 */
static TimedExecution *
begin_execution(QueryDesc *desc, bool whole, bool workers, bool *is_short)
{
	bool		explained = explain_at_work != NULL && explain_at_work->desc == desc;
	const ExplainOption *option = explained ? explain_at_work->option : NULL;
	bool		replaced = option != NULL || is_replaced(desc, explained);
	bool		asked = replaced;
	ExecutionDraw drawn = {0};
	uint64		start_ns;
	TimedExecution *execution;

	/*
	 * Where few calls are timed the server's timers cost less than preparing
	 * the sampling, which takes 50 us, and are exact.
	 */
	if (replaced && !explained && expected_calls(desc->plannedstmt->planTree, 1) <= FEW_CALLS)
	{
		*is_short = true;
		asked = was_long(long_statements, desc);
	}

	/* what EXPLAIN executes is not what the server does */
	if (execution_sampler != NULL && !explained &&
		(replaced || (desc->instrument_options & INSTRUMENT_TIMER) == 0) &&
		!execution_sampler->draw(desc, &drawn))
		drawn.weight = 0;
	if (!asked && drawn.weight == 0)
		return NULL;

	/* not at the expense of the one that happens to come when that is due */
	if (asked || drawn.nodes)
		node_timing_calibrate();
	start_ns = reference_ns();
	execution = MemoryContextAllocZero(desc->estate->es_query_cxt, sizeof(TimedExecution));
	execution->desc = desc;
	execution->drawn = drawn;
	if (option != NULL)
		execution->run.options = option->options;
	else
	{
		execution->run.options.sampling = SAMPLING_DEFAULT;
		execution->run.options.only_node = -1;
		execution->run.options.max_overhead = asked ? MAX_OVERHEAD_DEFAULT : execution_sampler->max_overhead;
	}
	execution->run.options.may_stop = !whole;
	execution->run.options.no_workers = !workers;
	dlist_push_head(&executions, &execution->link);
	TAKE_HOOK(ExecutorFinish);
	execution->at_end.func = end_execution;
	execution->at_end.arg = execution;
	MemoryContextRegisterResetCallback(desc->estate->es_query_cxt, &execution->at_end);
	if (explained)
		explain_at_work->execution = execution;
	if (asked || drawn.nodes)
		sampled_before_run(desc, &execution->run);
	execution->attach_ns = (double) (reference_ns() - start_ns);
	return execution;
}

/*
 * What belongs to an EXPLAIN is known until its statement ends, however that does.
 * Another EXPLAIN may be at work, of which this one is part.
 */
static void
hooked_ProcessUtility(PlannedStmt *statement, const char *text, bool read_only_tree,
					  ProcessUtilityContext context, ParamListInfo params,
					  QueryEnvironment *env, DestReceiver *receiver, QueryCompletion *completion)
{
	ExplainAtWork *outer = explain_at_work;
	ExplainAtWork explain = {0};

	if (!IsA(statement->utilityStmt, ExplainStmt))
	{
		NEXT(ProcessUtility) (statement, text, read_only_tree, context, params, env,
							  receiver, completion);
		return;
	}
	explain.text = text;

	explain.context = CurrentMemoryContext;
	explain.marked_from = -1;
	explain_at_work = &explain;
	TAKE_HOOK(ExecutorStart);
	TAKE_HOOK(ExecutorEnd);

	PG_TRY();
	{
		/* EXPLAIN would count it as part of the execution */
		if (sampled_timing == SAMPLED_ON)
			node_timing_calibrate();
		NEXT(ProcessUtility) (statement, text, read_only_tree, context, params, env,
							  receiver, completion);
	}
	PG_FINALLY();
	{
		explain_at_work = outer;
		if (outer == NULL)
		{
			GIVE_BACK_HOOK(ExecutorStart);
			GIVE_BACK_HOOK(ExecutorEnd);
		}
	}
	PG_END_TRY();
}

/*
 * Whether it is the execution of what is explained, and not one by a function
 * that is called by the planner, by the arguments of EXECUTE, or as the plan is
 * started.  EXPLAIN executes a plan in the memory context in which it was called,
 * and in which no function is: each has contexts of its own.
 */
static bool
is_explained(const QueryDesc *desc, int eflags)
{
	if (explain_at_work->desc != NULL || CurrentMemoryContext != explain_at_work->context ||
		(eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return false;
	switch (desc->dest->mydest)
	{
		case DestNone:
		case DestIntoRel:
#if PG_VERSION_NUM >= 170000
		case DestExplainSerialize:
#endif
			return true;
		default:
			return false;
	}
}

static void
hooked_ExecutorStart(QueryDesc *desc, int eflags)
{
	bool		explained = unlikely(explain_at_work != NULL) && is_explained(desc, eflags);

	if (explained)
	{
		explain_at_work->desc = desc;
		explain_at_work->execution = NULL;
	}
	NEXT(ExecutorStart) (desc, eflags);
	if (explained)
		explain_option_started(desc, sampled_timing != SAMPLED_OFF);
}

#if PG_VERSION_NUM >= 180000
#define EXECUTOR_RUN_PARAMETERS QueryDesc *desc, ScanDirection direction, uint64 count
#define EXECUTOR_RUN_ARGUMENTS desc, direction, count
#define EXECUTE_ONCE false		/* it looks at the count */
#else
#define EXECUTOR_RUN_PARAMETERS QueryDesc *desc, ScanDirection direction, uint64 count, bool execute_once
#define EXECUTOR_RUN_ARGUMENTS desc, direction, count, execute_once
#define EXECUTE_ONCE execute_once
#endif

/*
 * Of all but the common case that nothing is to be done.  A plan has parallel workers only
 * where it is executed to its end, or once.
 */
static pg_noinline TimedExecution *
before_run(QueryDesc *desc, ScanDirection direction, uint64 count, bool execute_once, bool *is_short)
{
	TimedExecution *execution;

	if (plan_run_desc != NULL)
	{
		bool		is_this = plan_run_desc == desc;

		/* or of one that has failed before it came here */
		plan_run_desc = NULL;
		if (is_this)
		{
			observed_desc = desc;
			return NULL;
		}
	}
	if (desc->already_executed)
	{
		execution = execution_of(desc);
		if (execution == NULL || execution->stop_ns != 0)
			return NULL;
		if (execution->run.timing != NULL)
			node_timing_resume(execution->run.timing, true);
		return execution;
	}
	/* nothing is executed, and it has not begun after that */
	if (ScanDirectionIsNoMovement(direction))
		return NULL;
	/* one that may be scrolled goes on after its end, too */
	return begin_execution(desc, count == 0 && ScanDirectionIsForward(direction) &&
						   (desc->estate->es_top_eflags & (EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD)) == 0,
						   count == 0 || execute_once, is_short);
}

/* Before and after an ExecutorRun(), or ExecutorFinish(), of an execution that is timed. */
static void
begin_part(TimedExecution *execution)
{
	execution->under_way = true;
	if (execution->run.timing == NULL)
		execution->part_ns = system_clock_read();
}

static void
end_part(TimedExecution *execution)
{
	if (execution->run.timing == NULL)
		execution->run_ns += (double) (int64) (system_clock_read() - execution->part_ns);
	execution->under_way = false;
}

/* The rest of the hook, among calls of the module that publishes executions. */
static void
run_next(EXECUTOR_RUN_PARAMETERS)
{
	const ExecutionWatcher *watcher = execution_watcher;
	volatile bool failed = true;
	int			entered;

	if (likely(watcher == NULL) || observed_desc == desc)
	{
		observed_desc = NULL;
		NEXT(ExecutorRun) (EXECUTOR_RUN_ARGUMENTS);
		return;
	}
	/* where AFTER triggers execute statements */
	if (unlikely(desc->operation != CMD_SELECT || desc->plannedstmt->hasModifyingCTE))
		TAKE_HOOK(ExecutorFinish);
	entered = watcher->enter(desc);
	PG_TRY();
	{
		NEXT(ExecutorRun) (EXECUTOR_RUN_ARGUMENTS);
		failed = false;
	}
	PG_FINALLY();
	{
		watcher->leave(desc, entered, failed);
	}
	PG_END_TRY();
}

static void
hooked_ExecutorRun(EXECUTOR_RUN_PARAMETERS)
{
	TimedExecution *execution = NULL;
	bool		is_short = false;
	uint64		start_ticks;

	if (unlikely(IsParallelWorker()))
	{
		parallel_timing_join(desc);
		TAKE_HOOK(ExecutorFinish);
	}
	else if (desc->instrument_options == 0 && !desc->already_executed && plan_run_desc == NULL &&
			 ScanDirectionIsForward(direction) &&
			 (execution_sampler == NULL || (explain_at_work == NULL && execution_sampler->passes(desc))))
	{
		run_next(EXECUTOR_RUN_ARGUMENTS);
		return;
	}
	else
		execution = before_run(desc, direction, count, EXECUTE_ONCE, &is_short);
	if (likely(execution == NULL && !is_short))
	{
		run_next(EXECUTOR_RUN_ARGUMENTS);
		return;
	}

	if (execution != NULL)
		begin_part(execution);
	start_ticks = now_ticks();
	run_next(EXECUTOR_RUN_ARGUMENTS);
	if (is_short)
		remember_statement(long_statements, desc, now_ticks() - start_ticks > LONG_TICKS);
	if (execution == NULL)
		return;
	if (execution->run.timing != NULL)
		sampled_after_run(desc, &execution->run);
	end_part(execution);
}

/* The same of ExecutorFinish(). */
static void
finish_next(QueryDesc *desc)
{
	const ExecutionWatcher *watcher = execution_watcher;
	volatile bool failed = true;
	int			entered;

	if (watcher == NULL)
	{
		NEXT(ExecutorFinish) (desc);
		return;
	}
	entered = watcher->enter(desc);
	PG_TRY();
	{
		NEXT(ExecutorFinish) (desc);
		failed = false;
	}
	PG_FINALLY();
	{
		watcher->leave(desc, entered, failed);
	}
	PG_END_TRY();
}

static void
hooked_ExecutorFinish(QueryDesc *desc)
{
	TimedExecution *execution = unlikely(!dlist_is_empty(&executions)) ? execution_of(desc) : NULL;

	if (execution != NULL)
	{
		if (execution->run.timing != NULL)
			node_timing_resume(execution->run.timing, false);
		begin_part(execution);
	}
	finish_next(desc);
	if (unlikely(IsParallelWorker()))
		parallel_timing_report(desc);
	if (execution == NULL)
		return;
	end_part(execution);
	execution->stop_ns = reference_ns();
	if (execution->run.timing != NULL)
		sampled_after_finish(desc, &execution->run);
	if (execution->run.timing != NULL && execution->run.plan == NULL)
	{
		if (explain_at_work != NULL && explain_at_work->execution == execution)
			ereport(WARNING,
					(errmsg("times of plan nodes are the server's, not estimated by sampling"),
					 errdetail("Another extension replaces the functions of plan nodes.")));
		return;
	}
	if (execution->drawn.weight > 0 && execution_sampler != NULL)
		execution_sampler->finished(execution);
	if (explain_at_work != NULL && explain_at_work->execution == execution)
		explain_option_finished();
}

static void
hooked_ExecutorEnd(QueryDesc *desc)
{
	if (unlikely(explain_at_work != NULL) && explain_at_work->desc == desc)
	{
		explain_option_ends();
		/* the plan is freed with the query's memory, and there may be another */
		explain_at_work->desc = NULL;
		explain_at_work->execution = NULL;
	}
	NEXT(ExecutorEnd) (desc);
}

void
executor_hooks_take(void)
{
	TAKE_HOOK(ProcessUtility);
	TAKE_HOOK(ExecutorRun);
}

static void
assign_sampled_timing(int newval, void *extra)
{
	(void) extra;
	if (newval != SAMPLED_OFF)
		executor_hooks_take();
}

static void
assign_sampled_counting(bool newval, void *extra)
{
	(void) extra;
	if (newval)
		executor_hooks_take();
}

void
executor_hooks_init(void)
{
	DefineCustomEnumVariable("clocktiming.sampled_timing",
							 gettext_noop("Has the times of plan nodes estimated by sampling where a timer is asked for."),
							 gettext_noop("\"auto_explain\" leaves those of EXPLAIN statements as they are."),
							 &sampled_timing, SAMPLED_OFF, sampled_timing_values,
							 PGC_USERSET, 0, NULL, assign_sampled_timing, NULL);
	DefineCustomBoolVariable("clocktiming.sampled_counting",
							 "For tests: has the rows of plan nodes counted by clocktiming where they are asked for.",
							 NULL,
							 &sampled_counting, false,
							 PGC_USERSET,
							 GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE,
							 NULL, assign_sampled_counting, NULL);
	explain_option_init(executor_hooks_take);
	parallel_timing_init(executor_hooks_take);
#if PG_VERSION_NUM >= 180000

	/*
	 * which EXPLAIN an option belongs to is to be known before the option is
	 * read
	 */
	TAKE_HOOK(ProcessUtility);
#endif
}
