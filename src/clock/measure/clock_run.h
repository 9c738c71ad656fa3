/*
 * Runs of a clock, which read it continuously, or at random instants with sleeps between them.
 * Random instants add little load to a production server.  A run reports progress, can be
 * cancelled, and warns of faults of the clock.
 */
#ifndef CLOCKTIMING_CLOCK_RUN_H
#define CLOCKTIMING_CLOCK_RUN_H

#include "clock/measure/sample_value.h"
#include "clock/measure/source.h"
#include "server/wait.h"

typedef struct ClockRun
{
	const ClockSource *source;
	const char *clock;			/* name of the instruction or system call that
								 * reads the source */
	double		rate;			/* instants per second; 0: continuous */
	TimestampTz started_at;
	SamplerRun	sampler;
	Wait		wait;
	TallyMoments reported;		/* sums over the durations of earlier progress
								 * reports */
	int64		intervals;		/* number of calls of clock_run_interval() */
	ClockSample total;			/* sum of the intervals' events and counts */
	double		sampled_s;		/* time of sampling, with sleeps */
	double		reading_s;		/* time of readings, without sleeps */
	double		cpu_ns;			/* CPU time during sampled_s */

	/* for random instants */
	uint64_t	random;
	double		due_s;			/* time of the next instant */
	int64		instants;		/* in the current interval */
	int64		all_instants;	/* in the whole run */
	Tally	   *cold;			/* ns that first readings after sleeps took */
	Tally	   *late;			/* delays of instants, in ns */
} ClockRun;

/* Prepares a run, and allocates its tally if NULL.  May calibrate the clock. */
extern void prepare_sampler(SamplerRun *run, const ClockSource *source);

/* Prepares a run for sampler_instant(), after prepare_sampler().  May calibrate the counter. */
extern void prepare_stopwatch(SamplerRun *run);

/* Begin a run; continue it until until_s seconds after its beginning; end it, return the sample. */
extern ClockRun *clock_run_begin(const ClockSource *source, double rate, double duration_s);
extern void clock_run_until(ClockRun *run, double until_s);
extern ClockSample *clock_run_end(ClockRun *run);

/* Calls the three functions above, then measures the cost of a reading. */
extern ClockSample *clock_run(const ClockSource *source, double rate, double duration_s);

/*
 * Samples an interval from now until until_s, which may have passed, and returns its sample.  For
 * runs with pauses between the intervals.  ERROR if the source now reads another clock.  At the end
 * of such a run, clock_run_end() returns the events and counts of all intervals, but no durations.
 */
extern ClockSample *clock_run_interval(ClockRun *run, double until_s);

#endif							/* CLOCKTIMING_CLOCK_RUN_H */
