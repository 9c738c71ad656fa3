/*
 * A run with a rate reads the clock at random instants.  The times between instants have an
 * exponential distribution, so that the instants are independent of periodic work of the server.
 * An instant is due at the sum of all such times before it, so a delay does not postpone later
 * instants.  An instant that is overdue when the previous one ends follows without a sleep.  Its
 * first reading then finds warm CPU caches.
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "clock/measure/clock_run.h"
#include "clock/measure/reading_cost.h"
#include "compat.h"
#include "core/cpu_usage.h"
#include "core/random.h"
#include "core/timing_counter.h"

/* Smallest deviation of the rate, in ppm, that is reported.  NTP steers by up to 500 ppm. */
#define RATE_FINDING_PPM	600.0

/* Time in s for measuring the cost of a reading after the run. */
#define COST_DURATION_S		0.02

/*
 * A run warns if it reached less than this fraction of the scheduled instants.  The other 5 % are
 * for pauses of the process: with half of them, a busy machine causes more warnings.
 */
#define REACHED				0.95

/* Instants that a pause delayed by more than this time, in s, are skipped. */
#define LATE_AFTER_PAUSE_S	0.01

/* Longest stall of a working clock in a run at random instants: all durations of two instants. */
#define NATURAL_STALL		(2 * INSTANT_DURATIONS)

static void
warn_of_events(const ClockSample *sample, const char *message, const char *kind,
			   const Events *events)
{
	if (events->count > 0)
		ereport(WARNING,
				(errmsg(message, sample->source),
				 errdetail("%s: %lld, the largest of %.0f ns.",
						   kind, (long long) events->count, events->max_ns)));
}

/* Warns of faults of the clock.  They are results of the run, so they raise no error. */
static void
warn_of_clock(const ClockRun *run, const ClockSample *sample)
{
	double		slack = run->sampler.slack_ns;
	double		advance_ppm = (sample->advance_s / sample->duration_s - 1) * 1e6;

	/* a late tick of a coarse clock is not an error of its rate */
	double		bound_ppm = (sample->reference_bound_ns + slack) / 1e3 / sample->duration_s;
	double		stall_ns = sample->longest_stall *
		(run->reading_s * 1e9 - sample->gaps.total_ns) / sample->readings;
	double		step_ns = Max(sample->resolution_ns,
							  sample_ns(sample, sample->granularity_ticks));
	bool		cpu_time = run->source->kind == CLOCK_CPU_TIME;
	bool		stood_still = !cpu_time &&
		sample->longest_stall > (run->rate > 0 ? NATURAL_STALL : 0) &&
		stall_ns > DISAGREEMENT_NS + 2 * step_ns + slack;

	if (sample->backward_steps > 0)
		ereport(WARNING,
				(errmsg("clock source \"%s\" went backwards", sample->source),
				 errdetail("Backward steps: %lld, the largest of %.0f ns, in %lld readings.",
						   (long long) sample->backward_steps,
						   sample_ns(sample, sample->backward_max_ticks),
						   (long long) sample->readings)));
	warn_of_events(sample, "clock source \"%s\" jumped ahead of the reference clock",
				   "Warps", &sample->warps);
	if (stood_still)
		ereport(WARNING,
				(errmsg("clock source \"%s\" stood still", sample->source),
				 errdetail("Up to %lld readings in a row were equal to the previous reading.",
						   (long long) sample->longest_stall)));
	else
		warn_of_events(sample, "clock source \"%s\" fell behind the reference clock",
					   "Lags", &sample->lags);
	if (!cpu_time && sample->backward_steps == 0 && sample->warps.count == 0 &&
		sample->lags.count == 0 && !stood_still &&
		fabs(advance_ppm) - bound_ppm > RATE_FINDING_PPM)
		ereport(WARNING,
				(advance_ppm > 0 ? errmsg("clock source \"%s\" runs too fast", sample->source) :
				 errmsg("clock source \"%s\" runs too slow", sample->source),
				 errdetail("Its rate differs from the reference clock's by %.0f parts per million, with an error of at most %.0f.",
						   advance_ppm, bound_ppm)));
}

