/* The nodes of an observed plan, and their stubs. */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "compat.h"
#include "plan/explain/observation.h"
#include "plan/explain/plan_shape.h"

typedef struct Collection
{
	Observation *observation;	/* NULL: only count */
	int			n;
	int			parent;
	int			nworkers;
} Collection;

static const SubPlanState *
subplan_among(const List *subplans, const PlanState *node)
{
	ListCell   *cell;

	foreach(cell, subplans)
	{
		if (lfirst_node(SubPlanState, cell)->planstate == node)
			return lfirst_node(SubPlanState, cell);
	}
	return NULL;
}

/* Returns the number of the nearest node above whose calls the sampler sees. */
static uint32
number_above(const Observation *o, int place)
{
	int			parent = o->nodes[place].parent;

	while (parent >= 0 && o->nodes[parent].kind != NODE_SAMPLED)
		parent = o->nodes[parent].parent;
	return o->first + 1 + (uint32) parent;
}

/*
 * Returns how a node is observed.  When stubs are installed during the run, a node may be in a
 * call, so the server's timer, which times OUTPUT_WHOLE nodes, cannot be switched on.  Hash
 * needs no timer and no stub, because the stub of the node below it publishes Hash as the node
 * at work.
 */
static NodeKind
node_kind(const Observation *o, const PlanState *node)
{
	if (IsA(node, HashState))
		return NODE_SAMPLED;
	if (plan_shape(node)->output == OUTPUT_WHOLE)
		return o->options.late ? NODE_HIDDEN : NODE_WHOLE;
	return node->async_capable ? NODE_HIDDEN : NODE_SAMPLED;
}

/*
 * Adds a node and those below it to the observation, in the order of the server's walk of the plan.
 * Without an observation, only counts them, so that the array can be allocated at once: nodes refer
 * to each other by pointers.
 */
static bool
collect_node(PlanState *node, void *context)
{
	Collection *collection = context;
	Observation *o = collection->observation;
	int			parent = collection->parent;
	int			place;
	ObservedNode *n;

	CHECK_FOR_INTERRUPTS();
	if (IsA(node, GatherState))
		collection->nworkers += ((Gather *) node->plan)->num_workers;
	if (IsA(node, GatherMergeState))
		collection->nworkers += ((GatherMerge *) node->plan)->num_workers;

	/* several nodes may share a subplan, which is then collected only once */
	if (o != NULL && subplan_among(parent < 0 ? NIL : o->nodes[parent].probed.node->subPlan,
								   node) != NULL)
	{
		for (int i = 0; i < collection->n; i++)
		{
			if (o->nodes[i].probed.node == node)
			{
				o->nodes[i].probed.is_called = true;
				return false;
			}
		}
	}
	place = collection->n++;
	if (o == NULL)
		return planstate_tree_walker(node, collect_node, collection);
	n = &o->nodes[place];
	n->id = node->plan->plan_node_id;
	n->parent = parent;
	n->probed.node = node;
	n->kind = node_kind(o, node);
	if (parent >= 0)
	{
		const PlanState *above = o->nodes[parent].probed.node;
		const SubPlanState *subplan;

		/* an InitPlan or CTE is called by the nodes that need its result */
		subplan = subplan_among(above->initPlan, node);
		n->probed.is_called = n->is_init_plan = subplan != NULL;
		n->is_expression = subplan_among(above->subPlan, node) != NULL;
		n->is_cte = subplan != NULL && subplan->subplan->subLinkType == CTE_SUBLINK;
		n->probed.parent = &o->nodes[parent].probed;
		n->probed.sibling = o->nodes[parent].probed.child;
		o->nodes[parent].probed.child = &n->probed;
	}
	collection->parent = place;
	(void) planstate_tree_walker(node, collect_node, collection);
	collection->parent = parent;
	return false;
}

/*
 * Lets the server count the node's rows, and time its calls if it is a NODE_WHOLE.  The stub of
 * another node stops the server's timer: without a call of the stub, the server's times are
 * shown.
 */
static void
instrument(Observation *o, ObservedNode *n)
{
	PlanState  *node = n->probed.node;

	if (node->instrument == NULL)
		node->instrument = instr_alloc(node->async_capable);
	n->probed.instr = node->instrument;
	if (n->kind == NODE_WHOLE || o->options.late)
		instr_set_timer(node->instrument, !o->options.late);
}

/* Prepares a node's Instrumentation, and installs its stub if the node is sampled. */
void
observe_install(Observation *o, int place)
{
	ObservedNode *n = &o->nodes[place];
	PlanState  *node = n->probed.node;

	n->was_called = o->options.late && node->ExecProcNode == node->ExecProcNodeReal;
	instrument(o, n);
	n->probed.number = o->first + 1 + (uint32) place;
	n->probed.above = number_above(o, place);
	n->probed.counts_usage = instr_needs_usage(node->instrument);
	if (n->kind != NODE_SAMPLED || plan_shape(node)->output == OUTPUT_WHOLE)
		return;
	/* during the run, a function that another extension has installed is kept */
	if (o->options.late && !has_server_function(node) &&
		node->ExecProcNode != server_call_function(node))
	{
		n->kind = NODE_HIDDEN;
		return;
	}
	probe_install(&n->probed);
}

Observation *
observe_list(QueryDesc *desc, const ObserveOptions *options)
{
	Collection	collection = {.parent = -1};
	Observation *o = palloc0(sizeof(Observation));

	o->desc = desc;
	o->context = CurrentMemoryContext;
	if (options != NULL)
		o->options = *options;
	o->run.pending = -2;
	(void) collect_node(desc->planstate, &collection);
	o->nworkers = collection.nworkers;
	o->nodes = palloc0(sizeof(ObservedNode) * collection.n);
	collection.observation = o;
	collection.n = 0;
	(void) collect_node(desc->planstate, &collection);
	o->nnodes = collection.n;
	return o;
}
