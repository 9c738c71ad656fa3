/*
 * Detects changes of the watched clock, and reports each of them once: when it begins, and when it
 * ends.
 *
 * Each kind of event has a rule of its own.  A change of a name, such as the kernel's clock source,
 * is certain at once.  A change of the cost of a reading is found by cumulative sums
 * (change_point.c).  The rate and the stolen time have two limits, a higher one that begins an
 * event and a lower one that ends it, so that a value near a limit does not cause many events.  A
 * step of the clock is over when it occurred, so its event lasts until no further step has followed
 * for some intervals.  What is uncertain, such as the synchronisation of the kernel's clock, must
 * last for IN_A_ROW intervals.
 *
 * The history's times are times of day.  If the time of day is set, times that were noted before
 * are moved by the same amount (watch_judge_time()).
 */
#include "postgres.h"

#include <math.h>

#include "storage/lwlock.h"
#include "utils/timestamp.h"

#include "clock/measure/migration.h"
#include "clock/watch/watch_judge.h"
#include "compat.h"
#include "server/interposed.h"

/*
 * An event of stolen CPU time begins above the first percentage and ends below the second one, so
 * that a value near a limit is one event.  With half of both, smaller losses are events; with
 * twice, only a tenth of the CPU time is one.
 */
#define STOLEN_PERCENT		5.0
#define STOLEN_ENDS_PERCENT	2.5

/*
 * Weight of the latest interval in the moving average of stolen time.  With intervals of 10 s, the
 * average is over about a minute; with half of the weight over two, with twice over half a minute.
 */
#define STOLEN_SHARE		(1 / 6.0)

/*
 * A rate event begins above a limit of the deviation; it ends below this fraction of the limit, so
 * that a rate near the limit is one event.  1 would end and begin it repeatedly.
 */
#define RATE_ENDS			0.5

/* Part of the evidence of a rate event whose cause is not the clock. */
#define ASSUMED_FREQUENCY	"by the frequency of the TSC that the server assumes"

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
	[WATCH_CONTAINER] = gettext_noop("Times from before and after may not be comparable; queries that were running do not include the time until a restore."),
	[WATCH_TIME] = gettext_noop("Times of EXPLAIN ANALYZE are not affected; now() and clock_timestamp() have changed by this amount."),
	[WATCH_MIGRATED] = gettext_noop("Compare no times from before and after; if EXPLAIN ANALYZE reads the TSC, restart the server."),
	[WATCH_RESTORED] = gettext_noop("Compare no times from before and after; if EXPLAIN ANALYZE reads the TSC, restart the server."),
	[WATCH_ANNOUNCED] = gettext_noop("Start no long measurements; times measured before and after may not be comparable."),
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
static TimestampTz vmclock_read_at; /* time of the latest reading of VMClock;
									 * 0: none */
static bool vmclock_complained; /* the log says that VMClock is unreadable */
static bool time_is_known;		/* watch_judge_time() was called before */

/* Number of a kind's repetitions at which the next one is logged.  0: the worker has restarted. */
static int64 log_at[WATCH_WHATS];

/* Returns whether a library that replaces the system's clock may cause events of this kind. */
static bool
is_of_clock(WatchWhat what)
{
	return what == WATCH_RATE || what == WATCH_BACKWARD || what == WATCH_WARP ||
		what == WATCH_LAG || what == WATCH_TIME;
}

