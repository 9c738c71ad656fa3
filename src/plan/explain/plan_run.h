/* Executes a query's plan once, and calls functions of the caller (an observer) meanwhile. */
#ifndef CLOCKTIMING_PLAN_RUN_H
#define CLOCKTIMING_PLAN_RUN_H

#include "executor/execdesc.h"

#include "plan/explain/plan_source.h"

/* Callbacks of an execution; each may be NULL.  Memory they allocate outlives plan_run(). */
typedef struct PlanObserver
{
	int			instrument_options; /* as for CreateQueryDesc() */
	bool		whole;			/* the duration includes ExecutorStart() and
								 * ExecutorEnd() */
	void		(*before_run) (QueryDesc *desc, void *arg);
	void		(*after_run) (QueryDesc *desc, void *arg);
	void		(*before_finish) (QueryDesc *desc, void *arg);
	void		(*after_finish) (QueryDesc *desc, void *arg);	/* excluded from the
																 * duration */
	void		(*after_timed) (QueryDesc *desc, void *arg, double ms); /* the same, with the
																		 * duration so far */
	void	   *arg;
} PlanObserver;

/* Executes the plan once, rolls its writes back, and returns the duration in ms. */
extern double plan_run(const PlanQuery *query, const PlanObserver *observer);

/*
 * The execution that plan_run() is starting; else NULL.  The ExecutorRun hook sets this variable to
 * NULL, and does not time the execution, because plan_run()'s observer times it if necessary.
 */
extern const QueryDesc *plan_run_desc;

/* Returns how often plan nodes were called, computed from row counts.  For after_finish(). */
extern double plan_node_calls(QueryDesc *desc);

#endif							/* CLOCKTIMING_PLAN_RUN_H */
