/*-------------------------------------------------------------------------
 *
 * parallel_timing.h
 *	  Has parallel workers time their nodes, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PARALLEL_TIMING_H
#define CLOCKTIMING_PARALLEL_TIMING_H

#include "explain/query_timing.h"

/* Tells the workers that are to come, if the plan may have some. */
extern void parallel_timing_share(QueryTiming *query);

/* How many workers may have reported; 0 if none was told. */
extern int	parallel_timing_workers(const QueryTiming *query);

/* A NodeRecorder: with the reports of all workers. */
extern void parallel_timing_estimate(NodeTiming *t, NodeEstimate *estimate, void *arg);

/* Once all nodes have theirs: those of the uses of shared subplans, with the reports of plan->nworkers. */
extern void parallel_timing_estimate_parts(QueryTiming *query, PlanEstimate *plan);

/* No more workers will come.  (Settings of the leader's are nested, as executions are.) */
extern void parallel_timing_told(QueryTiming *query);

/* Gives back what sharing has taken. */
extern void parallel_timing_release(QueryTiming *query);

/* A worker, before it executes its part of a plan, and after that. */
extern void parallel_timing_join(QueryDesc *desc);
extern void parallel_timing_report(QueryDesc *desc);

/* The setting by which workers are told.  "need_hooks" is called in a worker that is. */
extern void parallel_timing_init(void (*need_hooks) (void));

#endif							/* CLOCKTIMING_PARALLEL_TIMING_H */
