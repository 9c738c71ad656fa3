/* Chooses the executions that are timed for the statistics of plans. */
#ifndef CLOCKTIMING_PLAN_DRAW_H
#define CLOCKTIMING_PLAN_DRAW_H

/* The setting clocktiming.max_overhead. */
extern double max_overhead_percent;

/* Shared memory with the probabilities, which all backends use. */
extern Size plan_draw_shmem_size(void);
extern void plan_draw_shmem_init(void);

/* Defines the settings.  They have no effect unless clocktiming is in shared_preload_libraries. */
extern void plan_draw_init(void);

#endif							/* CLOCKTIMING_PLAN_DRAW_H */
