/*
 * The history in shared memory.
 *
 * Minutes, hours, events and machines are in ring buffers, so memory is constant, and the oldest
 * elements are replaced.  An interval's row is merged into the rows of its minute and its hour:
 * means are weighted by numbers of intervals, counts are added, and of errors the largest is kept.
 *
 * A row has at most WATCH_DURATIONS distinct durations.  If there are more, neighbours whose
 * difference matters least are merged (merge_neighbours()).  So a row has a fixed size, and still
 * shows the usual durations and the rare long ones.
 *
 * Only the worker changes the history.  So it reads the history without the lock, but changes it
 * under the exclusive lock.
 */
#include "postgres.h"

#include <math.h>

#include "storage/lwlock.h"

#include "clock/watch/watch_store.h"
#include "compat.h"
#include "core/reference.h"

/* Precision of a row's durations, in significant bits, if neighbouring ones were merged. */
#define MERGED_BITS	4

WatchStore *watch_store = NULL;

const char *const watch_what_names[WATCH_WHATS] = {
	[WATCH_KERNEL_SOURCE] = "kernel clock source",
	[WATCH_SOURCE] = "clock source",
	[WATCH_COST] = "cost",
	[WATCH_RATE] = "rate",
	[WATCH_BACKWARD] = "backward step",
	[WATCH_WARP] = "warp",
	[WATCH_LAG] = "lag",
	[WATCH_SKEW] = "CPU skew",
	[WATCH_MACHINE] = "machine",
	[WATCH_RESUME] = "resume",
	[WATCH_SYNC] = "synchronisation",
	[WATCH_STOLEN] = "stolen time",
	[WATCH_TIME] = "time of day",
	[WATCH_MIGRATED] = "migrated",
	[WATCH_RESTORED] = "restored",
	[WATCH_ANNOUNCED] = "migration announced",
	[WATCH_CONTAINER] = "container",
};

int
watch_ring_index(const WatchRing *ring, int size, int i)
{
	return (ring->next - ring->n + i + size) % size;
}

/* Returns the index for a new element, which replaces the oldest one if the ring is full. */
static int
ring_add(WatchRing *ring, int size)
{
	int			i = ring->next;

	ring->next = (i + 1) % size;
	ring->n = Min(ring->n + 1, size);
	return i;
}

const WatchMachine *
watch_machine(void)
{
	const WatchState *state = &watch_store->state;

	return state->machines.n == 0 ? NULL : &state->machine[state->machine_now];
}

void
watch_put_machine(const WatchMachine *machine)
{
	WatchState *state = &watch_store->state;
	int			i = 0;

	LWLockAcquire(watch_store->lock, LW_EXCLUSIVE);
	while (i < state->machines.n && memcmp(&state->machine[i], machine, sizeof(*machine)) != 0)
		i++;
	if (i == state->machines.n)
		i = ring_add(&state->machines, WATCH_MACHINES);
	state->machine[i] = *machine;
	state->machine_now = i;
	LWLockRelease(watch_store->lock);
}

void
watch_put_time(TimestampTz booted_at, const TimeNamespace *time_namespace, int64 set_us)
{
	WatchState *state = &watch_store->state;

	LWLockAcquire(watch_store->lock, LW_EXCLUSIVE);
	state->booted_at = booted_at;
	state->time_namespace = *time_namespace;
	state->until += set_us;
	/* after time was set back, an open event must not begin in the future */
	for (int i = 0; i < WATCH_WHATS; i++)
	{
		WatchEvent *open = watch_open_event(i);

		state->bursts[i].since += set_us;
		if (open != NULL && set_us < 0)
			open->at = Min(open->at, state->until);
	}
	LWLockRelease(watch_store->lock);
}

void
watch_put_vmclock(const VmClockMarks *marks)
{
	WatchState *state = &watch_store->state;

	LWLockAcquire(watch_store->lock, LW_EXCLUSIVE);
	state->vmclock = *marks;
	strlcpy(state->vmclock_boot_id, watch_machine()->boot_id, sizeof(state->vmclock_boot_id));
	LWLockRelease(watch_store->lock);
}

