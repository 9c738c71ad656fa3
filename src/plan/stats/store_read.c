/*
 * Reads the statistics of plans.
 *
 * A reader holds the shared lock, so that no entry is created or removed, and for each entry the
 * lock of its partition, so that the copy of an entry is consistent.  It must not raise an error
 * meanwhile, and must not use much time, because new plans wait for the exclusive lock.  So it
 * copies entries, or only selects the worst nodes, and forms rows later.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "plan/stats/store_read.h"

static void
multiply_sums(WeightedSums *sums, double factor, double variance)
{
	sums->wx *= factor;
	sums->w2x *= factor;
	sums->wxx *= factor * factor;
	sums->w2xx *= factor * factor;
	sums->wv = sums->wv * factor * factor + variance;
}

static void
multiply_waits(WaitSet *set, double factor)
{
	for (int i = 0; i < WAIT_SET_SIZE; i++)
	{
		set->counters[i].ns *= factor;
		set->counters[i].error_ns *= (float) factor;
	}
}

static void
multiply_parts(NodeParts *parts, const AddScale *scale, double all_ns)
{
	multiply_sums(&parts->cpu, scale->factor, unseen_variance(scale, parts->cpu.wx, all_ns));
	multiply_sums(&parts->wait, scale->factor, unseen_variance(scale, parts->wait.wx, all_ns));
	parts->cpu_wait_ns *= scale->factor;
	multiply_waits(&parts->waits, scale->factor);
}

/*
 * Returns how to divide the time in which no node of the plan was observed among the nodes, in
 * proportion to the time that was.  The factor is 1 if there is none.
 */
static AddScale
unseen_scale(const PlanEntry *entry)
{
	double		seen = entry->all.wx + entry->cpu_wait_ns;
	double		busy = busy_share(entry->all.wx, entry->cpu_wait_ns);

	return (AddScale)
	{
		.factor = seen > 0 ? 1 + entry->unseen_ns / seen : 1,
			.squares = busy * busy * entry->unseen_squares
	};
}

static void
divide_node(const PlanEntry *entry, NodeSlot *node)
{
	const AddScale scale = unseen_scale(entry);
	double		all_ns = entry->all.wx;

	multiply_sums(&node->total, scale.factor, unseen_variance(&scale, node->total.wx, all_ns));
	multiply_sums(&node->self, scale.factor, unseen_variance(&scale, node->self.wx, all_ns));
	multiply_parts(&node->parts, &scale, all_ns);
	long_times_multiply(&node->long_times, scale.factor);
	node->share_ns *= scale.factor;
}

/* Does the same for the entry, after divide_node(). */
static void
divide_entry(PlanEntry *entry)
{
	const AddScale scale = unseen_scale(entry);
	double		all_ns = entry->all.wx;

	multiply_sums(&entry->outside, scale.factor,
				  unseen_variance(&scale, entry->outside.wx, all_ns));
	multiply_parts(&entry->outside_parts, &scale, all_ns);
	entry->outside_share_ns *= scale.factor;
	multiply_sums(&entry->all, scale.factor, 0);
	multiply_waits(&entry->waits, scale.factor);
	entry->cpu_ns *= scale.factor;
	entry->wait_ns *= scale.factor;
	entry->cpu_wait_ns *= scale.factor;
	entry->share_ns *= scale.factor;
	long_times_multiply(&entry->outside_long, scale.factor);
	long_times_multiply(&entry->all_long, scale.factor);
	entry->long_ns *= scale.factor;
	entry->short_ns *= scale.factor;
	entry->unseen_ns = entry->unseen_squares = 0;
}

/*
 * Returns whether the nodes of short executions were timed, but none had enough samples.  Those in
 * ExecutorFinish(), which is outside of the nodes, may be known.
 */
static bool
has_only_missed(const PlanEntry *entry)
{
	return entry->all.n > 0 && entry->missed_ns > 0 &&
		entry->short_ns < LEAST_SEEN * (entry->short_ns + entry->missed_ns);
}

/*
 * Without samples, the time is the root's, and unknown by as much.  How much of it was time waiting
 * for a CPU is not known either.
 */
static void
give_to_root(const PlanEntry *entry, NodeSlot *node)
{
	double		ns = entry->missed_ns;

	if (!has_only_missed(entry) || node->place != 0)
		return;
	node->total.wx += ns;
	node->self.wx += ns;
	node->parts.cpu.wx += ns;
	node->share_ns += ns;
	node->total.wv += ns * ns;
	node->self.wv += ns * ns;
	node->parts.cpu.wv += ns * ns;
}

/* Does the same for the entry, after give_to_root(). */
static void
give_to_entry(PlanEntry *entry)
{
	entry->all.wx += entry->missed_ns;
	entry->cpu_ns += entry->missed_ns;
	entry->share_ns += entry->missed_ns;
	entry->short_ns += entry->missed_ns;
}

/* Adds the times in which no node was observed to a node, and then to the entry. */
static void
add_unobserved(const PlanEntry *entry, NodeSlot *node)
{
	if (entry->unseen_ns > 0)
		divide_node(entry, node);
	give_to_root(entry, node);
}

