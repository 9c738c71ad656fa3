/*
 * Publishes running executions in shared memory.
 *
 * Rows and loops are those of the server's Instrumentation.  If the server does not instrument an
 * execution, an Observation (plan/explain/observation.h) is attached to it.  Times are the
 * sampler's, or the server's if it times an execution that is not observed.
 */
#ifndef CLOCKTIMING_LIVE_PUBLISH_H
#define CLOCKTIMING_LIVE_PUBLISH_H

#include "datatype/timestamp.h"

#include "plan/explain/observation.h"
#include "plan/live/live_memory.h"

/* A published execution.  Allocated in the query's memory context. */
typedef struct LiveExecution
{
	QueryDesc  *desc;
	dlist_node	link;			/* in the list of this process's executions */
	MemoryContextCallback at_end;
	LiveImage  *image;
	const Observation *nodes;	/* nodes by place (live_memory.h) */
	Observation *observation;	/* the same if it is observed, else NULL */
	bool		own;			/* observed only in order to be published */
	bool		complete;		/* it has returned its last row */
	bool		ended;			/* live_ended() was called */
	bool	   *at_work;		/* by place: the node at work, and those above */
	double	   *total_ns;		/* these two: scratch memory of
								 * live_put_times() */
	double	   *variances;
} LiveExecution;

/* Shortest time between two publications, in ms. */
extern int	live_interval_ms;

static inline const PlanState *
live_state_of(const LiveExecution *live, int place)
{
	return live->nodes->nodes[place].probed.node;
}

/*
 * Publishes the plan of an execution.  "called": node whose call is about to begin, if
 * ExecutorRun() has already begun; else NULL.  Returns NULL if no slot (live_memory.h) is free.
 */
extern LiveExecution *live_begin(QueryDesc *desc, int level, TimestampTz started_at,
								 PlanState *called);

/* Returns the published execution of a QueryDesc, or NULL. */
extern LiveExecution *live_find(const QueryDesc *desc);

/* Returns whether this process has published executions that have not ended. */
extern bool live_any(void);

/*
 * live_pause() marks an execution as suspended, and interrupts the observation unless it has
 * another owner.  The caller publishes it.  live_resume() publishes that the execution continues.
 */
extern void live_resume(LiveExecution *live);
extern void live_pause(LiveExecution *live);

/* Adds the duration of a complete execution to the history of its plan, unless that was done. */
extern void live_ended(LiveExecution *live);

/*
 * Publishes the counters, unless the previous publication was less than clocktiming.live_interval
 * ago and "always" is false.  A signal handler may call it during ExecutorRun().
 */
extern void live_publish(LiveExecution *live, bool always);

/* Parts of a publication, in this order: set at_work and LiveHeader.innermost; ... */
extern void live_put_work(LiveExecution *live);

/* ... the states and, if a first call is in progress, the loops; ... */
extern void live_put_states(LiveExecution *live);

/* ... and the times and LiveHeader.run_ns.  "unknown": no node has times yet. */
extern void live_put_times(LiveExecution *live, bool unknown);

#endif							/* CLOCKTIMING_LIVE_PUBLISH_H */
