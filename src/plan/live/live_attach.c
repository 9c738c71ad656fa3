/*
 * Selects the executions that are published in shared memory for clock_running.
 *
 * A timeout fires every few milliseconds.  Its handler, check_executions(), publishes the counters
 * of the executions at work (live_publish.h).
 *
 * An execution is expected to be long if the planner's cost is high, or if an earlier execution of
 * the statement was long.  It is published from its start, if counting its calls is expected to add
 * at most clocktiming.max_overhead percent to its time.  Executions that are observed for another
 * purpose are published, too.
 *
 * When any other execution has lasted for clocktiming.live_after, the timeout's handler replaces
 * the functions of its nodes by attach_now().  A signal handler may do this, because it only stores
 * pointers, and the tree of nodes that it reads does not change during ExecutorRun().  The next
 * call of a node then executes attach_now(), which begins to publish the execution.
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "utils/guc.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "plan/explain/executor_hooks.h"
#include "plan/explain/long_statements.h"
#include "plan/explain/plan_shape.h"
#include "plan/explain/probe.h"
#include "plan/explain/watcher.h"
#include "plan/live/live_attach.h"
#include "plan/live/live_memory.h"
#include "plan/live/live_publish.h"
#include "plan/stats/plan_draw.h"

/* Maximum number of nested executions.  Deeper ones are not published. */
#define MOST_LEVELS		32

/* Depth of a plan tree down to which the timeout's handler replaces the functions of nodes. */
#define MOST_DEPTH		200

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

typedef struct RunningExecution
{
	QueryDesc  *desc;
	TimestampTz seen_at;		/* start of its duration; 0: not set */
	bool		attached;		/* published, or must not be published */
	LiveExecution *volatile live;	/* if it is published; else NULL */
} RunningExecution;

static bool live = false;		/* clocktiming.live */
static int	live_after_ms = 1000;	/* clocktiming.live_after */
static bool late_only = false;	/* clocktiming.live_late_only */

/* Nested executions, outermost first.  nrunning also counts those beyond MOST_LEVELS. */
static RunningExecution running[MOST_LEVELS];
static volatile int nrunning = 0;

/* Planner's cost from which an execution is expected to be long. */
static double long_cost;

/* Statements that were long, and whose calls were cheap to count (clocktiming.max_overhead). */
static LongStatements long_statements;
static bool any_long = false;	/* long_statements is not empty */
static int	live_timeout = -1;	/* the timeout's id */
static int	timeout_pid = 0;	/* process that has registered the timeout */

/* Start of the statement in which the timeout has fired last. */
static TimestampTz seen_statement = 0;

static int
timeout_ms(void)
{
	return Max(Min(live_after_ms / 2, TIMEOUT_MS), 1);
}

static TupleTableSlot *attach_now(PlanState *node);

/*
 * Replaces a node's function by attach_now() if "arm" is true, else restores it.  Skips nodes that
 * were never called, because they have the server's function for first calls.
 */
static void
swap_function(PlanState *node, bool arm)
{
	ExecProcNodeMtd function = server_call_function(node);

	if (arm && node->ExecProcNode == function)
		node->ExecProcNode = attach_now;
	else if (!arm && node->ExecProcNode == attach_now)
		node->ExecProcNode = function;
}

static void arm_node(PlanState *node, int depth);

static void
arm_list(const List *subplans, int depth)
{
	for (int i = 0; i < list_length(subplans); i++)
		arm_node(((SubPlanState *) list_nth(subplans, i))->planstate, depth);
}

static void
arm_array(PlanState **nodes, int n, int depth)
{
	for (int i = 0; i < n; i++)
		arm_node(nodes[i], depth);
}

/*
 * Replaces the functions of a node and of the nodes below it by attach_now().  The timeout's
 * handler calls this function, so it neither allocates memory nor raises errors.  Some node types
 * return early in the switch: the server may add SubPlans to them during ExecutorRun(), and the
 * list of nodes below a custom scan belongs to its provider.
 */
static void
arm_node(PlanState *node, int depth)
{
	if (node == NULL || depth > MOST_DEPTH)
		return;
	swap_function(node, true);
	arm_list(node->initPlan, depth + 1);
	arm_node(outerPlanState(node), depth + 1);
	arm_node(innerPlanState(node), depth + 1);
	switch (nodeTag(node))
	{
		case T_ModifyTableState:
		case T_AggState:
		case T_ForeignScanState:
		case T_CustomScanState:
			return;
		case T_AppendState:
			arm_array(((AppendState *) node)->appendplans, ((AppendState *) node)->as_nplans,
					  depth + 1);
			break;
		case T_MergeAppendState:
			arm_array(((MergeAppendState *) node)->mergeplans,
					  ((MergeAppendState *) node)->ms_nplans, depth + 1);
			break;
		case T_SubqueryScanState:
			arm_node(((SubqueryScanState *) node)->subplan, depth + 1);
			break;
		default:
			break;
	}
	arm_list(node->subPlan, depth + 1);
}

static bool
disarm_node(PlanState *node, void *context)
{
	swap_function(node, false);
	return planstate_tree_walker(node, disarm_node, context);
}

static TimestampTz
start_of(const RunningExecution *r)
{
	if (r->seen_at != 0)
		return r->seen_at;
	return r == running ? GetCurrentStatementStartTimestamp() : GetCurrentTimestamp();
}

