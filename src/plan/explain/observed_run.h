/* An execution that is observed from its start to its end, in all of its processes. */
#ifndef CLOCKTIMING_OBSERVED_RUN_H
#define CLOCKTIMING_OBSERVED_RUN_H

#include "plan/explain/observation.h"

/* Writes the estimates into the server's Instrumentation, so that EXPLAIN prints them. */
extern void observe_show(const Observation *observation, const PlanEstimate *plan);

/* An execution that is observed by callbacks of plan_run(). */
typedef struct ObservedRun
{
	ObserveOptions options;
	MemoryContext context;		/* context of "plan"; NULL: the query's */
	void		(*finished) (QueryDesc *desc, void *arg);	/* called before
															 * ExecutorEnd(); or
															 * NULL */
	void	   *arg;

	Observation *observation;	/* state during the execution; NULL: none */
	PlanEstimate *plan;			/* result after ExecutorFinish(); NULL if no
								 * stub was called, because another extension
								 * has replaced the nodes' functions */
	PlanEstimate *seen;			/* result that leaves_unseen; the same if
								 * there is no unseen time */
} ObservedRun;

/* Executes the plan.  Raises an error if another extension prevents the observation. */
extern void observed_run(const PlanQuery *query, ObservedRun *run);

/*
 * Functions that observed_run() calls, for callers that execute a plan by themselves.  "arg" is the
 * ObservedRun.  After an error, the query's memory context releases all resources.
 */
extern void observed_before_run(QueryDesc *desc, void *arg);
extern void observed_after_run(QueryDesc *desc, void *arg);
extern void observed_before_finish(QueryDesc *desc, void *arg);
extern void observed_after_finish(QueryDesc *desc, void *arg);

#endif							/* CLOCKTIMING_OBSERVED_RUN_H */
