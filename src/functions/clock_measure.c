/* clock_measure(), the views of a sample, which is measured or given, and clock_throttled(). */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "clock/clock_run.h"
#include "compat.h"
#include "functions/args.h"
#include "functions/row.h"

PG_FUNCTION_INFO_V1(clock_measure);
PG_FUNCTION_INFO_V1(clock_throttled);
PG_FUNCTION_INFO_V1(clock_histogram_source);
PG_FUNCTION_INFO_V1(clock_histogram_plot_source);
PG_FUNCTION_INFO_V1(clock_durations_source);
PG_FUNCTION_INFO_V1(clock_summary_source);
PG_FUNCTION_INFO_V1(clock_histogram_sample);
PG_FUNCTION_INFO_V1(clock_histogram_plot_sample);
PG_FUNCTION_INFO_V1(clock_durations_sample);
PG_FUNCTION_INFO_V1(clock_summary_sample);

static double
percent(uint64 part, uint64 total)
{
	return (double) part * 100 / (double) total;
}

/*
 * Returns the rows of a histogram or, with a cutoff, of durations.  ERROR if there are none because
 * the clock went backwards in each reading.
 */
static DurationRow *
rows_of(const ClockSample *sample, const double *cutoff, int *nrows)
{
	bool		stopped;

	if (sample->total == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("the sample of clock source \"%s\" contains no durations",
						sample->source),
				 errdetail("It has %lld backward steps.",
						   (long long) sample->backward_steps),
				 errhint("clock_summary() shows what was found.")));
	return cutoff == NULL ? sample_histogram(sample, nrows) :
		sample_durations(sample, *cutoff, nrows, &stopped);
}

/* Returns rows (nanoseconds, percent, running percent, count). */
static Datum
return_rows(FunctionCallInfo fcinfo, const ClockSample *sample, const double *cutoff)
{
	int			nrows;
	DurationRow *rows = rows_of(sample, cutoff, &nrows);
	Row			row;

	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	for (int i = 0; i < nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		row_put_count(&row, (int64) rows[i].ns);
		row_put_numbers(&row, 4, percent(rows[i].count, sample->total),
						percent(rows[i].running, sample->total));
		row_put_count(&row, (int64) rows[i].count);
		row_to_set(&row, fcinfo);
	}
	return (Datum) 0;
}

/* The longest bar fills the line.  A bucket that is not empty has at least a dot. */
static Datum
return_histogram_plot(FunctionCallInfo fcinfo, const ClockSample *sample, int width)
{
	int			nrows;
	DurationRow *rows = rows_of(sample, NULL, &nrows);
	uint64		most = 0;
	int			ns_width;
	int			count_width;
	int			bar_width;

	for (int i = 0; i < nrows; i++)
		most = Max(most, rows[i].count);
	ns_width = Max(snprintf(NULL, 0, UINT64_FORMAT, rows[nrows - 1].ns), 5);
	count_width = Max(snprintf(NULL, 0, UINT64_FORMAT, most), 5);
	/* besides the bar: two spaces, a percentage, two spaces, and " |" */
	bar_width = width - ns_width - count_width - 14;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	row_text_to_set(fcinfo, psprintf("%*s  %8s  %*s", ns_width, "<= ns", "percent",
									 count_width, "count"));
	for (int i = 0; i < nrows; i++)
	{
		int			length = (int) ((double) rows[i].count / (double) most * bar_width);
		char	   *bar = palloc(bar_width + 1);

		CHECK_FOR_INTERRUPTS();
		memset(bar, '#', bar_width);
		bar[length] = '\0';
		row_text_to_set(fcinfo, psprintf("%*s  %8.4f  %*s |%s",
										 ns_width, psprintf(UINT64_FORMAT, rows[i].ns),
										 percent(rows[i].count, sample->total),
										 count_width, psprintf(UINT64_FORMAT, rows[i].count),
										 length == 0 && rows[i].count > 0 ? "." : bar));
	}
	return (Datum) 0;
}

