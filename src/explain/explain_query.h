/*-------------------------------------------------------------------------
 *
 * explain_query.h
 *	  What each node of a query's plan takes, found by one of three methods.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_EXPLAIN_QUERY_H
#define CLOCKTIMING_EXPLAIN_QUERY_H

#include "explain/run_series.h"
#include "explain/sampled_run.h"

typedef enum ExplainMethod
{
	METHOD_SAMPLING,			/* a few calls of all nodes, in one execution */
	METHOD_FULL,				/* the server's own times, corrected */
	METHOD_ISOLATE				/* each node in an execution of its own */
} ExplainMethod;

#define N_EXPLAIN_METHODS (METHOD_ISOLATE + 1)

extern const char *const explain_methods[N_EXPLAIN_METHODS];

typedef struct ExplainedQuery
{
	/* in */
	const PlanQuery *query;
	ExplainMethod method;
	NodeTimingOptions options;	/* of METHOD_SAMPLING */
	bool		verify;			/* execute it without anything, too */
	int			runs;			/* of METHOD_SAMPLING: the result is their
								 * mean */

	/* called when the plan is known, before ExecutorEnd() */
	void		(*finished) (QueryDesc *desc, void *arg);
	void	   *arg;

	/* out */
	PlanEstimate *plan;
	double	   *removed_ns;		/* by place in plan; NULL: does not apply */
	double		plain_ms;		/* without anything; NaN if not measured */

	/* while it is executed */
	SampledRun	run;
	struct MeasuredNode *measured;	/* by plan_node_id */
	int			nmeasured;
	double		full_ms;		/* the run timed by the server */
	RunSeries	series;			/* several runs */
	MemoryContext series_context;	/* that its sums are in */
} ExplainedQuery;

/*
 * Executes the query as often as the method asks for.  With "verify", plain_ms
 * is that of one execution when "finished" is called, and the lesser of two in
 * the end; of several runs, the mean of one before each.
 */
extern void explain_query(ExplainedQuery *explained);

#endif							/* CLOCKTIMING_EXPLAIN_QUERY_H */
