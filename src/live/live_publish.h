/* Publishes executions whose nodes have wrappers, which count and time calls (call_wrapper.h). */
#ifndef CLOCKTIMING_LIVE_PUBLISH_H
#define CLOCKTIMING_LIVE_PUBLISH_H

#include "datatype/timestamp.h"

#include "explain/query_timing.h"

/* Milliseconds between two publications; 0: at each timed call, for tests. */
extern int	live_interval_ms;

/*
 * Occupies slots of live_memory.h for an execution whose wrappers are installed, and publishes its
 * plan.  "own" means that the execution is timed only in order to be published.
 */
extern void live_begin(QueryTiming *query, int level, TimestampTz started_at, bool own);

/* Callbacks of ExecutionWatcher (query_timing.h). */
extern void live_publish(QueryTiming *query, NodeTiming *t, bool begins);
extern void live_end(QueryTiming *query);

/* If a publication is due, has the next call of a node publish.  Called by a signal handler. */
extern void live_remind(QueryTiming *query);

/* Returns the published execution of this QueryDesc, or NULL.  Sets *own, see live_begin(). */
extern QueryTiming *live_find(const QueryDesc *desc, bool *own);

/*
 * Returns the share of the relation's pages that a sequential scan has read; NAN if unknown.
 * "unmapped" means that the memory shared with parallel workers may be unmapped, so it is not read.
 */
extern double share_scanned(const PlanState *node, bool unmapped);

#endif							/* CLOCKTIMING_LIVE_PUBLISH_H */
