/*
 * Adds executions to the statistics of plans.
 *
 * An execution is added at up to two moments: its duration when it ends, and the times of its nodes
 * when they have been estimated.  Both find the plan's entry by the PlanKey.  Most executions find
 * an entry, and only need the shared lock and the lock of the entry's partition.  The first
 * execution of a plan takes the exclusive lock, and may have to evict other plans.  What needs
 * memory or catalogs, such as the names of nodes, is prepared before a lock is taken.
 *
 * Timing the nodes of a short execution slows it down.  The plan's durations are therefore mostly
 * those of executions that were timed as a whole, and the times of nodes are multiplied by
 * plain_factor(), the typical duration of these divided by that of executions with timed nodes.
 *
 * An entry has a slot for each of the first PLAN_TREE_MAX nodes of the plan, from the first
 * execution with timed nodes on.  Slots are in the order of the plan's tree (plan_tree.c), which is
 * the same in each execution; an execution may lack nodes because of pruning.
 */
#include "postgres.h"

#include <math.h>

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "core/stats.h"
#include "plan/explain/explain_output.h"
#include "plan/explain/observation.h"
#include "plan/stats/plan_store.h"
#include "plan/stats/store_entries.h"

bool
plan_store_ready(void)
{
	return plan_store != NULL && plan_store_hash != NULL;
}

uint64
plan_store_planid(const PlannedStmt *plan)
{
#if PG_VERSION_NUM >= 180000
	if (plan->planId != 0)
		return (uint64) plan->planId;
#endif
	return plan_tree_hash(plan);
}

PlanKey
plan_store_key(const QueryDesc *desc)
{
	uint64		planid = plan_store_planid(desc->plannedstmt);
	uint64		queryid = (uint64) desc->plannedstmt->queryId;

	/* before 18, DECLARE CURSOR and CREATE TABLE AS have no query id */
	return (PlanKey)
	{
		MyDatabaseId, GetUserId(), queryid != 0 ? queryid : planid, planid
	};
}

/*
 * A factor corrects nodes' times for the slowdown by timing.  It is 1 if fewer than FEWEST_WHOLE
 * durations are known, because the ratio of two means is then mostly chance.  It is at least
 * LEAST_FACTOR: timing makes even an execution of 5 us only twice as long, so a smaller ratio has
 * another cause.
 */
#define FEWEST_WHOLE	5
#define LEAST_FACTOR	0.25

typedef struct Execution
{
	const Observation *observation; /* NULL: only timed as a whole, or failed */
	const PlanEstimate *estimate;	/* its result; or NULL */
	const PlanTree *tree;		/* NULL if "estimate" is NULL */
	const int  *places;			/* places of its nodes in "observation" */
	bool		failed;
	double		ns;				/* duration */
	double		long_ns;		/* duration of a long execution, whose nodes
								 * may have been observed for a part of it */
	double		weight;
	int64		counted;		/* > 0: only counts so many executions */
	TimestampTz now;
} Execution;

/* Node of a new plan.  Prepared before locking, because preparing it allocates memory. */
typedef struct NewNode
{
	int			place;
	int			depth;
	int			parent;			/* index of the parent; -1: none */
	char		type[NODE_TYPE_LENGTH];
	NameData	relation;
	NameData	index;
} NewNode;

/* Returns the factor by which the planner misestimated the rows per loop, at least 1. */
static double
rows_factor(double actual, double estimated)
{
	actual = Max(actual, 1);

	estimated = Max(estimated, 1);
	return Max(actual / estimated, estimated / actual);
}

static double
variance_of(double margin)
{
	return isfinite(margin) ? (margin / NORMAL_975) * (margin / NORMAL_975) : 0;
}

/*
 * Returns the factor that removes the slowdown by timing from nodes' times.  It is the typical time
 * of executions without timed nodes, divided by the mean time of those with timed nodes.  Both
 * hardly include long executions, which timing does not slow down.
 */
static double
plain_factor(const PlanEntry *entry)
{
	double		plain = population_typical(&entry->times);
	double		timed = weighted_mean(&entry->with_nodes);

	if (entry->times.seen.n < FEWEST_WHOLE || !(timed > 0))
		return 1;
	return Min(Max(plain / timed, LEAST_FACTOR), 1);
}

