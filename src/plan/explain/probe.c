/*
 * A stub has some twenty instructions, so it is generated for each number by a macro.  Calls that
 * are not ordinary go to call_probed(): first calls of loops, nodes for which the server counts
 * buffers or WAL, and subplans, which several nodes may call.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "core/random.h"
#include "core/system_clock.h"
#include "plan/explain/probe.h"
#include "plan/sampler/plan_sampler.h"

/* Number of stubs with a fixed number. */
#define STUBS			512

/* Number of loops whose first call is timed, and mean interval between timed ones after that. */
#define TIMED_LOOPS		16
#define LATER_LOOPS		64

/* Slots with a fixed number, and the nodes that use them. */
static StubSlot probes[STUBS];
static ProbedNode *slot_nodes[STUBS];
static uint64 random_state = 1;

/* Nodes with stubs, by address. */
#define SH_PREFIX		probed
#define SH_ELEMENT_TYPE	ProbedEntry
#define SH_KEY_TYPE		PlanState *
#define SH_KEY			node
/* 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming, 6.4) */
#define HASH_FACTOR				UINT64CONST(0x9e3779b97f4a7c15)
#define SH_HASH_KEY(table, key)	((uint32) (((uintptr_t) (key) >> 4) * HASH_FACTOR >> 32))
#define SH_EQUAL(table, a, b)	((a) == (b))
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
typedef struct ProbedEntry
{
	PlanState  *node;
	ProbedNode *probed;
	char		status;
} ProbedEntry;
#include "lib/simplehash.h"

static probed_hash * all_probed = NULL;

static ProbedNode *
find_probed(PlanState *node)
{
	ProbedEntry *entry = all_probed == NULL ? NULL : probed_lookup(all_probed, node);

	return entry == NULL ? NULL : entry->probed;
}

/* Returns ExecProcNodeFirst(), which the server sets as a node's function before its first call. */
static ExecProcNodeMtd
server_function(void)
{
	static ExecProcNodeMtd function = NULL;

	if (function == NULL)
	{
		PlanState	node = {0};

		ExecSetExecProcNode(&node, NULL);
		function = node.ExecProcNode;
	}
	return function;
}

bool
has_server_function(const PlanState *node)
{
	return node->ExecProcNode == node->ExecProcNodeReal || node->ExecProcNode == server_function();
}

static TupleTableSlot *
no_row(PlanState *node)
{
	(void) node;
	return NULL;
}

ExecProcNodeMtd
server_call_function(const PlanState *node)
{
	static ExecProcNodeMtd instrumented = NULL;

	if (instrumented == NULL)
	{
		NodeInstr	instr = {0};
		PlanState	called = {.instrument = &instr};

		ExecSetExecProcNode(&called, no_row);
		(void) called.ExecProcNode(&called);
		instrumented = called.ExecProcNode;
	}
	return node == NULL || node->instrument != NULL ? instrumented : node->ExecProcNodeReal;
}

/* Returns whether the server has set a node's function, and not clocktiming or an extension. */
static bool
is_servers(const PlanState *node)
{
	return has_server_function(node) || node->ExecProcNode == server_call_function(node);
}

static TupleTableSlot *call_replaced(PlanState *node);

/* Stores a node's own function, and replaces it by call_replaced(). */
static void
replace_real(ProbedNode *probed)
{
	if (probed->node->ExecProcNodeReal != call_replaced)
		probed->probe->real = probed->node->ExecProcNodeReal;
	probed->node->ExecProcNodeReal = call_replaced;
}

/* Restores a node's stub if the server has replaced it; does nothing for a node without a stub. */
static void
put_stub(ProbedNode *probed)
{
	if (probed->probe == NULL || !is_servers(probed->node))
		return;
	replace_real(probed);
	probed->node->ExecProcNode = probed->stub;
}

/*
 * Returns the number to publish after calls of a node, at its first call.  This is the number of
 * the node above, unless that is a custom node that has not been called: a custom node above may
 * execute the input of another one itself, as TimescaleDB's VectorAgg does.
 */
static uint32
number_of_caller(const ProbedNode *probed)
{
	const ProbedNode *above = probed->parent;

	while (above != NULL && !above->begun && IsA(above->node, CustomScanState))
		above = above->parent;
	return above != NULL && above != probed->parent && above->begun ? above->number :
		probed->above;
}

/*
 * Called at a node's first call.  Gather's first call makes the server replace the function of a
 * parallel Hash Join below it.  So a node restores the stubs of the nodes below it, and of those
 * above it, because the Hash Join may already have been called.
 */
