/* CPU time of this thread, and time that other processes had the processor instead. */
#ifndef CLOCKTIMING_CPU_USAGE_H
#define CLOCKTIMING_CPU_USAGE_H

/* What the operating system says of this thread. */
typedef struct CpuUsage
{
	double		cpu_ns;			/* that it has had the processor; 0: unknown */
	double		delay_ns;		/* that it could have run, but waited for a
								 * processor; negative: unknown */
	double		waits;			/* how often it gave the processor up */
	double		preemptions;	/* how often it was taken away */
} CpuUsage;

/* Read the usage before and after the work; their own CPU time is left out as far as possible. */
extern CpuUsage cpu_usage_before(void);
extern CpuUsage cpu_usage_after(void);

/* CPU time of this thread alone, which is all of a backend. */
extern double cpu_time_ns(void);

/*
 * Returns how much of elapsed_ns, the time between two readings of the usage, other
 * processes had the processor that this thread wanted.  Waiting for something else, a disk
 * for example, does not count.
 */
extern double preempted_ns(const CpuUsage *before, const CpuUsage *after, double elapsed_ns);

#endif							/* CLOCKTIMING_CPU_USAGE_H */
