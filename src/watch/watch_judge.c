/*
 * watch_judge.c
 *	  See watch_judge.h.
 */
#include "postgres.h"

#include <math.h>

#include "storage/lwlock.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "watch/watch_judge.h"

/* Stolen time begins to be an event, and is one no longer. */
#define STOLEN_PERCENT		5.0
#define STOLEN_ENDS_PERCENT	2.5

/* What each interval counts for in the mean that is judged. */
#define STOLEN_SHARE		(1 / 6.0)

/* A rate that was wrong is right again up to this share of what is wrong. */
#define RATE_ENDS			0.5

/* Intervals in a row that it takes for something that comes and goes. */
#define IN_A_ROW			2

/* A machine that was suspended for less is not worth telling. */
#define SUSPENDED_S			0.5

/* A time of day that was set by less is not worth telling, ... */
#define SET_US				100000

/* ... and is known to within that, if it can be. */
#define TIME_S				0.001

static const char *const hints[WATCH_WHATS] = {
	[WATCH_KERNEL_SOURCE] = gettext_noop("The kernel's log says why; clock_advice() says what to do."),
	[WATCH_SOURCE] = gettext_noop("Times of EXPLAIN ANALYZE come from another clock since then."),
	[WATCH_COST] = gettext_noop("clock_advice() says what to do, clock_impact() what timing costs now."),
	[WATCH_RATE] = gettext_noop("Times are wrong by as much; compare clocks by clock_drift()."),
	[WATCH_BACKWARD] = gettext_noop("Times of this period cannot be believed; see clock_cpu_skew()."),
	[WATCH_WARP] = gettext_noop("Times of this period cannot be believed; see clock_trust()."),
	[WATCH_LAG] = gettext_noop("Times of this period cannot be believed; see clock_trust()."),
	[WATCH_SKEW] = gettext_noop("Times are wrong by as much where a process changes the CPU; see clock_cpu_skew()."),
	[WATCH_MACHINE] = gettext_noop("Compare times of before and after with care."),
	[WATCH_RESUME] = gettext_noop("Queries of this moment have taken longer than their times say."),
	[WATCH_SYNC] = gettext_noop("See whether chronyd, ntpd or systemd-timesyncd is running."),
	[WATCH_STOLEN] = gettext_noop("The hypervisor gives this machine's processors to others."),
	[WATCH_TIME] = gettext_noop("Times of EXPLAIN ANALYZE are right; now() and clock_timestamp() have changed by as much."),
};

/* Of what was seen in this life of the worker. */
static bool was_synchronised;
static int	unsynchronised_run;
static double stolen_percent = -1;	/* mean of late, below 0: not known */
static double usual_stolen;
static double usual_rate_ppm;
static TimestampTz rate_from;	/* the latest event ... */
static TimestampTz rate_to;		/* ... that has ended */
static int	hops_without_skew;
static TimestampTz latest_step[WATCH_WHATS];
static int	calm_run[WATCH_WHATS];
static bool time_is_known;

static void
tell(WatchWhat what, TimestampTz at, const char *before, const char *after, const char *evidence)
{
	watch_begin_event(what, at, before, after, evidence);
	ereport(LOG,
			(errcode(ERRCODE_SYSTEM_ERROR),
			 errmsg("clock event: %s, from %s to %s", watch_what_names[what], before, after),
			 errdetail_internal("%s", evidence),
			 errhint("%s", _(hints[what]))));
}

static const char *
known(const char *text)
{
	return text[0] != '\0' ? text : "unknown";
}

/* What has one name until it has another.  It ends when the one before comes back. */
static void
judge_name(WatchWhat what, TimestampTz now, const char *before, const char *after, const char *evidence)
{
	WatchEvent *open = watch_open_event(what);
	bool		back = open != NULL && strcmp(open->before, known(after)) == 0;

	if (strcmp(before, after) == 0)
		return;
	watch_end_event(what, now);
	if (!back)
		tell(what, now, known(before), known(after), evidence);
}

/*
 * In the same start of the machine, the time of day and the time since that start differ by the same amount
 * until one is set.  From one start to another it is only known that the time of day grows.
 */