static Datum
return_summary(FunctionCallInfo fcinfo, const ClockSample *sample)
{
	double		duration_ns = sample->duration_s > 0 ? sample->duration_s * 1e9 : NAN;
	const Events *const events[] = {&sample->warps, &sample->lags, &sample->gaps};
	double		granularity = sample->granularity_ticks > 0 ? sample->granularity_ticks : NAN;
	Row			row = row_of_result(fcinfo);

	row_put_text(&row, sample->source);
	row_put_text(&row, sample->clock);
	row_put_numbers(&row, 2, sample->cost_ns, sample->cost_margin_ns);
	row_put_number(&row, sample->duration_s, 3);
	row_put_count(&row, sample->readings);
	row_put_numbers(&row, 2,
					sample->readings > 0 ? duration_ns / (double) sample->readings : NAN,
					sample_mean_ns(sample), sample->mean_margin_ns, sample_stddev_ns(sample),
					sample_quantile_ns(sample, 0), sample_quantile_ns(sample, 0.5),
					sample_quantile_ns(sample, 0.9), sample_quantile_ns(sample, 0.99),
					sample_quantile_ns(sample, 0.999), sample_quantile_ns(sample, 0.9999),
					sample_quantile_ns(sample, 1),
					granularity, sample_ns(sample, granularity));
	row_put_counts(&row,
				   sample->n > 0 && sample->entries[0].ticks == 0 ? (int64) sample->entries[0].count : 0,
				   sample->longest_stall, sample->backward_steps);
	row_put_number(&row, sample_ns(sample, (double) sample->backward_max_ticks), 2);
	for (int i = 0; i < (int) lengthof(events); i++)
	{
		row_put_count(&row, events[i]->count);
		row_put_number(&row, events[i]->max_ns, 2);
	}
	row_put_number(&row, sample->gaps.total_ns / 1e6, 3);
	row_put_number(&row, sample->gaps.total_ns / duration_ns * 100, 4);
	row_put_numbers(&row, 3, (sample->advance_s * 1e9 / duration_ns - 1) * 1e6,
					sample->reference_bound_ns / duration_ns * 1e6);
	row_put_int_array(&row, sample->cpus, sample->ncpus);
	row_put_count(&row, sample->migrations);
	row_put_numbers(&row, 2, sample->warps.total_ns, sample->lags.total_ns,
					sample->resolution_ns > 0 ? sample->resolution_ns : NAN);
	row_put(&row, Int32GetDatum(sample->precision_bits));
	row_put(&row, Float8GetDatum(sample->frequency_hz));
	row_put(&row, TimestampTzGetDatum(sample->started_at));
	return row_result(&row);
}

/* Runs the clock according to the arguments 0, source, and 1, duration. */
static ClockSample *
measure(FunctionCallInfo fcinfo, double rate)
{
	double		duration_s = arg_duration(fcinfo, 1);

	return clock_run(arg_source(fcinfo, 0), rate, duration_s);
}

Datum
clock_measure(PG_FUNCTION_ARGS)
{
	double		rate = PG_ARGISNULL(2) ? 0 : arg_rate(fcinfo, 2);

	return sample_to_datum(measure(fcinfo, rate));
}

Datum
clock_histogram_source(PG_FUNCTION_ARGS)
{
	return return_rows(fcinfo, measure(fcinfo, 0), NULL);
}

Datum
clock_histogram_plot_source(PG_FUNCTION_ARGS)
{
	check_not_null(fcinfo, 2, "width");
	check_plot_width(PG_GETARG_INT32(2));
	return return_histogram_plot(fcinfo, measure(fcinfo, 0), PG_GETARG_INT32(2));
}

Datum
clock_durations_source(PG_FUNCTION_ARGS)
{
	double		cutoff = arg_cutoff(fcinfo, 2);

	return return_rows(fcinfo, measure(fcinfo, 0), &cutoff);
}

Datum
clock_summary_source(PG_FUNCTION_ARGS)
{
	return return_summary(fcinfo, measure(fcinfo, 0));
}

static ClockSample *
arg_sample(FunctionCallInfo fcinfo)
{
	check_not_null(fcinfo, 0, "sample");
	return sample_from_datum(PG_GETARG_DATUM(0));
}

Datum
clock_histogram_sample(PG_FUNCTION_ARGS)
{
	return return_rows(fcinfo, arg_sample(fcinfo), NULL);
}

Datum
clock_histogram_plot_sample(PG_FUNCTION_ARGS)
{
	check_not_null(fcinfo, 1, "width");
	check_plot_width(PG_GETARG_INT64(1));
	return return_histogram_plot(fcinfo, arg_sample(fcinfo), (int) PG_GETARG_INT64(1));
}

Datum
clock_durations_sample(PG_FUNCTION_ARGS)
{
	double		cutoff = arg_cutoff(fcinfo, 1);

	return return_rows(fcinfo, arg_sample(fcinfo), &cutoff);
}

Datum
clock_summary_sample(PG_FUNCTION_ARGS)
{
	return return_summary(fcinfo, arg_sample(fcinfo));
}

/* Adds mean, median, 99 % quantile and maximum in units of unit_ns. */
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
