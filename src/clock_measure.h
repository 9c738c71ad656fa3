/*-------------------------------------------------------------------------
 *
 * clock_measure.h
 *	  One run of one source, as SQL functions make it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CLOCK_MEASURE_H
#define CLOCKTIMING_CLOCK_MEASURE_H

#include "clock_sample.h"
#include "clock_source.h"

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

/* ERROR unless it is a number of seconds that makes sense for a run. */
extern void check_duration(double duration_s);

#endif							/* CLOCKTIMING_CLOCK_MEASURE_H */
