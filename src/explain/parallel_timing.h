/* Times nodes in parallel workers. */
#ifndef CLOCKTIMING_PARALLEL_TIMING_H
#define CLOCKTIMING_PARALLEL_TIMING_H

#include "explain/query_timing.h"

/* Writes the timing options to shared memory for the workers that the plan may have. */
extern void parallel_timing_share(QueryTiming *query);

/*
 * Returns the workers' results.  For each of query->nworkers: a record per node, then one per node
 * that calls a subplan which other nodes call, too.  Returns NULL without shared memory.
 */
extern const NodeRecord *parallel_timing_records(const QueryTiming *query);

/*
 * Called when no further workers will start.  Resets clocktiming.worker_timing, by which workers
 * find the shared memory, by ending the GUC nest level that parallel_timing_share() began.
 */
extern void parallel_timing_told(QueryTiming *query);

extern void parallel_timing_release(QueryTiming *query);

/* Called in a worker before it executes its part of the plan, and afterwards to write results. */
extern void parallel_timing_join(QueryDesc *desc);
extern void parallel_timing_report(QueryDesc *desc);

/* Defines clocktiming.worker_timing.  When it is set, need_hooks() must install executor hooks. */
extern void parallel_timing_init(void (*need_hooks) (void));

#endif							/* CLOCKTIMING_PARALLEL_TIMING_H */
