/*-------------------------------------------------------------------------
 *
 * clock_timeline.c
 *	  The course of a clock in time: clock_timeline(), a row an interval.
 *
 * Rows are returned one at a time, so that a caller who takes them one at a
 * time (a cursor, or the function in the target list) has each of them when
 * its interval ends.  Between two calls nothing is held but memory of the
 * query, since a caller may never come back.
 *
 * Time goes on between two calls.  Edges of intervals remain where they are:
 * multiples of "every" from the start.  An interval is sampled in that part of
 * it in which the function was running, which is what "sampled_s" tells, and
 * one that has passed by the time of the call has no readings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"

#include "core/reference.h"
#include "functions/args.h"
#include "functions/clock_measure.h"
#include "functions/clock_throttled.h"
#include "functions/row.h"

PG_FUNCTION_INFO_V1(clock_timeline);

typedef struct Timeline
{
	const ClockSource *source;
	const char *clock;			/* what the source reads, in this run */
	double		every_s;
	int64		intervals;
	int64		done;			/* intervals of which a row was returned */
	SamplerRun	run;
	RunProgress progress;
	bool		is_throttled;
	ThrottledRun throttled;

	/* of the whole run, for what there is to warn of */
	ClockSample total;
	int64		instants;
	double		sampled_s;
} Timeline;

/* What one interval has given. */
typedef struct IntervalFigures
{
	double		sampled_s;
	double		cpu_s;
	double		mean_ns;		/* NAN if there are no durations, ... */
	double		stddev_ns;		/* ... or not two of them */
	double		p50_ns;
	double		p99_ns;
	double		max_ns;
	int64		readings;
} IntervalFigures;

static Timeline *
timeline_begin(FunctionCallInfo fcinfo)
{
	Timeline   *timeline = palloc0(sizeof(Timeline));
	SamplerRun *run = &timeline->run;
	double		duration_s = arg_duration(fcinfo, 1);
	double		rate = 0;

	timeline->every_s = arg_every(fcinfo, 2, duration_s);
	timeline->is_throttled = !PG_ARGISNULL(3);
	if (timeline->is_throttled)
		rate = arg_rate(fcinfo, 3);
	timeline->source = arg_source(fcinfo, 0);

	/* 0.3 / 0.1 is a little less than 3 */
	timeline->intervals = (int64) floor(duration_s / timeline->every_s * (1 + 1e-12));
	prepare_run(run, timeline->source);
	timeline->clock = timeline->source->reads(timeline->source);
	run_progress_start(&timeline->progress, run, timeline->source->name,
					   (double) timeline->intervals * timeline->every_s);
	if (timeline->is_throttled)
		throttled_prepare(&timeline->throttled, run, &timeline->progress, rate);
	else
	{
		run->between_blocks = run_progress_between_blocks;
		run->arg = &timeline->progress;
	}

	/* the set-up is in no interval, nor is what was found in it */
	sampler_begin(run);
	sampler_clear(run);
	if (timeline->is_throttled)
		throttled_begin(&timeline->throttled);
	return timeline;
}

/*
 * The server's clock can be changed between two calls.  Readings of two clocks
 * have nothing in common, not even the unit.
 */
static void
check_same_clock(const Timeline *timeline)
{
	if (timeline->source->why_not(timeline->source) != NULL ||
		strcmp(timeline->source->reads(timeline->source), timeline->clock) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("clock source \"%s\" was changed while it was measured",
						timeline->source->name),
				 errdetail("It read %s in the beginning.", timeline->clock)));
}

static double
now_s(const Timeline *timeline)
{
	return (double) (int64) (reference_ns() - timeline->run.start.reference_ns) / 1e9;
}

static void
add_events(Events *into, const Events *from)
{
	into->count += from->count;
	into->total_ns += from->total_ns;
	into->max_ns = Max(into->max_ns, from->max_ns);
}

