#include "postgres.h"

#include <math.h>

#include "storage/lwlock.h"
#include "utils/timestamp.h"

#include "clock/watch/watch_judge.h"
#include "compat.h"

/* An event of stolen CPU time begins above the first percentage and ends below the second one. */
#define STOLEN_PERCENT		5.0
#define STOLEN_ENDS_PERCENT	2.5

/* Weight of the latest interval in the moving average of stolen time. */
#define STOLEN_SHARE		(1 / 6.0)

/* A rate event begins above a limit of the deviation; it ends below this fraction of the limit. */
#define RATE_ENDS			0.5

/* Unsynchronised intervals in a row that begin an event.  Also limits calm_run in end_steps(). */
#define IN_A_ROW			2

/* Shortest suspension, in s, and smallest change of the time of day, in us, that are reported. */
#define SUSPENDED_S			0.5
#define SET_US				100000

/* Maximum time, in s, between the two readings of CLOCK_BOOTTIME around the time of day. */
#define TIME_S				0.001

static const char *const hints[WATCH_WHATS] = {
	[WATCH_KERNEL_SOURCE] = gettext_noop("The kernel log contains the reason; clock_advice() recommends actions."),
	[WATCH_SOURCE] = gettext_noop("EXPLAIN ANALYZE has read another clock since then."),
	[WATCH_COST] = gettext_noop("clock_advice() recommends actions, and clock_impact() shows the cost of timing."),
	[WATCH_RATE] = gettext_noop("Measured times are wrong by this rate; compare clocks with clock_drift()."),
	[WATCH_BACKWARD] = gettext_noop("Times measured in this period are unreliable; see clock_cpu_skew()."),
	[WATCH_WARP] = gettext_noop("Times measured in this period are unreliable; see clock_trust()."),
	[WATCH_LAG] = gettext_noop("Times measured in this period are unreliable; see clock_trust()."),
	[WATCH_SKEW] = gettext_noop("Times are wrong by this amount when a process moves to another CPU; see clock_cpu_skew()."),
	[WATCH_MACHINE] = gettext_noop("Times from before and after may not be comparable."),
	[WATCH_RESUME] = gettext_noop("The times of queries that were running do not include the suspension."),
	[WATCH_SYNC] = gettext_noop("Check whether chronyd, ntpd or systemd-timesyncd is running."),
	[WATCH_STOLEN] = gettext_noop("The hypervisor gives CPU time of this virtual machine to other virtual machines."),
	[WATCH_TIME] = gettext_noop("Times of EXPLAIN ANALYZE are not affected; now() and clock_timestamp() have changed by this amount."),
};

/* State of the background worker, which is lost when it restarts. */
static bool was_synchronised;	/* at some time since the worker started */
static int	unsynchronised_run; /* intervals since the latest synchronised one */
static double stolen_percent = -1;	/* moving average; below 0: not known */
static double usual_stolen;		/* moving average outside of stolen events */
static double usual_rate_ppm;	/* latest rate outside of rate events */
static TimestampTz rate_from;	/* beginning of the latest closed rate event */
static TimestampTz rate_to;		/* end of that event */
static int	hops_without_skew;	/* comparisons of CPUs since the latest skew */
static TimestampTz latest_step[WATCH_WHATS];	/* time of the latest step */
static int	calm_run[WATCH_WHATS];	/* intervals since that step */
static bool time_is_known;		/* watch_judge_time() was called before */

static void
report_event(WatchWhat what, TimestampTz at, const char *before, const char *after,
			 const char *evidence)
{
	watch_begin_event(what, at, before, after, evidence);
	ereport(LOG,
			(errcode(ERRCODE_SYSTEM_ERROR),
			 errmsg("clock event: %s, from %s to %s", watch_what_names[what], before, after),
			 errdetail_internal("%s", evidence),
			 errhint("%s", _(hints[what]))));
}

static const char *
or_unknown(const char *text)
{
	return text[0] != '\0' ? text : "unknown";
}

