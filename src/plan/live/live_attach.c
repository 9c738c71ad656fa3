/*
 * Selects the executions that are published in shared memory for clock_running.
 *
 * During long executions, a timeout fires every few milliseconds.  Its handler,
 * check_executions(), publishes the counters of the executions at work (live_publish.h).  Which
 * executions are long is found by the sampler (running_executions.h); without a sampler, by the
 * timeout, which then fires during short ones, too.
 *
 * An execution is expected to be long if the planner's cost is high, or if an earlier execution of
 * the statement was long.  It is published from its start, if counting its calls is expected to add
 * at most clocktiming.max_overhead percent to its time.  Executions that are observed for another
 * purpose are published, too.
 *
 * When any other execution has lasted for clocktiming.live_after, the timeout's handler calls
 * running_arm() (running_executions.h).  The next call of a node then begins to publish the
 * execution.
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "core/system_clock.h"
#include "plan/explain/executor_hooks.h"
#include "plan/explain/long_statements.h"
#include "plan/explain/plan_shape.h"
#include "plan/explain/probe.h"
#include "plan/explain/running_executions.h"
#include "plan/explain/watcher.h"
#include "plan/live/live_attach.h"
#include "plan/live/live_memory.h"
#include "plan/live/live_publish.h"
#include "plan/stats/plan_draw.h"
#include "server/args.h"
#include "server/settings.h"

/* Maximum number of nested executions.  Deeper ones are not published. */
#define MOST_LEVELS		32

/* Longest interval of the timeout, in ms. */
#define TIMEOUT_MS		25

/* Planner's cost of a millisecond's work.  A page in memory costs 1, and takes some 10 us. */
#define COST_PER_MS		100

/*
 * If a plan has one call for each COST_PER_CALL of its cost, counting them adds about 1 percent to
 * its time.  For rows in memory, work of this cost takes some 200 ns.
 */
#define COST_PER_CALL	0.08

/* Time to count a call, in ns. */
#define CALL_NS			2

typedef struct RunningLive
{
	QueryDesc  *desc;			/* NULL: an error has ended it, but not all of
								 * those after it */
	TimestampTz seen_at;		/* start of its duration; 0: not set */
	bool		attached;		/* published, or must not be published */
	volatile bool due;			/* its nodes call join() */
	const void *late;			/* entered by join(): PG_exception_stack then;
								 * else NULL */
	LiveExecution *volatile live;	/* if it is published; else NULL */
} RunningLive;

static bool live = false;		/* clocktiming.live */
static int	live_after_ms = 1000;	/* clocktiming.live_after */
static bool late_only = false;	/* clocktiming.live_late_only */

/* Nested executions, outermost first.  nrunning also counts those beyond MOST_LEVELS. */
static RunningLive running[MOST_LEVELS];
static volatile int nrunning = 0;

/* Planner's cost from which an execution is expected to be long. */
static double long_cost;

/* Statements that were long, and whose calls were cheap to count (clocktiming.max_overhead). */
static LongStatements long_statements;
static int	live_timeout = -1;	/* the timeout's id */
static int	timeout_pid = 0;	/* process that has registered the timeout */

/* Start of the statement in which the timeout has fired last. */
static TimestampTz seen_statement = 0;

static int
timeout_ms(void)
{
	return Max(Min(live_after_ms / 2, TIMEOUT_MS), 1);
}

static TimestampTz
start_of(const RunningLive *r)
{
	if (r->seen_at != 0)
		return r->seen_at;
	return r == running ? GetCurrentStatementStartTimestamp() : GetCurrentTimestamp();
}

/* Begins to publish an execution.  "called": see live_begin(). */
static void
attach_execution(RunningLive *r, PlanState *called)
{
	r->attached = true;
	r->live = live_begin(r->desc, Max((int) (r - running), running_level(r->desc)), start_of(r),
						 called);
}

/*
 * Returns whether an error may have ended an execution for which leave() was not called yet,
 * because the query's memory is not freed yet.  After an error, PG_exception_stack is that of a
 * caller, on a stack that grows downwards, until the server holds interrupts off while it aborts
 * the transaction.
 */