void
watch_judge_time(void)
{
	WatchState *state = &watch_store->state;
	TimestampTz now;
	TimestampTz booted_at;
	double		before;
	double		after;
	int			tries = 5;
	char		boot_id[BOOT_ID_SIZE];
	bool		same_start = time_is_known;
	int64		set_us;

	do
	{
		before = system_boottime_s();
		now = GetCurrentTimestamp();
		after = system_boottime_s();
	} while (after - before > TIME_S && --tries > 0);
	booted_at = now - (int64) ((before + after) / 2 * USECS_PER_SEC);
	if (!same_start && watch_machine() != NULL && system_boot_id(boot_id))
		same_start = strcmp(boot_id, watch_machine()->boot_id) == 0;
	set_us = same_start ? booted_at - state->booted_at : Min(now - state->until, 0);
	if (state->booted_at == 0 || llabs(set_us) < SET_US)
		set_us = 0;
	time_is_known = true;
	watch_put_time(booted_at, set_us);
	if (set_us == 0)
		return;
	watch_move_times(set_us);
	rate_from += set_us;
	rate_to += set_us;
	for (int i = 0; i < WATCH_WHATS; i++)
		latest_step[i] += latest_step[i] != 0 ? set_us : 0;
	tell(WATCH_TIME, now, pstrdup(timestamptz_to_str(now - set_us)), pstrdup(timestamptz_to_str(now)),
		 psprintf("set %s by %.1f s, %s", set_us < 0 ? "back" : "ahead", (double) llabs(set_us) / USECS_PER_SEC,
				  same_start ? "against CLOCK_BOOTTIME" : "or more, as the history ends later"));
	watch_end_event(WATCH_TIME, now);
}

static const char *
describe(const WatchMachine *machine)
{
	return psprintf("%d CPUs, %s, hypervisor %s", machine->cpus, known(machine->processor), known(machine->hypervisor));
}

void
watch_judge_machine(TimestampTz now)
{
	const WatchMachine *late = watch_machine();
	WatchMachine before,
				after;

	watch_find_machine(&after);
	if (late == NULL)
	{
		watch_put_machine(&after);
		return;
	}
	before = *late;
	/* what cannot be read for once has not changed */
	if (after.boot_id[0] == '\0')
		strlcpy(after.boot_id, before.boot_id, sizeof(after.boot_id));
	if (after.kernel_source[0] == '\0' && strcmp(after.boot_id, before.boot_id) == 0)
		strlcpy(after.kernel_source, before.kernel_source, sizeof(after.kernel_source));
	if (memcmp(&before, &after, sizeof(before)) == 0)
		return;
	watch_put_machine(&after);
	judge_name(WATCH_KERNEL_SOURCE, now, before.kernel_source, after.kernel_source,
			   "as /sys/devices/system/clocksource says");
	judge_name(WATCH_SOURCE, now, before.source, after.source, after.reads);
	if (before.cpus != after.cpus || strcmp(before.processor, after.processor) != 0 ||
		strcmp(before.hypervisor, after.hypervisor) != 0 || strcmp(before.boot_id, after.boot_id) != 0)
	{
		bool		restarted = strcmp(before.boot_id, after.boot_id) != 0;

		const char *was = describe(&before);
		const char *is = describe(&after);

		if (strcmp(was, is) == 0)
		{
			was = psprintf("boot %s", known(before.boot_id));
			is = psprintf("boot %s", known(after.boot_id));
		}
		tell(WATCH_MACHINE, now, was, is,
			 restarted ? "the machine has another boot id" : "the machine was not restarted");
		watch_end_event(WATCH_MACHINE, now);
	}
	if (strcmp(before.reads, after.reads) != 0)
	{
		watch_end_event(WATCH_COST, now);
		watch_end_event(WATCH_RATE, now);
		LWLockAcquire(watch_store->lock, LW_EXCLUSIVE);
		memset(&watch_store->state.cost, 0, sizeof(ChangePoint));
		LWLockRelease(watch_store->lock);
	}
}

static void
judge_cost(const WatchRow *row, const WatchFindings *found)
{
	Change		change;
	bool		changed;

	LWLockAcquire(watch_store->lock, LW_EXCLUSIVE);
	changed = change_point_add(&watch_store->state.cost, found->warm_ns, &change);
	LWLockRelease(watch_store->lock);
	if (!changed)
		return;
	if (change.ended)
		watch_end_event(WATCH_COST, found->ended_at);
	if (change.began)
		tell(WATCH_COST, found->ended_at - (TimestampTz) (change.run * row->watched_s * USECS_PER_SEC),
			 psprintf("%.1f ns", change.before), psprintf("%.1f ns", change.after),
			 psprintf("a reading costs %.2f times as much, by the cheapest of each interval", change.after / change.before));
}

static void
judge_rate(const WatchLook *look)
{
	WatchEvent *open = watch_open_event(WATCH_RATE);
	bool		wrong = fabs(look->rate_ppm) > look->steered_ppm * (open != NULL ? RATE_ENDS : 1);

	if (!look->rate_known)
		return;
	if (!wrong)
		usual_rate_ppm = look->rate_ppm;
	if (wrong == (open != NULL))
		return;
	if (wrong)
	{
		tell(WATCH_RATE, look->rate_since, psprintf("%+.1f ppm", usual_rate_ppm), psprintf("%+.1f ppm", look->rate_ppm),
			 psprintf("against CLOCK_MONOTONIC_RAW; steering explains %.0f ppm", look->steered_ppm));
		return;
	}
	rate_from = open->at;
	rate_to = look->at;
	watch_end_event(WATCH_RATE, look->at);
}

