/*
 * A run of a clock, continuous or at random instants with sleep in between, which a production
 * server hardly notices.  It reports progress, can be cancelled, and warns of findings.
 */
#ifndef CLOCKTIMING_CLOCK_RUN_H
#define CLOCKTIMING_CLOCK_RUN_H

#include "clock/sample_value.h"
#include "clock/source.h"
#include "clock/wait.h"

typedef struct ClockRun
{
	const ClockSource *source;
	const char *clock;			/* text of the source's reads() */
	double		rate;			/* instants per second; 0: continuous */
	TimestampTz started_at;
	SamplerRun	sampler;
	Wait		wait;
	TallyMoments reported;		/* tally at the latest progress report */
	int64		intervals;		/* number of calls of clock_run_interval() */
	ClockSample total;			/* findings of these intervals */
	double		sampled_s;		/* time of sampling */
	double		reading_s;		/* time of readings */
	double		cpu_ns;			/* CPU time during sampled_s */

	/* for random instants */
	uint64_t	random;
	double		due_s;			/* the next instant */
	int64		instants;		/* in the current interval */
	int64		all_instants;
	Tally	   *cold;			/* first readings after a sleep, in ns */
	Tally	   *late;			/* delays of instants, in ns */
} ClockRun;

/* Prepares a run and its tally, which is allocated if NULL.  May calibrate. */
extern void prepare_sampler(SamplerRun *run, const ClockSource *source);

/* In addition, prepares for sampler_instant().  May calibrate. */
extern void prepare_stopwatch(SamplerRun *run);

/* Begin a run; continue it until until_s seconds after that; end it, warn, return the sample. */
extern ClockRun *clock_run_begin(const ClockSource *source, double rate,
								 double duration_s);
extern void clock_run_until(ClockRun *run, double until_s);
extern ClockSample *clock_run_end(ClockRun *run);

/* All of these. */
extern ClockSample *clock_run(const ClockSource *source, double rate,
							  double duration_s);

/*
 * The same for intervals with pauses between them: samples the rest of the time until until_s,
 * which may be empty.  ERROR if the source now reads another clock.  The final sample of
 * clock_run_end() then has no durations.
 */
extern ClockSample *clock_run_interval(ClockRun *run, double until_s);

#endif							/* CLOCKTIMING_CLOCK_RUN_H */
