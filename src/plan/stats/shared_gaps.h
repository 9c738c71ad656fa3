/*
 * Shared memory with 1/p for each class of executions (plan_draw.c); p is the probability of timing
 * the nodes of one.
 */
#ifndef CLOCKTIMING_SHARED_GAPS_H
#define CLOCKTIMING_SHARED_GAPS_H

/* Returns a class's 1/p; 0: unknown. */
extern float shared_gap(uint64 key);
extern void share_gap(uint64 key, float gap);

/* Forgets all classes.  Sessions notice it by the number of resets. */
extern void shared_gaps_reset(void);
extern uint32 shared_gaps_resets(void);

/* Returns whether the shared memory exists; the library must be preloaded. */
extern bool shared_gaps_ready(void);

extern Size shared_gaps_shmem_size(void);
extern void shared_gaps_shmem_init(void);

#endif							/* CLOCKTIMING_SHARED_GAPS_H */
