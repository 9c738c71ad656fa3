/*
 * Observes the watched clock.
 *
 * An observation has three parts.  It reads the clock as a throttled run does after a sleep
 * (sampler_instant()).  It compares the clock with the reference by a bracket, and adds the
 * interval since the previous observation to the search for steps (jumps.h).  And it measures the
 * cost of a reading in a few short batches, of which the fastest one counts, because disturbances
 * only prolong a batch.
 *
 * At the end of an interval, the observations are summarised, and the worker compares the clocks of
 * a few CPUs by moving to them (cpu_hop.h).
 */
#include "postgres.h"

#include <math.h>

#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "clock/measure/clock_run.h"
#include "clock/measure/instr_clock.h"
#include "clock/sampling/jumps.h"
#include "clock/watch/watch_bound.h"
#include "clock/watch/watch_observe.h"
#include "compat.h"
#include "core/cpu_usage.h"
#include "core/stats.h"
#include "core/tsc.h"
#include "server/platform.h"

/*
 * An observation measures the cost of a reading in up to BATCHES batches.  It begins no batch after
 * COST_NS.  A batch has LEAST_BATCH to MOST_BATCH readings, and takes about BATCH_NS.
 */
#define BRACKETS		4
#define BATCHES			8
#define COST_NS			100000.0
#define BATCH_NS		8000.0
#define LEAST_BATCH		4
#define MOST_BATCH		1024

/* Maximum number of brackets per comparison with the reference clock; width in ns that suffices. */
#define PAIR_TRIES		5
#define PAIR_NS			200

/* The rate is known if the latest RATE_OBSERVATIONS rates differ by less than RATE_AGREES_PPM. */
#define RATE_OBSERVATIONS		4
#define RATE_AGREES_PPM	150.0

/*
 * Largest rates that are no event: of the system clock, which NTP steers, and of times that the
 * server computes from the TSC; and of a counter.
 */
#define STEERED_PPM		600.0
#define COUNTER_PPM		100.0

/* Number of observations whose times are kept, because jumps_add() finds steps with a delay. */
#define PAST_OBSERVATIONS		32

/* Number of comparisons of CPUs' clocks per interval, and smallest reported difference in ns. */
#define HOPS			4
#define SKEW_NS			100.0

typedef struct Watching
{
	const ClockSource *source;	/* the watched clock */
	const char *reads;			/* instruction or call that reads it */
	SamplerRun	sampler;
	Jumps		jumps;
	int64		number;			/* number of observations so far */
	TimestampTz observed_at[PAST_OBSERVATIONS]; /* ring buffer, by number */
	WatchStep	warp;			/* latest warp, if not reported yet */
	WatchStep	lag;			/* latest lag, if not reported yet */
	int64		step_number;	/* number of the first observation after the
								 * step found just now; 0: none found */
	unsigned int hop;			/* argument "turn" of cpu_hop() */
	ReferencePair last;			/* previous observation */
	double		warm_ns;		/* latest cost of a reading */
	double		past_bracket_ns;	/* bracket_ns of the previous interval */
	double		rates[RATE_OBSERVATIONS];	/* in ppm, latest first */
	int			nrates;
	SystemCpuTime cpu_time;		/* at the end of the previous interval */
	double		suspended_s;	/* total at the end of the previous interval */

	/* the current interval */
	double		watched_ns;		/* duration so far */
	TimestampTz began_at;
	double		cold_ns;		/* shortest first reading after a sleep */
	double		bracket_ns;		/* shortest time between two readings of the
								 * reference clock */
	double		least_ns;		/* lowest cost of a reading in a loop */
	double		interval_rates[WATCH_OBSERVATIONS * 2]; /* in ppm */
	int			ninterval_rates;
	double		wall_ns;		/* duration of the observations */
	double		cpu_ns;			/* CPU time of the observations */
	int64		backward_steps; /* total at the previous observation */
	int64		warps;			/* total before this interval */
	int64		lags;
} Watching;

int			watch_interval_ms;

static Watching watching;

static const ClockSource *
source_in_use(void)
{
	return clock_source_find(clock_source_for_explain());
}

