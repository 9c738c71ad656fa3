/*-------------------------------------------------------------------------
 *
 * plan_attach.c
 *	  Finds a plan's nodes, and installs a wrapper before each.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "explain/call_wrapper.h"
#include "explain/plan_attach.h"
#include "explain/timing_clock.h"

/*
 * So many nodes find room for what is timed without allocating memory while the
 * query is being timed, which would be seen in a short one.
 */
#define SPARE_SAMPLES	32

/*
 * How far apart nodes are: an odd number of lines, so that different ones are
 * not in the same sets of the caches.
 */
#define NODE_STRIDE (((sizeof(NodeTiming) + LINE_SIZE - 1) / LINE_SIZE | 1) * LINE_SIZE)

/* While nodes are collected. */
typedef struct Collection
{
	QueryTiming *query;
	NodeTiming *parent;
	NodeTiming **last_cte_scan; /* where the next one goes */
	char	   *timings;		/* of each plan_node_id */
} Collection;

/* That of a list which refers to this node, or NULL. */
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

NodeTiming *
only_cte_scan(const QueryTiming *query, const PlanState *cte)
{
	NodeTiming *scan = NULL;

	for (NodeTiming *t = query->cte_scans; t != NULL; t = t->next_cte_scan)
	{
		if (((const CteScanState *) t->node)->cteplanstate != cte)
			continue;
		if (scan != NULL)
			return NULL;
		scan = t;
	}
	return scan;
}

static bool
is_subplan_read_to_end(const QueryTiming *query, const SubPlanState *subplan)
{
	const NodeTiming *scan;

	if (subplan->subplan->subLinkType != CTE_SUBLINK)
		return plan_subplan_is_read_to_end(subplan);
	scan = only_cte_scan(query, subplan->planstate);
	/* (what modifies data is called once more when all is done) */
	return scan != NULL && scan->reading == INPUT_READ_TO_END &&
		!IsA(subplan->planstate, ModifyTableState);
}

/*
 * Whether the loops of a node, on the inner side of a nested loop that a match
 * ends, can be told from the outer side's rows.  Where all calls are timed, or the
 * server counts usage, which notes loops by itself, they are better seen.
 */
static bool
loops_follow_outer(const NodeTiming *t, const PlanState *join)
{
	const NodeTiming *outer = query_node(t->query, outerPlanState(join));

	return t->query->only_node < 0 && !t->query->all_timed &&
		outer != NULL && outer->kind == NODE_SAMPLED &&
		!instr_needs_usage(&t->instr) && !t->node->plan->parallel_aware;
}

/* How far a node is read, which is promised only where it is beyond doubt. */
static InputReading
node_reading(const NodeTiming *t)
{
	const PlanState *parent;
	const SubPlanState *subplan;
	InputReading reading;

	/*
	 * the query as a whole is, but a cursor may be left, and a worker be told
	 * to stop
	 */
	if (t->parent == NULL)
		return IsParallelWorker() || t->query->may_stop ? INPUT_MAY_STOP : INPUT_READ_TO_END;
	parent = t->parent->node;
	subplan = subplan_among(parent->subPlan, t->node);
	if (subplan == NULL)
		subplan = subplan_among(parent->initPlan, t->node);
	if (subplan != NULL)
		return is_subplan_read_to_end(t->query, subplan) ? INPUT_READ_TO_END : INPUT_MAY_STOP;

	reading = plan_input_reading(parent, t->node);
	if (reading == INPUT_ENDED_BY_MATCH)
		return loops_follow_outer(t, parent) ? reading : INPUT_MAY_STOP;
	if (reading == INPUT_AS_NODE || reading == INPUT_IF_BEGUN)
	{
		if (t->parent->reading != INPUT_READ_TO_END)
			return INPUT_MAY_STOP;
		return reading == INPUT_AS_NODE ? INPUT_READ_TO_END : reading;
	}
	return reading;
}