/*
 * Returns how to add the times of a long execution.  The time in which its nodes were not observed,
 * and that of other long executions of the plan, is divided in proportion to the times that were.
 * Other executions differ from this one independently.  The time before the observation may be in
 * the same node each time, so its errors add up.
 */
static AddScale
scale_of_long(PlanEntry *entry, const Execution *execution)
{
	double		seen = execution->estimate->run_ns;
	double		before = Max(execution->long_ns - seen, 0);
	double		busy = busy_share(execution->estimate->share_ns, execution->estimate->cpu_wait_ns);
	AddScale	scale = {.factor = 1, .is_long = true};

	if (!(seen > 0) || seen < LEAST_SEEN * execution->long_ns)
	{
		entry->unseen_ns += before;
		entry->unseen_squares += before * before;
		return scale;
	}
	scale.factor += (before + entry->unseen_ns) / seen;
	scale.squares = busy * busy *
		(entry->unseen_squares + before * (before + 2 * entry->before_ns));
	entry->before_ns += before;
	entry->unseen_ns = entry->unseen_squares = 0;
	return scale;
}

/* Returns the time of all processes but unseen_ns. */
static double
seen_ns(const PlanEstimate *plan)
{
	return plan->share_ns + plan->cpu_wait_ns;
}

/*
 * Notes the time of a short execution that has too few samples to divide it among the nodes.  The
 * plan's next execution with enough samples stands for this time as well, so that the nodes' times
 * add up to the plan's.  If the time belonged to the root, the root would seem to take a quarter of
 * executions of 3 ms on a busy server (test/t/083_short_executions.pl).
 */
static void
add_missed(PlanEntry *entry, const Execution *execution, AddScale *scale)
{
	const PlanEstimate *plan = execution->estimate;
	double		missed = scale->factor * execution->weight * plan->unseen_ns;
	double		seen = seen_ns(plan);
	double		busy = busy_share(plan->share_ns, plan->cpu_wait_ns);

	entry->missed_ns += missed;
	entry->missed_squares += missed * missed;
	if (!(seen > 0) || seen < LEAST_SEEN * (seen + plan->unseen_ns))
		return;
	scale->factor += entry->missed_ns / (execution->weight * seen);
	scale->squares += busy * busy * entry->missed_squares / execution->weight;
	entry->missed_ns = entry->missed_squares = 0;
}

/* Adds a node's times.  "node" is NULL if the node was pruned. */
static void
add_times(NodeSlot *slot, const PlanEstimate *plan, const NodeEstimate *node, double w,
		  const AddScale *scale)
{
	double		factor = scale->factor;

	if (node == NULL || (node->loops <= 0 && !(node->times.self_ns > 0)))
	{
		weighted_add(&slot->total, w, 0, 0);
		weighted_add(&slot->self, w, 0, 0);
		node_parts_add(&slot->parts, plan, NULL, w, scale);
		return;
	}
	if (!isfinite(node->times.total_ns) || !isfinite(node->times.self_ns))
		return;
	weighted_add(&slot->total, w, factor * node->times.total_ns,
				 variance_of(factor * node->total_margin_ns) +
				 unseen_variance(scale, node->times.total_ns, plan->share_ns));
	weighted_add(&slot->self, w, factor * node->times.self_ns,
				 variance_of(factor * node->self_margin_ns) +
				 unseen_variance(scale, node->times.self_ns, plan->share_ns));
	node_parts_add(&slot->parts, plan, node, w, scale);
	slot->share_ns += w * factor * node->times.self_ns;
	if (scale->is_long)
		long_times_add(&slot->long_times, &node->times, w * factor);
}