void
watch_find_machine(WatchMachine *machine)
{
	TscCpuid	id = tsc_cpuid_now();
	char		kernel_source[KERNEL_CLOCK_SIZE];

	memset(machine, 0, sizeof(*machine));
	(void) system_boot_id(machine->boot_id);
	(void) kernel_clock_source(kernel_source);
	strlcpy(machine->kernel_source, kernel_source, sizeof(machine->kernel_source));
	strlcpy(machine->processor, id.brand, sizeof(machine->processor));
	if (id.readable)
		strlcpy(machine->hypervisor,
				!id.hypervisor ? "none" : id.hypervisor_name[0] ? id.hypervisor_name : "yes",
				sizeof(machine->hypervisor));
	machine->cpus = platform_cpus_online();
	strlcpy(machine->source, source_in_use()->name, sizeof(machine->source));
	strlcpy(machine->reads, clock_source_reads(source_in_use()), sizeof(machine->reads));
}

/* Callback of jumps_add(): remembers that the clock had a step between two observations. */
static void
found_step(void *arg, const JumpsInterval *interval, double size_ns, double bound_ns)
{
	WatchStep  *step = size_ns > 0 ? &watching.warp : &watching.lag;

	(void) arg;
	(void) bound_ns;
	if (!step->seen)
		step->at = watching.observed_at[interval->number % PAST_OBSERVATIONS];
	step->seen = true;
	watching.step_number = interval->number;
}

/* Moves a step to *report, unless jumps_add() has just found or prolonged it. */
static void
report_step(WatchStep *step, bool ahead, WatchStep *report)
{
	const Jumps *jumps = &watching.jumps;

	if (!step->seen)
		return;
	if (watching.step_number > 0 && jumps->event_number == watching.step_number &&
		(jumps->event_ns > 0) == ahead)
	{
		step->ns = fabs(jumps->event_ns);
		return;
	}
	/* the size is 0 if a backward step explains the lag */
	if (step->ns > 0)
		*report = *step;
	memset(step, 0, sizeof(*step));
}

static void
begin_interval(void)
{
	watching.watched_ns = 0;
	watching.began_at = GetCurrentTimestamp();
	watching.ninterval_rates = 0;
	watching.past_bracket_ns = watching.bracket_ns;
	watching.cold_ns = watching.least_ns = watching.bracket_ns = NAN;
	watching.wall_ns = watching.cpu_ns = 0;
	watching.backward_steps = 0;
	watching.warps = watching.jumps.warps.count;
	watching.lags = watching.jumps.lags.count;
	sampler_clear(&watching.sampler);
}

void
watch_start(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	Tally	   *tally = watching.sampler.tally;

	memset(&watching, 0, sizeof(watching));
	watching.sampler.tally = tally;
	watching.bracket_ns = NAN;
	watching.source = source_in_use();
	watching.reads = clock_source_reads(watching.source);
	prepare_sampler(&watching.sampler, watching.source);
	prepare_stopwatch(&watching.sampler);
	watching.jumps.found = found_step;
	watching.cpu_time = system_cpu_time();
	watching.suspended_s = system_suspended_s();
	(void) watch_bound_ppm(watching.source, watching.sampler.frequency_hz);
	sampler_begin(&watching.sampler);
	begin_interval();
	MemoryContextSwitchTo(old);
}

void
watch_move_times(int64 set_us)
{
	watching.began_at += set_us;
	watching.warp.at += set_us;
	watching.lag.at += set_us;
	for (int i = 0; i < PAST_OBSERVATIONS; i++)
		watching.observed_at[i] += set_us;
}

bool
watch_is_outdated(void)
{
	return watching.source != source_in_use() ||
		strcmp(watching.reads, clock_source_reads(watching.source)) != 0;
}

/*
 * Measures the shortest time between two readings of the reference clock, and returns the shortest
 * one since the previous interval began; NAN at the first observation.  On some virtual machines,
 * system calls take a hundred times as long as usual for a while.  If this is so during one
 * observation, its own time would be subtracted from batches that are not slowed down, and the
 * clock would seem to cost nothing.
 */
static double
bracket_ns(void)
{
	double		before = fmin(watching.past_bracket_ns, watching.bracket_ns);

	for (int i = 0; i < BRACKETS; i++)
	{
		uint64		start = reference_ns();

		watching.bracket_ns = fmin(watching.bracket_ns, (double) (reference_ns() - start));
	}
	return isnan(before) ? NAN : fmin(before, watching.bracket_ns);
}

