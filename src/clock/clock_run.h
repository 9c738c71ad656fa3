/*-------------------------------------------------------------------------
 *
 * clock_run.h
 *	  One run of a clock: readings all the time, or at random instants with
 *	  sleep in between, so that a production server hardly notices.
 *
 * It reports progress, can be cancelled, and warns of what it has found.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CLOCK_RUN_H
#define CLOCKTIMING_CLOCK_RUN_H

#include "clock/sample_value.h"
#include "clock/source.h"
#include "clock/wait.h"

typedef struct ClockRun
{
	const ClockSource *source;
	const char *clock;			/* what the source reads, in this run */
	double		rate;			/* of instants, a second; 0: read all the time */
	TimestampTz started_at;
	SamplerRun	sampler;
	Wait		wait;
	TallyMoments reported;		/* what had been counted at the last report */
	int64		intervals;		/* clock_run_interval()'s so far ... */
	ClockSample total;			/* ... and what was found in them */
	double		sampled_s;		/* in which readings were taken, now or then */
	double		reading_s;		/* spent on readings */
	double		cpu_ns;			/* CPU time in sampled_s */

	/* of random instants */
	uint64_t	random;
	double		due_s;			/* the next one */
	int64		instants;		/* since the last interval began */
	int64		all_instants;
	Tally	   *cold;			/* first readings after a sleep, ns */
	Tally	   *late;			/* by how much instants were late, ns */
} ClockRun;

/*
 * Fills in what a run has to know of a source, which must be available, and
 * empties its tally, which is allocated if there is none.  May calibrate.
 */
extern void prepare_sampler(SamplerRun *run, const ClockSource *source);

/* Besides, for sampler_instant().  May calibrate. */
extern void prepare_stopwatch(SamplerRun *run);

/*
 * A run begins; goes on until so many seconds of it are over; and ends, with
 * warnings, and gives its sample.
 */
extern ClockRun *clock_run_begin(const ClockSource *source, double rate,
								 double duration_s);
extern void clock_run_until(ClockRun *run, double until_s);
extern ClockSample *clock_run_end(ClockRun *run);

/* All of that. */
extern ClockSample *clock_run(const ClockSource *source, double rate,
							  double duration_s);

/*
 * Or in intervals, between which time may pass: the sample of what is left
 * until until_s, which may be nothing.  ERROR if the source reads another clock
 * by now.  Of the sample that clock_run_end() then gives, durations are none.
 */
extern ClockSample *clock_run_interval(ClockRun *run, double until_s);

#endif							/* CLOCKTIMING_CLOCK_RUN_H */
