/*
 * Asks processes about executions that last long.
 *
 * Each process publishes the executions at work in a slot of its own, by serial numbers.  The
 * sampler reads the slots at each tick (plan_sampler.h).  If an execution was at work at the
 * previous tick, too, it sends SIGUSR1, once per execution, and again after 2, 4, 8, ... ticks of
 * the outermost execution, because others between the outermost and the innermost may have become
 * long.  So executions that are shorter than a tick are never interrupted.
 *
 * SIGUSR1 is the signal by which the server's processes notify each other.  Every process of the
 * server handles it, so that it does no harm if a process ends and another one gets its id.
 */
#ifndef CLOCKTIMING_LONG_EXECUTIONS_H
#define CLOCKTIMING_LONG_EXECUTIONS_H

#include "plan/sampler/plan_sampler.h"

typedef union LongSlot
{
	struct
	{
		/* written by the process: serial numbers, 0: none; and its id */
		volatile uint32 innermost;
		volatile uint32 outermost;
		volatile uint32 pid;

		/* set by the sampler before the signal, and reset by the process */
		volatile uint32 asked;
	};
	char		line[LINE_SIZE];
} LongSlot;

/* Shared memory, if the library is preloaded. */
extern Size long_executions_shmem_size(void);
extern void long_executions_shmem_init(void);

/* Returns the slot of this process, until it exits; NULL if there is none. */
extern LongSlot *long_executions_join(void);

/* Called by the sampler at each tick. */
extern void long_executions_look(void);

#endif							/* CLOCKTIMING_LONG_EXECUTIONS_H */
