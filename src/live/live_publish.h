/* Publishes the counters of a running execution. */
#ifndef CLOCKTIMING_LIVE_PUBLISH_H
#define CLOCKTIMING_LIVE_PUBLISH_H

#include "datatype/timestamp.h"

#include "explain/query_timing.h"

/* Milliseconds between two publications; 0: at each timed call, for tests. */
extern int	live_interval_ms;

/*
 * Occupies slots for an execution whose wrappers are installed, and publishes its plan.
 * "own": timed only in order to be published.
 */
extern void live_begin(QueryTiming *query, int level, TimestampTz started_at, bool own);

/* Callbacks of ExecutionWatcher. */
extern void live_publish(QueryTiming *query, NodeTiming *t, bool begins);
extern void live_end(QueryTiming *query);

/* Called by a signal handler.  Makes the next call of a node publish, if a publication is due. */
extern void live_remind(QueryTiming *query);

/* Returns the execution of this process that is published, or NULL; and whether it is "own". */
extern QueryTiming *live_find(const QueryDesc *desc, bool *own);

/*
 * Returns the share of the relation that a sequential scan of heap pages has read, NAN if unknown.
 * "unmapped": the memory shared with parallel workers may be unmapped, and must not be read.
 */
extern double share_scanned(const PlanState *node, bool unmapped);

#endif							/* CLOCKTIMING_LIVE_PUBLISH_H */
