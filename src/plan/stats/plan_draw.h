/* Chooses the executions that are timed for the statistics of plans. */
#ifndef CLOCKTIMING_PLAN_DRAW_H
#define CLOCKTIMING_PLAN_DRAW_H

extern double max_overhead_percent;

/* Returns whether clocktiming.track is on in this session. */
extern bool plan_draw_tracks(void);

/* Called when shared memory exists (shared_gaps.h): applies clocktiming.track. */
extern void plan_draw_start(void);

/* Adds the numbers of this process's executions to the statistics.  Raises no error. */
extern void plan_draw_flush(void);

/* Forgets all probabilities, after a reset of the statistics.  New executions are timed at once. */
extern void plan_draw_reset(void);

/* Defines settings.  They have no effect unless shared_preload_libraries has the library. */
extern void plan_draw_init(void);

#endif							/* CLOCKTIMING_PLAN_DRAW_H */