static void
add_unobserved_to_entry(PlanEntry *entry)
{
	bool		has_only = has_only_missed(entry);	/* as for its nodes */

	if (entry->unseen_ns > 0)
		divide_entry(entry);
	if (has_only)
		give_to_entry(entry);
}

/* Copies all plans; returns false if out of memory, so that the caller unlocks before an error. */
static bool
copy_all(PlanCopy **copies, int *n, bool with_unobserved)
{
	int			nplans = hash_get_num_entries(plan_store_hash);
	int			nused = plan_store->nslots - plan_store->nfree;
	int			flags = MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM;
	NodeSlot   *nodes = palloc_extended(sizeof(NodeSlot) * (nused + 1), flags);
	HASH_SEQ_STATUS all;
	PlanEntry  *entry;

	*copies = palloc_extended(sizeof(PlanCopy) * (nplans + 1), flags);
	*n = 0;
	if (nodes == NULL || *copies == NULL)
		return false;

	hash_seq_init(&all, plan_store_hash);
	while ((entry = hash_seq_search(&all)) != NULL)
	{
		PlanCopy   *copy = &(*copies)[(*n)++];
		LWLock	   *lock = partition_lock(get_hash_value(plan_store_hash, &entry->key));

		LWLockAcquire(lock, LW_SHARED);
		copy->entry = *entry;
		copy->nodes = nodes;
		for (int32 slot = entry->first_node; slot != NO_SLOT; slot = plan_store->slots[slot].next)
			nodes[plan_store->slots[slot].place] = plan_store->slots[slot];
		LWLockRelease(lock);
		if (with_unobserved)
		{
			for (int i = 0; i < copy->entry.nslots; i++)
				add_unobserved(&copy->entry, &nodes[i]);
			add_unobserved_to_entry(&copy->entry);
		}
		nodes += entry->nslots;
	}
	return true;
}

PlanCopy *
store_copy(int *n, bool with_unobserved)
{
	PlanCopy   *copies;
	bool		copied;

	LWLockAcquire(store_lock(), LW_SHARED);
	copied = copy_all(&copies, n, with_unobserved);
	LWLockRelease(store_lock());
	if (!copied)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	return copies;
}

NodeSlot
store_outside(const PlanEntry *entry)
{
	NodeSlot	slot = {.next = NO_SLOT, .place = -1, .depth = -1, .type = "Query"};

	slot.total = entry->all;
	slot.self = entry->outside;
	slot.share_ns = entry->outside_share_ns;
	slot.parts = entry->outside_parts;
	slot.long_times = entry->outside_long;
	/* "total" is the sum of all self times */
	slot.long_times.total_ns = entry->all_long.self_ns;
	return slot;
}

/*
 * Passes all nodes of a user (0: all) whose times are known to a function, which must not raise an
 * error.
 */
static void
visit_nodes(Oid userid, bool with_unobserved,
			void (*visit) (const PlanEntry *, const NodeSlot *, void *), void *arg)
{
	HASH_SEQ_STATUS all;
	PlanEntry  *entry;

	LWLockAcquire(store_lock(), LW_SHARED);
	hash_seq_init(&all, plan_store_hash);
	while ((entry = hash_seq_search(&all)) != NULL)
	{
		LWLock	   *lock = partition_lock(get_hash_value(plan_store_hash, &entry->key));
		PlanEntry	divided;
		NodeSlot	node;

		if (userid != 0 && entry->key.userid != userid)
			continue;
		LWLockAcquire(lock, LW_SHARED);
		divided = *entry;
		if (with_unobserved)
			add_unobserved_to_entry(&divided);
		node = store_outside(&divided);
		if (node.total.n > 0)
			visit(&divided, &node, arg);
		for (int32 slot = entry->first_node; slot != NO_SLOT; slot = node.next)
		{
			node = plan_store->slots[slot];
			if (with_unobserved)
				add_unobserved(entry, &node);
			if (node.total.n > 0)
				visit(&divided, &node, arg);
		}
		LWLockRelease(lock);
	}
	LWLockRelease(store_lock());
}

typedef struct WorstNodes
{
	WorstNode  *nodes;			/* in descending order of self times */
	int			n;
	int			most;
} WorstNodes;

/* Inserts a node if it is among the "most" with the longest self times. */
static void
insert_if_worse(const PlanEntry *entry, const NodeSlot *node, void *arg)
{
	WorstNodes *worst = arg;
	int			i;

	if (worst->n == worst->most && !(node->self.wx > worst->nodes[worst->n - 1].node.self.wx))
		return;
	worst->n = Min(worst->n + 1, worst->most);
	for (i = worst->n - 1; i > 0 && node->self.wx > worst->nodes[i - 1].node.self.wx; i--)
		worst->nodes[i] = worst->nodes[i - 1];
	worst->nodes[i].entry = *entry;
	worst->nodes[i].node = *node;
}

int
store_worst_nodes(Oid userid, bool with_unobserved, WorstNode *nodes, int most)
{
	WorstNodes	worst = {.nodes = nodes, .most = most};

	visit_nodes(userid, with_unobserved, insert_if_worse, &worst);
	return worst.n;
}

