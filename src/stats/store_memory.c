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
#include "stats/store_entries.h"
#include "stats/store_file.h"
#include "stats/store_memory.h"

#define TRANCHE			"clocktiming_plans"
#define SLOTS_PER_PLAN	12		/* average */
#define TRACK_MAX_DEFAULT	1000
#define TRACK_MAX_LEAST	100
#define TRACK_MAX_MOST	50000

static int	track_max = TRACK_MAX_DEFAULT;

void
store_define_settings(void)
{
	DefineCustomIntVariable("clocktiming.track_max",
							gettext_noop("Maximum number of plans with statistics."),
							gettext_noop("If there are more plans, those with the least total time are evicted."),
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
			store_free_slot(i);
	}
	plan_store_hash = compat_ShmemInitHash("clocktiming plans hash", track_max, &info, HASH_ELEM | HASH_BLOBS);
	LWLockRelease(AddinShmemInitLock);

	/* the statements of pg_upgrade are not stored */
	if (IsBinaryUpgrade)
		return;

	/* the postmaster reads and writes the file; also after a crash */
	if (!IsUnderPostmaster)
		on_shmem_exit(store_save, (Datum) 0);
	if (!found)
		store_load();
}