/* Whether a step is but the beginning, the end or a part of a time of a wrong rate. */
static bool
is_of_rate(const WatchStep *step)
{
	const WatchEvent *open = watch_open_event(WATCH_RATE);

	return (open != NULL && step->at >= open->at) || (step->at >= rate_from && step->at <= rate_to);
}

/* Steps are one event until there is none in some intervals. */
static void
judge_step(WatchWhat what, const WatchStep *step, const char *evidence)
{
	if (!step->seen)
		return;
	latest_step[what] = step->at;
	calm_run[what] = 0;
	if (watch_open_event(what) == NULL)
		tell(what, step->at, "none", psprintf("%.0f ns", step->ns), evidence);
}

void
watch_judge_look(const WatchLook *look)
{
	judge_rate(look);
	judge_step(WATCH_BACKWARD, &look->backward, "a reading was below the one before");
	if (!is_of_rate(&look->warp))
		judge_step(WATCH_WARP, &look->warp, "CLOCK_MONOTONIC_RAW has advanced less");
	if (!is_of_rate(&look->lag))
		judge_step(WATCH_LAG, &look->lag, "CLOCK_MONOTONIC_RAW has advanced more");
}

static void
end_steps(WatchWhat what, TimestampTz now)
{
	/* this interval may not have been calm from its beginning on */
	if (watch_open_event(what) == NULL || calm_run[what]++ < IN_A_ROW)
		return;
	/* of one that began in another life it is not known when the latest was */
	watch_end_event(what, latest_step[what] != 0 ? latest_step[what] : now);
}

static void
judge_skew(const WatchFindings *found)
{
	bool		open = watch_open_event(WATCH_SKEW) != NULL;

	if (found->skew_ns == 0)
	{
		hops_without_skew += found->hops;
		/* all other CPUs, from wherever it was */
		if (open && hops_without_skew >= 2 * found->cpus)
			watch_end_event(WATCH_SKEW, found->ended_at);
		return;
	}
	hops_without_skew = 0;
	if (!open)
		tell(WATCH_SKEW, found->ended_at, "none",
			 psprintf("CPU %d is at least %.0f ns %s CPU %d", found->skewed.cpu, fabs(found->skew_ns),
					  found->skew_ns > 0 ? "ahead of" : "behind", found->skewed.home),
			 "a process that went there and came back has read the clock");
}

static void
judge_stolen(const WatchRow *row, const WatchFindings *found)
{
	bool		open = watch_open_event(WATCH_STOLEN) != NULL;

	if (isnan(row->stolen_percent))
		return;
	if (stolen_percent < 0)
		stolen_percent = usual_stolen = row->stolen_percent;
	stolen_percent += (row->stolen_percent - stolen_percent) * STOLEN_SHARE;
	if (!open && stolen_percent > STOLEN_PERCENT)
		tell(WATCH_STOLEN, found->ended_at, psprintf("%.1f %%", usual_stolen), psprintf("%.1f %%", row->stolen_percent),
			 "of the time of all CPUs, as /proc/stat says");
	else if (open && stolen_percent < STOLEN_ENDS_PERCENT)
		watch_end_event(WATCH_STOLEN, found->ended_at);
	else if (!open)
		usual_stolen = stolen_percent;
}

static void
judge_sync(const WatchRow *row, const WatchFindings *found)
{
	bool		open = watch_open_event(WATCH_SYNC) != NULL;

	if (row->sync_known == 0)
		return;
	unsynchronised_run = row->synchronised ? 0 : unsynchronised_run + 1;
	if (row->synchronised)
	{
		was_synchronised = true;
		watch_end_event(WATCH_SYNC, found->ended_at);
		return;
	}
	if (open || !was_synchronised || unsynchronised_run < IN_A_ROW)
		return;
	tell(WATCH_SYNC, found->ended_at, "synchronised", "not synchronised",
		 psprintf("the error is at most %.0f us, as adjtimex() says", row->max_error_us));
}

void
watch_judge(const WatchRow *row, const WatchFindings *found)
{
	judge_cost(row, found);
	end_steps(WATCH_BACKWARD, found->ended_at);
	end_steps(WATCH_WARP, found->ended_at);
	end_steps(WATCH_LAG, found->ended_at);
	judge_skew(found);
	judge_stolen(row, found);
	judge_sync(row, found);
	if (found->suspended_s > SUSPENDED_S)
	{
		tell(WATCH_RESUME, found->ended_at, "running", psprintf("suspended for %.0f s", found->suspended_s),
			 "by which CLOCK_BOOTTIME has advanced, and CLOCK_MONOTONIC has not");
		watch_end_event(WATCH_RESUME, found->ended_at);
	}
}