/* If a name has changed, ends its open event, and reports a new one unless the old name is back. */
static void
judge_name(WatchWhat what, TimestampTz now, const char *before, const char *after,
		   const char *evidence)
{
	WatchEvent *open = watch_open_event(what);
	bool		back = open != NULL && strcmp(open->before, or_unknown(after)) == 0;

	if (strcmp(before, after) == 0)
		return;
	watch_end_event(what, now);
	if (!back)
		report_event(what, now, or_unknown(before), or_unknown(after), evidence);
}

/*
 * Detects that the time of day was set.  While the machine runs, nothing else changes the
 * difference between the time of day and CLOCK_BOOTTIME.  After a restart of the machine, a time of
 * day before the end of the history proves that the time of day was set back.
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
	report_event(WATCH_TIME, now, pstrdup(timestamptz_to_str(now - set_us)),
				 pstrdup(timestamptz_to_str(now)),
				 psprintf("set %s by %.1f s%s", set_us < 0 ? "back" : "ahead", (double) llabs(set_us) / USECS_PER_SEC,
						  same_start ? " relative to CLOCK_BOOTTIME" : " or more, because the history ends at a later time"));
	watch_end_event(WATCH_TIME, now);
}

static const char *
describe(const WatchMachine *machine)
{
	return psprintf("%d CPUs, %s, hypervisor %s", machine->cpus, or_unknown(machine->processor),
					or_unknown(machine->hypervisor));
}

void
watch_judge_machine(TimestampTz now)
{
	const WatchMachine *recent = watch_machine();
	WatchMachine before,
				after;

	watch_find_machine(&after);
	if (recent == NULL)
	{
		watch_put_machine(&after);
		return;
	}
	before = *recent;
	/* a value that could not be read counts as unchanged */
	if (after.boot_id[0] == '\0')
		strlcpy(after.boot_id, before.boot_id, sizeof(after.boot_id));
	if (after.kernel_source[0] == '\0' && strcmp(after.boot_id, before.boot_id) == 0)
		strlcpy(after.kernel_source, before.kernel_source, sizeof(after.kernel_source));
	if (memcmp(&before, &after, sizeof(before)) == 0)
		return;
	watch_put_machine(&after);
	judge_name(WATCH_KERNEL_SOURCE, now, before.kernel_source, after.kernel_source,
			   "from /sys/devices/system/clocksource");
	judge_name(WATCH_SOURCE, now, before.source, after.source, after.reads);
	if (before.cpus != after.cpus || strcmp(before.processor, after.processor) != 0 ||
		strcmp(before.hypervisor, after.hypervisor) != 0 ||
		strcmp(before.boot_id, after.boot_id) != 0)
	{
		bool		restarted = strcmp(before.boot_id, after.boot_id) != 0;

		const char *was = describe(&before);
		const char *is = describe(&after);

		if (strcmp(was, is) == 0)
		{
			was = psprintf("boot %s", or_unknown(before.boot_id));
			is = psprintf("boot %s", or_unknown(after.boot_id));
		}
		report_event(WATCH_MACHINE, now, was, is,
					 restarted ? "the machine's boot ID has changed" : "the machine was not restarted");
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
	changed = change_point_add(&watch_store->state.cost, row->warm_ns, &change);
	LWLockRelease(watch_store->lock);
	if (!changed)
		return;
	if (change.ended)
		watch_end_event(WATCH_COST, found->ended_at);
	if (change.began)
		report_event(WATCH_COST,
					 found->ended_at - (TimestampTz) (change.run * row->watched_s * USECS_PER_SEC),
					 psprintf("%.1f ns", change.before), psprintf("%.1f ns", change.after),
					 psprintf("the cheapest readings of an interval cost %.2f times as much as before", change.after / change.before));
}

