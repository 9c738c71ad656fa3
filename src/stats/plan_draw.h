/* Chooses the executions that are timed for the statistics of plans. */
#ifndef CLOCKTIMING_PLAN_DRAW_H
#define CLOCKTIMING_PLAN_DRAW_H

extern double max_overhead_percent;

/* Shared memory with 1/p for each class of executions; p is the probability of timing one. */
extern Size plan_draw_shmem_size(void);
extern void plan_draw_shmem_init(void);

/* Defines settings.  They have no effect unless shared_preload_libraries has the library. */
extern void plan_draw_init(void);

#endif							/* CLOCKTIMING_PLAN_DRAW_H */
