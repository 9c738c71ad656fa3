/* Compares the clocks of all CPUs. */
#ifndef CLOCKTIMING_SKEW_RUN_H
#define CLOCKTIMING_SKEW_RUN_H

#include "clock/measure/source.h"
#include "clock/sampling/skew_bounds.h"

/* Comparison of a CPU with the first one. */
typedef struct CpuSkew
{
	int			cpu;
	double		reading_ns;		/* cost of a reading on this CPU */
	SkewResult	result;
} CpuSkew;

/* Comparison of all CPUs that this process may run on. */
typedef struct Skew
{
	const ClockSource *source;
	double		tick_ns;
	int			ncpus;
	CpuSkew    *cpus;

	/* maximum or sum over all CPUs */
	double		reading_ns;		/* highest cost of a reading */
	int64		warps;
	int64		warp_max;		/* ticks */

	/* CPU with the largest proven offset from the first CPU, and that offset */
	const CpuSkew *worst;
	int64		certain;		/* ticks */
} Skew;

extern const ClockSource *skew_default_source(void);

/*
 * Compares the CPUs for duration_s seconds, with progress reports.  The source must be available,
 * must not be instr_time, and must not count CPU time.  Starts a background worker, and pins both
 * processes to CPUs meanwhile; ERROR if that is impossible.  Can be cancelled.
 */
extern Skew skew_run(const ClockSource *source, double duration_s);

#endif							/* CLOCKTIMING_SKEW_RUN_H */
