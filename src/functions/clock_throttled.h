/*-------------------------------------------------------------------------
 *
 * clock_throttled.h
 *	  Throttled runs: readings at random instants, and sleep in between.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CLOCK_THROTTLED_H
#define CLOCKTIMING_CLOCK_THROTTLED_H

#include "fmgr.h"

#include "functions/clock_measure.h"

/*
 * What a throttled run finds beside the durations in its SamplerRun's tally,
 * which are those of warm readings.
 */
typedef struct ThrottledRun
{
	SamplerRun *run;
	RunProgress *progress;
	double		rate;			/* asked for, a second */
	uint64_t	random;
	double		due_s;			/* the instant to come */
	Tally	   *cold;			/* first readings after a sleep, ns */
	Tally	   *late;			/* how late instants were, ns */
	int64		instants;
	double		sampled_s;		/* time spent on readings */
	double		cpu_percent;	/* of one CPU, over the whole run */
} ThrottledRun;

/*
 * To be called after prepare_run() and before sampler_begin(), and after
 * sampler_begin().  Allocates the tallies.
 */
extern void throttled_prepare(ThrottledRun *throttled, SamplerRun *run,
							  RunProgress *progress, double rate);
extern void throttled_begin(ThrottledRun *throttled);

/* Takes the instants that are due until so many seconds of the run are over. */
extern void throttled_until(ThrottledRun *throttled, double until_s);

/* After a pause: instants that it has swallowed are left out. */
extern void throttled_resume(ThrottledRun *throttled);

/* Empties the tallies, that of the SamplerRun apart. */
extern void throttled_clear(ThrottledRun *throttled);

/* WARNING if by "elapsed_s" the run is far behind its schedule. */
extern void throttled_warn(const ThrottledRun *throttled, const char *source,
						   int64 instants, double elapsed_s);

/* Seconds of CPU time that this process has used. */
extern double cpu_time_s(void);

/* The run that the first three arguments, source, duration and rate, ask for. */
extern ClockSample *measure_throttled_by_arguments(FunctionCallInfo fcinfo,
												   ThrottledRun *throttled);

#endif							/* CLOCKTIMING_CLOCK_THROTTLED_H */
