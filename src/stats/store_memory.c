/*
 * store_memory.c
 *	  See store_memory.h.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "stats/store_memory.h"

#define TRANCHE			"clocktiming_plans"
#define TRACK_MAX_DEFAULT	1000
#define TRACK_MAX_LEAST	100
#define TRACK_MAX_MOST	50000

/* So many percent of plans are given up at a time, as looking for them takes a while. */
#define EVICTED_PERCENT	5

/* What is left of a plan's value each time, so that what was once costly does not stay for ever. */
#define AGEING			0.99

PlanStore  *plan_store = NULL;
HTAB	   *plan_store_hash = NULL;

static int	track_max = TRACK_MAX_DEFAULT;

void
store_define_settings(void)
{
	DefineCustomIntVariable("clocktiming.track_max",
							gettext_noop("Number of plans of which statistics are kept."),
							gettext_noop("Where there are more, those that have taken the least time are given up."),
							&track_max,
							TRACK_MAX_DEFAULT, TRACK_MAX_LEAST, TRACK_MAX_MOST,
							PGC_AT_START,
							0,
							NULL, NULL, NULL);
}

static Size
store_size(Size *slots, Size *candidates)
{
	Size		size = MAXALIGN(sizeof(PlanStore));

	*slots = size;
	size = add_size(size, MAXALIGN(mul_size(sizeof(NodeSlot), mul_size(track_max, SLOTS_PER_PLAN))));
	*candidates = size;
	return add_size(size, mul_size(sizeof(EvictionCandidate), track_max));
}

void
store_shmem_request(void)
{
	Size		slots,
				candidates;

	RequestAddinShmemSpace(store_size(&slots, &candidates));
	RequestAddinShmemSpace(hash_estimate_size(track_max, sizeof(PlanEntry)));
	RequestNamedLWLockTranche(TRANCHE, 1 + STORE_PARTITIONS);
}

static void
free_slot(int32 slot)
{
	plan_store->slots[slot].next = plan_store->first_free;
	plan_store->first_free = slot;
	plan_store->nfree++;
}

void
store_shmem_init(void)
{
	Size		slots,
				candidates,
				size = store_size(&slots, &candidates);
	HASHCTL		info = {.keysize = sizeof(PlanKey), .entrysize = sizeof(PlanEntry)};
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	plan_store = ShmemInitStruct("clocktiming plans", size, &found);
	if (!found)
	{
		memset(plan_store, 0, sizeof(PlanStore));
		plan_store->locks = GetNamedLWLockTranche(TRANCHE);
		plan_store->max_plans = track_max;
		plan_store->nslots = track_max * SLOTS_PER_PLAN;
		plan_store->first_free = NO_SLOT;
		plan_store->reset_at = GetCurrentTimestamp();
		plan_store->slots = (NodeSlot *) ((char *) plan_store + slots);
		plan_store->candidates = (EvictionCandidate *) ((char *) plan_store + candidates);
		for (int32 i = plan_store->nslots - 1; i >= 0; i--)
			free_slot(i);
	}
	plan_store_hash = compat_ShmemInitHash("clocktiming plans hash", track_max, &info, HASH_ELEM | HASH_BLOBS);
	LWLockRelease(AddinShmemInitLock);

	/* pg_upgrade's own statements are not worth it */
	if (IsBinaryUpgrade)
		return;

	/* In the postmaster, which is who starts and ends; again after a crash. */
	if (!IsUnderPostmaster)
		on_shmem_exit(store_save, (Datum) 0);
	if (!found)
		store_load();
}

static int
compare_values(const void *a, const void *b)
{
	double		x = ((const EvictionCandidate *) a)->value;
	double		y = ((const EvictionCandidate *) b)->value;

	return (x > y) - (x < y);
}

int
store_by_value(void)
{
	HASH_SEQ_STATUS all;
	PlanEntry  *entry;
	int			n = 0;

	hash_seq_init(&all, plan_store_hash);
	while ((entry = hash_seq_search(&all)) != NULL)
	{
		if (n == plan_store->max_plans)
		{
			hash_seq_term(&all);
			break;
		}
		plan_store->candidates[n++] = (EvictionCandidate)
		{
			.value = entry->value,
				.entry = entry
		};
	}
	qsort(plan_store->candidates, n, sizeof(EvictionCandidate), compare_values);
	return n;
}

void
store_remove(PlanEntry *entry)
{
	int32		slot = entry->first_node;

	while (slot != NO_SLOT)
	{
		int32		next = plan_store->slots[slot].next;

		free_slot(slot);
		slot = next;
	}
	(void) hash_search(plan_store_hash, &entry->key, HASH_REMOVE, NULL);
}

void
store_make_room(int nslots)
{
	int			n,
				least;

	if (hash_get_num_entries(plan_store_hash) < plan_store->max_plans && plan_store->nfree >= nslots)
		return;
	n = store_by_value();
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
store_give_slots(PlanEntry *entry, int nslots)
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