static void
add_to_total(Timeline *timeline, const IntervalFigures *interval)
{
	const SamplerRun *run = &timeline->run;
	ClockSample *total = &timeline->total;

	add_events(&total->warps, &run->warps);
	add_events(&total->lags, &run->lags);
	add_events(&total->gaps, &run->gaps);
	total->readings += interval->readings;
	total->backward_steps += (int64) run->tally->backward_steps;
	total->backward_max_ticks = Max(total->backward_max_ticks,
									(int64) run->tally->backward_max);
	total->longest_stall = Max(total->longest_stall,
							   (int64) run->tally->longest_stall);
	timeline->sampled_s += interval->sampled_s;
	timeline->instants += timeline->throttled.instants;
}

/* Samples until the edge, unless that has passed already. */
static IntervalFigures
sample_interval(Timeline *timeline, double edge_s)
{
	SamplerRun *run = &timeline->run;
	Tally	   *tally = run->tally;
	IntervalFigures interval = {0};
	TallyEntry *entries;
	int			n;
	TallyMoments moments;
	double		tick_ns = 1e9 / run->frequency_hz;
	double		squares = 0;

	run_progress_clear(&timeline->progress);
	sampler_clear(run);
	if (timeline->is_throttled)
		throttled_clear(&timeline->throttled);
	if (now_s(timeline) < edge_s)
	{
		double		begin_s;

		sampler_resume(run);
		begin_s = sampler_elapsed(run);
		interval.cpu_s = cpu_time_s();
		if (timeline->is_throttled)
		{
			throttled_resume(&timeline->throttled);
			throttled_until(&timeline->throttled, edge_s);
			interval.sampled_s = now_s(timeline) - begin_s;
		}
		else
		{
			sampler_until(run, edge_s);
			interval.sampled_s = sampler_elapsed(run) - begin_s;
		}
		interval.cpu_s = cpu_time_s() - interval.cpu_s;
	}

	entries = palloc(sizeof(TallyEntry) * (tally_distinct(tally) + 1));
	n = tally_export(tally, entries);
	moments = tally_moments(tally);
	interval.readings = (int64) (moments.count + tally->backward_steps);
	interval.mean_ns = interval.stddev_ns = NAN;
	interval.p50_ns = interval.p99_ns = interval.max_ns = NAN;
	if (moments.count > 0)
	{
		double		mean = moments.sum / (double) moments.count;

		for (int i = 0; i < n; i++)
		{
			double		deviation = (double) entries[i].ticks - mean;

			squares += (double) entries[i].count * deviation * deviation;
		}
		interval.mean_ns = mean * tick_ns;
		if (moments.count > 1)
			interval.stddev_ns = sqrt(squares / (double) (moments.count - 1)) * tick_ns;
		interval.p50_ns = (double) tally_quantile(entries, n, moments.count, 0.5) * tick_ns;
		interval.p99_ns = (double) tally_quantile(entries, n, moments.count, 0.99) * tick_ns;
		interval.max_ns = (double) entries[n - 1].ticks * tick_ns;
	}
	pfree(entries);
	add_to_total(timeline, &interval);
	return interval;
}

/* A line that says what the row does, where rows are seen at the end only. */
static void
report_interval(Timeline *timeline, const IntervalFigures *interval, double edge_s)
{
	const SamplerRun *run = &timeline->run;

	if (!progress_due(&timeline->progress.wait.progress, edge_s))
		return;
	if (isnan(interval->mean_ns))
		progress_report(&timeline->progress.wait.progress, edge_s, "no readings");
	else
		progress_report(&timeline->progress.wait.progress, edge_s,
						INT64_FORMAT " readings, mean %.2f ns, stddev %.2f ns, p50 %.2f ns, p99 %.2f ns, max %.2f ns, " INT64_FORMAT " gaps, %.3f ms lost, " INT64_FORMAT " backward steps",
						interval->readings, interval->mean_ns,
						isnan(interval->stddev_ns) ? 0 : interval->stddev_ns,
						interval->p50_ns, interval->p99_ns, interval->max_ns,
						run->gaps.count, run->gaps.total_ns / 1e6,
						(int64) run->tally->backward_steps);
	timeline->progress.reported = tally_moments(run->tally);
}

