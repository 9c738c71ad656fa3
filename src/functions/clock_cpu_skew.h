/*-------------------------------------------------------------------------
 *
 * clock_cpu_skew.h
 *	  Whether the clocks of all CPUs agree, in short.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CLOCK_CPU_SKEW_H
#define CLOCKTIMING_CLOCK_CPU_SKEW_H

typedef struct SkewSummary
{
	int			ncpus;
	const char *clock;			/* what was read */
	double		reading_ns;		/* cost of a reading, on the dearest CPU */

	/*
	 * The CPU whose clock disagrees most with the first one's for certain,
	 * and the bounds of its offset; certain_ns is how far these are from 0 at
	 * least.
	 */
	int			cpu;
	double		offset_min_ns;
	double		offset_max_ns;
	double		certain_ns;

	int64		warps;			/* on all CPUs */
	double		warp_max_ns;
} SkewSummary;

/*
 * As clock_cpu_skew() measures in so many seconds, by the source that it takes
 * by default.  ERROR where it cannot be measured.
 */
extern SkewSummary cpu_skew_summary(double duration_s);

#endif							/* CLOCKTIMING_CLOCK_CPU_SKEW_H */
