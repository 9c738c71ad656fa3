/* Describes the plan of an execution that is to be published. */
#ifndef CLOCKTIMING_LIVE_PLAN_H
#define CLOCKTIMING_LIVE_PLAN_H

#include "executor/execdesc.h"

#include "live/live_memory.h"

/*
 * Returns an image of an execution of this process, with the plan and without counters, in
 * CurrentMemoryContext.  Unless "nodes" is NULL, sets *nodes to an array of the plan's nodes,
 * indexed by place (live_memory.h).
 */
extern LiveImage *live_describe(const QueryDesc *desc, int level, TimestampTz started_at,
								PlanState ***nodes);

#endif							/* CLOCKTIMING_LIVE_PLAN_H */
