/* Times the nodes of a query's plan by one of three methods. */
#ifndef CLOCKTIMING_EXPLAIN_QUERY_H
#define CLOCKTIMING_EXPLAIN_QUERY_H

#include "explain/run_series.h"
#include "explain/node_timing.h"

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
	/* input */
	const PlanQuery *query;
	ExplainMethod method;
	NodeTimingOptions options;	/* for METHOD_SAMPLING */
	bool		verify;			/* also execute without counting and timing */
	int			runs;			/* for METHOD_SAMPLING: number of runs */

	/* called when the plan is known, before ExecutorEnd() */
	void		(*finished) (QueryDesc *desc, void *arg);
	void	   *arg;

	/* output */
	PlanEstimate *plan;
	double	   *removed_ns;		/* removed cost, by place; NULL: none */
	double		plain_ms;		/* without counting and timing; or NaN */

	/* state of the execution */
	SampledRun	run;
	struct MeasuredNode *measured;	/* by plan_node_id */
	int			nmeasured;
	double		full_ms;		/* duration of the run that the server times */
	RunSeries	series;			/* several runs */
} ExplainedQuery;

/*
 * Executes the query as often as the method requires.  With "verify", plain_ms is the duration of
 * one plain run when "finished" is called, and the shorter of two at the end; for several runs it
 * is the mean of one before each.
 */
extern void explain_query(ExplainedQuery *explained);

#endif							/* CLOCKTIMING_EXPLAIN_QUERY_H */
