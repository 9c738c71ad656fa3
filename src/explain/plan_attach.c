/* A wrapper replaces a node's ExecProcNode function: it counts all calls and times some. */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "explain/call_wrapper.h"
#include "explain/plan_attach.h"
#include "explain/timing_clock.h"

/*
 * Number of nodes for whose timed calls memory is allocated before the run.  Allocating it during a
 * short query would distort the query's times.
 */
#define SPARE_SAMPLES	32

/*
 * Distance in bytes between NodeTimings in their array: an odd number of cache lines, so that the
 * nodes are distributed over all sets of the CPU caches.
 */
#define NODE_STRIDE (((sizeof(NodeTiming) + LINE_SIZE - 1) / LINE_SIZE | 1) * LINE_SIZE)

typedef struct Collection
{
	QueryTiming *query;
	NodeTiming *parent;
	char	   *timings;		/* array of NodeTimings, by plan_node_id */
} Collection;

/* Returns that subplan in the list whose root is this node, or NULL. */
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

/*
 * Returns whether each loop of a subplan is read to its end.  For a CTE, this holds if its only
 * reader is itself read to the end.  A CTE that modifies data is excluded, because ExecutorFinish()
 * may execute the rest of it.
 */
static bool
is_subplan_read_to_end(const NodeTiming *t)
{
	if (t->subplan->subplan->subLinkType != CTE_SUBLINK)
		return plan_subplan_is_read_to_end(t->subplan);
	return !t->is_shared && !IsA(t->node, ModifyTableState) &&
		t->parent != NULL && t->parent->reading == INPUT_READ_TO_END;
}

/*
 * Returns whether the number of loops of a nested loop's inner side is derived from the number of
 * rows of its outer side.  Called for joins that stop each loop of the inner side at the first
 * match, so that no call returns the loop's end.  Returns false if the inner side's wrapper detects
 * loops anyway, because all calls are timed or the server counts buffers or WAL at each call.
 */
static bool
loops_follow_outer(const NodeTiming *t, const PlanState *join)
{
	const NodeTiming *outer = query_node(t->query, outerPlanState(join));

	return t->query->only_node < 0 && !t->query->all_timed && t->query->watcher == NULL &&
		outer != NULL && outer->kind == NODE_SAMPLED &&
		!instr_needs_usage(&t->instr) && !t->node->plan->parallel_aware;
}

/* Returns how far a node's parent certainly reads the node in each loop of the node. */
static InputReading
node_reading(const NodeTiming *t)
{
	const PlanState *parent;
	InputReading reading;

	/* the root is read to its end, except in cursors and in workers */
	if (t == t->query->root)
		return IsParallelWorker() || t->query->may_stop ? INPUT_MAY_STOP : INPUT_READ_TO_END;
	if (t->subplan != NULL)
		return is_subplan_read_to_end(t) ? INPUT_READ_TO_END : INPUT_MAY_STOP;
	parent = t->parent->node;
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

/*
 * Sets the field "reading" of all nodes: how far each is read.  It depends on the fields of other
 * nodes, which for CTEs may be set later.  So the loop is repeated until nothing changes.
 */
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

	/*
	 * When timing begins during the run, the node may be in a call.  Then the
	 * server's timer, which times OUTPUT_WHOLE nodes, cannot be switched on.
	 * A function that another extension has installed is kept.
	 */
	if (query->late && (plan_shape(node)->output == OUTPUT_WHOLE || !has_server_function(node)))
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

	/* several nodes may share a subplan, which is then collected only once */
	if (id < 0 || id >= query->nnodes || query->nodes[id] != NULL)
		return false;

	t = (NodeTiming *) (collection->timings + NODE_STRIDE * id);
	query->nodes[id] = t;
	t->id = id;
	t->place = query->nplaces++;
	t->query = query;
	t->node = node;
	t->kind = node_kind(query, node);
	t->was_called = query->late && node->ExecProcNode == node->ExecProcNodeReal;
	t->calls_vary = plan_calls_vary(node);
	t->parent = parent;
	if (parent != NULL)
	{
		t->subplan = subplan_among(parent->node->initPlan, node);
		/* an InitPlan's parent is the node that first needs its result */
		t->dynamic = t->subplan != NULL && t->subplan->subplan->subLinkType != CTE_SUBLINK;
		if (t->subplan == NULL)
			t->subplan = subplan_among(parent->node->subPlan, node);
		t->rescanned = t->subplan != NULL && t->subplan->subplan->subLinkType != CTE_SUBLINK;
		t->sibling = parent->child;
		parent->child = t;
	}
	if (node->instrument != NULL)
		t->instr = *node->instrument;
	if (query->only_node < 0 || query->only_node == id)
	{
		node->instrument = &t->instr;

		/*
		 * the server times NODE_WHOLE nodes and, below Gather, a parallel
		 * Hash Join's first call, for which it replaces the wrapper
		 */
		if (t->kind == NODE_WHOLE)
			instr_set_timer(&t->instr, query->sampling > 0);
		else if (t->kind == NODE_SAMPLED && query->sampling > 0 && !query->late &&
				 IsA(node, HashJoinState) && node->plan->parallel_aware)
			instr_set_timer(&t->instr, true);
	}

	collection->parent = t;
	(void) planstate_tree_walker(node, collect_node, collection);
	collection->parent = parent;
	return false;
}

