/*
 * The hook of an execution's first ExecutorRun() decides whether the execution is timed, because by
 * then the ExecutorStart hooks of all extensions have set instrument_options.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "storage/ipc.h"
#include "tcop/utility.h"
#include "utils/guc.h"

#include "compat.h"
#include "core/system_clock.h"
#include "plan/explain/executor_hooks.h"
#include "plan/explain/explain_option.h"
#include "plan/explain/long_statements.h"
#include "plan/explain/parallel_observation.h"
#include "plan/explain/plan_run.h"
#include "plan/explain/plan_shape.h"
#include "plan/explain/watcher.h"
#include "plan/sampler/plan_sampler.h"

/* Calls that the server can time while sampling is set up.  For fewer, sampling does not pay. */
#define FEW_CALLS		800

/* Duration in ns above which a statement with few expected calls is sampled the next time. */
#define LONG_NS			1000000

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
static const volatile uint32 no_ticks = 0;
const volatile uint32 *execution_ticks = &no_ticks;
const ExecutionWatcher *execution_watcher = NULL;

/* Timed executions, until their query's memory is freed. */
static dlist_head executions = DLIST_STATIC_INIT(executions);

/* A counted execution between its ExecutorRun() and its ExecutorFinish(); desc NULL: none. */
static struct
{
	const QueryDesc *desc;
	CountedStart start;
}			finishing;

/* Number of nested executions at work whose statements are clocktiming's own (is_own()). */
static int	own_depth = 0;

/* Statements that took long although the planner expected few calls. */
static LongStatements long_statements;

static ProcessUtility_hook_type previous_ProcessUtility = NULL;
static ExecutorRun_hook_type previous_ExecutorRun = NULL;
static ExecutorFinish_hook_type previous_ExecutorFinish = NULL;
static ExecutorEnd_hook_type previous_ExecutorEnd = NULL;

#define NEXT(function) (previous_##function != NULL ? previous_##function : standard_##function)

/*
 * Whether our hooks are installed.  A hook costs a short statement some 10 ns, so hooks are
 * installed when they are needed, and removed afterwards.  A hook stays installed if another
 * extension has installed its own on top of it.
 */
static bool have_ProcessUtility = false;
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
 * Returns whether an error has ended an unfinished execution.  The error may have occurred between
 * two calls of ExecutorRun(), as in the body of a PL/pgSQL loop.  ROLLBACK and the end of the
 * session are no errors, but also end executions, by closing cursors.  A procedure's ROLLBACK
 * cannot be distinguished from an error.
 */
static bool
ended_by_error(const TimedExecution *execution)
{
	return execution->under_way || (!proc_exit_inprogress && TransactionBlockStatusCode() != 'E');
}

/* Reset callback of the query's memory context; called after an error, too. */
static void
end_execution(void *arg)
{
	TimedExecution *execution = arg;

	dlist_delete(&execution->link);
	if (dlist_is_empty(&executions) && execution_watcher == NULL)
		GIVE_BACK_HOOK(ExecutorFinish);
	if (execution->drawn.weight > 0 && execution->stop_ns == 0 && execution_sampler != NULL &&
		ended_by_error(execution))
		execution_sampler->failed(execution);
}

/* Returns whether sampling replaces the timers or counters that instrument_options request. */
static bool
is_replaced(const QueryDesc *desc, bool explained)
{
	if ((desc->instrument_options & INSTRUMENT_TIMER) != 0)
		return sampled_timing >= (explained ? SAMPLED_ON : SAMPLED_AUTO_EXPLAIN);
	return sampled_counting && desc->instrument_options != 0;
}

/*
 * Called before the first ExecutorRun() of an execution.  Decides whether it is timed, and sets the
 * timing up.  Returns NULL if it is not timed.
 *
 * "workers": it may have parallel workers.  "own": the statement is clocktiming's own.  Sets
 * *is_short if the planner expects so few calls that the server should time the nodes.
 */
