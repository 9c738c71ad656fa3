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

/* Read the usage before and after the work; their own CPU time is left out as far as possible. */
extern CpuUsage cpu_usage_before(void);
extern CpuUsage cpu_usage_after(void);

/* CPU time of this thread alone, which is all of a backend. */
extern double cpu_time_ns(void);

/*
 * Returns the part of elapsed_ns, the time between two readings of the usage, in which the thread
 * was ready to run but other processes had the processor.  Waiting for something else, for example
 * a disk, does not count.
 */
extern double preempted_ns(const CpuUsage *before, const CpuUsage *after, double elapsed_ns);

#endif							/* CLOCKTIMING_CPU_USAGE_H */