/* Adds the time outside of the nodes, and the sums of all nodes and of that time. */
static void
add_plan_times(PlanEntry *entry, const Execution *execution, const AddScale *scale)
{
	const PlanEstimate *plan = execution->estimate;
	double		w = execution->weight;
	double		factor = scale->factor;
	double		seen = seen_ns(plan);

	for (int i = -1; i < plan->nnodes; i++)
	{
		const NodeEstimate *node = i < 0 ? &plan->outside : &plan->nodes[i];

		if (!isfinite(node->times.self_ns))
			continue;
		entry->cpu_ns += w * factor * node->times.cpu_ns;
		entry->wait_ns += w * factor * node->times.wait_ns;
		entry->cpu_wait_ns += w * factor * node->times.cpu_wait_ns;
		for (int k = 0; k < node->nwaits; k++)
			wait_set_add(&entry->waits, node->waits[k].event, w * factor * node->waits[k].ns);
		if (scale->is_long)
			long_times_add(&entry->all_long, &node->times, w * factor);
	}
	if (scale->is_long)
	{
		long_times_add(&entry->outside_long, &plan->outside.times, w * factor);
		entry->long_ns += w * factor * plan->run_ns;
	}
	else if (seen > 0)
		entry->short_ns += w * factor * execution->ns * seen / (seen + plan->unseen_ns);
	/* the sum was measured, not sampled */
	weighted_add(&entry->all, w, factor * plan->share_ns, 0);
	weighted_add(&entry->outside, w, factor * plan->outside.times.self_ns,
				 variance_of(factor * plan->outside.self_margin_ns) +
				 unseen_variance(scale, plan->outside.times.self_ns, plan->share_ns));
	node_parts_add(&entry->outside_parts, plan, &plan->outside, w, scale);
	entry->outside_share_ns += w * factor * plan->outside.times.self_ns;
	entry->share_ns += w * factor * plan->share_ns;
}

/*
 * Returns the place of a node of the plan in an observation, or -1.  The nodes of both are in the
 * same order, but for subplans, and an observation lacks pruned nodes.
 */
static int
place_of(const Observation *o, const Plan *plan)
{
	for (int i = 0; i < o->nnodes; i++)
	{
		if (o->nodes[i].probed.node->plan == plan)
			return i;
	}
	return -1;
}

/*
 * Adds an execution to a node's sums.  "place" is the node's index in the estimate, or negative if
 * the node was not observed.  An execution that was joined late adds times, but no rows.
 */
static void
add_to_slot(NodeSlot *slot, const Plan *plan, int place, const Execution *execution,
			const AddScale *scale)
{
	double		w = execution->weight;
	const NodeEstimate *node;
	double		factor;

	/* another extension may set the same planId for different plans */
	if (slot->tag != (int32) nodeTag(plan))
		return;
	node = place >= 0 ? &execution->estimate->nodes[place] : NULL;
	add_times(slot, execution->estimate, node, w, scale);
	/* rows before the observation began are unknown */
	if (execution->observation->options.late)
		return;
	slot->w += w;
	slot->estimated_rows += w * plan->plan_rows;
	if (node == NULL || node->loops <= 0)
		return;
	slot->calls += w * node->calls;
	slot->rows += w * node->rows;
	slot->loops += w * node->loops;
	slot->begun += w;
	factor = rows_factor(node->rows / node->loops, plan->plan_rows);
	slot->log_factor += w * log(factor);
	slot->worst_factor = Max(slot->worst_factor, factor);
}

/*
 * Adds an execution: a number of uncounted ones, the time of a failed or of a complete one, or the
 * times of its nodes.  The caller holds the entry's lock, so this must not raise an error.
 */
static void
add_to_entry(PlanEntry *entry, const Execution *execution)
{
	AddScale	scale = {.factor = 1};
	int			i = 0;

	if (entry->first_seen == 0)
		entry->first_seen = execution->now;
	entry->last_seen = Max(entry->last_seen, execution->now);
	entry->executions += execution->counted;
	if (execution->counted > 0)
		return;
	if (execution->tree == NULL)
	{
		if (execution->long_ns > 0)
		{
			entry->unseen_ns += execution->long_ns;
			entry->unseen_squares += execution->long_ns * execution->long_ns;
			return;
		}
		if (execution->failed)
			weighted_add(&entry->failed, execution->weight, 0, 0);
		else
			population_add(&entry->times, execution->weight, execution->ns);
		entry->value += execution->weight * execution->ns;
		return;
	}
	if (entry->nslots == 0)
		return;

	/* the same factor for all times, so that shares add up to 100 % */
	if (execution->long_ns > 0)
		scale = scale_of_long(entry, execution);
	else if (execution->ns < NOT_SLOWED_NS)
	{
		weighted_add(&entry->with_nodes, execution->weight, execution->ns, 0);
		scale.factor = plain_factor(entry);
	}
	if (execution->long_ns == 0)
		add_missed(entry, execution, &scale);
	add_plan_times(entry, execution, &scale);
	for (int32 slot = entry->first_node; slot != NO_SLOT && i < execution->tree->nkept;
		 slot = plan_store->slots[slot].next)
	{
		add_to_slot(&plan_store->slots[slot], execution->tree->nodes[i].plan, execution->places[i],
					execution, &scale);
		i++;
	}
}