static void
begin(ProbedNode *probed)
{
	/* as ExecProcNodeFirst() does, which the stub replaces */
	check_stack_depth();
	probed->begun = true;
	probe_set_above(probed, number_of_caller(probed));
	instr_set_timer(probed->instr, false);
	for (ProbedNode *child = probed->child; child != NULL; child = child->sibling)
	{
		if (!child->begun)
			put_stub(child);
	}
	for (ProbedNode *above = probed->parent; above != NULL && !above->begun; above = above->parent)
		put_stub(above);
}

/*
 * Counts a call of a subplan by the node that was at work.  Further nodes count as the last one.
 * "first_ns" is the time of the call if it began a loop and was timed, else 0.
 */
static void
count_caller(ProbedNode *probed, uint32 number, bool begins, double first_ns)
{
	ProbeCaller *caller = probed->callers;

	while (caller < &probed->callers[PROBE_CALLERS - 1] && caller->number != number &&
		   caller->number != 0)
		caller++;
	if (caller->number == 0)
		caller->number = number;
	caller->calls++;
	caller->loops += begins;
	caller->timed += first_ns > 0;
	caller->first_ns += first_ns;
}

/* Returns whether to time the first call of a loop, and draws the next loop. */
static bool
draw_loop(ProbedNode *probed)
{
	probed->loops++;
	if (--probed->skip > 0)
		return false;
	probed->skip = probed->timed < TIMED_LOOPS ? 1 :
		1 + (int) ((random_next(&random_state) >> 32) % (2 * LATER_LOOPS));
	return true;
}

/*
 * Executes a node, and counts the call.  The node at work after the call is the one above or, for a
 * subplan, the one that was at work before.  If the server counts buffers or WAL, its own functions
 * start and stop the Instrumentation, which also count the row.
 * "counted": the caller counts the node's rows, buffers and WAL.
 */
static TupleTableSlot *
call_probed(ProbedNode *probed, bool counted)
{
	PlanState  *node = probed->node;
	NodeInstr  *instr = probed->instr;
	bool		begins = !instr->running;
	double		first_ns = 0;
	uint64		start_ns = 0;
	uint32		above;
	TupleTableSlot *slot;

	if (!probed->begun)
		begin(probed);
	above = probed->is_called ? *current_number : probed->above;
	if (begins && draw_loop(probed))
		start_ns = system_clock_read();
	if (probed->counts_usage && !counted)
		InstrStartNode(instr);
	*current_number = probed->number;
	slot = probed->probe->real(node);
	*current_number = above;
	if (probed->counts_usage && !counted)
		InstrStopNode(instr, TupIsNull(slot) ? 0 : 1);
	else if (!counted)
	{
		instr->running = true;
		if (!TupIsNull(slot))
			instr->tuplecount++;
	}
	if (start_ns != 0)
	{
		first_ns = Max((double) (int64) (system_clock_read() - start_ns), 1);
		probed->first_ns += first_ns;
		probed->timed++;
	}
	if (probed->is_called)
		count_caller(probed, above, begins, first_ns);
	return slot;
}

/*
 * Executes a node for which a stub was called that does not belong to it: other extensions save and
 * restore nodes' functions.
 */
static TupleTableSlot *
call_other(PlanState *node)
{
	TupleTableSlot *slot;

	check_stack_depth();
	if (node->instrument == NULL)
		return node->ExecProcNodeReal(node);
	InstrStartNode(node->instrument);
	slot = node->ExecProcNodeReal(node);
	InstrStopNode(node->instrument, TupIsNull(slot) ? 0 : 1);
	return slot;
}

static pg_noinline TupleTableSlot *
special_call(PlanState *node, const StubSlot *probe)
{
	ProbedNode *probed = slot_nodes[probe - probes];

	if (probed == NULL || probed->node != node)
		probed = find_probed(node);
	return probed == NULL ? call_other(node) : call_probed(probed, false);
}

/* The stub of nodes that have no stub with their number. */
static TupleTableSlot *
shared_stub(PlanState *node)
{
	ProbedNode *probed = find_probed(node);

	return probed == NULL ? call_other(node) : call_probed(probed, false);
}

/*
 * The ExecProcNodeReal of a node with a stub.  The server calls it if it has replaced the stub, and
 * counts the row.  An extension that executes nodes itself may also call it.
 */
static TupleTableSlot *
call_replaced(PlanState *node)
{
	ProbedNode *probed = find_probed(node);

	if (probed == NULL)
		elog(ERROR, "the observation of a plan node has ended");
	if (!is_servers(node))
		return probed->probe->real(node);
	put_stub(probed);
	return call_probed(probed, true);
}

