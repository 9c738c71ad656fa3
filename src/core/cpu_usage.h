/* CPU time of this thread, and the time in which other processes kept it from running. */
#ifndef CLOCKTIMING_CPU_USAGE_H
#define CLOCKTIMING_CPU_USAGE_H

/* Counters of the operating system: times of this thread, and context switches of the process. */
typedef struct CpuUsage
{
	double		cpu_ns;			/* CPU time */
	double		delay_ns;		/* time ready but not running; -1: unknown */
	double		waits;			/* number of voluntary context switches */
	double		preemptions;	/* number of involuntary context switches */
} CpuUsage;

/* Return the usage before and after some work.  The difference hardly includes these calls. */
extern CpuUsage cpu_usage_before(void);
extern CpuUsage cpu_usage_after(void);

/* Returns the CPU time of this thread in ns. */
extern double cpu_time_ns(void);

/* Returns the time in ns for which this thread was ready but not running; -1 if unknown. */
extern double cpu_delay_ns(void);

/*
 * Returns the time, in ns, in which the thread was ready to run but other processes had the
 * processor.  Waiting for something else, such as a disk, does not count. elapsed_ns is the time
 * from "before" to "after".
 */
extern double preempted_ns(const CpuUsage *before, const CpuUsage *after, double elapsed_ns);

#endif							/* CLOCKTIMING_CPU_USAGE_H */
