/* Writes and reads the clock's history.  If the file is invalid, the history starts empty. */
#include "postgres.h"

#include <unistd.h>

#include "pgstat.h"

#include "clock/watch/watch_file.h"
#include "clock/watch/watch_store.h"
#include "compat.h"
#include "server/checked_file.h"

#define WATCH_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/clocktiming.watch"
#define WATCH_INVALID	WATCH_FILE ".invalid"
#define WATCH_MAGIC		0x43545754

/* Version of the file's layout.  Increase it if a stored structure changes but keeps its size. */
#define WATCH_LAYOUT	3

typedef struct WatchHeader
{
	uint32		magic;
	uint32		layout;
	uint32		state_size;
	uint32		row_size;
} WatchHeader;

static const WatchHeader header = {WATCH_MAGIC, WATCH_LAYOUT, sizeof(WatchState), sizeof(WatchRow)};

static void
write_ring(CheckedWriter *writer, const WatchRing *ring, const WatchRow *rows, int size)
{
	int			first = watch_ring_index(ring, size, 0);
	int			n = Min(ring->n, size - first);

	checked_write(writer, rows + first, sizeof(WatchRow) * n);
	checked_write(writer, rows, sizeof(WatchRow) * (ring->n - n));
}

void
watch_save(void)
{
	WatchState *state = &watch_store->state;
	CheckedWriter writer;

	/* cleared even if the write fails, to avoid an immediate repetition */
	watch_store->unsaved = false;
	checked_write_begin(&writer, WATCH_FILE);
	checked_write(&writer, &header, sizeof(header));
	checked_write(&writer, state, sizeof(WatchState));
	write_ring(&writer, &state->minutes, watch_store->minute, WATCH_MINUTES);
	write_ring(&writer, &state->hours, watch_store->hour, WATCH_HOURS);
	checked_write_end(&writer);
}

static bool
ring_is_valid(const WatchRing *ring, int size)
{
	return ring->n >= 0 && ring->n <= size && ring->next >= 0 && ring->next < size &&
		(ring->n == size || ring->next >= ring->n);
}

#define IS_TERMINATED(text)	(memchr(text, '\0', sizeof(text)) != NULL)

/*
 * Checks indexes and texts.  The checksum does not show that another version, or a program, has
 * written the file.
 */
static bool
state_is_valid(const WatchState *state)
{
	bool		valid = ring_is_valid(&state->minutes, WATCH_MINUTES) &&
		ring_is_valid(&state->hours, WATCH_HOURS) &&
		ring_is_valid(&state->events, WATCH_EVENTS) &&
		ring_is_valid(&state->machines, WATCH_MACHINES) &&
		state->machine_now >= 0 && state->machine_now < WATCH_MACHINES;

	for (int i = 0; i < WATCH_WHATS; i++)
		valid = valid && state->open[i] >= 0 && state->open[i] <= WATCH_EVENTS;
	for (int i = 0; i < WATCH_EVENTS; i++)
	{
		const WatchEvent *event = &state->event[i];

		valid = valid && event->what >= 0 && event->what < WATCH_WHATS && event->repetitions >= 0 &&
			IS_TERMINATED(event->before) &&
			IS_TERMINATED(event->after) && IS_TERMINATED(event->evidence);
	}
	for (int i = 0; i < WATCH_MACHINES; i++)
	{
		const WatchMachine *machine = &state->machine[i];

		valid = valid && IS_TERMINATED(machine->boot_id) && IS_TERMINATED(machine->hypervisor) &&
			IS_TERMINATED(machine->processor) && IS_TERMINATED(machine->kernel_source) &&
			IS_TERMINATED(machine->source) && IS_TERMINATED(machine->reads);
	}
	return valid;
}

/* Reads the rows that write_ring() has written; returns whether they are valid. */
static bool
read_ring(CheckedReader *reader, WatchRing *ring, WatchRow *rows, int size)
{
	const void *stored = checked_take(reader, sizeof(WatchRow) * ring->n);

	if (stored == NULL)
		return false;
	memcpy(rows, stored, sizeof(WatchRow) * ring->n);
	ring->next = ring->n % size;
	for (int i = 0; i < ring->n; i++)
	{
		if (rows[i].n < 0 || rows[i].n > WATCH_DURATIONS || rows[i].machine < 0 ||
			rows[i].machine >= WATCH_MACHINES)
			return false;
	}
	return true;
}

/* Fills watch_store from a file; returns whether the contents are valid. */
static bool
restore(CheckedReader *reader)
{
	WatchState *state = &watch_store->state;
	const void *stored_header = checked_take(reader, sizeof(header));
	const void *stored_state = checked_take(reader, sizeof(WatchState));

	if (stored_state == NULL || memcmp(stored_header, &header, sizeof(header)) != 0)
		return false;
	memcpy(state, stored_state, sizeof(WatchState));
	return state_is_valid(state) &&
		read_ring(reader, &state->minutes, watch_store->minute, WATCH_MINUTES) &&
		read_ring(reader, &state->hours, watch_store->hour, WATCH_HOURS) &&
		reader->left == 0;
}

void
watch_load(void)
{
	char	   *consequence = psprintf(_("The history of the clocks starts empty; the file is kept as \"%s\"."), WATCH_INVALID);
	CheckedStatus status;

	unlink(WATCH_FILE ".tmp");
	status = checked_load(WATCH_FILE, 2 * sizeof(WatchStore), consequence, restore);
	if (status == CHECKED_INVALID || status == CHECKED_UNREADABLE)
	{
		memset(&watch_store->state, 0, sizeof(WatchState));
		/* durable_rename() would open the file, which may be impossible */
		if (rename(WATCH_FILE, WATCH_INVALID) < 0)
			ereport(LOG,
					(errcode_for_file_access(),
					 errmsg("could not rename file \"%s\" to \"%s\": %m", WATCH_FILE, WATCH_INVALID)));
	}
	pfree(consequence);
}