static void
judge_rate(const WatchObservation *observed)
{
	WatchEvent *open = watch_open_event(WATCH_RATE);
	bool		wrong = fabs(observed->rate_ppm) >
		observed->steered_ppm * (open != NULL ? RATE_ENDS : 1);

	if (!observed->rate_known)
		return;
	if (!wrong)
		usual_rate_ppm = observed->rate_ppm;
	if (wrong == (open != NULL))
		return;
	if (wrong)
	{
		report_event(WATCH_RATE, observed->rate_since, psprintf("%+.1f ppm", usual_rate_ppm),
					 psprintf("%+.1f ppm", observed->rate_ppm),
					 psprintf("relative to CLOCK_MONOTONIC_RAW; up to %.0f ppm are normal", observed->steered_ppm));
		return;
	}
	rate_from = open->at;
	rate_to = observed->at;
	watch_end_event(WATCH_RATE, observed->at);
}

/* Returns whether the open or the latest rate event contains, and thus explains, a step. */
static bool
is_of_rate(const WatchStep *step)
{
	const WatchEvent *open = watch_open_event(WATCH_RATE);

	return (open != NULL && step->at >= open->at) || (step->at >= rate_from && step->at <= rate_to);
}

/* Begins an event at a first step.  Later steps prolong the event, until end_steps() ends it. */
static void
judge_step(WatchWhat what, const WatchStep *step, const char *evidence)
{
	if (!step->seen || (what != WATCH_BACKWARD && is_of_rate(step)))
		return;
	latest_step[what] = step->at;
	calm_run[what] = 0;
	if (watch_open_event(what) == NULL)
		report_event(what, step->at, "none", psprintf("%.0f ns", step->ns), evidence);
}

void
watch_judge_observation(const WatchObservation *observed)
{
	judge_rate(observed);
	judge_step(WATCH_BACKWARD, &observed->backward, "a reading was smaller than the previous reading");
	judge_step(WATCH_WARP, &observed->warp, "CLOCK_MONOTONIC_RAW advanced less than the clock");
	judge_step(WATCH_LAG, &observed->lag, "CLOCK_MONOTONIC_RAW advanced more than the clock");
}

static void
end_steps(WatchWhat what, TimestampTz now)
{
	/* the first interval may contain the step, so IN_A_ROW more must pass */
	if (watch_open_event(what) == NULL || calm_run[what]++ < IN_A_ROW)
		return;

	/* latest_step is 0 if the worker has restarted since the step */
	watch_end_event(what, latest_step[what] != 0 ? latest_step[what] : now);
}

static void
judge_skew(const WatchFindings *found)
{
	bool		open = watch_open_event(WATCH_SKEW) != NULL;

	if (found->skew_ns == 0)
	{
		hops_without_skew += found->hops;
		/* two rounds over all other CPUs have found no skew */
		if (open && hops_without_skew >= 2 * found->cpus)
			watch_end_event(WATCH_SKEW, found->ended_at);
		return;
	}
	hops_without_skew = 0;
	if (!open)
		report_event(WATCH_SKEW, found->ended_at, "none",
					 psprintf("CPU %d is at least %.0f ns %s CPU %d", found->skewed.cpu, fabs(found->skew_ns),
							  found->skew_ns > 0 ? "ahead of" : "behind", found->skewed.home),
					 "the worker read the clock on both CPUs in turn");
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
		report_event(WATCH_STOLEN, found->ended_at, psprintf("%.1f %%", usual_stolen),
					 psprintf("%.1f %%", row->stolen_percent),
					 "share of the time of all CPUs, from /proc/stat");
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
	report_event(WATCH_SYNC, found->ended_at, "synchronised", "not synchronised",
				 psprintf("maximum error %.0f us, from adjtimex()", row->max_error_us));
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
		report_event(WATCH_RESUME, found->ended_at, "running", psprintf("suspended for %.0f s", found->suspended_s),
					 "CLOCK_BOOTTIME has advanced by this time, CLOCK_MONOTONIC has not");
		watch_end_event(WATCH_RESUME, found->ended_at);
	}
}
