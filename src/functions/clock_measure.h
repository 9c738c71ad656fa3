/*-------------------------------------------------------------------------
 *
 * clock_measure.h
 *	  One run of one source, as SQL functions make it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CLOCK_MEASURE_H
#define CLOCKTIMING_CLOCK_MEASURE_H

#include "clock/sample_value.h"
#include "clock/source.h"
#include "clock/wait.h"

/* The reports of a run, which are the same for all that sample a clock. */
typedef struct RunProgress
{
	Wait		wait;
	const SamplerRun *run;
	TallyMoments reported;		/* what had been counted at the last report */
} RunProgress;

extern void run_progress_start(RunProgress *progress, const SamplerRun *run,
							   const char *label, double total_s);

/* To be called before sampler_clear(). */
extern void run_progress_clear(RunProgress *progress);

/* Lets itself be interrupted, and reports if it is time to: a between_blocks. */
extern void run_progress_between_blocks(void *arg, double elapsed_s);

/*
 * Samples a source, which clock_source_get() gave, for that many seconds, with
 * progress reports, and warns of what it found.  Can be cancelled.
 */
extern ClockSample *measure(const ClockSource *source, double duration_s);

/*
 * Fills in what a run has to know of a source, which must be available, and
 * empties its tally, which is allocated if there is none.  May calibrate.
 */
extern void prepare_run(SamplerRun *run, const ClockSource *source);

/*
 * Warns of what was found in a run, of which "sampled_s" seconds were spent on
 * taking its readings.  A clock does not stand still if it gives the same
 * reading natural_stall times in a row, however long that takes on average.
 */
extern void warn_of_sample(const ClockSource *source, const ClockSample *sample,
						   double sampled_s, int64 natural_stall);

/*
 * That of a throttled run: all durations of one instant, in which most of the
 * time goes into other things than its readings, and those of the next.
 */
#define NATURAL_STALL_THROTTLED (2 * INSTANT_DURATIONS)

#endif							/* CLOCKTIMING_CLOCK_MEASURE_H */
