/* The CPUs that may run this thread, and how to change them; only on Linux. */
#ifndef CLOCKTIMING_CPU_SET_H
#define CLOCKTIMING_CPU_SET_H

#ifdef __linux__

#include <sched.h>
#include <stdbool.h>

/* Size of a CpuSet in CPUs: the largest number that Linux supports on x86. */
#define MOST_CPUS	8192

typedef struct CpuSet
{
	cpu_set_t	parts[MOST_CPUS / CPU_SETSIZE];
} CpuSet;

#define CPU_IN(cpu, set)	CPU_ISSET_S(cpu, sizeof(CpuSet), (set)->parts)

/*
 * Get the CPUs that may run this thread; pin it to one CPU; and undo this.  Return 0 or errno.
 * "all": allows CPUs that are added later as well.
 */
extern int	cpus_allowed(CpuSet *set);
extern int	pin_to_cpu(int cpu);
extern int	restore_cpus(const CpuSet *earlier, bool all);

/*
 * Returns whether a set has all online CPUs.  Must be called before pin_to_cpu(): a C library may
 * count the CPUs that may run this thread.
 */
extern bool cpus_are_all(const CpuSet *set);

#endif

#endif							/* CLOCKTIMING_CPU_SET_H */
