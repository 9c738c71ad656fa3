/*-------------------------------------------------------------------------
 *
 * cpu_usage.h
 *	  For how long others have had the processor.
 *
 * Knows nothing of PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CPU_USAGE_H
#define CLOCKTIMING_CPU_USAGE_H

#include <stdbool.h>

/* What the operating system says of this thread. */
typedef struct CpuUsage
{
	double		cpu_ns;			/* that it has had the processor; 0: unknown */
	double		delay_ns;		/* that it could have run, but waited for a
								 * processor; negative: unknown */
	double		waits;			/* how often it gave the processor up */
	double		preemptions;	/* how often it was taken away */
} CpuUsage;

/*
 * One before what is to be looked at, and one after it: what these take
 * themselves is not in cpu_ns between them, as far as it can be avoided.
 */
extern CpuUsage cpu_usage_before(void);
extern CpuUsage cpu_usage_after(void);

/* CPU time of this thread alone, which is all of a backend. */
extern double cpu_time_ns(void);

/* For how long other processes have had the processor while something ran. */
typedef struct Preempted
{
	double		run_ns;
	double		ns;				/* of it */
	double		share;			/* ns / (run_ns - ns) */
	double		turns;			/* time slices of other processes */
	bool		exact;			/* waiting for something is told apart */
} Preempted;

extern Preempted preempted_between(const CpuUsage *before, const CpuUsage *after,
								   double run_ns);

/*
 * The square of the standard error of what a part of the run would take if others
 * were as likely to have the processor at each moment: some of it was measured, with
 * their turns in it as they came, and some estimated, with their share added.
 */
extern double preempted_variance(const Preempted *preempted, double measured_ns,
								 double estimated_ns);

#endif							/* CLOCKTIMING_CPU_USAGE_H */