static bool
may_have_failed(const RunningLive *r)
{
	/* the caller of the timeout's handler has increased the count by one */
	return InterruptHoldoffCount > 1 ||
		(const char *) PG_exception_stack > (const char *) r->late;
}

/*
 * The timeout's handler, called by a signal handler.  Sets the time from which an execution's
 * duration counts: for a statement's first execution, if it is not nested, the start of the
 * statement; for all others, the first time that the handler finds them.
 */
static void
check_executions(void)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	int			n = Min(nrunning, MOST_LEVELS);

	if (proc_exit_inprogress || n == 0)
		return;
	for (int i = 0; i < n; i++)
	{
		RunningLive *r = &running[i];

		if (r->desc == NULL || (r->late != NULL && may_have_failed(r)))
			continue;
		if (r->live != NULL)
			live_publish(r->live, false);
		if (r->attached)
			continue;
		if (r->seen_at == 0)
			r->seen_at = i == 0 && statement != seen_statement ? statement : now;
		if (now - r->seen_at >= live_after_ms * INT64CONST(1000))
		{
			r->due = true;
			running_arm(r->desc->planstate);
		}
	}
	seen_statement = statement;
	enable_timeout_after(live_timeout, timeout_ms());
}

static void
start_timeout(void)
{
	if (timeout_pid != MyProcPid)
	{
		live_timeout = RegisterTimeout(USER_TIMEOUT, check_executions);
		timeout_pid = MyProcPid;
	}

	/*
	 * makes the first call here, because it would not be safe in a signal
	 * handler
	 */
	(void) server_call_function(NULL);
	enable_timeout_after(live_timeout, timeout_ms());
}

/* Sets the planner's cost below which the hook need not call passes().  "on": clocktiming.live. */
static void
set_watched_cost(bool on)
{
	watched_cost = on ? long_cost : -INFINITY;
}

static inline bool
is_expected_long(const QueryDesc *desc)
{
	return desc->plannedstmt->planTree->total_cost >= long_cost ||
		(unlikely(watched_statements != NULL) && was_long(long_statements, desc) && !late_only);
}

/* Returns the percentage by which counting an execution's calls has increased its time. */
static double
counting_percent(const LiveExecution *execution)
{
	double		calls = 0;

	for (int i = 0; i < execution->image->header.nnodes; i++)
		calls += Max((double) live_counts(execution->image, i)->calls, 0);
	return 100 * calls * CALL_NS / Max(execution->observation->run.run_ns, 1);
}

/* Returns whether counting calls is expected to add at most clocktiming.max_overhead. */
static bool
is_cheap_to_count(const QueryDesc *desc)
{
	const Plan *plan = desc->plannedstmt->planTree;
	double		most = plan->total_cost / COST_PER_CALL * max_overhead_percent;

	return live_after_ms == 0 || was_long(long_statements, desc) ||
		plan_expected_calls(plan, 1, most) <= most;
}

/*
 * The part of enter_noted() that may raise an error.  An execution that was not published at its
 * first ExecutorRun(), as all slots were in use, is not at the following ones, unless the server
 * counts its rows, and one of them is long.
 */
static void
enter_noted_part(QueryDesc *desc, RunningLive *r)
{
	LiveExecution *execution = live_find(desc);

	if (execution != NULL)
	{
		r->attached = true;
		live_resume(execution);
		pg_compiler_barrier();
		r->live = execution;
	}
	else if (desc->already_executed)
		r->attached = desc->instrument_options == 0 || is_expected_long(desc);
	else if (observation_of(desc) != NULL)
		attach_execution(r, NULL);
	else if (desc->instrument_options != 0)
	{
		if (is_expected_long(desc))
			attach_execution(r, NULL);
	}
	else if (is_cheap_to_count(desc))
		attach_execution(r, NULL);
}

/*
 * The part of the callback enter(), below, for an execution that is expected to be long, that is
 * instrumented or observed, or whose ExecutorRun() is called again, as for a cursor.  After an
 * error, such as a cancellation, leave() is not called.
 */
