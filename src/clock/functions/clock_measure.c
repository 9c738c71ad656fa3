/* clock_measure(), clock_histogram(), clock_summary() and clock_throttled(). */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "clock/functions/clock_args.h"
#include "clock/measure/clock_run.h"
#include "compat.h"
#include "server/args.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(clock_measure);
PG_FUNCTION_INFO_V1(clock_throttled);
PG_FUNCTION_INFO_V1(clock_histogram_source);
PG_FUNCTION_INFO_V1(clock_summary_source);
PG_FUNCTION_INFO_V1(clock_histogram_sample);
PG_FUNCTION_INFO_V1(clock_summary_sample);

/* Length of the longest bar of a histogram, in characters. */
#define BAR_WIDTH		40

static double
percent(uint64 part, uint64 total)
{
	return (double) part * 100 / (double) total;
}

/*
 * Returns the buckets of a histogram or, with a cutoff, the rows of sample_durations().  Raises an
 * ERROR if the sample has no durations, because the clock went backwards in each reading.
 */
static DurationRow *
rows_of(const ClockSample *sample, const double *cutoff, int *nrows)
{
	if (sample->total == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("the sample of clock source \"%s\" contains no durations",
						sample->source),
				 errdetail("It has %lld backward steps.",
						   (long long) sample->backward_steps),
				 errhint("clock_summary() shows what was found.")));
	return cutoff == NULL ? sample_histogram(sample, nrows) :
		sample_durations(sample, *cutoff, nrows);
}

/* Returns a bar whose length is proportional to the count; a dot if the bar would be empty. */
static char *
bar_of(uint64 count, uint64 largest)
{
	int			length = (int) ((double) count / (double) largest * BAR_WIDTH);
	char	   *bar = palloc0(BAR_WIDTH + 1);

	memset(bar, '#', length);
	if (length == 0 && count > 0)
		bar[0] = '.';
	return bar;
}

/* Returns rows (nanoseconds, percent, running percent, count, bar). */
static Datum
return_rows(FunctionCallInfo fcinfo, const ClockSample *sample, const double *cutoff)
{
	int			nrows;
	DurationRow *rows = rows_of(sample, cutoff, &nrows);
	uint64		largest = 0;
	Row			row;

	for (int i = 0; i < nrows; i++)
		largest = Max(largest, rows[i].count);
	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	for (int i = 0; i < nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		row_put_count(&row, (int64) rows[i].ns);
		row_put_numbers(&row, 4, percent(rows[i].count, sample->total),
						percent(rows[i].running, sample->total));
		row_put_count(&row, (int64) rows[i].count);
		row_put_text(&row, bar_of(rows[i].count, largest));
		row_to_set(&row, fcinfo);
	}
	return (Datum) 0;
}

/* Returns the row of clock_summary(): costs, durations and findings of a run. */
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
				   sample->n > 0 && sample->entries[0].ticks == 0 ?
				   (int64) sample->entries[0].count : 0,
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

/* Samples the clock for some seconds.  Argument 0 is the source, argument 1 the duration. */
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
	double		cutoff = PG_ARGISNULL(2) ? 0 : arg_cutoff(fcinfo, 2);

	return return_rows(fcinfo, measure(fcinfo, 0), PG_ARGISNULL(2) ? NULL : &cutoff);
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
	double		cutoff = PG_ARGISNULL(1) ? 0 : arg_cutoff(fcinfo, 1);

	return return_rows(fcinfo, arg_sample(fcinfo), PG_ARGISNULL(1) ? NULL : &cutoff);
}

Datum
clock_summary_sample(PG_FUNCTION_ARGS)
{
	return return_summary(fcinfo, arg_sample(fcinfo));
}

static void
put_durations(Row *row, const ClockSample *sample, double unit_ns, int decimals)
{
	row_put_numbers(row, decimals, sample_mean_ns(sample) / unit_ns,
					sample_quantile_ns(sample, 0.5) / unit_ns,
					sample_quantile_ns(sample, 0.99) / unit_ns,
					sample_quantile_ns(sample, 1) / unit_ns);
}

/*
 * Reads a clock at random instants, "rate" a second, for some seconds.  Returns a row: the durations
 * of the first reading after each sleep (cold) and of the next one, and how late the process woke.
 */
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
