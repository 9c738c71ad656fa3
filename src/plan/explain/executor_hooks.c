/*
 * The hook of an execution's first ExecutorRun() decides whether the execution is timed, because by
 * then the ExecutorStart hooks of all extensions have set instrument_options.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "storage/ipc.h"
#include "tcop/utility.h"

#include "compat.h"
#include "core/cpu_usage.h"
#include "core/system_clock.h"
#include "plan/explain/execution_classes.h"
#include "plan/explain/executor_hooks.h"
#include "plan/explain/explain_option.h"
#include "plan/explain/long_statements.h"
#include "plan/explain/parallel_observation.h"
#include "plan/explain/plan_run.h"
#include "plan/explain/plan_shape.h"
#include "plan/explain/watcher.h"
#include "plan/sampler/plan_sampler.h"
#include "server/settings.h"

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
const ExecutionWatcher *execution_watcher = NULL;
double		watched_cost = 0;
const LongStatements *watched_statements = NULL;
ClassSlot	class_slots[CLASS_SLOTS];

/* Timed executions, until their query's memory is freed. */
static dlist_head executions = DLIST_STATIC_INIT(executions);

/* A counted execution between its ExecutorRun() and its ExecutorFinish(). */
typedef struct Finishing
{
	const QueryDesc *desc;
	CountedStart start;
	CountedStart ended;			/* end of its ExecutorRun() */
	bool		is_long;
} Finishing;

/* Open cursors are in this state.  If there are more, the duration of the oldest is not counted. */
#define MOST_FINISHING	16

static Finishing finishing[MOST_FINISHING];
static int	nfinishing = 0;

/* Number of nested executions at work whose statements are clocktiming's own (is_own()). */
static int	own_depth = 0;

/* Statements that took long although the planner expected few calls. */
static LongStatements long_statements;

static ProcessUtility_hook_type previous_ProcessUtility = NULL;
static ExecutorStart_hook_type previous_ExecutorStart = NULL;
static ExecutorRun_hook_type previous_ExecutorRun = NULL;
static ExecutorFinish_hook_type previous_ExecutorFinish = NULL;
static ExecutorEnd_hook_type previous_ExecutorEnd = NULL;

/* NEXT(ExecutorRun), below. */
static ExecutorRun_hook_type next_ExecutorRun = NULL;

#define NEXT(function) (previous_##function != NULL ? previous_##function : standard_##function)

/*
 * Whether our hooks are installed.  A hook costs a short statement some 10 ns, so hooks are
 * installed when they are needed, and removed afterwards.  A hook stays installed if another
 * extension has installed its own on top of it.
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

static void hooked_ExecutorStart(QueryDesc *desc, int flags);
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
	if (dlist_is_empty(&executions) && execution_watcher == NULL && nfinishing == 0)
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

/* Allocates a TimedExecution, which the end of the query's memory removes. */
static TimedExecution *
new_execution(QueryDesc *desc)
{
	TimedExecution *execution = MemoryContextAllocZero(desc->estate->es_query_cxt,
													   sizeof(TimedExecution));

	execution->desc = desc;
	dlist_push_head(&executions, &execution->link);
	TAKE_HOOK(ExecutorFinish);
	execution->at_end.func = end_execution;
	execution->at_end.arg = execution;
	MemoryContextRegisterResetCallback(desc->estate->es_query_cxt, &execution->at_end);
	return execution;
}

/*
 * Observes a long execution from now on.  The time since its nodes were waited for, in which none
 * was called, belongs to the node that has worked; the time before is unknown.  "called": the node
 * whose call is about to begin, or the root if no call has followed.
 */