static pg_attribute_always_inline TupleTableSlot *
call_by(PlanState *node, StubSlot *probe, uint32 number)
{
	TupleTableSlot *slot;

	if (unlikely(node != probe->node || !probe->instr->running))
		return special_call(node, probe);
	*current_number = number;
	slot = probe->real(node);
	*current_number = probe->above;
	if (likely(!TupIsNull(slot)))
		probe->instr->tuplecount++;

	/*
	 * another extension may have ended the loop during the call, as EXPLAIN
	 * does
	 */
	probe->instr->running = true;
	return slot;
}

/* Defines stub_0xyz() for the hexadecimal digits x, y and z; its number is 0xyz + 1. */
#define STUB(n) \
static TupleTableSlot * \
stub_##n(PlanState *node) \
{ \
	return call_by(node, &probes[n], n + 1); \
}
#define STUBS_16(n) \
	STUB(n##0) STUB(n##1) STUB(n##2) STUB(n##3) STUB(n##4) STUB(n##5) STUB(n##6) STUB(n##7) \
	STUB(n##8) STUB(n##9) STUB(n##a) STUB(n##b) STUB(n##c) STUB(n##d) STUB(n##e) STUB(n##f)
#define STUBS_256(n) \
	STUBS_16(n##0) STUBS_16(n##1) STUBS_16(n##2) STUBS_16(n##3) \
	STUBS_16(n##4) STUBS_16(n##5) STUBS_16(n##6) STUBS_16(n##7) \
	STUBS_16(n##8) STUBS_16(n##9) STUBS_16(n##a) STUBS_16(n##b) \
	STUBS_16(n##c) STUBS_16(n##d) STUBS_16(n##e) STUBS_16(n##f)

STUBS_256(0x0)
STUBS_256(0x1)

#define NAME(n) stub_##n,
#define NAMES_16(n) \
	NAME(n##0) NAME(n##1) NAME(n##2) NAME(n##3) NAME(n##4) NAME(n##5) NAME(n##6) NAME(n##7) \
	NAME(n##8) NAME(n##9) NAME(n##a) NAME(n##b) NAME(n##c) NAME(n##d) NAME(n##e) NAME(n##f)
#define NAMES_256(n) \
	NAMES_16(n##0) NAMES_16(n##1) NAMES_16(n##2) NAMES_16(n##3) \
	NAMES_16(n##4) NAMES_16(n##5) NAMES_16(n##6) NAMES_16(n##7) \
	NAMES_16(n##8) NAMES_16(n##9) NAMES_16(n##a) NAMES_16(n##b) \
	NAMES_16(n##c) NAMES_16(n##d) NAMES_16(n##e) NAMES_16(n##f)

static const ExecProcNodeMtd stubs[STUBS] = {NAMES_256(0x0) NAMES_256(0x1)};

/*
 * Lets the executor call a stub instead of the node's function.  The first STUBS nodes have a stub
 * and a slot of their own.  Later ones share a stub, which finds the node by a hash table.
 */
void
probe_install(ProbedNode *probed)
{
	uint32		index = probed->number - 1;
	bool		ordinary = !probed->is_called && !probed->counts_usage;
	ProbedEntry *entry;
	bool		found;

	if (all_probed == NULL)
		all_probed = probed_create(TopMemoryContext, STUBS, NULL);
	entry = probed_insert(all_probed, probed->node, &found);
	entry->probed = probed;
	probed->probe = index < STUBS ? &probes[index] : &probed->own;
	probed->stub = index < STUBS ? stubs[index] : shared_stub;
	*probed->probe = (StubSlot)
	{
		.node = ordinary ? probed->node : NULL, .instr = probed->instr, .above = probed->above
	};
	if (index < STUBS)
		slot_nodes[index] = probed;
	probed->skip = 0;
	replace_real(probed);
	probed->node->ExecProcNode = probed->stub;
}

void
probe_remove(ProbedNode *probed)
{
	if (probed->probe == NULL)
		return;
	memset(probed->probe, 0, sizeof(StubSlot));
	if (probed->number <= STUBS)
		slot_nodes[probed->number - 1] = NULL;
	(void) probed_delete(all_probed, probed->node);
	probed->probe = NULL;
}

void
probe_set_above(ProbedNode *probed, uint32 above)
{
	probed->above = above;
	if (probed->probe != NULL)
		probed->probe->above = above;
}

double
probe_first_ns(const ProbedNode *probed)
{
	return probed->timed > 0 ? probed->first_ns * probed->loops / probed->timed : 0;
}

double
probe_caller_first_ns(const ProbeCaller *caller)
{
	return caller->timed > 0 ? caller->first_ns * caller->loops / caller->timed : 0;
}
