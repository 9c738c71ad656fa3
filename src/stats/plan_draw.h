/*-------------------------------------------------------------------------
 *
 * plan_draw.h
 *	  Which executions are timed for the statistics of plans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLAN_DRAW_H
#define CLOCKTIMING_PLAN_DRAW_H

/* For shared_preload_libraries: what backends tell each other. */
extern Size plan_draw_shmem_size(void);
extern void plan_draw_shmem_init(void);

/* The settings.  Nothing is drawn but where the library was preloaded. */
extern void plan_draw_init(void);

#endif							/* CLOCKTIMING_PLAN_DRAW_H */
