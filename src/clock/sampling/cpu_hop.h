/* Compares the clocks of CPUs by moving this thread from one CPU to another. */
#ifndef CLOCKTIMING_CPU_HOP_H
#define CLOCKTIMING_CPU_HOP_H

#include <stdbool.h>
#include <stdint.h>

/* Result of cpu_hop().  The lead is how far the other CPU's clock is ahead of this CPU's. */
typedef struct CpuHop
{
	int			cpus;			/* number of CPUs that the thread may use */
	int			home;			/* number of this CPU */
	int			cpu;			/* number of the other CPU */
	int64_t		least;			/* lower bound of the lead, in ticks */
	int64_t		most;			/* upper bound of the lead, in ticks */
	int64_t		proven;			/* bound nearer to 0; 0 if the signs differ */
} CpuHop;

/*
 * Reads a clock on this CPU, on another CPU, and on this one again.  Successive numbers of "turn"
 * select the other CPUs in turn.  Returns false if there is no other CPU or the system forbids the
 * move.  Restores the thread's CPU affinity.  The distance between the bounds is the time of the
 * moves, some microseconds; skew_bounds.h finds closer bounds.
 */
extern bool cpu_hop(unsigned int turn, uint64_t (*read) (void), CpuHop *hop);

#endif							/* CLOCKTIMING_CPU_HOP_H */
