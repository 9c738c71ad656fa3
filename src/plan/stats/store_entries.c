/*
 * Entries, slots and eviction of the statistics of plans.
 *
 * Each plan has a value, the total time of its executions.  If there is no space for a new plan,
 * the EVICTED_PERCENT least valuable plans are removed, and more of them if their slots do not
 * suffice.  Removing several at once makes evictions rare, which sort all plans under the exclusive
 * lock.  At each eviction, the values of the remaining plans are multiplied by AGEING.  So the time
 * of a plan counts the less, the more plans have been evicted since, and a plan that was important
 * once does not stay for ever.  This is the method of pg_stat_statements.
 */
#include "postgres.h"

#include "plan/stats/store_entries.h"

/* Percentage of plans that an eviction removes.  Not one plan only, because it sorts all plans. */
#define EVICTED_PERCENT	5

/*
 * Factor by which an eviction reduces the value of the remaining plans.  In the end, plans that are
 * no longer executed are evicted.
 */
#define AGEING			0.99

PlanStore  *plan_store = NULL;
HTAB	   *plan_store_hash = NULL;

void
store_free_slot(int32 slot)
{
	plan_store->slots[slot].next = plan_store->first_free;
	plan_store->first_free = slot;
	plan_store->nfree++;
}

static int
compare_by_value(const void *a, const void *b)
{
	double		x = ((const EvictionCandidate *) a)->value;
	double		y = ((const EvictionCandidate *) b)->value;

	return (x > y) - (x < y);
}

int
store_sort_by_value(void)
{
	HASH_SEQ_STATUS all;
	PlanEntry  *entry;
	int			n = 0;

	hash_seq_init(&all, plan_store_hash);
	while (n < plan_store->max_plans && (entry = hash_seq_search(&all)) != NULL)
	{
		plan_store->candidates[n].value = entry->value;
		plan_store->candidates[n++].entry = entry;
	}
	if (n == plan_store->max_plans)
		hash_seq_term(&all);
	qsort(plan_store->candidates, n, sizeof(EvictionCandidate), compare_by_value);
	return n;
}

void
store_remove(PlanEntry *entry)
{
	int32		slot = entry->first_node;

	while (slot != NO_SLOT)
	{
		int32		next = plan_store->slots[slot].next;

		store_free_slot(slot);
		slot = next;
	}
	(void) hash_search(plan_store_hash, &entry->key, HASH_REMOVE, NULL);
}

/* Removes the entries with the smallest values, and ages those that remain. */
void
store_evict(int nslots)
{
	int			n,
				least;

	if (hash_get_num_entries(plan_store_hash) < plan_store->max_plans &&
		plan_store->nfree >= nslots)
		return;
	n = store_sort_by_value();
	least = Max(n * EVICTED_PERCENT / 100, 1);
	for (int i = 0; i < n; i++)
	{
		if (i < least || plan_store->nfree < nslots)
		{
			store_remove(plan_store->candidates[i].entry);
			plan_store->evicted++;
		}
		else
			plan_store->candidates[i].entry->value *= AGEING;
	}
}

PlanEntry *
store_new_entry(const PlanKey *key)
{
	bool		found;
	PlanEntry  *entry = hash_search(plan_store_hash, key, HASH_ENTER_NULL, &found);

	if (entry == NULL || found)
		return NULL;
	memset((char *) entry + sizeof(PlanKey), 0, sizeof(PlanEntry) - sizeof(PlanKey));
	entry->first_node = NO_SLOT;
	return entry;
}

bool
store_allocate_slots(PlanEntry *entry, int nslots)
{
	if (plan_store->nfree < nslots)
		return false;
	Assert(entry->first_node == NO_SLOT);
	for (int i = 0; i < nslots; i++)
	{
		int32		slot = plan_store->first_free;

		plan_store->first_free = plan_store->slots[slot].next;
		plan_store->nfree--;
		memset(&plan_store->slots[slot], 0, sizeof(NodeSlot));
		plan_store->slots[slot].next = entry->first_node;
		entry->first_node = slot;
	}
	entry->nslots = nslots;
	return true;
}