static pg_noinline void
enter_noted(QueryDesc *desc, RunningLive *r)
{
	PG_TRY();
	{
		enter_noted_part(desc, r);
	}
	PG_CATCH();
	{
		nrunning = (int) (r - running);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/*
 * The part of enter() after clocktiming.live was turned off.  Stubs of a cursor's plan must not be
 * executed unless its observation continues, so executions are published to their end.
 */
static pg_noinline void
enter_last(const QueryDesc *desc, RunningLive *r)
{
	LiveExecution *execution = live_find(desc);

	r->attached = true;
	if (execution != NULL)
	{
		live_resume(execution);
		pg_compiler_barrier();
		r->live = execution;
	}
	else if (!live_any())
		execution_watcher = NULL;
}

/*
 * Callback of the executor hooks.  Notes an execution, so that the timeout's handler finds it, and
 * attaches to it at once if it is expected to be long.  "nrunning" is increased last, because the
 * handler may interrupt this function.
 */
static int
enter(QueryDesc *desc)
{
	int			level = nrunning;
	RunningLive *r = &running[Min(level, MOST_LEVELS - 1)];

	if (unlikely(level >= MOST_LEVELS))
	{
		nrunning = level + 1;
		return level;
	}
	r->desc = desc;
	r->seen_at = 0;
	r->attached = desc->planstate == NULL;
	r->due = false;
	r->late = NULL;
	r->live = NULL;
	pg_compiler_barrier();
	nrunning = level + 1;
	if (unlikely(!live))
		enter_last(desc, r);
	else if (unlikely(is_expected_long(desc) || desc->already_executed ||
					  (desc->planstate != NULL && desc->planstate->instrument != NULL)))
		enter_noted(desc, r);
	if (unlikely(timeout_pid != MyProcPid || !get_timeout_active(live_timeout)))
		start_timeout();
	return level;
}

/* Removes executions from the top that errors have ended. */
static void
drop_dead(void)
{
	while (nrunning > 0 && nrunning <= MOST_LEVELS && running[nrunning - 1].desc == NULL)
		nrunning--;
}

/*
 * Called at the end of an ExecutorRun().  Publishes the final counts of an execution that is shown,
 * and remembers a long statement whose counters began late, to count it from its next start.
 */
static void
leave(QueryDesc *desc, int level, bool failed, bool complete)
{
	LiveExecution *execution;

	nrunning = failed ? Min(nrunning, level) : level;
	execution = level < MOST_LEVELS ? running[level].live : NULL;
	drop_dead();
	if (failed || likely(execution == NULL))
		return;
	live_pause(execution);
	live_publish(execution, true);
	execution->complete |= complete;
	/* rows may fire triggers, which ExecutorFinish() executes */
	if (execution->complete &&
		(desc->estate->es_finished ||
		 (desc->operation == CMD_SELECT && !desc->plannedstmt->hasModifyingCTE)))
		live_ended(execution);
	if (execution->own && execution->image->header.late)
	{
		remember_statement(long_statements, desc,
						   counting_percent(execution) <= max_overhead_percent);
		watched_statements = &long_statements;
	}
}

/*
 * leave() for an execution that enter_late() has entered.  If an error has ended it, this is called
 * when its memory is freed: executions that do not belong to it may be at work, and its element may
 * be theirs by now.  Then "desc" may be freed, so it is only compared.
 */
static void
leave_late(QueryDesc *desc, int level, bool failed, bool complete)
{
	if (!failed)
	{
		leave(desc, level, false, complete);
		return;
	}
	if (level < Min(nrunning, MOST_LEVELS) && running[level].desc == desc &&
		running[level].late != NULL)
	{
		running[level].live = NULL;
		pg_compiler_barrier();
		running[level].desc = NULL;
	}
	drop_dead();
}

/*
 * Enters an execution that has turned out to be long.  It is published when it is due, or now if it
 * is observed for the statistics.
 */
static void
enter_late(RunningExecution *running_execution)
{
	QueryDesc  *desc = running_execution->desc;
	int			level = nrunning;
	RunningLive *r = &running[Min(level, MOST_LEVELS - 1)];
	int64		long_us;

	if (level >= MOST_LEVELS || !live_is_on())
		return;
	*r = (RunningLive)
	{
		.desc = desc, .late = PG_exception_stack
	};
	long_us = (int64) ((system_clock_read() - running_execution->armed_ns) / 1000);
	r->due = long_us >= live_after_ms * INT64CONST(1000);
	if (running_level(desc) > 0)
		r->seen_at = GetCurrentTimestamp() - long_us;
	pg_compiler_barrier();
	nrunning = level + 1;
	running_execution->entered = level;
	if (timeout_pid != MyProcPid || !get_timeout_active(live_timeout))
		start_timeout();
}

/*
 * Begins to publish the execution of a node if check_executions() has found that it is due, or if
 * it is now observed for the statistics.
 */
static void
join(PlanState *called)
{
	RunningExecution *long_one = running_of(called);
	int			i = Min(nrunning, MOST_LEVELS) - 1;
	RunningLive *r;

	while (i >= 0 && (running[i].desc == NULL || running[i].desc->estate != called->state))
		i--;
	if (long_one != NULL && long_one->is_long && long_one->entered < 0 && i < 0)
	{
		if (long_one->armed)
			running_disarm(long_one->desc->planstate);
		long_one->armed = false;
		enter_late(long_one);
		i = long_one->entered;
	}
	if (i < 0)
		return;
	r = &running[i];
	if (!r->due && (r->attached || observation_of(r->desc) == NULL))
		return;
	r->due = false;
	running_disarm(r->desc->planstate);
	if (r->attached)
		return;
	r->attached = true;
	if (!live_is_on())
		return;
	attach_execution(r, called);
	elog(DEBUG1, "counters published from now on");
}

/* Must be fast. */
static bool
passes(const QueryDesc *desc)
{
	const PlannedStmt *plan = desc->plannedstmt;

	return live && !is_expected_long(desc) && !desc->already_executed &&
		desc->operation == CMD_SELECT && !plan->hasModifyingCTE && !plan->parallelModeNeeded &&
		desc->planstate != NULL && desc->planstate->instrument == NULL && running_ticks();
}

static const ExecutionWatcher watcher = {
	.passes = passes, .enter = enter, .leave = leave
};

bool
live_is_on(void)
{
	return live && live_memory_ready();
}

void
live_start(void)
{
	execution_watcher = live && live_memory_ready() ? &watcher : NULL;
}

static bool
check_live(bool *newval, void **extra, GucSource source)
{
	(void) extra;
	warn_unless_preloaded("clocktiming.live", !*newval || live_memory_ready(), source);
	return true;
}

static void
assign_live(bool newval, void *extra)
{
	(void) extra;
	if (newval)
		executor_hooks_take();
	set_watched_cost(newval);
	execution_watcher = (newval || live_any()) && live_memory_ready() ? &watcher : NULL;
}

static void
assign_live_after(int newval, void *extra)
{
	(void) extra;
	long_cost = late_only ? INFINITY : (double) newval * COST_PER_MS;
	set_watched_cost(live);
}

static void
assign_late_only(bool newval, void *extra)
{
	(void) extra;
	long_cost = newval ? INFINITY : (double) live_after_ms * COST_PER_MS;
	set_watched_cost(live);
}

/*
 * Defines the settings.  The assign hooks of others use live_after_ms, so clocktiming.live_after is
 * the first.
 */
void
live_init(void)
{
	running_register(join);
	running_left = leave_late;
	setting_define_int(SETTING_LIVE_AFTER, &live_after_ms, assign_live_after);
	setting_define_bool(SETTING_LIVE, &live, check_live, assign_live);
	setting_define_bool(SETTING_LIVE_LATE_ONLY, &late_only, NULL, assign_late_only);
	setting_define_int(SETTING_LIVE_INTERVAL, &live_interval_ms, NULL);
}