static void
warn_of_rate(const ClockRun *run)
{
	double		elapsed_s = run->wait.progress.total_s;
	double		instants = (double) run->all_instants;
	double		missing = (elapsed_s - run->due_s) * run->rate;

	if (instants == 0)
		ereport(WARNING,
				(errmsg("no reading of clock source \"%s\" was due", run->source->name),
				 errdetail("The duration is %g seconds, the rate %g a second.",
						   elapsed_s, run->rate),
				 errhint("Choose a longer duration or a higher rate.")));
	else if (missing > 0 && instants < REACHED * (instants + missing))
		ereport(WARNING,
				(errmsg("the rate of %g a second could not be reached", run->rate),
				 errdetail("Clock source \"%s\" was read at %.0f instants a second.",
						   run->source->name, instants / elapsed_s)));
}

static void
report_run(void *arg, double elapsed_s)
{
	ClockRun   *run = arg;
	TallyMoments now = tally_moments(run->sampler.tally);
	double		tick_ns = 1e9 / run->sampler.frequency_hz;
	double		count = (double) (now.count - run->reported.count);
	double		mean = count > 0 ? (now.sum - run->reported.sum) / count : 0;
	double		variance = count > 0 ?
		(now.sumsq - run->reported.sumsq) / count - mean * mean : 0;

	progress_report(&run->wait.progress, elapsed_s, "mean %.2f ns, stddev %.2f ns",
					mean * tick_ns, sqrt(Max(variance, 0)) * tick_ns);
	run->reported = now;
}

static void
between_blocks(void *arg, double elapsed_s)
{
	wait_poll(&((ClockRun *) arg)->wait, elapsed_s);
}

void
prepare_sampler(SamplerRun *run, const ClockSource *source)
{
	run->frequency_hz = clock_source_hz(source, NULL);
	run->resolution_ns = clock_source_resolution_ns(source);
	run->slack_ns = clock_source_slack_ns(source);
	run->cpu_time = source->kind == CLOCK_CPU_TIME;
	run->reader = source->reader;
	if (run->tally == NULL)
		run->tally = palloc(sizeof(Tally));
	tally_init(run->tally);
}

/*
 * Selects the clock that times readings after sleeps.  Prefers the processor's counter: reading it
 * needs no data from the CPU caches, which are cold after a sleep.
 */
void
prepare_stopwatch(SamplerRun *run)
{
	const ClockSource *counter = clock_source_find(TIMING_COUNTER_ORDERED);
	bool		by_counter = clock_source_why_not(counter) == NULL;

	run->stopwatch = by_counter ? counter->reader->read : reference_ns;
	run->stopwatch_hz = by_counter ? clock_source_hz(counter, NULL) : 1e9;
}

static void
clear_instants(ClockRun *run)
{
	tally_init(run->cold);
	tally_init(run->late);
	run->instants = 0;
}

static void
next_instant(ClockRun *run)
{
	run->due_s += random_exponential(&run->random) / run->rate;
}

/*
 * Reads the source's frequency and selects the stopwatch first, because either may calibrate a
 * counter for 50 ms, which is not part of the run.
 */
ClockRun *
clock_run_begin(const ClockSource *source, double rate, double duration_s)
{
	ClockRun   *run = palloc0(sizeof(ClockRun));

	run->source = source;
	run->clock = clock_source_reads(source);
	run->rate = rate;
	/* calibrates before the run begins */
	prepare_sampler(&run->sampler, source);
	if (rate > 0)
		prepare_stopwatch(&run->sampler);
	run->sampler.between_blocks = between_blocks;
	run->sampler.arg = run;

	wait_start(&run->wait, source->name, duration_s, report_run, run);
	run->started_at = GetCurrentTimestamp();
	sampler_begin(&run->sampler);
	run->wait.progress.start_ns = run->sampler.start.reference_ns;
	if (rate > 0)
	{
		/* discards durations and events from before the first instant */
		sampler_clear(&run->sampler);
		run->cold = palloc(sizeof(Tally));
		run->late = palloc(sizeof(Tally));
		clear_instants(run);
		run->random = pg_prng_uint64(&pg_global_prng_state) | 1;
		next_instant(run);
	}
	return run;
}

static void
take_instant(ClockRun *run, bool slept)
{
	SamplerInstant instant;
	double		late_ns;

	sampler_instant(&run->sampler, &instant);
	late_ns = (double) (int64) (instant.at_ns - run->wait.progress.start_ns) - run->due_s * 1e9;
	/* late_ns may be slightly negative because of rounding */
	tally_add(run->late, (uint64) Max(rint(late_ns), 0), 1);
	if (slept)
		tally_add(run->cold, (uint64) rint(instant.first_ns), 1);
	run->reading_s += instant.all_ns / 1e9;
	run->instants++;
	run->all_instants++;
}