/*
 * Returns whether an ancestor's calls contain all calls of a node.  Returns false if a subplan in
 * between is shared, because other nodes call it as well.
 */
static bool
is_within(const NodeTiming *t, const NodeTiming *ancestor)
{
	while (t != NULL && t != ancestor)
		t = t->is_shared ? NULL : t->parent;
	return t != NULL;
}

/* Returns whether the node is a data-modifying CTE that ExecutorFinish() executes to its end. */
static bool
is_finished_later(const NodeTiming *t)
{
	return list_member_ptr(t->query->desc->estate->es_auxmodifytables, t->node);
}

/* Returns the nearest node above whose calls contain all of this node's, or NULL. */
static NodeTiming *
next_above(const NodeTiming *t)
{
	NodeTiming *above = t->parent;

	if (!t->is_shared)
		return above;
	if (is_finished_later(t))
		return NULL;
	for (const SubplanUse *use = t->query->uses; use != NULL && above != NULL; use = use->next)
	{
		while (use->subplan == t && above != NULL && !is_within(use->user, above))
			above = above->is_shared ? NULL : above->parent;
	}
	return above;
}

/*
 * Adds a node to the list "below" of all nodes above it.  In timed calls of these nodes, the calls
 * of listed nodes are counted, because a rare long call may be due to a node far below.
 */
static void
put_below(NodeTiming *t)
{
	for (NodeTiming *above = next_above(t); above != NULL; above = next_above(above))
	{
		if (above->nbelow == MAX_BELOW)
			continue;
		if (above->below == NULL)
			above->below = palloc(sizeof(NodeTiming *) * MAX_BELOW);
		above->below[above->nbelow++] = t;
		above->calls_vary |= t->calls_vary;
	}
}

static void
add_use(NodeTiming *user, const PlanState *root)
{
	NodeTiming *subplan = root == NULL ? NULL : query_node(user->query, root);
	SubplanUse *use;

	/* in a worker, subplans that are not parallel-safe are missing */
	if (subplan == NULL)
		return;
	/* a node may use a subplan in several expressions */
	for (use = user->query->uses; use != NULL && use->user == user; use = use->next)
	{
		if (use->subplan == subplan)
			return;
	}
	use = palloc0(sizeof(SubplanUse));
	use->subplan = subplan;
	use->user = user;
	use->next = user->query->uses;
	user->query->uses = use;
}

static void
collect_uses(QueryTiming *query)
{
	for (int id = query->nnodes - 1; id >= 0; id--)
	{
		NodeTiming *t = query->nodes[id];
		ListCell   *cell;

		CHECK_FOR_INTERRUPTS();
		if (t == NULL)
			continue;
		foreach(cell, t->node->subPlan)
			add_use(t, lfirst_node(SubPlanState, cell)->planstate);
		if (IsA(t->node, CteScanState))
			add_use(t, ((CteScanState *) t->node)->cteplanstate);
	}
}

/*
 * Sets the parent of each subplan to the node that calls it, and finds the shared subplans, which
 * several nodes call.  Calls of a CTE in ExecutorFinish() belong to no node.  So such a CTE is
 * treated as shared even if only one node calls it.
 */
