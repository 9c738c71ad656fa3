/* Compares the clocks of all CPUs. */
#ifndef CLOCKTIMING_SKEW_RUN_H
#define CLOCKTIMING_SKEW_RUN_H

#include "clock/source.h"
#include "core/skew_bounds.h"

typedef struct CpuSkew
{
	int			cpu;
	double		reading_ns;		/* cost of a reading there */
	SkewResult	result;
} CpuSkew;

/* Comparison of all CPUs that this process may run on. */
typedef struct Skew
{
	const ClockSource *source;
	double		tick_ns;
	int			ncpus;
	CpuSkew    *cpus;

	/* over all CPUs */
	double		reading_ns;		/* highest cost */
	int64		warps;
	int64		warp_max;		/* ticks */

	/* the CPU whose clock certainly differs most, and by how many ticks */
	const CpuSkew *worst;
	int64		certain;
} Skew;

extern const ClockSource *skew_default_source(void);

/*
 * Compares the CPUs for duration_s seconds, with progress reports.  The source must be available,
 * must not be instr_time, and must not count CPU time.  Needs a background worker, and pins the
 * process to CPUs meanwhile; ERROR if either is impossible.  Can be cancelled.
 */
extern Skew skew_run(const ClockSource *source, double duration_s);

#endif							/* CLOCKTIMING_SKEW_RUN_H */