static TimedExecution *
begin_execution(QueryDesc *desc, bool workers, bool own, CountedStart *counted, bool *is_short)
{
	bool		explained = explain_at_work != NULL && explain_at_work->desc == desc;
	bool		replaced = (explained && explain_at_work->option) || is_replaced(desc, explained);
	bool		asked = replaced;
	ExecutionDraw drawn = {0};
	uint64		start_ns;
	TimedExecution *execution;

	/*
	 * for few calls, the server's timers are exact and cost less than the 50
	 * us to set up sampling
	 */
	if (replaced && !explained &&
		plan_expected_calls(desc->plannedstmt->planTree, 1, FEW_CALLS) <= FEW_CALLS)
	{
		*is_short = true;
		asked = was_long(long_statements, desc);
	}

	/*
	 * executions by EXPLAIN, clocktiming's own ones and those within them are
	 * not counted in the statistics of plans
	 */
	if (execution_sampler != NULL && !explained && !own && own_depth == 0 &&
		(replaced || (desc->instrument_options & INSTRUMENT_TIMER) == 0) &&
		!execution_sampler->draw(desc, counted, &drawn))
		drawn.weight = 0;
	if (!asked && drawn.weight == 0)
		return NULL;

	if (asked || drawn.nodes)
		plan_sampler_prepare(explained);
	start_ns = system_clock_read();
	execution = MemoryContextAllocZero(desc->estate->es_query_cxt, sizeof(TimedExecution));
	execution->desc = desc;
	execution->drawn = drawn;
	if (drawn.weight > 0)
		execution->own_instr = instr_time_query(desc);
	execution->run.options.asked = explained;
	execution->run.options.no_workers = !workers;
	dlist_push_head(&executions, &execution->link);
	TAKE_HOOK(ExecutorFinish);
	execution->at_end.func = end_execution;
	execution->at_end.arg = execution;
	MemoryContextRegisterResetCallback(desc->estate->es_query_cxt, &execution->at_end);
	if (asked || drawn.nodes)
		observed_before_run(desc, &execution->run);
	execution->attach_ns = (double) (system_clock_read() - start_ns);
	return execution;
}

/*
 * Sets explain_at_work while an EXPLAIN statement is executed.  EXPLAIN may be executed within
 * another EXPLAIN, whose state is restored afterwards, also after an error.
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
	explain_at_work = &explain;
	TAKE_HOOK(ExecutorEnd);

	PG_TRY();
	{
		/* before EXPLAIN's timers start, which would include the wait */
		if (sampled_timing == SAMPLED_ON)
			plan_sampler_prepare(true);
		NEXT(ProcessUtility) (statement, text, read_only_tree, context, params, env,
							  receiver, completion);
	}
	PG_FINALLY();
	{
		explain_at_work = outer;
		if (outer == NULL)
			GIVE_BACK_HOOK(ExecutorEnd);
	}
	PG_END_TRY();
}

/*
 * Returns whether this is the execution of the explained statement.  Functions called by the
 * planner, by the arguments of EXECUTE or by the plan may execute other statements.  EXPLAIN
 * executes the plan in the memory context of its own call, while functions have memory contexts of
 * their own.
 */
static bool
is_explained(const QueryDesc *desc)
{
	CommandDest dest = desc->dest->mydest;

#if PG_VERSION_NUM >= 170000
	if (dest == DestExplainSerialize)
		dest = DestNone;
#endif
	return explain_at_work->desc == NULL && CurrentMemoryContext == explain_at_work->context &&
		(dest == DestNone || dest == DestIntoRel);
}

#if PG_VERSION_NUM >= 180000
#define EXECUTOR_RUN_PARAMETERS QueryDesc *desc, ScanDirection direction, uint64 count
#define EXECUTOR_RUN_ARGUMENTS desc, direction, count
#define EXECUTE_ONCE false		/* PostgreSQL 18 needs count = 0 for workers */
#else
#define EXECUTOR_RUN_PARAMETERS \
	QueryDesc *desc, ScanDirection direction, uint64 count, bool execute_once
#define EXECUTOR_RUN_ARGUMENTS desc, direction, count, execute_once
#define EXECUTE_ONCE execute_once
#endif

/*
 * Begins or continues the timing of an execution before ExecutorRun().  Returns NULL if it is not
 * timed.  A plan can have parallel workers only if "count" is 0 or, before PostgreSQL 18, if
 * execute_once is true.
 */
static pg_noinline TimedExecution *
before_run(QueryDesc *desc, ScanDirection direction, uint64 count, bool execute_once, bool own,
		   CountedStart *counted, bool *is_short)
{
	TimedExecution *execution;

	if (desc->already_executed)
	{
		execution = execution_of(desc);
		if (execution == NULL || execution->stop_ns != 0)
			return NULL;
		if (execution->run.observation != NULL)
			observe_begin_part(execution->run.observation);
		return execution;
	}
	/* nothing is executed, so the next ExecutorRun() is still the first */
	if (ScanDirectionIsNoMovement(direction))
		return NULL;

	return begin_execution(desc, count == 0 || execute_once, own, counted, is_short);
}

