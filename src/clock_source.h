/*-------------------------------------------------------------------------
 *
 * clock_source.h
 *	  The one table of clocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CLOCK_SOURCE_H
#define CLOCKTIMING_CLOCK_SOURCE_H

#include "sampler.h"

/*
 * A clock source.  One more clock is one more entry in clock_sources[] and
 * one more DEFINE_CLOCK_READER().
 */
typedef struct ClockSource
{
	const char *name;
	const char *description;

	/* NULL if the clock can be read now, else the reason why not */
	const char *(*why_not) (void);

	/* the reader; NULL where the platform does not have the clock */
	const ClockReader *reader;

	/*
	 * The rest may be called only where why_not() returned NULL.
	 *
	 * What a reading reads: a system call with its clock, or an instruction.
	 */
	const char *(*reads) (void);

	/* ticks a second and where that figure comes from; may take 50 ms */
	double		(*frequency_hz) (const char **from);

	/* as the system reports it, in nanoseconds; 0 if it does not */
	double		(*resolution_ns) (void);
} ClockSource;

extern const ClockSource clock_sources[];
extern const int n_clock_sources;

/* The source of that name, whatever the case of its letters; NULL if none. */
extern const ClockSource *clock_source_find(const char *name);

/*
 * The source of that name, whatever the case of its letters, ready to be read.
 * ERROR if there is none or if it is not available.
 */
extern const ClockSource *clock_source_get(const char *name);

/* The source that the server reads for EXPLAIN ANALYZE, or all other timing. */
extern const char *clock_source_for_explain(void);
extern const char *clock_source_for_other_timing(void);

/* The TSC's frequency by tsc_frequency(), interruptible. */
struct TscFrequency;
extern const struct TscFrequency *calibrated_tsc_frequency(void);

#endif							/* CLOCKTIMING_CLOCK_SOURCE_H */
