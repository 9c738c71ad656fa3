/* Executes a query's plan once, with an observer. */
#ifndef CLOCKTIMING_PLAN_RUN_H
#define CLOCKTIMING_PLAN_RUN_H

#include "executor/execdesc.h"

#include "explain/plan_source.h"

/* Callbacks of an execution; may be NULL.  What they allocate in CurrentMemoryContext is kept. */
typedef struct PlanObserver
{
	int			instrument_options; /* as for CreateQueryDesc() */
	bool		whole;			/* including ExecutorStart() and End() */
	void		(*before_run) (QueryDesc *desc, void *arg);
	void		(*after_run) (QueryDesc *desc, void *arg);
	void		(*after_finish) (QueryDesc *desc, void *arg);	/* not part of the
																 * duration */
	void	   *arg;
} PlanObserver;

/* Executes the plan once, rolls its writes back, and returns the duration in ms. */
extern double plan_run(const PlanQuery *query, const PlanObserver *observer);

/* Execution that plan_run() begins: hooks leave it to the observer, and set this to NULL. */
extern const QueryDesc *plan_run_desc;

/* Returns the number of calls of plan nodes, in after_finish, if rows were counted. */
extern double plan_node_calls(QueryDesc *desc);

/* Returns the upper limit of the plan_node_ids of a started plan. */
extern int	plan_node_ids(QueryDesc *desc);

#endif							/* CLOCKTIMING_PLAN_RUN_H */