/*
 * Merges neighbouring durations until WATCH_DURATIONS remain.  Each step merges the pair for which
 * the relative difference, multiplied by the lower count, is smallest.  The more frequent duration
 * of the pair remains.
 */
static int
merge_neighbours(TallyEntry *entries, int n)
{
	while (n > WATCH_DURATIONS)
	{
		int			at = 0;
		double		least = INFINITY;

		for (int i = 0; i + 1 < n; i++)
		{
			double		matters = ((double) entries[i + 1].ticks / Max(entries[i].ticks, 1) - 1) *
				(double) Min(entries[i].count, entries[i + 1].count);

			if (matters < least)
			{
				least = matters;
				at = i;
			}
		}
		if (entries[at + 1].count > entries[at].count)
			entries[at].ticks = entries[at + 1].ticks;
		entries[at].count += entries[at + 1].count;
		memmove(&entries[at + 1], &entries[at + 2], sizeof(TallyEntry) * (n - at - 2));
		n--;
	}
	return n;
}

/* Merges two ascending lists of durations, and reduces the result to WATCH_DURATIONS. */
void
watch_add_durations(WatchRow *into, const TallyEntry *entries, int n)
{
	TallyEntry *all = palloc(sizeof(TallyEntry) * (n + WATCH_DURATIONS));
	int			i = 0,
				k = 0,
				nall = 0;

	while (i < into->n || k < n)
	{
		uint64		mine = i < into->n ? into->ticks[i] : PG_UINT64_MAX;
		uint64		other = k < n ? Min(entries[k].ticks, PG_UINT32_MAX) : PG_UINT64_MAX;
		TallyEntry	next = {Min(mine, other), 0};

		if (mine == next.ticks)
			next.count += into->counts[i++];
		while (k < n && Min(entries[k].ticks, PG_UINT32_MAX) == next.ticks)
			next.count += entries[k++].count;
		all[nall++] = next;
	}
	into->n = merge_neighbours(all, nall);
	for (i = 0; i < into->n; i++)
	{
		into->ticks[i] = (uint32) all[i].ticks;
		into->counts[i] = (uint32) Min(all[i].count, PG_UINT32_MAX);
	}
	pfree(all);
}

static double
mean_of(double a, int32 na, double b, int32 nb)
{
	return isnan(a) ? b : isnan(b) ? a : (a * na + b * nb) / (na + nb);
}

/*
 * Merges a later row into an earlier one.  Values such as the offset are the latest known ones.  If
 * another clock was read since, the earlier durations are dropped, because their ticks have another
 * length.
 */
static void
merge(WatchRow *into, const WatchRow *from)
{
	TallyEntry	entries[WATCH_DURATIONS];
	int32		a = into->intervals;
	int32		b = from->intervals;

	into->cold_ns = mean_of(into->cold_ns, a, from->cold_ns, b);
	into->warm_ns = mean_of(into->warm_ns, a, from->warm_ns, b);
	into->rate_ppm = mean_of(into->rate_ppm, a, from->rate_ppm, b);
	into->assumed_ppm = mean_of(into->assumed_ppm, a, from->assumed_ppm, b);
	/* a bound is known only if it is known of each interval */
	into->error_bound_ppm = isnan(into->error_bound_ppm) || isnan(from->error_bound_ppm) ? NAN :
		Max(into->error_bound_ppm, from->error_bound_ppm);
	into->stolen_percent = mean_of(into->stolen_percent, a, from->stolen_percent, b);
	into->off_cpu_percent = mean_of(into->off_cpu_percent, a, from->off_cpu_percent, b);
	into->skew_ns = fmax(into->skew_ns, from->skew_ns);
	if (from->sync_known > 0)
	{
		into->max_error_us = into->sync_known > 0 ? Max(into->max_error_us, from->max_error_us) :
			from->max_error_us;
		into->offset_us = from->offset_us;
		into->frequency_ppm = from->frequency_ppm;
	}
	into->intervals += b;
	into->watched_s += from->watched_s;
	into->synchronised += from->synchronised;
	into->sync_known += from->sync_known;
	into->backward_steps += from->backward_steps;
	into->warps += from->warps;
	into->lags += from->lags;
	into->gaps += from->gaps;
	into->longest_stall = Max(into->longest_stall, from->longest_stall);

	/* ticks of different clocks cannot be merged */
	if (into->machine != from->machine &&
		strcmp(watch_store->state.machine[into->machine].reads,
			   watch_store->state.machine[from->machine].reads) != 0)
		into->n = 0;
	into->machine = from->machine;
	into->frequency_hz = from->frequency_hz;
	into->resolution_ns = from->resolution_ns;
	for (int i = 0; i < from->n; i++)
	{
		entries[i].ticks = from->ticks[i];
		entries[i].count = from->counts[i];
	}
	watch_add_durations(into, entries, from->n);
}

