/*-------------------------------------------------------------------------
 *
 * clock_measure.c
 *	  The SQL functions that measure: clock_measure() and what returns a view
 *	  of one run at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/timestamp.h"

#include "functions/args.h"
#include "functions/clock_measure.h"
#include "functions/clock_throttled.h"
#include "functions/row.h"
#include "functions/sample_views.h"

PG_FUNCTION_INFO_V1(clock_measure);
PG_FUNCTION_INFO_V1(clock_histogram_source);
PG_FUNCTION_INFO_V1(clock_histogram_plot_source);
PG_FUNCTION_INFO_V1(clock_durations_source);
PG_FUNCTION_INFO_V1(clock_summary_source);

/*
 * CLOCK_MONOTONIC is steered by NTP, by up to 500 ppm: less is no finding.
 */
#define RATE_FINDING_PPM	600.0

/*
 * Ticks that a coarse clock may be late: it hangs on a timer interrupt, which
 * a hypervisor can hold up for as long as it lets the CPU wait.
 */
#define COARSE_SLACK		25

typedef struct RunState
{
	SamplerRun	run;
	RunProgress progress;
} RunState;

static void
report_run(void *arg, double elapsed_s)
{
	RunProgress *progress = arg;
	TallyMoments now = tally_moments(progress->run->tally);
	double		tick_ns = 1e9 / progress->run->frequency_hz;
	double		count = (double) (now.count - progress->reported.count);
	double		mean = count > 0 ? (now.sum - progress->reported.sum) / count : 0;
	double		variance = count > 0 ?
		(now.sumsq - progress->reported.sumsq) / count - mean * mean : 0;

	progress_report(&progress->wait.progress, elapsed_s,
					"mean %.2f ns, stddev %.2f ns",
					mean * tick_ns, sqrt(Max(variance, 0)) * tick_ns);
	progress->reported = now;
}

void
run_progress_start(RunProgress *progress, const SamplerRun *run,
				   const char *label, double total_s)
{
	memset(progress, 0, sizeof(*progress));
	progress->run = run;
	wait_start(&progress->wait, label, total_s, report_run, progress);
}

/* What is not reported yet shall be: the rest goes below zero, as it were. */
void
run_progress_clear(RunProgress *progress)
{
	TallyMoments now = tally_moments(progress->run->tally);

	progress->reported.count -= now.count;
	progress->reported.sum -= now.sum;
	progress->reported.sumsq -= now.sumsq;
}

void
run_progress_between_blocks(void *arg, double elapsed_s)
{
	wait_poll(&((RunProgress *) arg)->wait, elapsed_s);
}

static double
slack_ns(const ClockSource *source, double resolution_ns)
{
	return source->kind == CLOCK_COARSE ? COARSE_SLACK * resolution_ns : 0;
}

/* A clock that cannot be trusted is no error, but nobody shall overlook it. */
void
warn_of_sample(const ClockSource *source, const ClockSample *sample,
			   double sampled_s, int64 natural_stall)
{
	double		advance_ppm = (sample->advance_s / sample->duration_s - 1) * 1e6;

	/* a late tick is no wrong rate */
	double		error_ppm = (sample->reference_error_ns +
							 slack_ns(source, sample->resolution_ns)) /
		1e3 / sample->duration_s;
	double		stall_ns = sample->longest_stall *
		(sampled_s * 1e9 - sample->gaps.total_ns) / sample->readings;
	double		step_ns = Max(sample->resolution_ns,
							  sample_ns(sample, sample->granularity_ticks));
	bool		cpu_time = source->kind == CLOCK_CPU_TIME;
	bool		stood_still = !cpu_time && sample->longest_stall > natural_stall &&
		stall_ns > DISAGREEMENT_NS + 2 * step_ns + slack_ns(source, sample->resolution_ns);

	if (sample->backward_steps > 0)
		ereport(WARNING,
				(errmsg("clock source \"%s\" went backwards", sample->source),
				 errdetail("Backward steps: " INT64_FORMAT ", the largest of %.0f ns, in " INT64_FORMAT " readings.",
						   sample->backward_steps,
						   sample_ns(sample, sample->backward_max_ticks),
						   sample->readings)));
	if (sample->warps.count > 0)
		ereport(WARNING,
				(errmsg("clock source \"%s\" jumped ahead of the reference clock", sample->source),
				 errdetail("Warps: " INT64_FORMAT ", the largest of %.0f ns.",
						   sample->warps.count, sample->warps.max_ns)));
	if (stood_still)
		ereport(WARNING,
				(errmsg("clock source \"%s\" stood still", sample->source),
				 errdetail("It gave the same reading up to " INT64_FORMAT " times in a row after the first.",
						   sample->longest_stall)));
	else if (sample->lags.count > 0)
		ereport(WARNING,
				(errmsg("clock source \"%s\" fell behind the reference clock", sample->source),
				 errdetail("Lags: " INT64_FORMAT ", the largest of %.0f ns.",
						   sample->lags.count, sample->lags.max_ns)));
	if (!cpu_time && sample->backward_steps == 0 && sample->warps.count == 0 &&
		sample->lags.count == 0 && !stood_still &&
		fabs(advance_ppm) - error_ppm > RATE_FINDING_PPM)
		ereport(WARNING,
				(errmsg("clock source \"%s\" runs too %s", sample->source,
						advance_ppm > 0 ? "fast" : "slow"),
				 errdetail("Its rate differs from the reference clock's by %.0f parts per million, with an error of at most %.0f.",
						   advance_ppm, error_ppm)));
}

