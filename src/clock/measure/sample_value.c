/*
 * Creates samples, and computes statistics of their durations.  A sample has each distinct duration
 * in ticks with its count, in ascending order, so statistics are exact sums over distinct
 * durations.
 */
#include "postgres.h"

#include <math.h>

#include "common/int.h"
#include "port/pg_bitutils.h"

#include "clock/measure/sample_value.h"
#include "compat.h"

void
sample_set_durations(ClockSample *sample, const Tally *tally)
{
	sample->entries = palloc(sizeof(TallyEntry) * (tally_distinct(tally) + 1));
	sample->n = tally_export(tally, sample->entries);
	sample->total = 0;
	for (int i = 0; i < sample->n; i++)
		sample->total += sample->entries[i].count;
	sample->backward_steps = (int64) tally->backward_steps;
	sample->readings = (int64) sample->total + sample->backward_steps;
	sample->backward_max_ticks = (int64) tally->backward_max;
	sample->longest_stall = (int64) tally->longest_stall;
	sample->precision_bits = tally->precision_bits;
}

/*
 * Copies the results of a run.  The cost of a reading is measured after the run, so it is unknown
 * here.
 */
ClockSample *
sample_from_run(const SamplerRun *run)
{
	ClockSample *sample = palloc0(sizeof(ClockSample));

	sample->duration_s = run->elapsed_s;
	sample->frequency_hz = run->frequency_hz;
	sample->resolution_ns = run->resolution_ns;
	sample->granularity_ticks = run->granularity_ticks;
	sample->mean_margin_ns = run->mean_margin_ns;
	sample->cost_ns = sample->cost_margin_ns = NAN;
	sample->advance_s = run->advance_ns / 1e9;
	sample->reference_bound_ns = run->reference_bound_ns;
	sample->warps = run->warps;
	sample->lags = run->lags;
	sample->gaps = run->gaps;
	sample->migrations = run->migrations;
	sample_set_durations(sample, run->tally);

	sample->cpus = palloc(sizeof(int32) * SAMPLER_MAX_CPUS);
	for (int cpu = 0; cpu < SAMPLER_MAX_CPUS; cpu++)
	{
		if ((run->cpus[cpu / 8] >> (cpu % 8)) & 1)
			sample->cpus[sample->ncpus++] = cpu;
	}
	return sample;
}

static void
add_count(int64 *into, int64 count, const char *what)
{
	if (pg_add_s64_overflow(*into, count, into))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s is out of range", what)));
}

static void
add_events(Events *into, const Events *from)
{
	into->max_ns = Max(into->max_ns, from->max_ns);
	into->total_ns += from->total_ns;
	add_count(&into->count, from->count, "count of events");
}

void
sample_add_findings(ClockSample *into, const ClockSample *from)
{
	add_events(&into->warps, &from->warps);
	add_events(&into->lags, &from->lags);
	add_events(&into->gaps, &from->gaps);
	add_count(&into->readings, from->readings, "number of readings");
	add_count(&into->migrations, from->migrations, "number of migrations");
	into->backward_steps += from->backward_steps;
	into->backward_max_ticks = Max(into->backward_max_ticks, from->backward_max_ticks);
	into->longest_stall = Max(into->longest_stall, from->longest_stall);
}

static double
mean_ticks(const ClockSample *sample)
{
	double		mean = 0;

	for (int i = 0; i < sample->n; i++)
		mean += (double) sample->entries[i].count / (double) sample->total *
			(double) sample->entries[i].ticks;
	return mean;
}

double
sample_mean_ns(const ClockSample *sample)
{
	return sample->n > 0 ? sample_ns(sample, mean_ticks(sample)) : NAN;
}

/* Sums up deviations in a second pass, because a difference of large sums loses digits. */
double
sample_stddev_ns(const ClockSample *sample)
{
	double		mean = mean_ticks(sample);
	double		squares = 0;

	for (int i = 0; i < sample->n; i++)
	{
		double		deviation = (double) sample->entries[i].ticks - mean;

		squares += (double) sample->entries[i].count * deviation * deviation;
	}
	return sample->total < 2 ? NAN :
		sample_ns(sample, sqrt(squares / ((double) sample->total - 1)));
}

double
sample_quantile_ns(const ClockSample *sample, double q)
{
	return sample->n == 0 ? NAN :
		sample_ns(sample, (double) tally_quantile(sample->entries, sample->n, sample->total, q));
}

static uint64
whole_ns(const ClockSample *sample, uint64 ticks)
{
	return (uint64) llrint(sample_ns(sample, (double) ticks));
}

/* Row i counts the durations from 2^(i-1) to 2^i - 1 ns; row 0 counts those of 0 ns. */
DurationRow *
sample_histogram(const ClockSample *sample, int *nrows)
{
	DurationRow *rows = palloc0(sizeof(DurationRow) * 65);
	uint64		running = 0;

	*nrows = 1;
	for (int i = 0; i < sample->n; i++)
	{
		uint64		ns = whole_ns(sample, sample->entries[i].ticks);
		int			bucket = ns == 0 ? 0 : pg_leftmost_one_pos64(ns) + 1;

		rows[bucket].count += sample->entries[i].count;
		*nrows = bucket + 1;
	}
	for (int i = 0; i < *nrows; i++)
	{
		rows[i].ns = (UINT64CONST(1) << i) - 1;
		rows[i].running = running += rows[i].count;
	}
	return rows;
}

/*
 * Merges durations that are equal in whole nanoseconds.  The row of the longest duration follows
 * the last of the shortest ones, so that outliers are visible whatever the cutoff.
 */
DurationRow *
sample_durations(const ClockSample *sample, double cutoff, int *nrows)
{
	DurationRow *rows = palloc(sizeof(DurationRow) * ((Size) sample->n + 1));
	uint64		running = 0;
	int			n = 0;
	int			keep = 0;

	/* different ticks may round to the same nanosecond */
	for (int i = 0; i < sample->n; i++)
	{
		uint64		ns = whole_ns(sample, sample->entries[i].ticks);

		if (n == 0 || rows[n - 1].ns != ns)
			rows[n++] = (DurationRow)
		{
			.ns = ns
		};
		rows[n - 1].count += sample->entries[i].count;
		rows[n - 1].running = running += sample->entries[i].count;
	}

	while (keep < n && (double) rows[keep].running * 100 / sample->total < cutoff)
		keep++;
	if (keep + 1 < n)
		rows[keep + 1] = rows[n - 1];
	*nrows = Min(keep + 2, n);
	return rows;
}
