/*
 * store_file.c
 *	  Statistics of plans in a file, while no server runs.
 *
 * It is written as the postmaster exits without an error.  So it is in an immediate
 * shutdown, unless a process has exited that held the lock.  After a crash there is
 * none: it is removed once it has been read, so that nothing comes back that is
 * older than what was lost.
 * A file that is not as it should be is reported, and the statistics start anew.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "mb/pg_wchar.h"
#include "pgstat.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"

#include "compat.h"
#include "stats/store_memory.h"

#define STORE_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/clocktiming.stat"
#define STORE_MAGIC		0x43544d47

/* To be changed with the structures' meaning. */
#define STORE_LAYOUT	3

typedef struct StoreHeader
{
	uint32		magic;
	uint32		layout;
	uint32		server;			/* major version, whose node types are stored */
	uint32		entry_size;
	uint32		slot_size;
	uint32		nentries;
	int64		evicted;
	TimestampTz reset_at;
} StoreHeader;

/* A file that is written, and the checksum so far. */
typedef struct StoreWriter
{
	FILE	   *file;
	pg_crc32c	crc;
	int			error;			/* errno of what failed first; 0: nothing */
} StoreWriter;

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

static void
put_raw(StoreWriter *writer, const void *data, Size size)
{
	if (writer->error == 0 && fwrite(data, size, 1, writer->file) != 1)
		writer->error = errno;
}

static void
put(StoreWriter *writer, const void *data, Size size)
{
	COMP_CRC32C(writer->crc, data, size);
	put_raw(writer, data, size);
}

/* Most valuable first: after a restart there may be room for fewer. */
static void
put_all(StoreWriter *writer)
{
	int			n = store_by_value();
	StoreHeader header = store_header(n);

	put(writer, &header, sizeof(header));
	while (n-- > 0)
	{
		const PlanEntry *entry = plan_store->candidates[n].entry;

		put(writer, entry, sizeof(PlanEntry));
		for (int32 slot = entry->first_node; slot != NO_SLOT; slot = plan_store->slots[slot].next)
			put(writer, &plan_store->slots[slot], sizeof(NodeSlot));
	}
	FIN_CRC32C(writer->crc);
	put_raw(writer, &writer->crc, sizeof(writer->crc));
}

/* As the postmaster exits, after all others. */
void
store_save(int code, Datum arg)
{
	StoreWriter writer = {0};

	(void) arg;
	/* after a crash shared memory is not to be trusted */
	if (code != 0 || plan_store == NULL)
		return;

	/*
	 * Nor is it where a process has exited at once, as in an immediate
	 * shutdown, while it changed something: then the lock is still held.
	 */
	if (!LWLockConditionalAcquire(store_lock(), LW_EXCLUSIVE))
		return;
	writer.file = AllocateFile(STORE_FILE ".tmp", PG_BINARY_W);
	if (writer.file == NULL)
		writer.error = errno;
	else
	{
		INIT_CRC32C(writer.crc);
		put_all(&writer);
		if (FreeFile(writer.file) != 0 && writer.error == 0)
			writer.error = errno;
	}
	LWLockRelease(store_lock());
	if (writer.error != 0)
	{
		errno = writer.error;
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", STORE_FILE ".tmp")));
		unlink(STORE_FILE ".tmp");
		return;
	}
	(void) durable_rename(STORE_FILE ".tmp", STORE_FILE, LOG);
}

/* The next so many bytes of what is left, NULL if there are not. */
static const void *
take(const char **data, Size *left, Size size)
{
	const char *taken = *data;

	if (*left < size)
		return NULL;
	*data += size;
	*left -= size;
	return taken;
}

/* Whether each place is that of one node, which is as deep as it may be there. */
static bool
slots_are_right(const void *slots, int n)
{
	bool		taken[PLAN_TREE_MAX] = {false};

	for (int i = 0; i < n; i++)
	{
		NodeSlot	slot;

		memcpy(&slot, (const char *) slots + i * sizeof(NodeSlot), sizeof(NodeSlot));
		if (slot.place < 0 || slot.place >= n || taken[slot.place])
			return false;
		/* below the root, and each of those above has a place before it */
		if (slot.depth < Min(slot.place, 1) || slot.depth > slot.place)
			return false;
		taken[slot.place] = true;
	}
	return true;
}