/* Measures the cost of a reading in a loop: sets warm_ns and least_ns. */
static void
cost_of_reading(void)
{
	double		bracket = bracket_ns();
	uint64		began = reference_ns();

	if (isnan(bracket))
		return;
	for (int i = 0; i < BATCHES && (double) (reference_ns() - began) < COST_NS; i++)
	{
		int			n = watching.warm_ns > 0 ?
			(int) Max(Min(BATCH_NS / watching.warm_ns, MOST_BATCH), LEAST_BATCH) : LEAST_BATCH;
		uint64		start = reference_ns();
		double		ns;

		(void) watching.source->reader->repeat(n);
		ns = Max(((double) (reference_ns() - start) - bracket) / n, 0.01);
		/* the first batch is slowed down by cold caches */
		if (i > 0)
			watching.least_ns = fmin(watching.least_ns, ns);
		watching.warm_ns = i == 0 ? ns : Min(watching.warm_ns, ns);
	}
}

/*
 * Returns the rate of the times that the server computes from the TSC by the frequency that it
 * assumes, if the watched clock is the TSC and has this rate by the frequency that we have
 * measured; else NAN.
 */
static double
assumed_ppm(double rate_ppm)
{
	double		server_hz = server_tsc_hz();

	return server_hz > 0 && clock_source_is_instruction(watching.source) ?
		((1 + rate_ppm / 1e6) * watching.sampler.frequency_hz / server_hz - 1) * 1e6 : NAN;
}

static void
set_rate(WatchObservation *observed)
{
	double		sorted[RATE_OBSERVATIONS];

	observed->assumed_limit_ppm = STEERED_PPM;
	observed->steered_ppm = clock_source_is_instruction(watching.source) ? COUNTER_PPM :
		STEERED_PPM;
	if (watching.nrates < RATE_OBSERVATIONS)
		return;
	memcpy(sorted, watching.rates, sizeof(sorted));
	observed->rate_ppm = stats_median(sorted, RATE_OBSERVATIONS);
	observed->assumed_ppm = assumed_ppm(observed->rate_ppm);
	observed->rate_known = sorted[RATE_OBSERVATIONS - 1] - sorted[0] < RATE_AGREES_PPM;
	observed->rate_since =
		watching.observed_at[(watching.number - RATE_OBSERVATIONS) % PAST_OBSERVATIONS];
}

/* Compares the advance of the clock since the previous observation with the reference clock's. */
static void
compare_with_reference(double tick_ns, WatchObservation *observed)
{
	ReferencePair pair = reference_pair(reference_ns, watching.source->reader->read,
										PAIR_TRIES, PAIR_NS, NULL, NULL);
	const Tally *tally = watching.sampler.tally;
	int64		backward = (int64) tally->backward_steps - watching.backward_steps;
	double		backward_ns = (double) tally->backward_max * tick_ns;

	watching.observed_at[watching.number % PAST_OBSERVATIONS] = observed->at;
	if (watching.number > 0)
	{
		double		advance_ns = (double) (int64) (pair.reading - watching.last.reading) * tick_ns;
		double		passed_ns = (double) (int64) (pair.reference_ns - watching.last.reference_ns);
		JumpsInterval interval = {
			.number = watching.number,
			.passed_ns = passed_ns,
			.lead_ns = advance_ns - passed_ns,
			.doubt_ns = (pair.width_ns + watching.last.width_ns) / 2.0 +
			watching.sampler.resolution_ns,
			.backward_ns = (double) backward * backward_ns
		};

		/* backward_max is less than the step: time passed between readings */
		if (-interval.lead_ns > backward_ns)
			backward_ns = -interval.lead_ns;
		/* omits time beyond one interval: the process was stopped then */
		watching.watched_ns += Min(passed_ns, watch_interval_ms * 1e6);
		if (interval.passed_ns > 0)
		{
			double		rate_ppm = interval.lead_ns / interval.passed_ns * 1e6;

			memmove(&watching.rates[1], &watching.rates[0],
					sizeof(double) * (RATE_OBSERVATIONS - 1));
			watching.rates[0] = rate_ppm;
			watching.nrates = Min(watching.nrates + 1, RATE_OBSERVATIONS);
			if (watching.ninterval_rates < (int) lengthof(watching.interval_rates))
				watching.interval_rates[watching.ninterval_rates++] = rate_ppm;
			watching.step_number = 0;
			jumps_add(&watching.jumps, &interval);
			report_step(&watching.warp, true, &observed->warp);
			report_step(&watching.lag, false, &observed->lag);
		}
		set_rate(observed);
	}
	if (backward > 0)
	{
		observed->backward.seen = true;
		observed->backward.at = observed->at;
		observed->backward.ns = backward_ns;
	}
	watching.backward_steps = (int64) tally->backward_steps;
	watching.last = pair;
	watching.number++;
}