static void
join_execution(RunningExecution *r, PlanState *called)
{
	uint64		start_ns = system_clock_read();
	double		begun_cpu_ns;
	TimedExecution *execution;
	Observation *o;

	begun_cpu_ns = cpu_time_ns();
	r->armed = false;
	running_disarm(r->desc->planstate);
	if (execution_sampler == NULL || !execution_sampler->joins(r->desc))
		return;
	execution = execution_of(r->desc);
	if (execution != NULL && execution->run.observation != NULL)
		return;
	plan_sampler_prepare(false);
	if (execution == NULL)
	{
		execution = new_execution(r->desc);
		execution->late = true;
		execution->under_way = true;
		execution->drawn.start = r->start;
		execution->drawn.complete = true;
	}
	execution->run.options.late = execution->run.options.no_workers = true;
	o = observation_of(r->desc);
	if (o == NULL)
	{
		o = observe_attach(r->desc, &execution->run.options);
		if (o != NULL)
		{
			observe_begin_part(o);
			observe_called(o, called);
			observe_uncalled(o, called, (double) (int64) (start_ns - r->armed_ns),
							 begun_cpu_ns - (double) r->armed_cpu_ns, r->armed_event);
		}
	}
	execution->run.observation = o;
	/* CPU time, because on a busy server the process loses its CPU */
	execution->attach_ns += cpu_time_ns() - begun_cpu_ns;
	elog(DEBUG1, "nodes observed from now on");
}

