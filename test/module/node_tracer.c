/*-------------------------------------------------------------------------
 *
 * node_tracer.c
 *	  A test extension that replaces the ExecProcNode functions of plan nodes,
 *	  as pg_tracing does.
 *
 * The setting node_tracer.mode selects the kind of replacement:
 *	 off	replaces nothing
 *	 one	replaces each node's function by a wrapper; at its first call in a node,
 *			the wrapper is replaced by the former function of the root node
 *	 each	like one, but the wrapper is replaced by the node's own former function
 *	 wrap	replaces each node's function by a wrapper, which remains
 *	 share	replaces no function, but makes each node's outer child use the
 *			instrumentation of the node
 *	 own	replaces each node's function by a wrapper that does not call the former
 *			function, but ExecProcNodeReal and the functions for the node's
 *			instrumentation
 *
 * node_tracer_calls() returns the number of calls of the wrappers so far.
 *
 * If node_tracer.explain is on, plans are explained before ExecutorFinish().
 * node_tracer_plan() returns the latest output.  node_tracer_explain(n) explains
 * the plan that is being executed, discards the output, and returns n.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_state.h"
#endif
#include "executor/executor.h"
#include "executor/instrument.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(node_tracer_calls);
PG_FUNCTION_INFO_V1(node_tracer_plan);
PG_FUNCTION_INFO_V1(node_tracer_explain);

void		_PG_init(void);

typedef enum Mode
{
	MODE_OFF,
	MODE_ONE,
	MODE_EACH,
	MODE_WRAP,
	MODE_SHARE,
	MODE_OWN
} Mode;

static const struct config_enum_entry modes[] = {
	{"off", MODE_OFF, false},
	{"one", MODE_ONE, false},
	{"each", MODE_EACH, false},
	{"wrap", MODE_WRAP, false},
	{"share", MODE_SHARE, false},
	{"own", MODE_OWN, false},
	{NULL, 0, false}
};

/* Element of the list of the nodes' former functions, which exists during ExecutorRun(). */
typedef struct Saved
{
	PlanState  *node;
	ExecProcNodeMtd function;
	struct Saved *next;
} Saved;

static int	mode = MODE_OFF;
static bool explain = false;
static char *plan = NULL;
static QueryDesc *executed = NULL;
static int64 calls = 0;
static ExecProcNodeMtd saved_root = NULL;
static Saved *saved = NULL;
static ExecutorStart_hook_type previous_ExecutorStart = NULL;
static ExecutorRun_hook_type previous_ExecutorRun = NULL;
static ExecutorFinish_hook_type previous_ExecutorFinish = NULL;

static ExecProcNodeMtd
saved_function(PlanState *node)
{
	for (Saved *s = saved; s != NULL; s = s->next)
	{
		if (s->node == node)
			return s->function;
	}
	return node->ExecProcNodeReal;	/* ExecutorFinish() is running, so there is no list */
}

static TupleTableSlot *
first_of_one(PlanState *node)
{
	calls++;
	node->ExecProcNode = saved_root;
	return node->ExecProcNode(node);
}

static TupleTableSlot *
first_of_each(PlanState *node)
{
	calls++;
	node->ExecProcNode = saved_function(node);
	return node->ExecProcNode(node);
}

static TupleTableSlot *
every_call(PlanState *node)
{
	calls++;
	return saved_function(node) (node);
}

static TupleTableSlot *
own_call(PlanState *node)
{
	TupleTableSlot *slot;

	calls++;
	InstrStartNode(node->instrument);
	slot = node->ExecProcNodeReal(node);
	InstrStopNode(node->instrument, TupIsNull(slot) ? 0 : 1);
	return slot;
}

static bool
replace(PlanState *node, void *context)
{
	Saved	   *s = palloc(sizeof(Saved));

	s->node = node;
	s->function = node->ExecProcNode;
	s->next = saved;
	saved = s;
	switch (mode)
	{
		case MODE_ONE:
			node->ExecProcNode = first_of_one;
			break;
		case MODE_EACH:
			node->ExecProcNode = first_of_each;
			break;
		case MODE_WRAP:
			node->ExecProcNode = every_call;
			break;
		case MODE_SHARE:
			if (outerPlanState(node) != NULL)
				outerPlanState(node)->instrument = node->instrument;
			break;
		case MODE_OWN:
			node->ExecProcNode = own_call;
			break;
		default:
			break;
	}
	return planstate_tree_walker(node, replace, context);
}

static void
hooked_ExecutorStart(QueryDesc *desc, int eflags)
{
	/*
	 * Requests timers, except for the mode "share", in which two nodes use the same
	 * instrumentation: the server's timers raise an error if they are started twice without a stop
	 * in between.
	 */
	if (mode != MODE_OFF)
		desc->instrument_options |= mode == MODE_SHARE ? INSTRUMENT_ROWS : INSTRUMENT_TIMER;
	if (previous_ExecutorStart)
		previous_ExecutorStart(desc, eflags);
	else
		standard_ExecutorStart(desc, eflags);
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
	Saved	   *outer = saved;
	QueryDesc  *outer_executed = executed;

	executed = desc;
	if (mode != MODE_OFF && desc->planstate != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(desc->estate->es_query_cxt);

		saved_root = desc->planstate->ExecProcNode;
		(void) replace(desc->planstate, NULL);
		MemoryContextSwitchTo(old);
	}
	PG_TRY();
	{
		if (previous_ExecutorRun)
			previous_ExecutorRun(ARGUMENTS);
		else
			standard_ExecutorRun(ARGUMENTS);
	}
	PG_FINALLY();
	{
		saved = outer;
		executed = outer_executed;
	}
	PG_END_TRY();
}

static char *
explained(QueryDesc *desc)
{
	ExplainState *es = NewExplainState();

	es->analyze = true;
	es->timing = true;
	es->costs = false;
	es->format = EXPLAIN_FORMAT_TEXT;
	ExplainPrintPlan(es, desc);
	return es->str->data;
}

static void
hooked_ExecutorFinish(QueryDesc *desc)
{
	if (explain && desc->instrument_options != 0)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		plan = explained(desc);
		MemoryContextSwitchTo(old);
	}
	if (previous_ExecutorFinish)
		previous_ExecutorFinish(desc);
	else
		standard_ExecutorFinish(desc);
}

Datum
node_tracer_plan(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	if (plan == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(plan));
}

Datum
node_tracer_explain(PG_FUNCTION_ARGS)
{
	if (executed != NULL && executed->instrument_options != 0)
		pfree(explained(executed));
	PG_RETURN_INT32(PG_GETARG_INT32(0));
}

Datum
node_tracer_calls(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	PG_RETURN_INT64(calls);
}

void
_PG_init(void)
{
	DefineCustomEnumVariable("node_tracer.mode", "How functions of plan nodes are replaced.", NULL, &mode, MODE_OFF,
							 modes, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("node_tracer.explain", "Whether plans are explained before ExecutorFinish().", NULL, &explain, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	previous_ExecutorStart = ExecutorStart_hook;
	ExecutorStart_hook = hooked_ExecutorStart;
	previous_ExecutorRun = ExecutorRun_hook;
	ExecutorRun_hook = hooked_ExecutorRun;
	previous_ExecutorFinish = ExecutorFinish_hook;
	ExecutorFinish_hook = hooked_ExecutorFinish;
}
