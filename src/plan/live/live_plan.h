/* Describes the plan of an execution that is to be published. */
#ifndef CLOCKTIMING_LIVE_PLAN_H
#define CLOCKTIMING_LIVE_PLAN_H

#include "plan/explain/observation.h"
#include "plan/live/live_memory.h"

/*
 * Returns an image of an execution of this process, with the plan and without counters, in
 * CurrentMemoryContext.  "nodes" are the plan's nodes, by place (live_memory.h).
 */
extern LiveImage *live_describe(const QueryDesc *desc, int level, TimestampTz started_at,
								const Observation *nodes);

#endif							/* CLOCKTIMING_LIVE_PLAN_H */
