/*
 * Observations in parallel workers.  The leader creates a segment of shared memory, in which each
 * worker is seen by the sampler, and leaves its results.
 */
#ifndef CLOCKTIMING_PARALLEL_OBSERVATION_H
#define CLOCKTIMING_PARALLEL_OBSERVATION_H

#include "plan/explain/observation.h"

/* Creates the segment for the workers that the plan may have. */
extern void parallel_observation_share(Observation *observation);

/*
 * Called when no further workers will start.  Resets clocktiming.worker_observation, by which
 * workers find the segment, by ending the GUC nest level that parallel_observation_share() began.
 */
extern void parallel_observation_told(Observation *observation);

/* Unmaps the segment after the execution.  After an error, the resource owner does. */
extern void parallel_observation_release(Observation *observation);

/* Number of processes with results: the areas that workers have used. */
extern int	parallel_observation_processes(const Observation *observation);

/*
 * Returns the results of the i-th of these processes.  *records has one for each place, *waits
 * nwaits elements.  *worker is the worker's number in EXPLAIN.
 */
extern const ProcessRun *parallel_observation_result(const Observation *observation, int i,
													 const NodeRecord **records,
													 const ObservedWait **waits, int *nwaits,
													 int *worker);

/* Called in a worker before it executes its part of the plan, and afterwards to write results. */
extern void parallel_observation_join(QueryDesc *desc);
extern void parallel_observation_report(QueryDesc *desc);

/* Defines the setting.  When it is set, need_hooks() must install executor hooks. */
extern void parallel_observation_init(void (*need_hooks) (void));

#endif							/* CLOCKTIMING_PARALLEL_OBSERVATION_H */
