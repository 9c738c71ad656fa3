/* The CPUs that this thread may run on, and comparison of their clocks by moving the thread. */
#ifndef CLOCKTIMING_CPU_HOP_H
#define CLOCKTIMING_CPU_HOP_H

#ifdef __linux__
#include <sched.h>
#endif
#include <stdbool.h>
#include <stdint.h>

#ifdef __linux__

/* Number of CPUs, the most that Linux supports on x86.  Further CPUs are ignored. */
#define MOST_CPUS	8192

typedef struct CpuSet
{
	cpu_set_t	parts[MOST_CPUS / CPU_SETSIZE];
} CpuSet;

#define CPU_IN(cpu, set)	CPU_ISSET_S(cpu, sizeof(CpuSet), (set)->parts)

/* Return 0 or errno. */
extern int	cpus_allowed(CpuSet *set);
extern int	allow_cpus(const CpuSet *set);
extern int	pin_to_cpu(int cpu);

#endif

typedef struct CpuHop
{
	int			cpus;			/* number of CPUs that the thread may use */
	int			home;			/* the current CPU */
	int			cpu;			/* the CPU that the thread moved to */
	int64_t		least;			/* bounds of the other clock's lead, in ticks */
	int64_t		most;
	int64_t		proven;			/* smallest proven difference; 0: none */
} CpuHop;

/*
 * Moves to another CPU and back; successive numbers of "turn" select the CPUs in turn.  Returns
 * false if there is no other CPU or the system forbids the move.  Restores the thread's CPU
 * affinity.  Proves only differences that exceed the duration of the moves, some microseconds.
 * skew_bounds.h finds smaller ones.
 */
extern bool cpu_hop(unsigned int turn, uint64_t (*read) (void), CpuHop *hop);

#endif							/* CLOCKTIMING_CPU_HOP_H */
