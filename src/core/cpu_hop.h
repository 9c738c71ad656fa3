/*-------------------------------------------------------------------------
 *
 * cpu_hop.h
 *	  Whether the clock of another CPU differs from that of this one, by going
 *	  there and back.
 *
 * It takes no second process and some 20 us of CPU time, and proves differences
 * that are larger than the time that the way takes, some microseconds;
 * skew_bounds.h has the way to know smaller ones.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CPU_HOP_H
#define CLOCKTIMING_CPU_HOP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct CpuHop
{
	int			cpus;			/* that this thread may run on */
	int			home;			/* the one that it was on ... */
	int			cpu;			/* ... and went to, where the clock is ahead */
	int64_t		least;			/* by so many ticks at least ... */
	int64_t		most;			/* ... and at most */
} CpuHop;

/*
 * "turn" chooses the other CPU: successive numbers go round.  False if there is no
 * other one, or the system does not allow it.  The CPUs that the thread may run on
 * are what they were afterwards.
 */
extern bool cpu_hop(unsigned int turn, uint64_t (*read) (void), CpuHop *hop);

/* The smallest difference, in ticks, that this proves; 0: none. */
extern int64_t cpu_hop_proven(const CpuHop *hop);

#endif							/* CLOCKTIMING_CPU_HOP_H */
