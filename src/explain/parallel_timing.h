/* Times nodes in parallel workers. */
#ifndef CLOCKTIMING_PARALLEL_TIMING_H
#define CLOCKTIMING_PARALLEL_TIMING_H

#include "explain/query_timing.h"

/* Publishes the options for workers, if the plan may have any. */
extern void parallel_timing_share(QueryTiming *query);

/*
 * Returns what the workers have reported: for each of query->nworkers the records of the nodes and
 * of the uses of shared subplans.  NULL if nothing was published.
 */
extern const NodeRecord *parallel_timing_records(const QueryTiming *query);

/* Ends the publication; no further workers will start.  Publications are nested like executions. */
extern void parallel_timing_told(QueryTiming *query);

extern void parallel_timing_release(QueryTiming *query);

/* Called in a worker before and after it executes its part of a plan. */
extern void parallel_timing_join(QueryDesc *desc);
extern void parallel_timing_report(QueryDesc *desc);

/*
 * Defines the setting that names the segment.  Calls need_hooks() in a worker that finds a segment.
 */
extern void parallel_timing_init(void (*need_hooks) (void));

#endif							/* CLOCKTIMING_PARALLEL_TIMING_H */
