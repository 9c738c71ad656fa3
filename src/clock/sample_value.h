/*-------------------------------------------------------------------------
 *
 * sample_value.h
 *	  One run as a value: the SQL type clock_sample.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SAMPLE_VALUE_H
#define CLOCKTIMING_SAMPLE_VALUE_H

#include "datatype/timestamp.h"

#include "core/sampler.h"

/* What the members mean is said in doc/reference.md. */
typedef struct ClockSample
{
	const char *source;
	const char *clock;			/* what was read, such as "RDTSC" */
	TimestampTz started_at;
	double		duration_s;
	double		frequency_hz;
	double		resolution_ns;	/* 0: not known */
	double		granularity_ticks;	/* 0: not seen */
	int64		readings;
	double		mean_margin_ns; /* NaN: not known */
	double		cost_ns;		/* of an undisturbed reading; NaN: not known */
	double		cost_margin_ns;
	double		advance_s;
	double		reference_bound_ns;
	int64		longest_stall;
	int64		backward_steps;
	int64		backward_max_ticks;
	Events		warps;
	Events		lags;
	Events		gaps;
	int			ncpus;
	int32	   *cpus;			/* ascending; none if the system does not say */
	int64		migrations;
	int			precision_bits;

	int			n;				/* distinct durations, ascending */
	TallyEntry *entries;
	uint64		total;			/* sum of their counts */
} ClockSample;

/* The sample that a run gives, its names and its start apart. */
extern ClockSample *sample_from_run(const SamplerRun *run);

/* What a tally tells of it: durations, stalls, backward steps. */
extern void sample_set_durations(ClockSample *sample, const Tally *tally);

/*
 * Adds events, readings, backward steps and the longest stall of a sample in
 * the same ticks.  ERROR if there are too many of them.
 */
extern void sample_add_findings(ClockSample *into, const ClockSample *from);

/* An SQL array. */
extern Datum int4_array(const int32 *elements, int n);

/*
 * As it is stored: a varlena around the binary form.  A stored value of any
 * version can be read, and is checked.  (These are in sample_binary.c.)
 */
extern Datum sample_to_datum(const ClockSample *sample);
extern ClockSample *sample_from_datum(Datum datum);

/* A duration of the sample in nanoseconds, not rounded. */
static inline double
sample_ns(const ClockSample *sample, double ticks)
{
	return ticks * 1e9 / sample->frequency_hz;
}

/* Of durations, NAN if there are too few.  0 and 1 give the ends. */
extern double sample_mean_ns(const ClockSample *sample);
extern double sample_stddev_ns(const ClockSample *sample);
extern double sample_quantile_ns(const ClockSample *sample, double q);

/* Rows of a histogram or of durations. */
typedef struct DurationRow
{
	uint64		ns;				/* the bucket's upper end, or the duration */
	uint64		count;
	uint64		running;		/* sum of counts up to this row */
} DurationRow;

/*
 * Buckets of powers of two, the first of them for 0 ns alone, up to that of
 * the largest duration.  At most 65 rows.
 */
extern DurationRow *sample_histogram(const ClockSample *sample, int *nrows);

/*
 * Durations in whole nanoseconds until "cutoff" percent of all are reached,
 * then the largest, if it was not among them, in which case *stopped is true.
 */
extern DurationRow *sample_durations(const ClockSample *sample, double cutoff,
									 int *nrows, bool *stopped);

#endif							/* CLOCKTIMING_SAMPLE_VALUE_H */
