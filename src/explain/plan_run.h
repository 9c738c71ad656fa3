/*-------------------------------------------------------------------------
 *
 * plan_run.h
 *	  One execution of a query's plan, with an observer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLAN_RUN_H
#define CLOCKTIMING_PLAN_RUN_H

#include "executor/execdesc.h"

#include "explain/plan_source.h"

/*
 * Who observes an execution.  Each function may be NULL, and what it allocates
 * in CurrentMemoryContext stays.
 */
typedef struct PlanObserver
{
	int			instrument_options; /* as for CreateQueryDesc() */
	bool		whole;			/* ExecutorStart() and ExecutorEnd() are part
								 * of the time */
	void		(*before_run) (QueryDesc *desc, void *arg);
	void		(*after_run) (QueryDesc *desc, void *arg);
	void		(*after_finish) (QueryDesc *desc, void *arg);	/* not part of the time */
	void	   *arg;
} PlanObserver;

/*
 * Executes the plan once and returns how long that took in ms.  The output is
 * thrown away; what the query writes is rolled back.  Errors point into the
 * query.
 */
extern double plan_run(const PlanQuery *query, const PlanObserver *observer);

/*
 * An execution of plan_run() that is about to begin, which is observed already;
 * whoever sees it sets this to NULL.
 */
extern const QueryDesc *plan_run_desc;

/* Calls work(arg) under the same conditions: for another way to execute it. */
extern void plan_run_work(const PlanQuery *query, void (*work) (void *arg), void *arg);

/*
 * How often plan nodes were called, for an observer whose instrumentation
 * counts rows.  To be called in after_finish.
 */
extern double plan_node_calls(QueryDesc *desc);

/* A number that all plan_node_ids of a started plan are below. */
extern int	plan_node_ids(QueryDesc *desc);

#endif							/* CLOCKTIMING_PLAN_RUN_H */
