/*
 * clock_timeline(): a clock's results per interval.
 *
 * The function returns one row per call.  If it is in the target list of a cursor's query, FETCH
 * therefore returns each row when the row's interval ends.  Between calls the function holds no
 * resources except memory, because the caller may never call it again.
 *
 * Intervals end at multiples of "every" after the start, even if the caller pauses between calls.
 * An interval is sampled only while the function is running, for sampled_s seconds.  An interval
 * that ended before the call has no readings.
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"

#include "clock/functions/clock_args.h"
#include "clock/measure/clock_run.h"
#include "server/args.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(clock_timeline);

typedef struct Timeline
{
	double		every_s;
	int64		intervals;
	ClockRun   *run;
} Timeline;

static Timeline *
timeline_begin(FunctionCallInfo fcinfo)
{
	Timeline   *timeline = palloc0(sizeof(Timeline));
	double		duration_s = arg_duration(fcinfo, 1);
	double		rate;

	timeline->every_s = arg_every(fcinfo, 2, duration_s);
	rate = PG_ARGISNULL(3) ? 0 : arg_rate(fcinfo, 3);
	/* as a double, 0.3 / 0.1 is slightly less than 3 */
	timeline->intervals = (int64) floor(duration_s / timeline->every_s * (1 + 1e-12));
	timeline->run = clock_run_begin(arg_source(fcinfo, 0), rate,
									(double) timeline->intervals * timeline->every_s);
	return timeline;
}

/* Reports the contents of a row as progress, because most clients show rows only at the end. */
static void
report_interval(ClockRun *run, const ClockSample *interval, double edge_s)
{
	Progress   *progress = &run->wait.progress;

	if (!progress_due(progress, edge_s))
		return;
	if (interval->n == 0)
		progress_report(progress, edge_s, "no readings");
	else
		progress_report(progress, edge_s,
						"%lld readings, mean %.2f ns, stddev %.2f ns, p50 %.2f ns, p99 %.2f ns, max %.2f ns, %lld gaps, %.3f ms lost, %lld backward steps",
						(long long) interval->readings, sample_mean_ns(interval),
						interval->total > 1 ? sample_stddev_ns(interval) : 0,
						sample_quantile_ns(interval, 0.5),
						sample_quantile_ns(interval, 0.99),
						sample_quantile_ns(interval, 1), (long long) interval->gaps.count,
						interval->gaps.total_ns / 1e6, (long long) interval->backward_steps);
	run->reported = tally_moments(run->sampler.tally);
}

static double
mean_of(const Tally *tally)
{
	TallyMoments moments = tally_moments(tally);

	return moments.count > 0 ? moments.sum / (double) moments.count : NAN;
}

/* Reads the clock until the end of the next interval, and returns its row. */
static Datum
timeline_row(FunctionCallInfo fcinfo, const Timeline *timeline)
{
	ClockRun   *run = timeline->run;
	double		edge_s = (double) (run->intervals + 1) * timeline->every_s;
	double		every_ms = timeline->every_s * 1e3;
	double		sampled_s = run->sampled_s;
	double		cpu_ns = run->cpu_ns;
	ClockSample *interval = clock_run_interval(run, edge_s);
	Row			row = row_of_result(fcinfo);

	report_interval(run, interval, edge_s);
	sampled_s = run->sampled_s - sampled_s;
	cpu_ns = run->cpu_ns - cpu_ns;

	row_put_number(&row, edge_s, fabs(every_ms - rint(every_ms)) < 1e-6 ? 3 : 6);
	row_put_count(&row, interval->readings);
	row_put_numbers(&row, 2, sample_mean_ns(interval), sample_stddev_ns(interval),
					sample_quantile_ns(interval, 0.5), sample_quantile_ns(interval, 0.99),
					sample_quantile_ns(interval, 1));
	row_put_count(&row, interval->gaps.count);
	row_put_number(&row, interval->gaps.total_ns / 1e6, 3);
	row_put_count(&row, interval->backward_steps);
	row_put_number(&row, sampled_s, 6);
	row_put_number(&row, sampled_s > 0 ? cpu_ns / sampled_s / 1e7 : NAN, 4);
	if (run->rate > 0)
	{
		row_put_count(&row, run->instants);
		row_put_number(&row, mean_of(run->cold), 2);
		row_put_number(&row, mean_of(run->late) / 1e3, 3);
	}
	else
		row_put_nulls(&row, 3);
	return row_result(&row);
}

/* Returns a row as soon as its interval ends, so that a client with a cursor sees it at once. */
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
	if (timeline->run->intervals < timeline->intervals)
		SRF_RETURN_NEXT(funcctx, timeline_row(fcinfo, timeline));
	(void) clock_run_end(timeline->run);
	SRF_RETURN_DONE(funcctx);
}
