/* The CPUs that may run this thread, and how to change them; only on Linux. */
#ifndef CLOCKTIMING_CPU_SET_H
#define CLOCKTIMING_CPU_SET_H

#ifdef __linux__

#include <sched.h>

/* Size of a CpuSet in CPUs: the largest number that Linux supports on x86. */
#define MOST_CPUS	8192

typedef struct CpuSet
{
	cpu_set_t	parts[MOST_CPUS / CPU_SETSIZE];
} CpuSet;

#define CPU_IN(cpu, set)	CPU_ISSET_S(cpu, sizeof(CpuSet), (set)->parts)

/* Get or set the CPUs that may run this thread; pin it to one CPU.  Return 0 or errno. */
extern int	cpus_allowed(CpuSet *set);
extern int	allow_cpus(const CpuSet *set);
extern int	pin_to_cpu(int cpu);

#endif

#endif							/* CLOCKTIMING_CPU_SET_H */