static void
take_instants_until(ClockRun *run, double until_s)
{
	for (;;)
	{
		bool		slept = wait_until(&run->wait, Min(run->due_s, until_s));

		/* after a sleep, reads the clock even if the sleep was too long */
		if (run->due_s >= until_s ||
			(!slept && progress_elapsed_s(&run->wait.progress) >= until_s))
			break;
		take_instant(run, slept);
		next_instant(run);
	}
}

void
clock_run_until(ClockRun *run, double until_s)
{
	double		begin_s = sampler_elapsed(&run->sampler);
	double		cpu_ns = cpu_time_ns();
	double		sampled_s;

	if (run->rate > 0)
	{
		take_instants_until(run, until_s);
		sampled_s = progress_elapsed_s(&run->wait.progress) - begin_s;
	}
	else
	{
		sampler_until(&run->sampler, until_s);
		sampled_s = sampler_elapsed(&run->sampler) - begin_s;
		run->reading_s += sampled_s;
	}
	run->sampled_s += sampled_s;
	run->cpu_ns += cpu_time_ns() - cpu_ns;
}

/* Raises an error if a setting has changed the clock since the beginning of the run. */
static void
check_same_clock(const ClockRun *run)
{
	const ClockSource *source = run->source;

	if (clock_source_why_not(source) != NULL || strcmp(clock_source_reads(source), run->clock) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("clock source \"%s\" was changed while it was measured", source->name),
				 errdetail("It read %s in the beginning.", run->clock)));
}

/* Clears the tallies, but keeps unreported durations for the next progress report. */
static void
clear_interval(ClockRun *run)
{
	TallyMoments now = tally_moments(run->sampler.tally);

	run->reported.count -= now.count;
	run->reported.sum -= now.sum;
	run->reported.sumsq -= now.sumsq;
	sampler_clear(&run->sampler);
	if (run->rate > 0)
		clear_instants(run);
}

/*
 * Clears the tallies and samples the clock for what is left of the interval.  After a pause, the
 * time without samples is neither a duration nor a gap, and instants that were due during the pause
 * are skipped.
 */
ClockSample *
clock_run_interval(ClockRun *run, double until_s)
{
	ClockSample *sample;

	check_same_clock(run);
	clear_interval(run);
	if (progress_elapsed_s(&run->wait.progress) < until_s)
	{
		double		now_s = progress_elapsed_s(&run->wait.progress);

		sampler_resume(&run->sampler);

		/*
		 * skips instants that were due during a pause; the time from now to
		 * the next one is distributed as that between any two
		 */
		if (run->rate > 0 && run->due_s < now_s - LATE_AFTER_PAUSE_S)
		{
			run->due_s = now_s;
			next_instant(run);
		}
		clock_run_until(run, until_s);
	}
	sample = sample_from_run(&run->sampler);
	sample_add_findings(&run->total, sample);
	run->intervals++;
	return sample;
}

/*
 * Reads both clocks for the last time, and warns of the clock's faults.  The sample of a run with
 * intervals has no durations, because each interval has cleared them, but the sums of all findings.
 */
ClockSample *
clock_run_end(ClockRun *run)
{
	ClockSample *sample;

	if (run->intervals > 0)
	{
		check_same_clock(run);
		clear_interval(run);
		sampler_resume(&run->sampler);
	}
	sampler_end(&run->sampler);
	sample = sample_from_run(&run->sampler);
	sample->source = run->source->name;
	sample->clock = run->clock;
	sample->started_at = run->started_at;
	sample_add_findings(sample, &run->total);
	pfree(run->sampler.tally);
	run->sampler.tally = NULL;
	warn_of_clock(run, sample);
	if (run->rate > 0)
		warn_of_rate(run);
	return sample;
}

ClockSample *
clock_run(const ClockSource *source, double rate, double duration_s)
{
	ClockRun   *run = clock_run_begin(source, rate, duration_s);
	ClockSample *sample;
	ReadingCost cost;

	clock_run_until(run, duration_s);
	sample = clock_run_end(run);
	cost = reading_cost(source, COST_DURATION_S);

	/* on a busy machine, a short measurement may yield a negative cost */
	if (cost.ns >= 0)
	{
		sample->cost_ns = cost.ns;
		sample->cost_margin_ns = cost.margin_ns;
	}
	return sample;
}