void
watch_observe(WatchObservation *observed)
{
	uint64		start = reference_ns();
	double		cpu_ns = cpu_time_ns();
	SamplerInstant instant;

	memset(observed, 0, sizeof(*observed));
	observed->at = GetCurrentTimestamp();
	sampler_instant(&watching.sampler, &instant);
	watching.cold_ns = fmin(watching.cold_ns, instant.first_ns);
	compare_with_reference(1e9 / watching.sampler.frequency_hz, observed);
	cost_of_reading();
	watching.cpu_ns += cpu_time_ns() - cpu_ns;
	watching.wall_ns += (double) (reference_ns() - start);
}

/* Compares clocks of CPUs.  Measures a difference twice, because a step could cause the first. */
static void
compare_other_cpus(WatchFindings *found)
{
	double		tick_ns = 1e9 / watching.sampler.frequency_hz;
	CpuHop		hop;

	while (found->hops < HOPS && cpu_hop(watching.hop, watching.source->reader->read, &hop))
	{
		double		ns = (double) hop.proven * tick_ns;

		if (fabs(ns) > SKEW_NS && cpu_hop(watching.hop, watching.source->reader->read, &hop))
		{
			double		again = (double) hop.proven * tick_ns;

			if (fabs(again) > SKEW_NS && fabs(again) > fabs(found->skew_ns))
			{
				found->skewed = hop;
				found->skew_ns = again;
			}
		}
		found->cpus = hop.cpus;
		found->hops++;
		watching.hop++;
		if (found->hops >= hop.cpus - 1)
			break;
	}
}

static double
stolen_percent(void)
{
	SystemCpuTime now = system_cpu_time();
	double		all = now.all - watching.cpu_time.all;
	double		stolen = now.stolen - watching.cpu_time.stolen;

	watching.cpu_time = now;
	return all > 0 ? Max(Min(stolen / all, 1), 0) * 100 : NAN;
}

/*
 * Fills a row from the observations and from the kernel's counters, compares the clocks of some
 * CPUs, and begins the next interval.  The rate is the median of the observations' rates, because a
 * step changes one or two of them only.
 */
void
watch_end_interval(WatchRow *row, WatchFindings *found)
{
	const Tally *tally = watching.sampler.tally;
	TallyEntry *entries = palloc(sizeof(TallyEntry) * (tally_distinct(tally) + 1));
	SystemSync	sync = system_sync();
	double		suspended_s = system_suspended_s();
	double		server_hz = server_tsc_hz();

	memset(row, 0, sizeof(*row));
	row->at = watching.began_at;
	row->intervals = 1;
	row->watched_s = watching.watched_ns / 1e9;
	row->cold_ns = watching.cold_ns;
	row->warm_ns = watching.least_ns;
	row->rate_ppm = clock_source_is_reference(watching.source) ? NAN :
		stats_median(watching.interval_rates, watching.ninterval_rates);
	row->assumed_ppm = assumed_ppm(row->rate_ppm);
	row->error_bound_ppm = watch_bound_ppm(watching.source, server_hz > 0 ? server_hz :
										   watching.sampler.frequency_hz);
	row->stolen_percent = stolen_percent();
	row->off_cpu_percent = watching.wall_ns > 0 ?
		Max(1 - watching.cpu_ns / watching.wall_ns, 0) * 100 : NAN;
	row->sync_known = sync.known;
	row->synchronised = sync.synchronised;
	row->offset_us = sync.offset_us;
	row->max_error_us = sync.max_error_us;
	row->frequency_ppm = sync.frequency_ppm;
	row->backward_steps = (int32) tally->backward_steps;
	row->warps = (int32) (watching.jumps.warps.count - watching.warps);
	row->lags = (int32) (watching.jumps.lags.count - watching.lags);
	row->gaps = (int32) watching.sampler.gaps.count;
	row->frequency_hz = watching.sampler.frequency_hz;
	row->resolution_ns = watching.sampler.resolution_ns;
	row->longest_stall = (int32) Min(tally->longest_stall, PG_INT32_MAX);
	watch_add_durations(row, entries, tally_export(tally, entries));
	pfree(entries);

	memset(found, 0, sizeof(*found));
	found->ended_at = GetCurrentTimestamp();
	found->suspended_s = suspended_s - watching.suspended_s;
	watching.suspended_s = suspended_s;
	compare_other_cpus(found);
	row->skew_ns = found->hops > 0 ? fabs(found->skew_ns) : NAN;
	begin_interval();
}
