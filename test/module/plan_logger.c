/*-------------------------------------------------------------------------
 *
 * plan_logger.c
 *	  A test extension that does to a running plan what pg_log_query_plan() does,
 *	  which is proposed for PostgreSQL 20.
 *
 * It sets the function of each node of the running plan to ExecProcNodeFirst(),
 * as the server does before a node's first call.  This happens
 *	 - when the query calls plan_logger_log(n), which returns n, at a moment that
 *	   the query determines, as the server's CHECK_FOR_INTERRUPTS() would;
 *	 - every plan_logger.interval ms, in a signal handler, at any moment.
 * plan_logger_log() also explains the plan, without ANALYZE.  EXPLAIN ends the
 * loops of nodes with an Instrumentation, which pg_log_query_plan() prevents, so
 * EXPLAIN does not see them here.
 *
 * plan_logger_wraps() returns how often functions were set so far.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_state.h"
#endif
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timeout.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(plan_logger_log);
PG_FUNCTION_INFO_V1(plan_logger_wraps);

void		_PG_init(void);

static int	interval_ms = 0;
static QueryDesc *volatile running = NULL;
static int64 wraps = 0;
static int	timeout = -1;
static int	timeout_pid = 0;
static ExecutorRun_hook_type previous_ExecutorRun = NULL;

static bool
wrap(PlanState *node, void *context)
{
	ExecSetExecProcNode(node, node->ExecProcNodeReal);
	return planstate_tree_walker(node, wrap, context);
}

/* Removes the Instrumentations of all nodes, and stores them in a list; or restores them. */
static bool
hide_instruments(PlanState *node, void *list)
{
	List	  **instruments = list;

	*instruments = lappend(*instruments, node->instrument);
	node->instrument = NULL;
	return planstate_tree_walker(node, hide_instruments, list);
}

static bool
show_instruments(PlanState *node, void *list)
{
	List	  **instruments = list;

	node->instrument = linitial(*instruments);
	*instruments = list_delete_first(*instruments);
	return planstate_tree_walker(node, show_instruments, list);
}

static void
wrap_running(void)
{
	QueryDesc  *desc = running;

	if (desc == NULL || desc->planstate == NULL)
		return;
	(void) wrap(desc->planstate, NULL);
	wraps++;
}

/* The timeout's handler, called by a signal handler. */
static void
wrap_at_timeout(void)
{
	wrap_running();
	if (interval_ms > 0 && running != NULL)
		enable_timeout_after(timeout, interval_ms);
}

Datum
plan_logger_log(PG_FUNCTION_ARGS)
{
	QueryDesc  *desc = running;

	if (desc != NULL)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "plan_logger",
													  ALLOCSET_DEFAULT_SIZES);
		MemoryContext old = MemoryContextSwitchTo(context);
		ExplainState *es;
		List	   *instruments = NIL;
		sigset_t	alarm;

		wrap_running();
		es = NewExplainState();
		es->format = EXPLAIN_FORMAT_TEXT;
		es->settings = true;
		/* the handler of clocktiming.live reads the Instrumentations */
		sigemptyset(&alarm);
		sigaddset(&alarm, SIGALRM);
		sigprocmask(SIG_BLOCK, &alarm, NULL);
		(void) hide_instruments(desc->planstate, &instruments);
		ExplainPrintPlan(es, desc);
		(void) show_instruments(desc->planstate, &instruments);
		sigprocmask(SIG_UNBLOCK, &alarm, NULL);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
	PG_RETURN_INT32(PG_GETARG_INT32(0));
}

Datum
plan_logger_wraps(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	PG_RETURN_INT64(wraps);
}

#if PG_VERSION_NUM >= 180000
#define PARAMETERS QueryDesc *desc, ScanDirection direction, uint64 count
#define ARGUMENTS desc, direction, count
#else
#define PARAMETERS QueryDesc *desc, ScanDirection direction, uint64 count, bool execute_once
#define ARGUMENTS desc, direction, count, execute_once
#endif

static void
hooked_ExecutorRun(PARAMETERS)
{
	QueryDesc  *outer = running;

	running = desc;
	if (timeout_pid != MyProcPid)
	{
		timeout = RegisterTimeout(USER_TIMEOUT, wrap_at_timeout);
		timeout_pid = MyProcPid;
	}
	if (interval_ms > 0 && !get_timeout_active(timeout))
		enable_timeout_after(timeout, interval_ms);
	PG_TRY();
	{
		if (previous_ExecutorRun)
			previous_ExecutorRun(ARGUMENTS);
		else
			standard_ExecutorRun(ARGUMENTS);
	}
	PG_FINALLY();
	{
		running = outer;
	}
	PG_END_TRY();
}

void
_PG_init(void)
{
	DefineCustomIntVariable("plan_logger.interval", "Interval at which functions of plan nodes are set.", NULL, &interval_ms,
							0, 0, 1000, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	previous_ExecutorRun = ExecutorRun_hook;
	ExecutorRun_hook = hooked_ExecutorRun;
}