static void
join_long(PlanState *called)
{
	RunningExecution *r = running_of(called);

	if (r != NULL && r->armed && r->start.counter != 0)
		join_execution(r, called);
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
	execution = new_execution(desc);
	execution->drawn = drawn;
	if (drawn.weight > 0)
		execution->own_instr = instr_time_query(desc);
	execution->run.options.asked = explained;
	execution->run.options.no_workers = !workers;
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
	set_unusual(&running_state.unusual, UNUSUAL_EXPLAIN, true);
	TAKE_HOOK(ExecutorStart);
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
		set_unusual(&running_state.unusual, UNUSUAL_EXPLAIN, outer != NULL);
		if (outer == NULL)
		{
			GIVE_BACK_HOOK(ExecutorStart);
			GIVE_BACK_HOOK(ExecutorEnd);
		}
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

/* Notes when EXPLAIN starts its plan, because the execution time begins here. */
static void
hooked_ExecutorStart(QueryDesc *desc, int flags)
{
	if (explain_at_work != NULL && is_explained(desc))
		explain_at_work->start_ns = system_clock_read();
	NEXT(ExecutorStart) (desc, flags);
}

#if PG_VERSION_NUM >= 180000
#define EXECUTOR_RUN_PARAMETERS QueryDesc *desc, ScanDirection direction, uint64 count
#define EXECUTOR_RUN_ARGUMENTS desc, direction, count
#define EXECUTOR_RUN_ALL desc, ForwardScanDirection, 0
#define EXECUTE_ONCE false		/* PostgreSQL 18 needs count = 0 for workers */
#else
#define EXECUTOR_RUN_PARAMETERS \
	QueryDesc *desc, ScanDirection direction, uint64 count, bool execute_once
#define EXECUTOR_RUN_ARGUMENTS desc, direction, count, execute_once
#define EXECUTOR_RUN_ALL desc, ForwardScanDirection, 0, execute_once
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
		{
			execution->run.observation->ran = false;
			observe_begin_part(execution->run.observation);
		}
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

/* AFTER triggers fire in ExecutorFinish(). */
static inline bool
may_fire_triggers(const QueryDesc *desc)
{
	return desc->operation != CMD_SELECT || desc->plannedstmt->hasModifyingCTE;
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
	if (unlikely(may_fire_triggers(desc)))
		TAKE_HOOK(ExecutorFinish);
	call_watched(desc, direction, count, EXECUTE_ONCE, false);
}

static CountedStart
counted_now(void)
{
	return (CountedStart)
	{
		.counter = running_counter(), .ticks = execution_ticks->n
	};
}

/*
 * Moves the beginning of an execution by the time between its ExecutorRun() and its
 * ExecutorFinish().  A portal in a transaction is finished only when the client goes on.
 */
static void
leave_out_pause(CountedStart *start, const CountedStart *ended)
{
	CountedStart now = counted_now();

	start->counter += now.counter - ended->counter;
	start->ticks += now.ticks - ended->ticks;
}

static Finishing *
finishing_of(const QueryDesc *desc)
{
	for (int i = nfinishing - 1; i >= 0; i--)
	{
		if (finishing[i].desc == desc)
			return &finishing[i];
	}
	return NULL;
}

static void
remove_finishing(Finishing *f)
{
	memmove(f, f + 1, sizeof(Finishing) * (&finishing[nfinishing] - (f + 1)));
	nfinishing--;
}

/* Notes that a counted execution will be finished, which may fire AFTER triggers. */
static pg_noinline void
expect_finish(const QueryDesc *desc, const CountedStart *counted, bool is_long)
{
	Finishing  *f = finishing_of(desc);

	if (f == NULL)
	{
		if (nfinishing == MOST_FINISHING)
			remove_finishing(&finishing[0]);
		f = &finishing[nfinishing++];
	}
	f->desc = desc;
	f->start = *counted;
	/* a statement that may fire triggers is finished at once */
	if (!may_fire_triggers(desc))
		f->ended = counted_now();
	f->is_long = is_long;
	TAKE_HOOK(ExecutorFinish);
}

void
executor_hooks_forget(void)
{
	nfinishing = 0;
}

static pg_noinline void
change_own_depth(int by)
{
	own_depth += by;
	set_unusual(&running_state.unusual, UNUSUAL_OWN, own_depth > 0);
}

/* Calls the next hook for a statement of clocktiming, whose functions may execute statements. */
static pg_noinline void
run_own(EXECUTOR_RUN_PARAMETERS)
{
	change_own_depth(1);
	PG_TRY();
	{
		run_next(EXECUTOR_RUN_ARGUMENTS);
	}
	PG_FINALLY();
	{
		change_own_depth(-1);
	}
	PG_END_TRY();
}

/* Ends the ExecutorRun() of a long execution.  Returns whether it was observed, but not drawn. */
static pg_noinline bool
end_long(RunningExecution *r, bool complete)
{
	RunningExecution ended = *r;
	QueryDesc  *desc = ended.desc;
	TimedExecution *execution;

	running_free(r);
	if (ended.armed && ended.start.counter != 0)
		join_execution(&ended, desc->planstate);
	if (ended.entered >= 0 && running_left != NULL)
		running_left(desc, ended.entered, false, complete);
	execution = execution_of(desc);
	if (execution == NULL)
		return false;
	execution->is_long = true;
	if (execution->late)
	{
		if (execution->run.observation != NULL)
			observed_after_run(desc, &execution->run);
		execution->under_way = false;
		execution->ended = counted_now();
	}
	return execution->late;
}

/*
 * Calls the next hook for an execution that is neither timed nor published, unless it turns out to
 * be long.
 */
static pg_attribute_always_inline void
run_counted(EXECUTOR_RUN_PARAMETERS, CountedStart *counted)
{
	bool		counts = counted->counter != 0 && count == 0;
	bool		watched = execution_watcher != NULL;
	bool		passes = watched && execution_watcher->passes(desc);
	RunningExecution *running = NULL;
	bool		is_long;

	if (!counts)
	{
		counted->counter = 0;
		counted->ticks = execution_ticks->n;
	}
	if (counts || passes)
		running = running_push(desc, counted);
	if (unlikely(watched && (!passes || running == NULL)))
		run_next(EXECUTOR_RUN_ARGUMENTS);
	else
		NEXT(ExecutorRun) (EXECUTOR_RUN_ARGUMENTS);
	is_long = running != NULL && running_pop(running);
	if (unlikely(is_long) &&
		end_long(running, count == 0 || desc->estate->es_processed < count))
		return;
	if (counts && unlikely(counted->ticks != execution_ticks->n || may_fire_triggers(desc)))
		expect_finish(desc, counted, is_long);
}

/*
 * Decides at the first run whether to observe the execution, and begins and ends a part of it.
 * "counted": as the sampler's function passes() has set it.
 */
static pg_noinline void
run_unusual(EXECUTOR_RUN_PARAMETERS, CountedStart *counted)
{
	TimedExecution *execution = NULL;
	RunningExecution *running = NULL;
	bool		is_short = false;
	bool		own = false;
	uint64		start_ns;

	if (plan_run_desc != NULL)
	{
		bool		observed = plan_run_desc == desc;

		/* may be left over from an execution that failed before this hook */
		plan_run_desc = NULL;
		set_unusual(&running_state.unusual, UNUSUAL_PLAN_RUN, false);
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
		if (execution->drawn.weight > 0 && execution->drawn.complete)
			running = running_push(desc, counted);
	}
	start_ns = is_short ? system_clock_read() : 0;
	if (own)
		run_own(EXECUTOR_RUN_ARGUMENTS);
	else
		run_next(EXECUTOR_RUN_ARGUMENTS);
	if (running != NULL && running_pop(running))
		(void) end_long(running, true);
	if (is_short)
		remember_statement(long_statements, desc, system_clock_read() - start_ns > LONG_NS);

	/*
	 * neither drawn nor executed by run_counted(): the sampler's ticks count
	 * all the same
	 */
	if (counted->counter != 0 && count == 0 && !own &&
		(execution == NULL || execution->drawn.weight == 0) &&
		(counted->ticks != execution_ticks->n || may_fire_triggers(desc)))
		expect_finish(desc, counted, false);
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

static pg_noinline void
run_any(EXECUTOR_RUN_PARAMETERS)
{
	CountedStart counted = {0};

	if (execution_sampler != NULL)
		(void) running_ticks();
	if (is_usual(desc, direction) &&
		(execution_sampler == NULL ||
		 (own_depth == 0 && likely(execution_sampler->passes(desc, &counted)))))
		run_counted(EXECUTOR_RUN_ARGUMENTS, &counted);
	else
		run_unusual(EXECUTOR_RUN_ARGUMENTS, &counted);
}

/* Ends an execution of run_short() if the sampler has ticked, or triggers may fire. */
static pg_noinline void
end_unusual(RunningExecution *r)
{
	QueryDesc  *desc = r->desc;
	CountedStart start = r->start;
	bool		is_long = r->is_long;

	if (is_long && end_long(r, true))
		return;
	if (start.counter != 0)
		expect_finish(desc, &start, is_long);
}

/*
 * The following functions do as little as possible for executions that are usual, and not expected
 * to be long: the hook calls one of two functions, which push the execution on the stack, call the
 * next hook, and pop it.  bench/instructions counts their instructions.  The functions are not
 * inlined in the hook, so that each saves only the registers that it uses itself.
 *
 * "counter": reading at the start; 0 for an execution that is not counted.
 */
static pg_attribute_always_inline void
run_short(EXECUTOR_RUN_PARAMETERS, uint64 counter)
{
	CountedStart start = {.counter = counter, .ticks = execution_ticks->n};
	RunningExecution *r = running_state.end;

	(void) direction;
	(void) count;
	running_push_at(r, desc, start);
	next_ExecutorRun(EXECUTOR_RUN_ALL);
	running_pop_at(r);
	/* a long one has lasted for LONG_TICKS */
	if (unlikely(r->start.ticks != execution_ticks->n || may_fire_triggers(r->desc)))
		end_unusual(r);
}

static pg_noinline void
run_uncounted(EXECUTOR_RUN_PARAMETERS)
{
	run_short(EXECUTOR_RUN_ARGUMENTS, 0);
}

static pg_noinline void
run_skipped(EXECUTOR_RUN_PARAMETERS)
{
	if (likely(class_skips(desc)))
		run_short(EXECUTOR_RUN_ARGUMENTS, running_counter());
	else
		run_any(EXECUTOR_RUN_ALL);
}

/* Returns whether an execution is usual as far as its QueryDesc and this process are concerned. */
static pg_attribute_always_inline bool
may_be_short(const QueryDesc *desc, ScanDirection direction, uint64 count)
{
	return running_state.unusual == 0 && ScanDirectionIsForward(direction) && count == 0 &&
		desc->instrument_options == 0 && !desc->already_executed &&
		running_is_ticking(execution_ticks->n) && running_state.end != RUNNING_LIMIT;
}

/* Returns whether the watcher need not be asked. */
static pg_attribute_always_inline bool
passes_unasked(const QueryDesc *desc)
{
	const PlannedStmt *statement = desc->plannedstmt;

	return statement->planTree->total_cost < watched_cost && desc->operation == CMD_SELECT &&
		!statement->hasModifyingCTE && !statement->parallelModeNeeded &&
		(watched_statements == NULL || !was_long(*watched_statements, desc));
}

static void
hooked_ExecutorRun(EXECUTOR_RUN_PARAMETERS)
{
	bool		watched = execution_watcher != NULL;

	if (unlikely(!may_be_short(desc, direction, count) || (watched && !passes_unasked(desc))))
		run_any(EXECUTOR_RUN_ARGUMENTS);
	else if (execution_sampler != NULL)
		run_skipped(EXECUTOR_RUN_ARGUMENTS);
	else if (likely(watched))
		run_uncounted(EXECUTOR_RUN_ARGUMENTS);
	else
		run_any(EXECUTOR_RUN_ARGUMENTS);
}

/* Observes the end, and computes the times, which EXPLAIN and auto_explain print. */
static void
hooked_ExecutorFinish(QueryDesc *desc)
{
	TimedExecution *execution = unlikely(!dlist_is_empty(&executions)) ? execution_of(desc) : NULL;
	Finishing  *expected = finishing_of(desc);
	bool		counted = expected != NULL;
	CountedStart start = {0};
	bool		is_long = false;
	TimedExecution *observed = execution != NULL && execution->run.observation != NULL &&
		execution->drawn.weight == 0 && !execution->late ? execution : NULL;

	if (counted)
	{
		start = expected->start;
		is_long = expected->is_long;
		if (!may_fire_triggers(desc))
			leave_out_pause(&start, &expected->ended);
		remove_finishing(expected);
	}
	if (execution != NULL)
	{
		if (execution->late && execution->ended.counter != 0)
			leave_out_pause(&execution->drawn.start, &execution->ended);
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
		if (start.ticks != execution_ticks->n && execution_sampler != NULL)
			execution_sampler->ticked(desc, &start, is_long, observed);
		if (dlist_is_empty(&executions) && execution_watcher == NULL && nfinishing == 0)
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
	if ((execution->drawn.weight > 0 || execution->late) && execution_sampler != NULL)
		execution_sampler->finished(execution);
	if (execution->run.observation != NULL && execution->run.plan == NULL)
	{
		if (explain_at_work != NULL && explain_at_work->desc == desc)
			ereport(WARNING,
					(errmsg("times of plan nodes are measured by the server, not estimated by sampling"),
					 errdetail("Another extension replaces the functions that execute plan nodes.")));
		return;
	}
	if (explain_at_work != NULL && explain_at_work->desc == desc)
	{
		explain_at_work->run = &execution->run;
		explain_at_work->stop_ns = execution->stop_ns;
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
		explain_at_work->start_ns = 0;
	}
	NEXT(ExecutorEnd) (desc);
}

void
executor_hooks_take(void)
{
	TAKE_HOOK(ProcessUtility);
	TAKE_HOOK(ExecutorRun);
	next_ExecutorRun = NEXT(ExecutorRun);
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

/* Defines the settings and registers with the modules that announce executions. */
void
executor_hooks_init(void)
{
	setting_define_enum(SETTING_SAMPLED_TIMING, &sampled_timing, sampled_timing_values,
						assign_sampled_timing);
	setting_define_bool(SETTING_SAMPLED_COUNTING, &sampled_counting, NULL, assign_sampled_counting);
	running_register(join_long);
	explain_option_init(executor_hooks_take);
	parallel_observation_init(executor_hooks_take);
#if PG_VERSION_NUM >= 180000

	/* the hook sets explain_at_work, which EXPLAIN's options require */
	TAKE_HOOK(ProcessUtility);
#endif
}