/*
 * Size of the hash table of pairs of node type and wait event, a power of two.  There are fewer
 * than a hundred node types, most of which wait for few events.  If the table is full, further
 * pairs are ignored.
 */
#define TYPE_WAITS		1024

/* Adds the waits of a node to the hash table "arg", which uses linear probing. */
static void
add_type_waits(const PlanEntry *entry, const NodeSlot *node, void *arg)
{
	TypeWait   *table = arg;
	NodeWait	waits[WAIT_SET_SIZE];
	int			n = wait_set_list(&node->parts.waits, waits);
	uint32		type = n > 0 ? string_hash(node->type, NODE_TYPE_LENGTH) : 0;

	(void) entry;
	for (int i = 0; i < n; i++)
	{
		uint32		hash = hash_combine(type, murmurhash32(waits[i].event));

		for (int k = 0; k < TYPE_WAITS; k++)
		{
			TypeWait   *pair = &table[(hash + k) % TYPE_WAITS];

			if (pair->ns > 0 &&
				(pair->event != waits[i].event || strcmp(pair->type, node->type) != 0))
				continue;
			strlcpy(pair->type, node->type, NODE_TYPE_LENGTH);
			pair->event = waits[i].event;
			pair->ns += waits[i].ns;
			break;
		}
	}
}

static int
compare_type_waits(const void *a, const void *b)
{
	double		x = ((const TypeWait *) a)->ns;
	double		y = ((const TypeWait *) b)->ns;

	return (x < y) - (x > y);
}

int
store_worst_waits(Oid userid, TypeWait *worst, int most)
{
	TypeWait   *table = palloc0(sizeof(TypeWait) * TYPE_WAITS);
	int			n = 0;

	visit_nodes(userid, false, add_type_waits, table);
	for (int i = 0; i < TYPE_WAITS; i++)
	{
		if (table[i].ns > 0)
			table[n++] = table[i];
	}
	qsort(table, n, sizeof(TypeWait), compare_type_waits);
	n = Min(n, most);
	memcpy(worst, table, sizeof(TypeWait) * n);
	pfree(table);
	return n;
}

StoreInfo
store_info(void)
{
	StoreInfo	info;

	LWLockAcquire(store_lock(), LW_SHARED);
	info.plans = hash_get_num_entries(plan_store_hash);
	info.evicted = plan_store->evicted;
	info.reset_at = plan_store->reset_at;
	LWLockRelease(store_lock());
	return info;
}

/*
 * Removes plans.  Also keeps the time of a reset of all, by which monitoring recognises that totals
 * have begun at 0 again.
 */
void
store_reset(Oid userid, Oid dbid, uint64 queryid)
{
	TimestampTz now = GetCurrentTimestamp();
	int			n;

	LWLockAcquire(store_lock(), LW_EXCLUSIVE);
	n = store_sort_by_value();
	while (n-- > 0)
	{
		PlanEntry  *entry = plan_store->candidates[n].entry;

		if ((userid == 0 || entry->key.userid == userid) &&
			(dbid == 0 || entry->key.dbid == dbid) &&
			(queryid == 0 || entry->key.queryid == queryid))
			store_remove(entry);
	}
	if (userid == 0 && dbid == 0 && queryid == 0)
	{
		plan_store->evicted = 0;
		plan_store->reset_at = now;
	}
	LWLockRelease(store_lock());
}

char *
store_name(const PlanEntry *entry, const char *name)
{
	char	   *copy = pstrdup(name);

	/*
	 * replaces non-ASCII bytes: a conversion could fail, and the query would
	 * return no row
	 */
	if (entry->encoding != GetDatabaseEncoding())
	{
		for (char *c = copy; *c != '\0'; c++)
		{
			if (IS_HIGHBIT_SET(*c))
				*c = '?';
		}
	}
	return copy;
}

static char *
node_line(const PlanEntry *entry, const NodeSlot *node)
{
	StringInfoData line;
	bool		is_bitmap = node->tag == T_BitmapIndexScan;

	initStringInfo(&line);
	appendStringInfoString(&line, store_name(entry, node->type));
	if (NameStr(node->index)[0] != '\0')
		appendStringInfo(&line, is_bitmap ? " on %s" : " using %s",
						 store_name(entry, NameStr(node->index)));
	if (NameStr(node->relation)[0] != '\0')
		appendStringInfo(&line, " on %s", store_name(entry, NameStr(node->relation)));
	return line.data;
}

char *
store_plan_text(const PlanCopy *plan)
{
	StringInfoData text;
	int			omitted = plan->entry.nnodes - plan->entry.nslots;

	initStringInfo(&text);
	for (int i = 0; i < plan->entry.nslots; i++)
	{
		const NodeSlot *node = &plan->nodes[i];

		if (i > 0)
			appendStringInfo(&text, "\n%*s->  ", (node->depth - 1) * 6 + 2, "");
		appendStringInfoString(&text, node_line(&plan->entry, node));
	}
	if (omitted > 0)
		appendStringInfo(&text, "\n  ... (%d more)", omitted);
	return text.data;
}