static void
report_event(WatchWhat what, TimestampTz at, const char *before, const char *after,
			 const char *evidence)
{
	int64		repetitions = watch_begin_event(what, at, before, after, evidence);
	const char *library = is_of_clock(what) ? interposed_by("clock_gettime") : NULL;

	/* logs the 1st, 10th, 100th ... repetition, so that the log does not fill */
	if (repetitions > 0 && repetitions < log_at[what])
		return;
	log_at[what] = 1;
	while (log_at[what] <= repetitions)
		log_at[what] *= 10;
	ereport(LOG,
			(errcode(ERRCODE_SYSTEM_ERROR),
			 errmsg("clock event: %s, from %s to %s", watch_what_names[what], before, after),
			 repetitions == 0 ? errdetail_internal("%s", evidence) :
			 errdetail("The event has occurred %lld more times within an hour; such repetitions are counted in clock_events.", (long long) repetitions),
			 library == NULL ? errhint("%s", _(hints[what])) :
			 errhint("The library \"%s\" replaces the system's clock; start the server without it.", library)));
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
 * Reports that the server is in another time namespace: it was restarted in another container, or
 * its container was restored.  CLOCK_BOOTTIME then goes on from the time of the checkpoint.
 */
static void
judge_container(TimestampTz now, const TimeNamespace *before, const TimeNamespace *after)
{
	if (before->inode == 0 || time_namespace_equal(before, after))
		return;
	report_event(WATCH_CONTAINER, now,
				 psprintf("time namespace %llu, offset %.1f s",
						  (unsigned long long) before->inode, before->boottime_s),
				 psprintf("time namespace %llu, offset %.1f s",
						  (unsigned long long) after->inode, after->boottime_s),
				 time_is_known ?
				 "the server was restored while it ran, by /proc/self/ns/time and timens_offsets" :
				 "the server was started in another container, by /proc/self/ns/time and timens_offsets");
	watch_end_event(WATCH_CONTAINER, now);
}

/*
 * Detects that the time of day was set.  While the machine runs, nothing else changes the
 * difference between the time of day and the machine's CLOCK_BOOTTIME, without the offset of the
 * time namespace.  After a restart of the machine, a time of day before the end of the history
 * proves that the time of day was set back.
 */
void
watch_judge_time(void)
{
	WatchState *state = &watch_store->state;
	TimestampTz now;
	TimestampTz booted_at;
	TimeNamespace namespace = time_namespace("");
	TimeNamespace namespace_before = state->time_namespace;
	double		before;
	double		after;
	int			tries = 5;
	char		boot_id[BOOT_ID_SIZE];
	bool		same_start;
	int64		set_us;

	do
	{
		before = system_boottime_s();
		now = GetCurrentTimestamp();
		after = system_boottime_s();
	} while (after - before > TIME_S && --tries > 0);
	booted_at = now - (int64) (((before + after) / 2 - namespace.boottime_s) * USECS_PER_SEC);
	/* a restored container may be on another machine */
	same_start = watch_machine() != NULL && system_boot_id(boot_id) ?
		strcmp(boot_id, watch_machine()->boot_id) == 0 : time_is_known;
	set_us = same_start ? booted_at - state->booted_at : Min(now - state->until, 0);
	if (state->booted_at == 0 || llabs(set_us) < SET_US)
		set_us = 0;
	watch_put_time(booted_at, &namespace, set_us);
	judge_container(now, &namespace_before, &namespace);
	time_is_known = true;
	if (set_us == 0)
		return;
	watch_move_times(set_us);
	rate_from += set_us;
	rate_to += set_us;
	vmclock_read_at += vmclock_read_at != 0 ? set_us : 0;
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

/*
 * Compares the machine and the clock with those of the previous call.  If the instruction or call
 * that reads the clock has changed, all later costs and rates are those of another clock, so the
 * events of the earlier clock end, and the normal cost is learnt anew.
 */
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

/* Reports that the hypervisor announces a migration.  The event ends with the announcement. */
static void
judge_announced(VmClockAnnounced announced, TimestampTz now)
{
	WatchEvent *open = watch_open_event(WATCH_ANNOUNCED);
	const char *before = vmclock_announced_names[VMCLOCK_NONE_ANNOUNCED];
	const char *after = vmclock_announced_names[announced];

	if (open != NULL)
	{
		if (strcmp(open->after, after) == 0)
			return;
		before = pstrdup(open->after);
		watch_end_event(WATCH_ANNOUNCED, now);
	}
	if (announced != VMCLOCK_NONE_ANNOUNCED)
		report_event(WATCH_ANNOUNCED, now, before, after, "from " VMCLOCK_DEVICE);
}

static void
complain_of_vmclock(const VmClock *clock)
{
	if (vmclock_complained ||
		(clock->state != VMCLOCK_UNREADABLE && clock->state != VMCLOCK_INVALID))
		return;
	vmclock_complained = true;
	ereport(LOG,
			(errcode(ERRCODE_SYSTEM_ERROR),
			 errmsg("clocktiming cannot detect migrations of this virtual machine, because it cannot read \"%s\": %s",
					VMCLOCK_DEVICE, clock->why_not),
			 clock->state != VMCLOCK_UNREADABLE ? 0 :
			 errhint("Allow the server's user to read the device; clock_advice() shows a udev rule.")));
}

static void
report_migration(WatchWhat what, TimestampTz since, TimestampTz now, const char *mark,
				 uint64 before, uint64 after)
{
	report_event(what, since, psprintf("%s " UINT64_FORMAT, mark, before),
				 psprintf("%s " UINT64_FORMAT, mark, after), "from " VMCLOCK_DEVICE);
	watch_end_event(what, now);
}

/*
 * Detects migrations.  The event lasts from the previous reading of VMClock, possibly by an earlier
 * worker, to the present one, because the time of the migration within this period is unknown.
 */
void
watch_judge_vmclock(TimestampTz now)
{
	const WatchState *state = &watch_store->state;
	TimestampTz since = vmclock_read_at != 0 ? vmclock_read_at :
		state->until != 0 ? state->until : now;
	VmClockMarks before = state->vmclock;
	VmClockMarks after;
	VmClock		clock;
	Migration	migration;

	vmclock_read(VMCLOCK_DEVICE, &clock);
	complain_of_vmclock(&clock);
	if (clock.state != VMCLOCK_READ)
		return;
	/* after a restart of the machine, the values are others */
	if (strcmp(state->vmclock_boot_id, watch_machine()->boot_id) != 0)
		before.known = false;
	after = vmclock_marks(&clock);
	migration = migration_between(&before, &after);
	watch_put_vmclock(&after);
	vmclock_read_at = now;
	if (migration == MIGRATION_MOVED)
		report_migration(WATCH_MIGRATED, Min(since, now), now, "marker",
						 before.disruption_marker, after.disruption_marker);
	else if (migration == MIGRATION_RESTORED)
		report_migration(WATCH_RESTORED, Min(since, now), now, "generation",
						 before.generation, after.generation);
	judge_announced(clock.announced, now);
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

/*
 * Returns whether not the clock's rate is wrong in an event, but the frequency that the server
 * assumes.
 */
static bool
is_of_frequency(const WatchEvent *event)
{
	return event != NULL && strstr(event->evidence, ASSUMED_FREQUENCY) != NULL;
}

static void
end_rate(const WatchEvent *open, TimestampTz at)
{
	if (!is_of_frequency(open))
	{
		rate_from = open->at;
		rate_to = at;
	}
	watch_end_event(WATCH_RATE, at);
}

/*
 * Begins a rate event if the latest observations agree on a rate beyond the limit, and ends it if
 * they agree on one below half of it.  If the server assumes a wrong frequency of the TSC, its
 * times are wrong, although the rate of the TSC is not; that is an event of its own.
 */
static void
judge_rate(const WatchObservation *observed)
{
	const WatchEvent *open = watch_open_event(WATCH_RATE);
	bool		of_frequency = is_of_frequency(open);
	bool		is_wrong = fabs(observed->rate_ppm) >
		observed->steered_ppm * (open != NULL && !of_frequency ? RATE_ENDS : 1);

	/* false if assumed_ppm is NAN */
	bool		is_assumed = !is_wrong && fabs(observed->assumed_ppm) >
		observed->assumed_limit_ppm * (of_frequency ? RATE_ENDS : 1);

	if (!observed->rate_known)
		return;
	if (!is_wrong && !is_assumed)
		usual_rate_ppm = observed->rate_ppm;
	if (open != NULL)
	{
		if (of_frequency ? is_assumed : is_wrong)
			return;
		end_rate(open, observed->at);
	}
	if (is_wrong)
		report_event(WATCH_RATE, observed->rate_since, psprintf("%+.1f ppm", usual_rate_ppm),
					 psprintf("%+.1f ppm", observed->rate_ppm),
					 psprintf("relative to CLOCK_MONOTONIC_RAW; up to %.0f ppm are normal",
							  observed->steered_ppm));
	else if (is_assumed)
		report_event(WATCH_RATE, observed->rate_since, psprintf("%+.1f ppm", usual_rate_ppm),
					 psprintf("%+.1f ppm", observed->assumed_ppm),
					 psprintf("relative to CLOCK_MONOTONIC_RAW, " ASSUMED_FREQUENCY "; up to %.0f ppm are normal",
							  observed->assumed_limit_ppm));
}

/* Returns whether the open or the latest event of the clock's own rate contains a step. */
static bool
is_of_rate(const WatchStep *step)
{
	const WatchEvent *open = watch_open_event(WATCH_RATE);

	return (open != NULL && !is_of_frequency(open) && step->at >= open->at) ||
		(step->at >= rate_from && step->at <= rate_to);
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
