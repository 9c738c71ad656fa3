#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "stats/store_read.h"

/* Copies all plans; returns false if out of memory, so that the caller unlocks before an error. */
static bool
copy_all(PlanCopy **copies, int *n)
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
		nodes += entry->nslots;
	}
	return true;
}

PlanCopy *
store_copy(int *n)
{
	PlanCopy   *copies;
	bool		copied;

	LWLockAcquire(store_lock(), LW_SHARED);
	copied = copy_all(&copies, n);
	LWLockRelease(store_lock());
	if (!copied)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	return copies;
}

/* Inserts a node, if it is among the "most" with the longest self times; returns the new n. */
static int
insert_if_worse(WorstNode *worst, int n, int most, const PlanEntry *entry, const NodeSlot *node)
{
	int			i;

	if (n == most && !(node->self.wx > worst[n - 1].node.self.wx))
		return n;
	n = Min(n + 1, most);
	for (i = n - 1; i > 0 && node->self.wx > worst[i - 1].node.self.wx; i--)
		worst[i] = worst[i - 1];
	worst[i].entry = *entry;
	worst[i].node = *node;
	return n;
}

int
store_worst_nodes(Oid userid, WorstNode *worst, int most)
{
	HASH_SEQ_STATUS all;
	PlanEntry  *entry;
	int			n = 0;

	LWLockAcquire(store_lock(), LW_SHARED);
	hash_seq_init(&all, plan_store_hash);
	while ((entry = hash_seq_search(&all)) != NULL)
	{
		LWLock	   *lock = partition_lock(get_hash_value(plan_store_hash, &entry->key));

		if (userid != 0 && entry->key.userid != userid)
			continue;
		LWLockAcquire(lock, LW_SHARED);
		for (int32 slot = entry->first_node; slot != NO_SLOT; slot = plan_store->slots[slot].next)
		{
			/* skips nodes that were never timed */
			if (plan_store->slots[slot].total.n > 0)
				n = insert_if_worse(worst, n, most, entry, &plan_store->slots[slot]);
		}
		LWLockRelease(lock);
	}
	LWLockRelease(store_lock());
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