/* How far nodes are read depends on others, in no order where there are CTEs. */
static void
find_readings(QueryTiming *query)
{
	bool		changed;

	do
	{
		changed = false;
		for (int id = 0; id < query->nnodes; id++)
		{
			NodeTiming *t = query->nodes[id];
			InputReading reading;

			CHECK_FOR_INTERRUPTS();
			if (t == NULL)
				continue;
			reading = node_reading(t);
			changed |= reading != t->reading;
			t->reading = reading;
		}
	} while (changed);
}

static bool
find_extent(PlanState *node, void *context)
{
	QueryTiming *query = context;

	query->nnodes = Max(query->nnodes, node->plan->plan_node_id + 1);
	if (IsA(node->plan, Gather))
		query->nworkers = Max(query->nworkers, ((Gather *) node->plan)->num_workers);
	if (IsA(node->plan, GatherMerge))
		query->nworkers = Max(query->nworkers, ((GatherMerge *) node->plan)->num_workers);
	return planstate_tree_walker(node, find_extent, context);
}

static NodeKind
node_kind(const QueryTiming *query, const PlanState *node)
{
	if (query->only_node >= 0 && query->only_node != node->plan->plan_node_id)
		return NODE_UNTIMED;
	if (plan_shape(node)->output == OUTPUT_WHOLE)
		return NODE_WHOLE;
	return node->async_capable ? NODE_UNTIMED : NODE_SAMPLED;
}

static bool
collect_node(PlanState *node, void *context)
{
	Collection *collection = context;
	NodeTiming *parent = collection->parent;
	QueryTiming *query = collection->query;
	int			id = node->plan->plan_node_id;
	NodeTiming *t;

	/* a subplan may be referred to more than once */
	if (id < 0 || id >= query->nnodes || query->nodes[id] != NULL)
		return false;

	t = (NodeTiming *) (collection->timings + NODE_STRIDE * id);
	query->nodes[id] = t;
	t->id = id;
	t->place = query->nplaces++;
	t->query = query;
	t->node = node;
	t->kind = node_kind(query, node);
	t->calls_vary = plan_calls_vary(node);
	if (IsA(node, CteScanState))
	{
		*collection->last_cte_scan = t;
		collection->last_cte_scan = &t->next_cte_scan;
	}
	t->parent = parent;
	if (parent != NULL)
	{
		/* an InitPlan is executed by whichever node first needs what it gives */
		t->dynamic = subplan_among(parent->node->initPlan, node) != NULL;
		t->sibling = parent->child;
		parent->child = t;
	}
	if (node->instrument != NULL)
		t->instr = *node->instrument;
	if (query->only_node < 0 || query->only_node == id)
	{
		node->instrument = &t->instr;
		/* see resumed_call() */
		if (t->kind == NODE_WHOLE)
			instr_set_timer(&t->instr, query->sampling > 0);
		else if (t->kind == NODE_SAMPLED && query->sampling > 0 &&
				 IsA(node, HashJoinState) && node->plan->parallel_aware)
			instr_set_timer(&t->instr, true);
	}

	collection->parent = t;
	(void) planstate_tree_walker(node, collect_node, collection);
	collection->parent = parent;
	return false;
}

/*
 * A node's calls are counted with timed calls of those above: of all of them, as a
 * rare long call may be one of a node further down.
 */
static void
put_below(NodeTiming *t, NodeTiming *above)
{
	for (; above != NULL; above = above->parent)
	{
		bool		known = above == t;

		for (int i = 0; i < above->nbelow; i++)
			known |= above->below[i] == t;
		if (known || above->nbelow == MAX_BELOW)
			continue;
		if (above->below == NULL)
			above->below = palloc(sizeof(NodeTiming *) * MAX_BELOW);
		above->below[above->nbelow++] = t;
		above->calls_vary |= t->calls_vary;
	}
}

/*
 * A CTE is called by the node that scans it; if there are several, none can tell
 * what the others have called.
 */