/*
 * Calls the next hook of ExecutorRun() or, if "finishes" is true, of ExecutorFinish().  Calls the
 * functions enter() before the hook and leave() after the hook, which belong to the module that
 * publishes running executions.
 */
static void
call_watched(QueryDesc *desc, ScanDirection direction, uint64 count, bool execute_once,
			 bool finishes)
{
	const ExecutionWatcher *watcher = execution_watcher;
	int			entered = watcher->enter(desc);
	volatile bool failed = true;

	(void) execute_once;
	PG_TRY();
	{
		if (finishes)
			NEXT(ExecutorFinish) (desc);
		else
			NEXT(ExecutorRun) (EXECUTOR_RUN_ARGUMENTS);
		failed = false;
	}
	PG_FINALLY();
	{
		watcher->leave(desc, entered, failed,
					   !failed && !finishes && ScanDirectionIsForward(direction) &&
					   (count == 0 || desc->estate->es_processed < count));
	}
	PG_END_TRY();
}

static void
run_next(EXECUTOR_RUN_PARAMETERS)
{
	if (likely(execution_watcher == NULL))
	{
		NEXT(ExecutorRun) (EXECUTOR_RUN_ARGUMENTS);
		return;
	}
	/* also watches ExecutorFinish(): AFTER triggers may execute statements */
	if (unlikely(desc->operation != CMD_SELECT || desc->plannedstmt->hasModifyingCTE))
		TAKE_HOOK(ExecutorFinish);
	call_watched(desc, direction, count, EXECUTE_ONCE, false);
}

/* Notes that a counted execution will be finished, which may fire AFTER triggers. */
static pg_noinline void
expect_finish(const QueryDesc *desc, const CountedStart *counted)
{
	finishing.desc = desc;
	finishing.start = *counted;
	TAKE_HOOK(ExecutorFinish);
}

void
executor_hooks_forget(void)
{
	finishing.desc = NULL;
}

/* Calls the next hook for a statement of clocktiming, whose functions may execute statements. */
static pg_noinline void
run_own(EXECUTOR_RUN_PARAMETERS)
{
	own_depth++;
	PG_TRY();
	{
		run_next(EXECUTOR_RUN_ARGUMENTS);
	}
	PG_FINALLY();
	{
		own_depth--;
	}
	PG_END_TRY();
}

/* Calls the next hook for an execution of which nothing but the duration may be measured. */
static inline void
run_counted(EXECUTOR_RUN_PARAMETERS, const CountedStart *counted)
{
	run_next(EXECUTOR_RUN_ARGUMENTS);
	if (counted->counter != 0 && count == 0 &&
		unlikely(counted->ticks != *execution_ticks || desc->operation != CMD_SELECT))
		expect_finish(desc, counted);
}

/*
 * Decides at the first run whether to observe the execution, and begins and ends a part of it.
 * "counted": as the sampler's function passes() has set it.
 */
static pg_noinline void
run_unusual(EXECUTOR_RUN_PARAMETERS, CountedStart *counted)
{
	TimedExecution *execution = NULL;
	bool		is_short = false;
	bool		own = false;
	uint64		start_ns;

	if (plan_run_desc != NULL)
	{
		bool		observed = plan_run_desc == desc;

		/* may be left over from an execution that failed before this hook */
		plan_run_desc = NULL;
		if (observed)
		{
			NEXT(ExecutorRun) (EXECUTOR_RUN_ARGUMENTS);
			return;
		}
	}
	if (explain_at_work != NULL && is_explained(desc))
	{
		explain_at_work->desc = desc;
		explain_option_starts(sampled_timing != SAMPLED_OFF);
	}
	if (IsParallelWorker())
	{
		parallel_observation_join(desc);
		TAKE_HOOK(ExecutorFinish);
	}
	else
	{
		own = execution_sampler != NULL && execution_sampler->is_own(desc);
		execution = before_run(desc, direction, count, EXECUTE_ONCE, own, counted, &is_short);
	}
	if (execution == NULL && !is_short && !own)
	{
		run_counted(EXECUTOR_RUN_ARGUMENTS, counted);
		return;
	}

	if (execution != NULL)
	{
		execution->under_way = true;
		if (counted->counter != 0)
			execution->drawn.complete = count == 0;
	}
	start_ns = is_short ? system_clock_read() : 0;
	if (own)
		run_own(EXECUTOR_RUN_ARGUMENTS);
	else
		run_next(EXECUTOR_RUN_ARGUMENTS);
	if (is_short)
		remember_statement(long_statements, desc, system_clock_read() - start_ns > LONG_NS);
	if (execution == NULL)
		return;
	if (execution->run.observation != NULL)
		observed_after_run(desc, &execution->run);
	execution->under_way = false;
}