/* Puts a plan and its slots back; false if they cannot be right. */
static bool
restore_entry(const char **data, Size *left)
{
	PlanEntry	entry;
	const void *from = take(data, left, sizeof(PlanEntry));
	const void *slots;
	PlanEntry  *to;

	if (from == NULL)
		return false;
	memcpy(&entry, from, sizeof(entry));
	if (entry.nslots < 0 || entry.nslots > PLAN_TREE_MAX || entry.nslots > entry.nnodes ||
		!PG_VALID_ENCODING(entry.encoding))
		return false;
	slots = take(data, left, sizeof(NodeSlot) * entry.nslots);
	if (slots == NULL || !slots_are_right(slots, entry.nslots))
		return false;

	if (hash_get_num_entries(plan_store_hash) >= plan_store->max_plans || plan_store->nfree < entry.nslots)
		return true;
	to = store_new_entry(&entry.key);
	if (to == NULL)
		return false;
	if (!store_give_slots(to, entry.nslots))
		return false;
	entry.first_node = to->first_node;
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
	}
	return true;
}

/* Fills the store with what was read; false if it cannot be right. */
static bool
restore_all(const char *data, Size size)
{
	StoreHeader header,
				mine = store_header(0);
	pg_crc32c	crc,
				stored;
	const void *from;

	if (size < sizeof(header) + sizeof(crc))
		return false;
	size -= sizeof(crc);
	memcpy(&stored, data + size, sizeof(crc));
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, size);
	FIN_CRC32C(crc);
	if (!EQ_CRC32C(crc, stored))
		return false;

	from = take(&data, &size, sizeof(header));
	memcpy(&header, from, sizeof(header));
	if (header.magic != mine.magic || header.layout != mine.layout || header.server != mine.server ||
		header.entry_size != mine.entry_size || header.slot_size != mine.slot_size)
		return false;
	for (uint32 i = 0; i < header.nentries; i++)
	{
		if (!restore_entry(&data, &size))
			return false;
	}
	if (size != 0)
		return false;
	plan_store->evicted = header.evicted;
	plan_store->reset_at = header.reset_at;
	return true;
}

static void
remove_all(void)
{
	int			n = store_by_value();

	while (n-- > 0)
		store_remove(plan_store->candidates[n].entry);
}

/*
 * All that is in the file, NULL if there is none.  One that cannot be read is reported,
 * and stays: the next time it may be.
 */
static char *
read_all(Size *size)
{
	FILE	   *file = AllocateFile(STORE_FILE, PG_BINARY_R);
	struct stat info = {0};
	char	   *data = NULL;
	int			error = 0;

	if (file == NULL && errno == ENOENT)
		return NULL;
	if (file == NULL || fstat(fileno(file), &info) != 0)
		error = errno;
	else
	{
		data = palloc_extended(Max(info.st_size, 1), MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
		*size = data == NULL ? 0 : fread(data, 1, info.st_size, file);
		if (data == NULL)
			error = ENOMEM;
		else if (ferror(file))
			error = errno;
	}
	if (file != NULL)
		FreeFile(file);
	if (error == 0)
		return data;
	if (data != NULL)
		pfree(data);
	errno = error;
	ereport(LOG,
			(error == ENOMEM ? errcode(ERRCODE_OUT_OF_MEMORY) : errcode_for_file_access(),
			 errmsg("could not read file \"%s\": %m", STORE_FILE),
			 errdetail("Statistics of plans start anew.")));
	return NULL;
}

void
store_load(void)
{
	Size		size = 0;
	char	   *data = read_all(&size);

	if (data == NULL)
		return;
	if (!restore_all(data, size))
	{
		remove_all();
		ereport(LOG,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("ignoring invalid data in file \"%s\"", STORE_FILE),
				 errdetail("Statistics of plans start anew.")));
	}
	pfree(data);
	(void) durable_unlink(STORE_FILE, LOG);
}
