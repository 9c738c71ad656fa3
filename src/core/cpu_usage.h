/* CPU time of this thread, and time that other processes had the processor instead. */
#ifndef CLOCKTIMING_CPU_USAGE_H
#define CLOCKTIMING_CPU_USAGE_H

/* Counters of the operating system for this thread. */
typedef struct CpuUsage
{
	double		cpu_ns;			/* CPU time */
	double		delay_ns;		/* time in a run queue; below 0: unknown */
	double		waits;			/* number of voluntary context switches */
	double		preemptions;	/* number of involuntary context switches */
} CpuUsage;

/* Read the usage before and after the work.  Most of the calls' own CPU time is excluded. */
extern CpuUsage cpu_usage_before(void);
extern CpuUsage cpu_usage_after(void);

/* Returns the CPU time of this thread, which is the only one of a backend. */
extern double cpu_time_ns(void);

/*
 * Returns the time in which the thread was ready to run but other processes had the processor.
 * Waiting for something else, for example a disk, does not count.  elapsed_ns is the time between
 * the two readings of the usage.
 */
extern double preempted_ns(const CpuUsage *before, const CpuUsage *after, double elapsed_ns);

#endif							/* CLOCKTIMING_CPU_USAGE_H */