/*
 * Merges an interval into the row of its minute or hour, or adds that row.  After the time of day
 * was set back, rows from before the change may be later than the new time.  The first interval
 * that is after such a row sets the row's watched_s to 0.
 */
static void
put_row(WatchRing *ring, WatchRow *rows, int size, const WatchRow *row, int64 unit)
{
	int			i = ring->n == 0 ? -1 : (ring->next + size - 1) % size;
	TimestampTz at = row->at - (row->at % unit + unit) % unit;

	if (i < 0 || rows[i].at != at)
	{
		i = -1;
		for (int k = 0; k < ring->n; k++)
		{
			if (rows[k].at == at)
				i = k;
			else if (rows[k].at > watch_store->state.until && rows[k].at < at)
				rows[k].watched_s = 0;
		}
	}
	if (i >= 0)
		merge(&rows[i], row);
	else
	{
		i = ring_add(ring, size);
		rows[i] = *row;
		rows[i].at = at;
	}
	rows[i].watched_s =
		Min(rows[i].watched_s, (double) (row->at - at) / USECS_PER_SEC + row->watched_s);
}

static void
add_to_totals(const WatchRow *row)
{
	const char *source = watch_store->state.machine[row->machine].source;

	for (int i = 0; i < WATCH_SOURCES; i++)
	{
		WatchTotals *totals = &watch_store->totals[i];

		if (totals->source[0] == '\0')
			strlcpy(totals->source, source, sizeof(totals->source));
		if (strcmp(totals->source, source) != 0)
			continue;
		totals->backward_steps += row->backward_steps;
		totals->warps += row->warps;
		totals->lags += row->lags;
		totals->gaps += row->gaps;
		return;
	}
}

void
watch_put_interval(const WatchRow *row, TimestampTz ended_at)
{
	WatchState *state = &watch_store->state;
	WatchRow	mine = *row;

	LWLockAcquire(watch_store->lock, LW_EXCLUSIVE);
	mine.machine = state->machine_now;
	put_row(&state->minutes, watch_store->minute, WATCH_MINUTES, &mine, USECS_PER_MINUTE);
	put_row(&state->hours, watch_store->hour, WATCH_HOURS, &mine, USECS_PER_HOUR);
	add_to_totals(&mine);
	watch_store->latest = mine;
	watch_store->latest_ns = reference_ns();
	state->until = ended_at;
	LWLockRelease(watch_store->lock);
}

WatchEvent *
watch_open_event(WatchWhat what)
{
	int			open = watch_store->state.open[what];

	return open == 0 ? NULL : &watch_store->state.event[open - 1];
}

/* Returns the latest stored event of a kind; NULL if there is none. */
static WatchEvent *
latest_event(WatchWhat what)
{
	WatchState *state = &watch_store->state;

	for (int i = state->events.n - 1; i >= 0; i--)
	{
		WatchEvent *event = &state->event[watch_ring_index(&state->events, WATCH_EVENTS, i)];

		if (event->what == (int32) what)
			return event;
	}
	return NULL;
}

