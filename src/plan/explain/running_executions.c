/*
 * The stack of executions, and the signal handler that lets the next call of a node join one.
 *
 * The handler of SIGUSR1 marks executions that have lasted for two ticks, and then calls the
 * previous handler.  It walks the tree of nodes and stores join_now() in each node whose function
 * is the server's.  Nodes that another extension has wrapped are left alone.  join_now() runs in
 * the ordinary flow of the executor, so it may allocate memory and raise errors.
 */
#include "postgres.h"

#include <signal.h>
#include <unistd.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "storage/ipc.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "core/cpu_usage.h"
#include "core/system_clock.h"
#include "plan/explain/probe.h"
#include "plan/explain/running_executions.h"

/* Depth of a plan tree down to which the functions of nodes are replaced. */
#define MOST_DEPTH		200

/* Number of ticks, counted from before the execution, after which it is long. */
#define LONG_TICKS		2

/* Number of functions that running_register() accepts. */
#define MOST_JOINS		2

RunningState running_state = {.end = RUNNING_FIRST, .unusual = UNUSUAL_PROCESS};

static const SamplerTicks no_ticks;
const SamplerTicks *execution_ticks = &no_ticks;

/* The slot of a process that the sampler does not see. */
static LongSlot no_slot;

void		(*running_left) (QueryDesc *desc, int entered, bool failed, bool complete) = NULL;

static RunningJoin joins[MOST_JOINS];
static int	njoins = 0;

/* The handler of SIGUSR1 before this file's. */
static struct sigaction previous_action;

static TupleTableSlot *join_now(PlanState *node);

/*
 * Replaces a node's function by join_now() if "arm" is true, else restores it.  Skips nodes that
 * were never called, because they have the server's function for first calls.
 */
static void
swap_function(PlanState *node, bool arm)
{
	ExecProcNodeMtd function = server_call_function(node);

	if (arm && node->ExecProcNode == function)
		node->ExecProcNode = join_now;
	else if (!arm && node->ExecProcNode == join_now)
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
 * Replaces the functions of a node and of the nodes below it by join_now().  Signal handlers call
 * this function, so it neither allocates memory nor raises errors.  Some node types return early in
 * the switch: the server may add SubPlans to them during ExecutorRun(), and the list of nodes below
 * a custom scan belongs to its provider.
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

void
running_arm(PlanState *root)
{
	arm_node(root, 0);
}

static bool
disarm_node(PlanState *node, void *context)
{
	swap_function(node, false);
	return planstate_tree_walker(node, disarm_node, context);
}

void
running_disarm(PlanState *root)
{
	(void) disarm_node(root, NULL);
}

/* A node's function after arm_node(). */
static TupleTableSlot *
join_now(PlanState *node)
{
	swap_function(node, false);
	for (int i = 0; i < njoins; i++)
		joins[i] (node);
	return node->ExecProcNode(node);
}

void
running_register(RunningJoin join)
{
	for (int i = 0; i < njoins; i++)
	{
		if (joins[i] == join)
			return;
	}
	Assert(njoins < MOST_JOINS);
	joins[njoins] = join;
	njoins++;
}

/* Reset callback of the query's memory context: the execution has ended by an error. */
static void
end_running(void *arg)
{
	RunningExecution *r = arg;
	QueryDesc  *desc = r->desc;

	/* nested executions may end later */
	r->desc = NULL;
	if (r->entered >= 0 && running_left != NULL)
		running_left(desc, r->entered, true, false);
	running_free(r);
	while (running_state.end > RUNNING_FIRST && running_state.end[-1].desc == NULL)
		running_state.end--;
	running_state.slot->innermost = running_state.end[-1].serial;
}

void
running_unlink(RunningExecution *r)
{
	MemoryContextCallback **at = &r->context->reset_cbs;

	/* the context of an execution that has ended may be gone */
	if (r->desc == NULL)
		return;
	while (*at != NULL && *at != &r->at_end)
		at = &(*at)->next;
	if (*at != NULL)
		*at = r->at_end.next;
}

void
running_forget_above(RunningExecution *r)
{
	while (running_state.end > r + 1)
	{
		RunningExecution *above = --running_state.end;

		if (above->desc == NULL)
			continue;
		running_unlink(above);
		if (above->entered >= 0 && running_left != NULL)
			running_left(above->desc, above->entered, true, false);
		running_free(above);
	}
}

/*
 * Replaces the functions of executions that have been at work since before the latest tick but one.
 * Parallel plans are left alone: their workers would not be observed.  An error may have freed the
 * PlannedStmt, but not yet the EState, so only the latter is read.
 */
static void
arm_long(void)
{
	for (RunningExecution *r = RUNNING_FIRST; r < running_state.end; r++)
	{
		const QueryDesc *desc = r->desc;

		if (desc == NULL || r->is_long || execution_ticks->n - r->start.ticks < LONG_TICKS ||
			desc->instrument_options != 0 || desc->estate->es_use_parallel_mode ||
			desc->planstate == NULL)
			continue;
		r->armed_ns = system_clock_read();
		r->armed_cpu_ns = (uint64) cpu_time_ns();
		r->armed_event = *(volatile uint32 *) my_wait_event_info;
		r->armed = true;
		r->is_long = true;
		running_arm(desc->planstate);
	}
}

/* Handles the sampler's question, if there is one.  A forked child leaves it to the process. */
static void
handle_question(void)
{
	int			save_errno = errno;

	if (running_state.slot->asked != 0 && !proc_exit_inprogress && MyProcPid == (int) getpid())
	{
		running_state.slot->asked = 0;

		/*
		 * after an error, executions stay on the stack until the transaction
		 * ends
		 */
		if (IsTransactionState())
			arm_long();
	}
	errno = save_errno;
}

/*
 * The handlers of SIGUSR1 call the previous handler afterwards: the server's, or that of another
 * extension.  One is for a previous handler with SA_SIGINFO, which has two more arguments.
 */
static void
handle_signal(int signo)
{
	handle_question();
	if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN)
		previous_action.sa_handler(signo);
}