/*
 * Adds an execution to its entry.  Returns false if there is no entry, or if the nodes were timed
 * but the entry has no slots for nodes.
 */
static bool
add_to_found(const PlanKey *key, uint32 hash, const Execution *execution)
{
	PlanEntry  *entry;
	bool		added = false;

	LWLockAcquire(store_lock(), LW_SHARED);
	entry = hash_search_with_hash_value(plan_store_hash, key, hash, HASH_FIND, NULL);
	if (entry != NULL && (entry->nnodes > 0 || execution->estimate == NULL))
	{
		LWLockAcquire(partition_lock(hash), LW_EXCLUSIVE);
		add_to_entry(entry, execution);
		LWLockRelease(partition_lock(hash));
		added = true;
	}
	LWLockRelease(store_lock());
	return added;
}

/* Returns the index of the node that executed an expression's subplan; -1: unknown. */
static int
subplan_parent(const Execution *execution, int i)
{
	int			place = execution->places[i];
	int			parent = place < 0 ? -1 : execution->observation->nodes[place].parent;

	/* the parent comes before the subplan in the tree */
	for (int k = 0; k < i && parent >= 0; k++)
	{
		if (execution->places[k] == parent)
			return k;
	}
	return -1;
}

/*
 * Assigns the next places to a node and the nodes below it.  As in EXPLAIN's output, subplans of
 * expressions follow the node's inputs.  The tree lists these subplans in reverse order.
 */
static void
put_at_place(const PlanTree *tree, NewNode *nodes, int i, int depth, int *place)
{
	nodes[i].place = (*place)++;
	nodes[i].depth = depth;
	for (int k = i + 1; k < tree->nkept; k++)
	{
		if (nodes[k].parent == i && !tree->nodes[k].is_subplan)
			put_at_place(tree, nodes, k, depth + 1, place);
	}
	for (int k = tree->nkept - 1; k > i; k--)
	{
		if (nodes[k].parent == i && tree->nodes[k].is_subplan)
			put_at_place(tree, nodes, k, depth + 1, place);
	}
}

static void
copy_name(NameData *name, const char *from)
{
	memset(name, 0, sizeof(NameData));
	if (from != NULL)
		namestrcpy(name, from);
}

/*
 * Looks up the names of all nodes, and arranges the nodes as EXPLAIN prints them.  Reads catalogs,
 * so it must be called without a lock.
 */
static NewNode *
new_nodes(const Execution *execution, const List *rtable)
{
	const PlanTree *tree = execution->tree;
	NewNode    *nodes = palloc0(sizeof(NewNode) * tree->nkept);
	int			place = 0;

	for (int i = 0; i < tree->nkept; i++)
	{
		const Plan *plan = tree->nodes[i].plan;
		Oid			relation = explain_relation(plan, rtable);
		Oid			index = plan_node_index(plan);

		plan_node_type(plan, nodes[i].type);
		copy_name(&nodes[i].relation, OidIsValid(relation) ? get_rel_name(relation) : NULL);
		copy_name(&nodes[i].index, OidIsValid(index) ? get_rel_name(index) : NULL);
		nodes[i].place = -1;
		nodes[i].parent = tree->nodes[i].is_subplan ? subplan_parent(execution, i) :
			tree->nodes[i].parent;
	}
	put_at_place(tree, nodes, 0, 0, &place);

	/* a subplan whose parent was pruned is shown below the root */
	for (int i = tree->nkept - 1; i > 0; i--)
	{
		if (nodes[i].parent < 0)
			put_at_place(tree, nodes, i, 1, &place);
	}
	return nodes;
}