static void
put_all_below(QueryTiming *query)
{
	for (int id = 0; id < query->nnodes; id++)
	{
		NodeTiming *t = query->nodes[id];

		if (t != NULL && t->kind == NODE_SAMPLED)
			put_below(t, t->parent);
	}
	for (NodeTiming *t = query->cte_scans; t != NULL; t = t->next_cte_scan)
	{
		PlanState  *cte = ((CteScanState *) t->node)->cteplanstate;
		NodeTiming *called = cte == NULL ? NULL : query_node(query, cte);

		CHECK_FOR_INTERRUPTS();
		if (t->kind != NODE_SAMPLED || called == NULL || only_cte_scan(query, cte) != t)
			continue;
		put_below(called, t);
		for (int i = 0; i < called->nbelow; i++)
			put_below(called->below[i], t);
	}
}

/*
 * The server executes a CTE that modifies data and that no node scans after the
 * root's last call, in ExecutorFinish(): its calls are part of no node's.
 */
static void
separate_unread_ctes(QueryTiming *query)
{
	ListCell   *cell;

	foreach(cell, query->desc->estate->es_auxmodifytables)
	{
		PlanState  *cte = lfirst(cell);
		const NodeTiming *scan = query->cte_scans;

		while (scan != NULL && ((const CteScanState *) scan->node)->cteplanstate != cte)
			scan = scan->next_cte_scan;
		if (scan == NULL && query_node(query, cte) != NULL)
			query_node(query, cte)->parent = NULL;
	}
}

/* Called when the query's memory goes, after an error, too. */
static void
end_timing(void *arg)
{
	timing_clock_release();
	wrappers_forget(arg);
	if (timed_in_worker == arg)
		timed_in_worker = NULL;
}

QueryTiming *
plan_attach(QueryDesc *desc, const NodeTimingOptions *options)
{
	MemoryContext old = MemoryContextSwitchTo(desc->estate->es_query_cxt);
	QueryTiming *query = palloc0(sizeof(QueryTiming));
	Collection	collection = {.query = query, .last_cte_scan = &query->cte_scans};

	query->desc = desc;
	query->context = CurrentMemoryContext;
	query->sampling = options->sampling;
	query->only_node = options->only_node;
	query->max_overhead = options->max_overhead;
	query->may_stop = options->may_stop;
	query->no_workers = options->no_workers;
	query->in_passing = options->in_passing;
	query->all_timed = options->sampling == 1;
	(void) find_extent(desc->planstate, query);
	collection.timings = (char *) CACHELINEALIGN(palloc0(NODE_STRIDE * query->nnodes + PG_CACHE_LINE_SIZE));
	wrappers_register(query, collection.timings, NODE_STRIDE * query->nnodes);
	query->at_end.func = end_timing;
	query->at_end.arg = query;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &query->at_end);
	timing_clock_hold();

	/* workers are to count rows alone, as the nodes here */
	if (query->nworkers > 0 && (desc->estate->es_instrument & INSTRUMENT_TIMER) != 0)
		desc->estate->es_instrument = (desc->estate->es_instrument & ~INSTRUMENT_TIMER) | INSTRUMENT_ROWS;
	query->nodes = palloc0(sizeof(NodeTiming *) * query->nnodes);
	(void) collect_node(desc->planstate, &collection);
	query->root = query_node(query, desc->planstate);
	query->nspare = Min(query->nplaces, SPARE_SAMPLES);
	query->spare = palloc0(sizeof(NodeSamples) * query->nspare);
	separate_unread_ctes(query);
	put_all_below(query);
	find_readings(query);
	for (int id = 0; id < query->nnodes; id++)
	{
		if (query->nodes[id] != NULL && query->nodes[id]->kind == NODE_SAMPLED)
			install_wrapper(query->nodes[id]);
	}
	MemoryContextSwitchTo(old);
	return query;
}
