/* Chooses the executions that are timed for the statistics of plans. */
#ifndef CLOCKTIMING_PLAN_DRAW_H
#define CLOCKTIMING_PLAN_DRAW_H

/* The setting clocktiming.max_overhead. */
extern double max_overhead_percent;

/* Shared memory with the probability of timing an execution, for each query. */
extern Size plan_draw_shmem_size(void);
extern void plan_draw_shmem_init(void);

/* Defines clocktiming.track and others.  They need clocktiming in shared_preload_libraries. */
extern void plan_draw_init(void);

#endif							/* CLOCKTIMING_PLAN_DRAW_H */
