/*
 * Compares the clock of another CPU with that of this one, by moving the thread there and back.
 * Proves only differences larger than the time of the moves, some microseconds; skew_bounds.h finds
 * smaller ones.
 */
#ifndef CLOCKTIMING_CPU_HOP_H
#define CLOCKTIMING_CPU_HOP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct CpuHop
{
	int			cpus;			/* CPUs that this thread may run on */
	int			home;			/* the current CPU */
	int			cpu;			/* the other CPU */
	int64_t		least;			/* bounds of the other clock's lead, in ticks */
	int64_t		most;
} CpuHop;

/*
 * Moves to another CPU and back; successive numbers of "turn" select the CPUs in turn.  Returns
 * false if there is no other CPU or the system forbids it.  Restores the thread's CPU affinity.
 */
extern bool cpu_hop(unsigned int turn, uint64_t (*read) (void), CpuHop *hop);

/* Returns the smallest difference that is proven, in ticks; 0: none. */
extern int64_t cpu_hop_proven(const CpuHop *hop);

#endif							/* CLOCKTIMING_CPU_HOP_H */