static void
handle_signal_info(int signo, siginfo_t *info, void *context)
{
	handle_question();
	previous_action.sa_sigaction(signo, info, context);
}

/*
 * Installs a handler of SIGUSR1.  pqsignal() of PostgreSQL 17 and later would let the server's
 * wrapper call the new handler, which would call the wrapper again.  So sigaction() replaces the
 * wrapper; the previous handler is known before the new one can be called.
 */
static void
chain_signal(void)
{
	struct sigaction action;

	if (sigaction(SIGUSR1, NULL, &previous_action) != 0)
		return;
	action = previous_action;
	if ((action.sa_flags & SA_SIGINFO) != 0)
		action.sa_sigaction = handle_signal_info;
	else
		action.sa_handler = handle_signal;
	(void) sigaction(SIGUSR1, &action, NULL);
}

/*
 * Joins the processes that the sampler asks, fills the stack with free elements, and installs the
 * handler.  Without a slot for the process, executions are pushed and popped, but never asked for.
 */
void
running_prepare(void)
{
	LongSlot   *slot;

	if (running_state.slot != NULL)
		return;
	slot = long_executions_join();
	/* makes the first call here: it would not be safe in a signal handler */
	(void) server_call_function(NULL);
	for (RunningExecution *r = RUNNING_FIRST; r < RUNNING_LIMIT; r++)
	{
		running_free(r);
		r->at_end.func = end_running;
		r->at_end.arg = r;
	}
	running_state.slot = slot != NULL ? slot : &no_slot;
	if (plan_sampler_shared != NULL)
		execution_ticks = &plan_sampler_shared->ticks;
	set_unusual(&running_state.unusual, UNUSUAL_PROCESS, IsParallelWorker());
	if (slot != NULL)
		chain_signal();
}

RunningExecution *
running_of(const PlanState *node)
{
	for (RunningExecution *r = running_state.end - 1; r >= RUNNING_FIRST; r--)
	{
		if (r->desc != NULL && r->desc->estate == node->state)
			return r;
	}
	return NULL;
}

uint64
running_clock(void)
{
	return system_clock_read();
}

void
running_want(void)
{
	running_state.wanted = plan_sampler_shared->ticks.n;
	plan_sampler_want_ticks(system_clock_read());
}

int
running_level(const QueryDesc *desc)
{
	int			level = (int) (running_state.end - RUNNING_FIRST) - 1;

	while (level >= 0 && RUNNING_FIRST[level].desc != desc)
		level--;
	return level;
}