void
prepare_run(SamplerRun *run, const ClockSource *source)
{
	const char *from;

	run->frequency_hz = source->frequency_hz(source, &from);
	run->resolution_ns = source->resolution_ns(source);
	run->slack_ns = slack_ns(source, run->resolution_ns);
	run->cpu_time = source->kind == CLOCK_CPU_TIME;
	run->reader = source->reader;
	if (run->tally == NULL)
		run->tally = palloc(sizeof(Tally));
	tally_init(run->tally);
}

ClockSample *
measure(const ClockSource *source, double duration_s)
{
	RunState   *state = palloc0(sizeof(RunState));
	SamplerRun *run = &state->run;
	ClockSample *sample;
	TimestampTz started_at;

	/* whatever has to be calibrated comes first */
	prepare_run(run, source);
	run->duration_s = duration_s;
	run->between_blocks = run_progress_between_blocks;
	run->arg = &state->progress;
	run_progress_start(&state->progress, run, source->name, duration_s);

	started_at = GetCurrentTimestamp();
	sampler_run(run);

	sample = sample_from_run(run);
	sample->source = source->name;
	sample->clock = source->reads(source);
	sample->started_at = started_at;
	pfree(run->tally);
	pfree(state);
	warn_of_sample(source, sample, sample->duration_s, 0);
	return sample;
}

/* The run that the first two arguments, source and duration, ask for. */
static ClockSample *
measure_by_arguments(FunctionCallInfo fcinfo)
{
	double		duration_s = arg_duration(fcinfo, 1);

	return measure(arg_source(fcinfo, 0), duration_s);
}

Datum
clock_measure(PG_FUNCTION_ARGS)
{
	ThrottledRun throttled;

	if (PG_ARGISNULL(2))
		return return_sample(fcinfo, measure_by_arguments(fcinfo));
	return return_sample(fcinfo, measure_throttled_by_arguments(fcinfo, &throttled));
}

Datum
clock_histogram_source(PG_FUNCTION_ARGS)
{
	return_histogram(fcinfo, measure_by_arguments(fcinfo));
	return (Datum) 0;
}

Datum
clock_histogram_plot_source(PG_FUNCTION_ARGS)
{
	check_not_null(fcinfo, 2, "width");
	check_plot_width(PG_GETARG_INT32(2));
	return_histogram_plot(fcinfo, measure_by_arguments(fcinfo), PG_GETARG_INT32(2));
	return (Datum) 0;
}

Datum
clock_durations_source(PG_FUNCTION_ARGS)
{
	double		cutoff = arg_cutoff(fcinfo, 2);

	return_durations(fcinfo, measure_by_arguments(fcinfo), cutoff);
	return (Datum) 0;
}

Datum
clock_summary_source(PG_FUNCTION_ARGS)
{
	return return_summary(fcinfo, measure_by_arguments(fcinfo));
}
