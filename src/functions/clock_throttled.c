/*-------------------------------------------------------------------------
 *
 * clock_throttled.c
 *	  A run at random instants, as a row: clock_throttled().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "clock/clock_run.h"
#include "functions/args.h"
#include "functions/row.h"

PG_FUNCTION_INFO_V1(clock_throttled);

/* Mean, median, 99 % quantile and maximum, in so many nanoseconds. */
static void
put_durations(Row *row, const ClockSample *sample, double unit_ns, int decimals)
{
	row_put_numbers(row, decimals, sample_mean_ns(sample) / unit_ns,
					sample_quantile_ns(sample, 0.5) / unit_ns,
					sample_quantile_ns(sample, 0.99) / unit_ns,
					sample_quantile_ns(sample, 1) / unit_ns);
}

Datum
clock_throttled(PG_FUNCTION_ARGS)
{
	double		duration_s = arg_duration(fcinfo, 1);
	double		rate = arg_rate(fcinfo, 2);
	ClockRun   *run = clock_run_begin(arg_source(fcinfo, 0), rate, duration_s);
	ClockSample *sample;
	ClockSample cold = {.frequency_hz = 1e9};
	ClockSample late = {.frequency_hz = 1e9};
	Row			row = row_of_result(fcinfo);

	clock_run_until(run, duration_s);
	sample = clock_run_end(run);
	sample_set_durations(&cold, run->cold);
	sample_set_durations(&late, run->late);

	row_put_text(&row, sample->source);
	row_put_text(&row, sample->clock);
	row_put_counts(&row, run->instants, cold.readings);
	row_put_number(&row, (double) run->instants / sample->duration_s, 3);
	put_durations(&row, &cold, 1, 2);
	put_durations(&row, sample, 1, 2);
	put_durations(&row, &late, 1e3, 3);
	row_put_number(&row, run->cpu_ns / sample->duration_s / 1e7, 4);
	return row_result(&row);
}
