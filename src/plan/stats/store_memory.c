/*
 * The postmaster writes the statistics of plans to pg_stat/clocktiming.stat when it exits without
 * an error, even in an immediate shutdown, but not if a killed process held the statistics' lock.
 * After reading the file, the postmaster removes it, so that a crash does not restore outdated
 * statistics.  If the file is invalid, the statistics start empty.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "plan/explain/wait_names.h"
#include "plan/stats/store_entries.h"
#include "plan/stats/store_memory.h"
#include "server/checked_file.h"
#include "server/settings.h"

#define STORE_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/clocktiming.stat"
#define STORE_MAGIC		0x43544d47

/* Version of the file's layout.  Increase it when the meaning of a structure changes. */
#define STORE_LAYOUT	8

typedef struct StoreHeader
{
	uint32		magic;
	uint32		layout;
	uint32		server;			/* major version */
	uint32		entry_size;
	uint32		slot_size;
	uint32		nentries;
	int64		evicted;
	TimestampTz reset_at;
} StoreHeader;

static StoreHeader
store_header(int nentries)
{
	return (StoreHeader)
	{
		.magic = STORE_MAGIC,
			.layout = STORE_LAYOUT,
			.server = PG_VERSION_NUM / 100,
			.entry_size = sizeof(PlanEntry),
			.slot_size = sizeof(NodeSlot),
			.nentries = nentries,
			.evicted = plan_store->evicted,
			.reset_at = plan_store->reset_at
	};
}

/* Writes the most valuable plans first, because fewer may fit after track_max was lowered. */
static void
write_entries(CheckedWriter *writer)
{
	int			n = store_sort_by_value();
	StoreHeader header = store_header(n);

	checked_write(writer, &header, sizeof(header));
	while (n-- > 0)
	{
		const PlanEntry *entry = plan_store->candidates[n].entry;

		checked_write(writer, entry, sizeof(PlanEntry));
		for (int32 slot = entry->first_node; slot != NO_SLOT; slot = plan_store->slots[slot].next)
			checked_write(writer, &plan_store->slots[slot], sizeof(NodeSlot));
	}
}

static void
store_save(int code, Datum arg)
{
	CheckedWriter writer;

	(void) arg;
	/* after a crash, shared memory may be inconsistent */
	if (code != 0 || plan_store == NULL)
		return;

	/*
	 * a process that was killed while holding the lock may have left an
	 * incomplete change
	 */
	if (!LWLockConditionalAcquire(store_lock(), LW_EXCLUSIVE))
		return;
	checked_write_begin(&writer, STORE_FILE);
	write_entries(&writer);
	checked_write_end(&writer);
	LWLockRelease(store_lock());
}

/* Returns whether each place from 0 to n - 1 occurs once, and all depths are possible. */
static bool
slots_are_valid(const void *slots, int n)
{
	bool		used[PLAN_TREE_MAX] = {false};

	for (int i = 0; i < n; i++)
	{
		NodeSlot	slot;

		memcpy(&slot, (const char *) slots + i * sizeof(NodeSlot), sizeof(NodeSlot));
		if (slot.place < 0 || slot.place >= n || used[slot.place])
			return false;
		/* only the root has depth 0, and each ancestor has an earlier place */
		if (slot.depth < Min(slot.place, 1) || slot.depth > slot.place)
			return false;
		used[slot.place] = true;
	}
	return true;
}

/* Replaces wait events whose numbers were valid until the restart only. */
static void
restore_waits(WaitSet *set)
{
	for (int i = 0; i < WAIT_SET_SIZE; i++)
	{
		uint32		event = set->counters[i].event;

		wait_set_replace(set, event, wait_event_after_restart(event));
	}
}

/* Restores a plan and its slots, if there is space; returns whether they are valid. */
static bool
restore_entry(CheckedReader *reader)
{
	PlanEntry	entry;
	const void *from = checked_take(reader, sizeof(PlanEntry));
	const void *slots;
	PlanEntry  *to;

	if (from == NULL)
		return false;
	memcpy(&entry, from, sizeof(entry));
	if (entry.nslots < 0 || entry.nslots > PLAN_TREE_MAX || entry.nslots > entry.nnodes ||
		!PG_VALID_ENCODING(entry.encoding))
		return false;
	slots = checked_take(reader, sizeof(NodeSlot) * entry.nslots);
	if (slots == NULL || !slots_are_valid(slots, entry.nslots))
		return false;

	if (hash_get_num_entries(plan_store_hash) >= plan_store->max_plans ||
		plan_store->nfree < entry.nslots)
		return true;
	to = store_new_entry(&entry.key);
	if (to == NULL || !store_allocate_slots(to, entry.nslots))
		return false;
	entry.first_node = to->first_node;
	restore_waits(&entry.waits);
	restore_waits(&entry.outside_parts.waits);
	*to = entry;
	for (int32 slot = to->first_node; slot != NO_SLOT; slot = plan_store->slots[slot].next)
	{
		NodeSlot   *into = &plan_store->slots[slot];
		int32		next = into->next;

		memcpy(into, slots, sizeof(NodeSlot));
		slots = (const char *) slots + sizeof(NodeSlot);
		into->next = next;
		into->type[NODE_TYPE_LENGTH - 1] = '\0';
		NameStr(into->relation)[NAMEDATALEN - 1] = '\0';
		NameStr(into->index)[NAMEDATALEN - 1] = '\0';
		restore_waits(&into->parts.waits);
	}
	return true;
}

/* Fills the store from a file; returns whether the contents are valid. */
static bool
restore(CheckedReader *reader)
{
	StoreHeader header;
	StoreHeader mine = store_header(0);
	const void *from = checked_take(reader, sizeof(header));

	if (from == NULL)
		return false;
	memcpy(&header, from, sizeof(header));
	if (header.magic != mine.magic || header.layout != mine.layout ||
		header.server != mine.server ||
		header.entry_size != mine.entry_size || header.slot_size != mine.slot_size)
		return false;
	for (uint32 i = 0; i < header.nentries; i++)
	{
		if (!restore_entry(reader))
			return false;
	}
	plan_store->evicted = header.evicted;
	plan_store->reset_at = header.reset_at;
	return reader->left == 0;
}

static void
store_load(void)
{
	CheckedStatus status = checked_load(STORE_FILE, MaxAllocHugeSize,
										_("Statistics of plans start empty."), restore);

	if (status == CHECKED_INVALID)
	{
		for (int i = store_sort_by_value() - 1; i >= 0; i--)
			store_remove(plan_store->candidates[i].entry);
	}
	/* a file that could not be read may be readable at the next start */
	if (status == CHECKED_INVALID || status == CHECKED_VALID)
		(void) durable_unlink(STORE_FILE, LOG);
}

#define TRANCHE			"clocktiming_plans"
#define SLOTS_PER_PLAN	12		/* assumed average number of nodes */

static int	track_max = 1000;

void
store_define_settings(void)
{
	setting_define_int(SETTING_TRACK_MAX, &track_max, NULL);
}

static Size
store_size(Size *slots, Size *candidates)
{
	Size		size = MAXALIGN(sizeof(PlanStore));

	*slots = size;
	size = add_size(size,
					MAXALIGN(mul_size(sizeof(NodeSlot), mul_size(track_max, SLOTS_PER_PLAN))));
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

/*
 * Allocates and initialises the memory, and loads the file of the previous run.  Only the
 * postmaster saves the statistics, after all other processes have ended.
 */
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

	/* done at start, and again after a crash, which resets exit callbacks */
	if (!IsUnderPostmaster)
		on_shmem_exit(store_save, (Datum) 0);
	if (!found)
		store_load();
}