/* Returns whether only the random sample may require that an execution be observed. */
static inline bool
is_usual(const QueryDesc *desc, ScanDirection direction)
{
	return likely(desc->instrument_options == 0 && !desc->already_executed &&
				  ScanDirectionIsForward(direction) && plan_run_desc == NULL &&
				  explain_at_work == NULL && !IsParallelWorker());
}

static void
hooked_ExecutorRun(EXECUTOR_RUN_PARAMETERS)
{
	CountedStart counted = {0};

	if (is_usual(desc, direction) &&
		(execution_sampler == NULL ||
		 (own_depth == 0 && likely(execution_sampler->passes(desc, &counted)))))
		run_counted(EXECUTOR_RUN_ARGUMENTS, &counted);
	else
		run_unusual(EXECUTOR_RUN_ARGUMENTS, &counted);
}

/* Observes the end, and computes the times, which EXPLAIN and auto_explain print. */
static void
hooked_ExecutorFinish(QueryDesc *desc)
{
	TimedExecution *execution = unlikely(!dlist_is_empty(&executions)) ? execution_of(desc) : NULL;
	bool		counted = finishing.desc == desc;
	CountedStart start = finishing.start;

	if (counted)
		finishing.desc = NULL;
	if (execution != NULL)
	{
		if (execution->run.observation != NULL)
			observe_begin_part(execution->run.observation);
		execution->under_way = true;
	}
	if (execution_watcher == NULL)
		NEXT(ExecutorFinish) (desc);
	else
		call_watched(desc, NoMovementScanDirection, 0, false, true);
	if (counted)
	{
		if (start.ticks != *execution_ticks && execution_sampler != NULL)
			execution_sampler->ticked(desc, &start);
		if (dlist_is_empty(&executions) && execution_watcher == NULL)
			GIVE_BACK_HOOK(ExecutorFinish);
	}
	if (unlikely(IsParallelWorker()))
		parallel_observation_report(desc);
	if (execution == NULL)
		return;
	execution->stop_ns = system_clock_read();
	execution->under_way = false;
	execution->run_ns = instr_query_ns(desc);
	if (execution->run.observation != NULL)
		observed_after_finish(desc, &execution->run);
	if (execution->own_instr)
		instr_forget_query(desc);
	if (execution->run.observation != NULL && execution->run.plan == NULL)
	{
		if (explain_at_work != NULL && explain_at_work->desc == desc)
			ereport(WARNING,
					(errmsg("times of plan nodes are measured by the server, not estimated by sampling"),
					 errdetail("Another extension replaces the functions that execute plan nodes.")));
		return;
	}
	if (execution->drawn.weight > 0 && execution_sampler != NULL)
		execution_sampler->finished(execution);
	if (explain_at_work != NULL && explain_at_work->desc == desc)
	{
		explain_at_work->run = &execution->run;
		explain_option_finished();
	}
}

static void
hooked_ExecutorEnd(QueryDesc *desc)
{
	if (unlikely(explain_at_work != NULL) && explain_at_work->desc == desc)
	{
		explain_option_ends();
		/* the run is freed with the query's memory; another plan may follow */
		explain_at_work->desc = NULL;
		explain_at_work->run = NULL;
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
	assign_sampled_timing(newval ? SAMPLED_ON : SAMPLED_OFF, extra);
}

void
executor_hooks_init(void)
{
	DefineCustomEnumVariable("clocktiming.sampled_timing",
							 gettext_noop("Estimates the times of plan nodes by sampling where timers are requested."),
							 gettext_noop("With \"auto_explain\", the server times EXPLAIN statements itself, without sampling."),
							 &sampled_timing, SAMPLED_OFF, sampled_timing_values,
							 PGC_USERSET, 0, NULL, assign_sampled_timing, NULL);
	DefineCustomBoolVariable("clocktiming.sampled_counting",
							 "For tests: lets clocktiming count the rows of plan nodes where row counts are requested.",
							 NULL,
							 &sampled_counting, false,
							 PGC_USERSET,
							 GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE,
							 NULL, assign_sampled_counting, NULL);
	explain_option_init(executor_hooks_take);
	parallel_observation_init(executor_hooks_take);
#if PG_VERSION_NUM >= 180000

	/* the hook sets explain_at_work, which EXPLAIN's options require */
	TAKE_HOOK(ProcessUtility);
#endif
}
