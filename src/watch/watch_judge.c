/*
 * watch_judge.c
 *	  See watch_judge.h.
 */
#include "postgres.h"

#include <math.h>

#include "utils/timestamp.h"

#include "compat.h"
#include "watch/watch_judge.h"

/* Stolen time begins to be an event, and is one no longer. */
#define STOLEN_PERCENT		5.0
#define STOLEN_ENDS_PERCENT	2.5

/* Intervals in a row that it takes for something that comes and goes. */
#define IN_A_ROW			2

/* A machine that was suspended for less is not worth telling. */
#define SUSPENDED_S			0.5

static const char *const hints[WATCH_WHATS] = {
	[WATCH_KERNEL_SOURCE] = gettext_noop("The kernel's log says why; clock_advice() says what to do."),
	[WATCH_SOURCE] = gettext_noop("Times of EXPLAIN ANALYZE come from another clock since then."),
	[WATCH_COST] = gettext_noop("clock_advice() says what to do, clock_impact() what timing costs now."),
	[WATCH_RATE] = gettext_noop("Times are wrong by as much; compare clocks by clock_drift()."),
	[WATCH_BACKWARD] = gettext_noop("Times of this period cannot be believed; see clock_cpu_skew()."),
	[WATCH_WARP] = gettext_noop("Times of this period cannot be believed; see clock_trust()."),
	[WATCH_LAG] = gettext_noop("Times of this period cannot be believed; see clock_trust()."),
	[WATCH_MACHINE] = gettext_noop("Compare times of before and after with care."),
	[WATCH_RESUME] = gettext_noop("Queries of this moment have taken longer than their times say."),
	[WATCH_SYNC] = gettext_noop("See whether chronyd, ntpd or systemd-timesyncd is running."),
	[WATCH_STOLEN] = gettext_noop("The hypervisor gives this machine's processors to others."),
};

/* Of what was seen in this life of the worker. */
static bool was_synchronised;
static int	unsynchronised_run;
static int	stolen_run;
static double usual_stolen;
static double usual_rate_ppm;
static TimestampTz latest_step[WATCH_WHATS];
static int	calm_run[WATCH_WHATS];

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

		tell(WATCH_MACHINE, now, describe(&before), describe(&after),
			 restarted ? "the machine has another boot id" : "the machine was not restarted");
		watch_end_event(WATCH_MACHINE, now);
	}
	if (strcmp(before.reads, after.reads) != 0)
	{
		watch_end_event(WATCH_COST, now);
		watch_end_event(WATCH_RATE, now);
		memset(&watch_store->state.cost, 0, sizeof(ChangePoint));
	}
}

static void
judge_cost(const WatchFindings *found)
{
	Change		change;

	if (!change_point_add(&watch_store->state.cost, found->warm_ns, &change))
		return;
	if (change.ended)
		watch_end_event(WATCH_COST, found->ended_at);
	if (change.began)
		tell(WATCH_COST, found->ended_at, psprintf("%.1f ns", change.before), psprintf("%.1f ns", change.after),
			 psprintf("a reading costs %.2f times as much, by the cheapest of each interval", change.after / change.before));
}

static void
judge_rate(const WatchFindings *found)
{
	bool		wrong = found->rate_known && fabs(found->rate_ppm) > found->steered_ppm;
	bool		open = watch_open_event(WATCH_RATE) != NULL;

	if (!found->rate_known)
		return;
	if (!wrong)
		usual_rate_ppm = found->rate_ppm;
	if (wrong == open)
		return;
	if (wrong)
		tell(WATCH_RATE, found->ended_at, psprintf("%+.1f ppm", usual_rate_ppm), psprintf("%+.1f ppm", found->rate_ppm),
			 psprintf("against CLOCK_MONOTONIC_RAW; steering explains %.0f ppm", found->steered_ppm));
	else
		watch_end_event(WATCH_RATE, found->ended_at);
}

/* Steps are one event until there is none in some intervals. */
static void
judge_steps(WatchWhat what, int64 steps, TimestampTz at, double ns)
{
	WatchEvent *open = watch_open_event(what);

	if (steps > 0)
	{
		latest_step[what] = at;
		calm_run[what] = 0;
		if (open != NULL)
			return;
		tell(what, at, "none", psprintf("%.0f ns", ns),
			 psprintf("%lld in an interval, one of them of %.0f ns", (long long) steps, ns));
		return;
	}
	if (open == NULL || ++calm_run[what] < IN_A_ROW)
		return;
	watch_end_event(what, Max(latest_step[what], open->at));
}

static void
judge_stolen(const WatchRow *row, const WatchFindings *found)
{
	WatchEvent *open = watch_open_event(WATCH_STOLEN);
	bool		other;

	if (isnan(row->stolen_percent))
		return;
	other = open == NULL ? row->stolen_percent > STOLEN_PERCENT : row->stolen_percent < STOLEN_ENDS_PERCENT;
	stolen_run = other ? stolen_run + 1 : 0;
	if (open == NULL && !other)
		usual_stolen = row->stolen_percent;
	if (stolen_run < IN_A_ROW)
		return;
	stolen_run = 0;
	if (open == NULL)
		tell(WATCH_STOLEN, found->ended_at, psprintf("%.1f %%", usual_stolen), psprintf("%.1f %%", row->stolen_percent),
			 "of the time of all CPUs, as /proc/stat says");
	else
		watch_end_event(WATCH_STOLEN, found->ended_at);
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
	judge_cost(found);
	judge_rate(found);
	judge_steps(WATCH_BACKWARD, row->backward_steps, found->ended_at, found->backward_max_ns);
	judge_steps(WATCH_WARP, row->warps, found->warp_at, found->warp_ns);
	judge_steps(WATCH_LAG, row->lags, found->lag_at, found->lag_ns);
	judge_stolen(row, found);
	judge_sync(row, found);
	if (found->suspended_s > SUSPENDED_S)
	{
		tell(WATCH_RESUME, found->ended_at, "running", psprintf("suspended for %.0f s", found->suspended_s),
			 "by which CLOCK_BOOTTIME has advanced, and CLOCK_MONOTONIC has not");
		watch_end_event(WATCH_RESUME, found->ended_at);
	}
}