static double
mean_of(const Tally *tally)
{
	TallyMoments moments = tally_moments(tally);

	return moments.count > 0 ? moments.sum / (double) moments.count : NAN;
}

static Datum
timeline_row(FunctionCallInfo fcinfo, Timeline *timeline)
{
	const SamplerRun *run = &timeline->run;
	double		edge_s = (double) (timeline->done + 1) * timeline->every_s;
	double		every_ms = timeline->every_s * 1e3;
	IntervalFigures interval;
	Row			row;

	check_same_clock(timeline);
	interval = sample_interval(timeline, edge_s);
	report_interval(timeline, &interval, edge_s);

	row = row_of_result(fcinfo);
	row_put_number(&row, edge_s, fabs(every_ms - rint(every_ms)) < 1e-6 ? 3 : 6);
	row_put_count(&row, interval.readings);
	row_put_number(&row, interval.mean_ns, 2);
	row_put_number(&row, interval.stddev_ns, 2);
	row_put_number(&row, interval.p50_ns, 2);
	row_put_number(&row, interval.p99_ns, 2);
	row_put_number(&row, interval.max_ns, 2);
	row_put_count(&row, run->gaps.count);
	row_put_number(&row, run->gaps.total_ns / 1e6, 3);
	row_put_count(&row, (int64) run->tally->backward_steps);
	row_put_number(&row, interval.sampled_s, 6);
	row_put_number(&row, interval.sampled_s > 0 ?
				   interval.cpu_s / interval.sampled_s * 100 : NAN, 4);
	if (timeline->is_throttled)
	{
		row_put_count(&row, timeline->throttled.instants);
		row_put_number(&row, mean_of(timeline->throttled.cold), 2);
		row_put_number(&row, mean_of(timeline->throttled.late) / 1e3, 3);
	}
	else
	{
		row_put_null(&row);
		row_put_null(&row);
		row_put_null(&row);
	}
	timeline->done++;
	return row_result(&row);
}

static void
timeline_end(Timeline *timeline)
{
	SamplerRun *run = &timeline->run;
	ClockSample *total = &timeline->total;
	double		elapsed_s = (double) timeline->intervals * timeline->every_s;

	check_same_clock(timeline);
	sampler_resume(run);
	sampler_end(run);
	total->source = timeline->source->name;
	total->duration_s = run->elapsed_s;
	total->frequency_hz = run->frequency_hz;
	total->resolution_ns = run->resolution_ns;
	total->granularity_ticks = run->granularity_ticks;
	total->advance_s = run->advance_ns / 1e9;
	total->reference_error_ns = run->reference_error_ns;
	warn_of_sample(timeline->source, total,
				   timeline->is_throttled ? timeline->throttled.sampled_s :
				   timeline->sampled_s,
				   timeline->is_throttled ? NATURAL_STALL_THROTTLED : 0);
	if (timeline->is_throttled)
		throttled_warn(&timeline->throttled, total->source, timeline->instants,
					   elapsed_s);
}

Datum
clock_timeline(PG_FUNCTION_ARGS)
{
	FuncCallContext *funcctx;
	Timeline   *timeline;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext old;

		funcctx = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
		funcctx->user_fctx = timeline_begin(fcinfo);
		MemoryContextSwitchTo(old);
	}
	funcctx = SRF_PERCALL_SETUP();
	timeline = funcctx->user_fctx;
	if (timeline->done < timeline->intervals)
		SRF_RETURN_NEXT(funcctx, timeline_row(fcinfo, timeline));
	timeline_end(timeline);
	SRF_RETURN_DONE(funcctx);
}