static void
find_users(QueryTiming *query)
{
	SubplanUse **next = &query->uses;

	collect_uses(query);
	for (int id = 0; id < query->nnodes; id++)
	{
		if (query->nodes[id] != NULL && is_finished_later(query->nodes[id]))
			query->nodes[id]->parent = NULL;
	}
	for (SubplanUse *use = query->uses; use != NULL; use = use->next)
	{
		use->subplan->nuses++;
		use->subplan->parent = use->user;
	}
	while (*next != NULL)
	{
		SubplanUse *use = *next;
		NodeTiming *subplan = use->subplan;

		CHECK_FOR_INTERRUPTS();
		subplan->is_shared = subplan->nuses > 1 || is_finished_later(subplan);
		if (subplan->is_shared && subplan->kind == NODE_SAMPLED)
			next = &use->next;
		else
			*next = use->next;
	}
}

/*
 * Prepares for counting the calls of each shared subplan separately for each of its users, the
 * nodes that call it.  Calls during a call of a user's wrapper are counted for that user.  All
 * other calls are counted for the user that has no wrapper or, if all have one, for no user.
 */
static void
share_subplans(QueryTiming *query)
{
	for (SubplanUse *use = query->uses; use != NULL; use = use->next)
	{
		NodeTiming *user = use->user;

		use->place = query->nplaces + query->nparts++;
		if (use->subplan->use == NULL)
		{
			use->subplan->use = palloc0(sizeof(SubplanUse));
			use->subplan->use->subplan = use->subplan;
		}
		if (user->kind != NODE_SAMPLED)
			use->subplan->use = use;
		else
		{
			use->next_of_user = user->uses;
			user->uses = use;
		}
	}
	for (SubplanUse *use = query->uses; use != NULL; use = use->next)
	{
		subplan_set_use(use->subplan->use);
		use->subplan->latest_use = use;
	}
}

/* Reset callback of the query's memory context; called after an error, too. */
static void
end_timing(void *arg)
{
	QueryTiming *query = arg;

	if (query->live != NULL)
		query->watcher->ended(query);
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
	Collection	collection = {.query = query};

	query->desc = desc;
	query->context = CurrentMemoryContext;
	query->sampling = options->sampling;
	query->only_node = options->only_node;
	query->max_overhead = options->max_overhead;
	query->may_stop = options->may_stop;
	query->no_workers = options->no_workers;
	query->all_timed = options->sampling == 1;
	if (options->sampling > 0 && options->only_node < 0)
		query->watcher = execution_watcher;
	query->late = options->late;
	query->publish_due = PG_UINT64_MAX;
	(void) find_extent(desc->planstate, query);
	collection.timings =
		(char *) CACHELINEALIGN(palloc0(NODE_STRIDE * query->nnodes + PG_CACHE_LINE_SIZE));
	wrappers_register(query, collection.timings, NODE_STRIDE * query->nnodes);
	query->at_end.func = end_timing;
	query->at_end.arg = query;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &query->at_end);
	timing_clock_hold();

	/*
	 * workers inherit es_instrument; in workers, too, wrappers time the
	 * nodes, so the server must only count rows
	 */
	if (query->nworkers > 0 && (desc->estate->es_instrument & INSTRUMENT_TIMER) != 0)
		desc->estate->es_instrument = (desc->estate->es_instrument & ~INSTRUMENT_TIMER) |
			INSTRUMENT_ROWS;
	query->nodes = palloc0(sizeof(NodeTiming *) * query->nnodes);
	(void) collect_node(desc->planstate, &collection);
	query->root = query_node(query, desc->planstate);
	query->nspare = Min(query->nplaces, SPARE_SAMPLES);
	query->spare = palloc0(sizeof(NodeSamples) * query->nspare);
	find_users(query);
	find_readings(query);
	for (int id = 0; id < query->nnodes; id++)
	{
		CHECK_FOR_INTERRUPTS();
		if (query->nodes[id] != NULL && query->nodes[id]->kind == NODE_SAMPLED)
			put_below(query->nodes[id]);
	}
	share_subplans(query);
	for (int id = 0; id < query->nnodes; id++)
	{
		NodeTiming *t = query->nodes[id];

		if (t == NULL || t->kind != NODE_SAMPLED)
			continue;
		/* whether the wrapper must check which calls return no tuple */
		t->seen = !is_read_to_end(t) || t->rescanned ||
			(query->watcher != NULL && !plan_end_shows(t->node)) ||
			(t->parent != NULL && IsA(t->parent->node, NestLoopState) &&
			 outerPlanState(t->parent->node) == t->node);
		install_wrapper(t);
	}
	MemoryContextSwitchTo(old);
	return query;
}
