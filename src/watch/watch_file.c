/*
 * watch_file.c
 *	  The history of the clocks in a file.
 *
 * It is written beside the one before and takes its place when it is complete, so
 * that a crash or a full disk leaves an older one.  One that is not as it should be
 * is reported and kept under another name, and the history begins anew.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "pgstat.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"

#include "compat.h"
#include "watch/watch_store.h"

#define WATCH_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/clocktiming.watch"
#define WATCH_INVALID	WATCH_FILE ".invalid"
#define WATCH_MAGIC		0x43545754

/* To be changed with the structures' meaning. */
#define WATCH_LAYOUT	2

typedef struct WatchHeader
{
	uint32		magic;
	uint32		layout;
	uint32		state_size;
	uint32		row_size;
} WatchHeader;


static const WatchHeader header = {WATCH_MAGIC, WATCH_LAYOUT, sizeof(WatchState), sizeof(WatchRow)};

static bool
put_piece(FILE *file, pg_crc32c *crc, const void *data, Size size)
{
	COMP_CRC32C(*crc, data, size);
	return size == 0 || fwrite(data, size, 1, file) == 1;
}

/* The oldest first: those from the ring's end on, then those at its beginning. */
static bool
put_ring(FILE *file, pg_crc32c *crc, const WatchRing *ring, const WatchRow *rows, int size)
{
	int			first = watch_ring_index(ring, size, 0);
	int			n = Min(ring->n, size - first);

	return put_piece(file, crc, rows + first, sizeof(WatchRow) * n) &&
		put_piece(file, crc, rows, sizeof(WatchRow) * (ring->n - n));
}

/* No lock: nobody else changes anything. */
void
watch_save(void)
{
	WatchState *state = &watch_store->state;
	FILE	   *file = AllocateFile(WATCH_FILE ".tmp", PG_BINARY_W);
	bool		ok = file != NULL;
	int			error = errno;

	/* if it cannot be written now, it will be some time later */
	watch_store->unsaved = false;
	if (ok)
	{
		pg_crc32c	crc;

		INIT_CRC32C(crc);
		ok = put_piece(file, &crc, &header, sizeof(header)) &&
			put_piece(file, &crc, state, sizeof(WatchState)) &&
			put_ring(file, &crc, &state->minutes, watch_store->minute, WATCH_MINUTES) &&
			put_ring(file, &crc, &state->hours, watch_store->hour, WATCH_HOURS);
		FIN_CRC32C(crc);
		ok = ok && fwrite(&crc, sizeof(crc), 1, file) == 1;
		error = errno;
		if (FreeFile(file) != 0 && ok)
		{
			ok = false;
			error = errno;
		}
	}
	if (!ok)
	{
		errno = error;
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", WATCH_FILE ".tmp")));
		unlink(WATCH_FILE ".tmp");
		return;
	}
	(void) durable_rename(WATCH_FILE ".tmp", WATCH_FILE, LOG);
}

static bool
ring_is_right(const WatchRing *ring, int size)
{
	return ring->n >= 0 && ring->n <= size && ring->next >= 0 && ring->next < size &&
		(ring->n == size || ring->next >= ring->n);
}

static bool
rows_are_right(const WatchRow *rows, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (rows[i].n < 0 || rows[i].n > WATCH_DURATIONS || rows[i].machine < 0 ||
			rows[i].machine >= WATCH_MACHINES)
			return false;
	}
	return true;
}

#define ENDS(text)	(memchr(text, '\0', sizeof(text)) != NULL)

/* Whether each text ends within its room. */
static bool
texts_are_right(const WatchState *state)
{
	bool		right = true;

	for (int i = 0; i < WATCH_EVENTS; i++)
	{
		const WatchEvent *event = &state->event[i];

		right = right && ENDS(event->before) && ENDS(event->after) && ENDS(event->evidence);
	}
	for (int i = 0; i < WATCH_MACHINES; i++)
	{
		const WatchMachine *machine = &state->machine[i];

		right = right && ENDS(machine->boot_id) && ENDS(machine->hypervisor) && ENDS(machine->processor) &&
			ENDS(machine->kernel_source) && ENDS(machine->source) && ENDS(machine->reads);
	}
	return right;
}