/* Begins to publish an execution.  "called": see live_begin(). */
static void
attach_execution(RunningExecution *r, PlanState *called)
{
	r->attached = true;
	r->live = live_begin(r->desc, (int) (r - running), start_of(r), called);
}

/* A node's function after arm_node(): begins to publish the execution, and calls the node. */
static TupleTableSlot *
attach_now(PlanState *node)
{
	swap_function(node, false);
	for (int i = Min(nrunning, MOST_LEVELS) - 1; i >= 0; i--)
	{
		RunningExecution *r = &running[i];

		if (r->desc->estate != node->state)
			continue;
		if (r->attached || !live_is_on())
		{
			r->attached = true;
			(void) disarm_node(r->desc->planstate, NULL);
			break;
		}
		r->attached = true;
		pg_compiler_barrier();
		(void) disarm_node(r->desc->planstate, NULL);
		attach_execution(r, node);
		elog(DEBUG1, "counters published from now on");
		break;
	}
	return node->ExecProcNode(node);
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
		RunningExecution *r = &running[i];

		if (r->live != NULL)
			live_publish(r->live, false);
		if (r->attached)
			continue;
		if (r->seen_at == 0)
			r->seen_at = i == 0 && statement != seen_statement ? statement : now;
		if (now - r->seen_at >= live_after_ms * INT64CONST(1000))
			arm_node(r->desc->planstate, 0);
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

static inline bool
is_expected_long(const QueryDesc *desc)
{
	return desc->plannedstmt->planTree->total_cost >= long_cost ||
		(unlikely(any_long) && was_long(long_statements, desc) && !late_only);
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

	return live_after_ms == 0 || (any_long && was_long(long_statements, desc)) ||
		plan_expected_calls(plan, 1, most) <= most;
}

/*
 * The part of the callback enter(), below, for an execution that is expected to be long, that is
 * instrumented or observed, or whose ExecutorRun() is called again, as for a cursor.
 */
static pg_noinline void
enter_noted(QueryDesc *desc, RunningExecution *r)
{
	LiveExecution *execution = live_find(desc);

	if (execution != NULL)
	{
		r->attached = true;
		live_resume(execution);
		pg_compiler_barrier();
		r->live = execution;
	}
	else if (observation_of(desc) != NULL)
		attach_execution(r, NULL);
	else if (desc->instrument_options != 0)
	{
		if (is_expected_long(desc))
			attach_execution(r, NULL);
	}
	else if (desc->already_executed)
		r->attached = true;
	else if (is_cheap_to_count(desc))
		attach_execution(r, NULL);
}

/*
 * The part of enter() after clocktiming.live was turned off.  Stubs of a cursor's plan must not be
 * executed unless its observation continues, so executions are published to their end.
 */
static pg_noinline void
enter_last(const QueryDesc *desc, RunningExecution *r)
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

static int
enter(QueryDesc *desc)
{
	int			level = nrunning;
	RunningExecution *r = &running[Min(level, MOST_LEVELS - 1)];

	if (unlikely(level >= MOST_LEVELS))
	{
		nrunning = level + 1;
		return level;
	}
	r->desc = desc;
	r->seen_at = 0;
	r->attached = desc->planstate == NULL;
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

static void
leave(QueryDesc *desc, int level, bool failed, bool complete)
{
	LiveExecution *execution;

	nrunning = level;
	if (failed || level >= MOST_LEVELS || likely((execution = running[level].live) == NULL))
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
		any_long = true;
	}
}

static const ExecutionWatcher watcher = {
	.enter = enter, .leave = leave
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

static void
assign_live(bool newval, void *extra)
{
	(void) extra;
	if (newval)
		executor_hooks_take();
	execution_watcher = (newval || live_any()) && live_memory_ready() ? &watcher : NULL;
}

static void
assign_live_after(int newval, void *extra)
{
	(void) extra;
	long_cost = late_only ? INFINITY : (double) newval * COST_PER_MS;
}

static void
assign_late_only(bool newval, void *extra)
{
	(void) extra;
	long_cost = newval ? INFINITY : (double) live_after_ms * COST_PER_MS;
}

void
live_init(void)
{
	DefineCustomIntVariable("clocktiming.live_after",
							gettext_noop("Duration after which a running statement is shown in clock_running."),
							gettext_noop("Statements that are expected to take longer are shown from their start, unless counting their rows adds more than clocktiming.max_overhead."),
							&live_after_ms, 1000, 0, 3600000,
							PGC_SUSET, GUC_UNIT_MS, NULL, assign_live_after, NULL);
	DefineCustomBoolVariable("clocktiming.live",
							 gettext_noop("Shows the plans of running statements in clock_running."),
							 gettext_noop("It has no effect unless clocktiming is in shared_preload_libraries."),
							 &live, false,
							 PGC_SUSET, 0, NULL, assign_live, NULL);
	DefineCustomBoolVariable("clocktiming.live_late_only",
							 "For tests: publishes no statement from its start.",
							 NULL,
							 &late_only, false,
							 PGC_SUSET,
							 GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE,
							 NULL, assign_late_only, NULL);
	DefineCustomIntVariable("clocktiming.live_interval",
							"For tests: shortest time between two publications of a statement.",
							NULL,
							&live_interval_ms, 50, 1, 10000,
							PGC_SUSET,
							GUC_UNIT_MS | GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE,
							NULL, NULL, NULL);
}
