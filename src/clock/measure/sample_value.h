/* The result of a run: the SQL type clock_sample. */
#ifndef CLOCKTIMING_SAMPLE_VALUE_H
#define CLOCKTIMING_SAMPLE_VALUE_H

#include "datatype/timestamp.h"

#include "clock/sampling/sampler.h"

/* doc/reference.md explains the members. */
typedef struct ClockSample
{
	const char *source;
	const char *clock;			/* instruction or call, such as "RDTSC" */
	TimestampTz started_at;
	double		duration_s;
	double		frequency_hz;
	double		resolution_ns;	/* 0: not known */
	double		granularity_ticks;	/* smallest step; 0: not seen */
	int64		readings;
	double		mean_margin_ns; /* NaN: not known */
	double		cost_ns;		/* cost of a reading; NaN: not known */
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
	int32	   *cpus;			/* visited CPUs, ascending; empty: not known */
	int64		migrations;
	int			precision_bits;

	int			n;				/* number of distinct durations */
	TallyEntry *entries;
	uint64		total;			/* sum of the counts */
} ClockSample;

/* Returns a run's sample without start time and the names of source and clock. */
extern ClockSample *sample_from_run(const SamplerRun *run);

extern void sample_set_durations(ClockSample *sample, const Tally *tally);

/*
 * Adds another sample's events and counts, but no durations.  The ticks of both samples must
 * have the same length.  ERROR on overflow.
 */
extern void sample_add_findings(ClockSample *into, const ClockSample *from);

/* Convert to and from a varlena with the binary form.  sample_from_datum() checks the value. */
extern Datum sample_to_datum(const ClockSample *sample);
extern ClockSample *sample_from_datum(Datum datum);

static inline double
sample_ns(const ClockSample *sample, double ticks)
{
	return ticks * 1e9 / sample->frequency_hz;
}

/* Return statistics of the durations; NAN if there are too few.  Quantile 0 is the minimum. */
extern double sample_mean_ns(const ClockSample *sample);
extern double sample_stddev_ns(const ClockSample *sample);
extern double sample_quantile_ns(const ClockSample *sample, double q);

typedef struct DurationRow
{
	uint64		ns;				/* upper end of the bucket, or the duration */
	uint64		count;
	uint64		running;		/* cumulative count */
} DurationRow;

/* Returns a histogram with buckets of powers of two, the first one for 0 ns; at most 65 rows. */
extern DurationRow *sample_histogram(const ClockSample *sample, int *nrows);

/* Returns the shortest "cutoff" percent of the durations, and the longest duration, in whole ns. */
extern DurationRow *sample_durations(const ClockSample *sample, double cutoff, int *nrows);

#endif							/* CLOCKTIMING_SAMPLE_VALUE_H */