static void
fill_slots(PlanEntry *entry, const PlanTree *tree, const NewNode *nodes)
{
	int			i = 0;

	for (int32 slot = entry->first_node; slot != NO_SLOT; slot = plan_store->slots[slot].next)
	{
		NodeSlot   *to = &plan_store->slots[slot];
		const NewNode *from = &nodes[i];

		to->tag = nodeTag(tree->nodes[i++].plan);
		to->place = from->place;
		to->depth = from->depth;
		memcpy(to->type, from->type, NODE_TYPE_LENGTH);
		to->relation = from->relation;
		to->index = from->index;
	}
}

/* Finds or creates an entry; NULL: the store is full.  Caller holds store_lock() exclusively. */
static PlanEntry *
find_or_make(const PlanKey *key, uint32 hash, int nslots)
{
	PlanEntry  *entry = hash_search_with_hash_value(plan_store_hash, key, hash, HASH_FIND, NULL);

	/* searches again, because store_evict() may evict this entry */
	if (entry == NULL || (entry->nnodes == 0 && plan_store->nfree < nslots))
	{
		store_evict(nslots);
		entry = hash_search_with_hash_value(plan_store_hash, key, hash, HASH_FIND, NULL);
	}
	return entry != NULL ? entry : store_new_entry(key);
}

/*
 * Adds an execution.  If there is no entry, or one without slots for its nodes, creates what is
 * missing under the exclusive lock.  If there is no space even after an eviction, the execution is
 * not added.
 */
static void
add(const PlanKey *key, const Execution *execution, const List *rtable)
{
	uint32		hash = get_hash_value(plan_store_hash, key);
	const PlanTree *tree = execution->tree;
	NewNode    *nodes;
	PlanEntry  *entry;

	if (add_to_found(key, hash, execution))
		return;
	nodes = tree == NULL ? NULL : new_nodes(execution, rtable);
	LWLockAcquire(store_lock(), LW_EXCLUSIVE);
	entry = find_or_make(key, hash, tree == NULL ? 0 : tree->nkept);
	/* allocates slots for the entry's first execution with timed nodes */
	if (tree != NULL && entry != NULL && entry->nnodes == 0 &&
		store_allocate_slots(entry, tree->nkept))
	{
		entry->nnodes = tree->n;
		entry->encoding = GetDatabaseEncoding();
		fill_slots(entry, tree, nodes);
	}
	if (entry != NULL)
		add_to_entry(entry, execution);
	LWLockRelease(store_lock());
	if (nodes != NULL)
		pfree(nodes);
}

void
plan_store_add_nodes(const ObservedRun *run, const PlanKey *key, double weight, double long_ns)
{
	const Observation *observation = run->observation;
	const PlannedStmt *plan = observation->desc->plannedstmt;
	PlanTree	tree;
	int			places[PLAN_TREE_MAX];
	Execution	execution = {
		.observation = observation, .estimate = run->seen, .tree = &tree, .places = places,
		.ns = run->plan->run_ns, .long_ns = long_ns, .weight = weight,
		.now = GetCurrentTimestamp()
	};

	if (!plan_store_ready() || run->seen->nnodes == 0)
		return;
	plan_tree(plan, &tree);
	for (int i = 0; i < tree.nkept; i++)
		places[i] = place_of(observation, tree.nodes[i].plan);
	if (tree.n > 0)
		add(key, &execution, plan->rtable);
}

void
plan_store_add_time(const PlanKey *key, double ns, double weight)
{
	Execution	execution = {.ns = Max(ns, 0), .weight = weight, .now = GetCurrentTimestamp()};

	if (plan_store_ready() && weight > 0)
		add(key, &execution, NIL);
}

void
plan_store_add_unseen(const PlanKey *key, double ns)
{
	Execution	execution = {.long_ns = ns, .now = GetCurrentTimestamp()};

	if (plan_store_ready() && ns > 0)
		add(key, &execution, NIL);
}

void
plan_store_add_failed(const PlanKey *key, double weight)
{
	Execution	execution = {.failed = true, .weight = weight, .now = GetCurrentTimestamp()};

	if (plan_store_ready())
		add(key, &execution, NIL);
}

void
plan_store_count(const PlanKey *key, int64 executions)
{
	Execution	execution = {.counted = executions, .now = GetCurrentTimestamp()};

	if (plan_store_ready())
		add(key, &execution, NIL);
}