/* Returns whether an event follows so many others of its kind that it must be counted only. */
static bool
is_repetition(WatchWhat what, TimestampTz at)
{
	WatchBurst *burst = &watch_store->state.bursts[what];

	if (burst->n == 0 || at - burst->since > USECS_PER_HOUR || at < burst->since - USECS_PER_HOUR)
	{
		burst->since = at;
		burst->n = 0;
	}
	if (burst->n >= WATCH_BURST)
		return true;
	burst->n++;
	return false;
}

/*
 * Adds an event, which becomes the open one of its kind.  Marks the history as unsaved, so that the
 * file soon contains the event, also if the server crashes later.
 */
int64
watch_begin_event(WatchWhat what, TimestampTz at, const char *before, const char *after,
				  const char *evidence)
{
	WatchState *state = &watch_store->state;
	WatchEvent *event = latest_event(what);
	int			i;

	LWLockAcquire(watch_store->lock, LW_EXCLUSIVE);
	state->counts[what]++;
	watch_store->unsaved = true;
	if (is_repetition(what, at) && event != NULL)
	{
		int64		repetitions = ++event->repetitions;

		strlcpy(event->after, after, sizeof(event->after));
		strlcpy(event->evidence, evidence, sizeof(event->evidence));
		event->ended_at = 0;
		state->open[what] = (int32) (event - state->event) + 1;
		LWLockRelease(watch_store->lock);
		return repetitions;
	}
	i = ring_add(&state->events, WATCH_EVENTS);
	event = &state->event[i];
	/* the new event may replace the oldest one while that one is still open */
	for (int k = 0; k < WATCH_WHATS; k++)
	{
		if (state->open[k] == i + 1)
			state->open[k] = 0;
	}
	memset(event, 0, sizeof(WatchEvent));
	event->at = at;
	event->what = what;
	strlcpy(event->before, before, sizeof(event->before));
	strlcpy(event->after, after, sizeof(event->after));
	strlcpy(event->evidence, evidence, sizeof(event->evidence));
	state->open[what] = i + 1;
	LWLockRelease(watch_store->lock);
	return 0;
}

void
watch_end_event(WatchWhat what, TimestampTz at)
{
	WatchEvent *event = watch_open_event(what);

	if (event == NULL)
		return;
	LWLockAcquire(watch_store->lock, LW_EXCLUSIVE);
	event->ended_at = Max(at, event->at);
	watch_store->state.open[what] = 0;
	watch_store->unsaved = true;
	LWLockRelease(watch_store->lock);
}

/*
 * Converts a row to a clock_sample, so that functions such as clock_histogram() and clock_merge()
 * accept it.  What a row does not have, such as the largest size of warps, is 0 or unknown.
 */
ClockSample *
watch_sample(const WatchRow *row, const WatchMachine *machine)
{
	ClockSample *sample = palloc0(sizeof(ClockSample));

	sample->source = machine->source;
	sample->clock = machine->reads;
	sample->started_at = row->at;
	sample->duration_s = row->watched_s;
	sample->frequency_hz = row->frequency_hz;
	sample->resolution_ns = row->resolution_ns;
	sample->mean_margin_ns = NAN;
	sample->cost_ns = row->warm_ns;
	sample->cost_margin_ns = NAN;
	sample->advance_s = row->watched_s * (1 + (isnan(row->rate_ppm) ? 0 : row->rate_ppm) / 1e6);
	sample->longest_stall = row->longest_stall;
	sample->backward_steps = row->backward_steps;
	sample->warps.count = row->warps;
	sample->lags.count = row->lags;
	sample->gaps.count = row->gaps;
	sample->precision_bits = row->n < WATCH_DURATIONS ? TALLY_EXACT : MERGED_BITS;
	sample->entries = palloc(sizeof(TallyEntry) * (row->n + 1));
	for (int i = 0; i < row->n; i++)
	{
		sample->entries[i].ticks = row->ticks[i];
		sample->entries[i].count = row->counts[i];
		sample->total += row->counts[i];
	}
	sample->n = row->n;
	sample->readings = (int64) sample->total + sample->backward_steps;
	return sample;
}