static bool
state_is_right(const WatchState *state)
{
	bool		right = ring_is_right(&state->minutes, WATCH_MINUTES) &&
		ring_is_right(&state->hours, WATCH_HOURS) &&
		ring_is_right(&state->events, WATCH_EVENTS) &&
		ring_is_right(&state->machines, WATCH_MACHINES);

	for (int i = 0; i < WATCH_WHATS; i++)
		right = right && state->open[i] >= 0 && state->open[i] <= WATCH_EVENTS;
	right = right && state->machine_now >= 0 && state->machine_now < WATCH_MACHINES;
	for (int i = 0; i < WATCH_EVENTS; i++)
		right = right && state->event[i].what >= 0 && state->event[i].what < WATCH_WHATS;
	return right && texts_are_right(state);
}

/* False if what was read cannot be right. */
static bool
restore(const char *data, Size size)
{
	WatchState *state = &watch_store->state;
	pg_crc32c	crc,
				stored;
	Size		rows;

	if (size < sizeof(header) + sizeof(WatchState) + sizeof(crc))
		return false;
	size -= sizeof(crc);
	memcpy(&stored, data + size, sizeof(crc));
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, size);
	FIN_CRC32C(crc);
	if (!EQ_CRC32C(crc, stored) || memcmp(data, &header, sizeof(header)) != 0)
		return false;
	data += sizeof(header);
	memcpy(state, data, sizeof(WatchState));
	data += sizeof(WatchState);
	size -= sizeof(header) + sizeof(WatchState);
	rows = sizeof(WatchRow) * ((Size) state->minutes.n + state->hours.n);
	if (!state_is_right(state) || size != rows)
		return false;
	memcpy(watch_store->minute, data, sizeof(WatchRow) * state->minutes.n);
	data += sizeof(WatchRow) * state->minutes.n;
	memcpy(watch_store->hour, data, sizeof(WatchRow) * state->hours.n);
	state->minutes.next = state->minutes.n % WATCH_MINUTES;
	state->hours.next = state->hours.n % WATCH_HOURS;
	return rows_are_right(watch_store->minute, state->minutes.n) &&
		rows_are_right(watch_store->hour, state->hours.n);
}

void
watch_load(void)
{
	FILE	   *file = AllocateFile(WATCH_FILE, PG_BINARY_R);
	struct stat info;
	char	   *data = NULL;
	bool		ok = false;

	unlink(WATCH_FILE ".tmp");
	if (file == NULL)
	{
		if (errno == ENOENT)
			return;
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", WATCH_FILE)));
	}
	else if (fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) &&
			 info.st_size < (off_t) (2 * sizeof(WatchStore)))
		data = palloc_extended(Max(info.st_size, 1), MCXT_ALLOC_NO_OOM);
	if (data != NULL && fread(data, 1, info.st_size, file) == (size_t) info.st_size)
		ok = restore(data, info.st_size);
	if (!ok)
	{
		memset(&watch_store->state, 0, sizeof(WatchState));
		ereport(LOG,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("ignoring invalid data in file \"%s\"", WATCH_FILE),
				 errdetail("The history of the clocks begins anew; the file is kept as \"%s\".", WATCH_INVALID)));
		/* durable_rename would have to read it */
		if (rename(WATCH_FILE, WATCH_INVALID) < 0)
			ereport(LOG,
					(errcode_for_file_access(),
					 errmsg("could not rename file \"%s\" to \"%s\": %m", WATCH_FILE, WATCH_INVALID)));
	}
	if (data != NULL)
		pfree(data);
	if (file != NULL)
		FreeFile(file);
}
