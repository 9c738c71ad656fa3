/* Functions of the views clock_history and clock_events. */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "clock/watch/watch_store.h"
#include "clock/watch/watch_worker.h"
#include "compat.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(clock_history);
PG_FUNCTION_INFO_V1(clock_events);

static void
check_watched(void)
{
	if (watch_store != NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the clocks are not watched"),
			 watch_lacks_slot ? errhint("Raise max_worker_processes, and restart the server.") :
			 errhint("Put clocktiming into shared_preload_libraries, set clocktiming.watch = on, and restart the server.")));
}

/*
 * Returns a copy of a ring buffer's rows, oldest first, and copies the machines to which they
 * refer.  The lock is held only during the copying.  Skips rows of the future, which exist if the
 * time of day was set back.
 */
static WatchRow *
copy_rows(const WatchRing *ring, const WatchRow *rows, int size, int *n, WatchMachine *machines)
{
	WatchRow   *copy = palloc(sizeof(WatchRow) * size);
	TimestampTz until = GetCurrentTimestamp();

	LWLockAcquire(watch_store->lock, LW_SHARED);
	until = Min(until, watch_store->state.until);
	memcpy(machines, watch_store->state.machine, sizeof(watch_store->state.machine));
	*n = 0;
	for (int i = 0; i < ring->n; i++)
	{
		copy[*n] = rows[watch_ring_index(ring, size, i)];
		*n += copy[*n].at <= until;
	}
	LWLockRelease(watch_store->lock);
	return copy;
}

static void
put_known_text(Row *row, const char *text)
{
	row_put_text(row, text[0] != '\0' ? text : NULL);
}

/*
 * Adds the row of a period.  If the kernel's synchronisation is unknown, as in a container without
 * adjtimex(), its columns are null.
 */
static void
put_history(FunctionCallInfo fcinfo, const WatchRow *from, const WatchMachine *machine,
			const char *per)
{
	Row			row = row_of_set(fcinfo);

	row_put_text(&row, per);
	row_put_time(&row, from->at);
	row_put(&row, Int32GetDatum(from->intervals));
	row_put_double(&row, from->watched_s, 3);
	put_known_text(&row, machine->source);
	row_put_double(&row, from->cold_ns, 2);
	row_put_double(&row, from->warm_ns, 2);
	row_put_double(&row, from->rate_ppm, 3);
	row_put_double(&row, from->assumed_ppm, 3);
	row_put_double(&row, from->error_bound_ppm, 3);
	row_put_counts(&row, from->backward_steps, from->warps, from->lags, from->gaps);
	row_put_double(&row, from->stolen_percent, 4);
	row_put_double(&row, from->off_cpu_percent, 4);
	row_put_double(&row, from->skew_ns, 0);
	if (from->sync_known > 0)
	{
		row_put_bool(&row, from->synchronised == from->sync_known);
		row_put_double(&row, from->offset_us, 3);
		row_put_double(&row, from->max_error_us, 3);
		row_put_double(&row, from->frequency_ppm, 3);
	}
	else
		row_put_nulls(&row, 4);
	put_known_text(&row, machine->kernel_source);
	put_known_text(&row, machine->boot_id);
	put_known_text(&row, machine->hypervisor);
	put_known_text(&row, machine->processor);
	if (machine->cpus > 0)
		row_put(&row, Int32GetDatum(machine->cpus));
	else
		row_put_null(&row);
	row_put(&row, sample_to_datum(watch_sample(from, machine)));
	row_to_set(&row, fcinfo);
}

static void
put_ring(FunctionCallInfo fcinfo, const WatchRing *ring, const WatchRow *rows, int size,
		 const char *per)
{
	int			n;
	WatchRow   *copy;
	WatchMachine *machines;

	/* an argument of NULL selects all periods */
	if (!PG_ARGISNULL(0) && strcmp(text_to_cstring(PG_GETARG_TEXT_PP(0)), per) != 0)
		return;
	machines = palloc(sizeof(watch_store->state.machine));
	copy = copy_rows(ring, rows, size, &n, machines);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_history(fcinfo, &copy[i], &machines[copy[i].machine], per);
	}
	pfree(copy);
	pfree(machines);
}

Datum
clock_history(PG_FUNCTION_ARGS)
{
	check_watched();
	InitMaterializedSRF(fcinfo, 0);
	put_ring(fcinfo, &watch_store->state.hours, watch_store->hour, WATCH_HOURS, "hour");
	put_ring(fcinfo, &watch_store->state.minutes, watch_store->minute, WATCH_MINUTES, "minute");
	return (Datum) 0;
}

/*
 * Returns the events, oldest first.  Copies them before it forms rows, because the worker must not
 * wait for the lock meanwhile.
 */
Datum
clock_events(PG_FUNCTION_ARGS)
{
	WatchEvent *events;
	int			n;

	check_watched();
	InitMaterializedSRF(fcinfo, 0);
	events = palloc(sizeof(WatchEvent) * WATCH_EVENTS);
	LWLockAcquire(watch_store->lock, LW_SHARED);
	n = watch_store->state.events.n;
	for (int i = 0; i < n; i++)
		events[i] = watch_store->state.event[watch_ring_index(&watch_store->state.events,
															  WATCH_EVENTS, i)];
	LWLockRelease(watch_store->lock);
	for (int i = 0; i < n; i++)
	{
		Row			row = row_of_set(fcinfo);

		row_put_time(&row, events[i].at);
		row_put_text(&row, watch_what_names[events[i].what]);
		row_put_text(&row, events[i].before);
		row_put_text(&row, events[i].after);
		row_put_text(&row, events[i].evidence);
		row_put_time(&row, events[i].ended_at);
		row_put(&row, Int64GetDatum(events[i].repetitions));
		row_to_set(&row, fcinfo);
	}
	return (Datum) 0;
}
