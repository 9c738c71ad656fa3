/*-------------------------------------------------------------------------
 *
 * skew_run.h
 *	  Compares the clocks of all CPUs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SKEW_RUN_H
#define CLOCKTIMING_SKEW_RUN_H

#include "clock/source.h"
#include "core/skew_bounds.h"

/* A CPU, compared with the first one. */
typedef struct CpuSkew
{
	int			cpu;
	double		reading_ns;		/* cost of a reading there */
	SkewResult	result;
} CpuSkew;

/* All CPUs that this process may run on. */
typedef struct Skew
{
	const ClockSource *source;
	double		tick_ns;
	int			ncpus;
	CpuSkew    *cpus;

	/* of all */
	double		reading_ns;		/* the highest cost */
	int64		warps;
	int64		warp_max;		/* ticks */

	/*
	 * The CPU whose clock disagrees most with the first one's for certain,
	 * and by how many ticks at least.
	 */
	const CpuSkew *worst;
	int64		certain;
} Skew;

/* The clock to compare if none is named. */
extern const ClockSource *skew_default_source(void);

/*
 * Compares the CPUs in so many seconds, with progress reports, by a source that
 * is available, other than instr_time, and does not count CPU time.  Takes a
 * background worker; the process is pinned to CPUs meanwhile.  ERROR where that
 * is not possible.  Can be cancelled.
 */
extern Skew skew_run(const ClockSource *source, double duration_s);

#endif							/* CLOCKTIMING_SKEW_RUN_H */
