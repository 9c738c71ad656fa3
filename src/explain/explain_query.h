/* Times the nodes of a query's plan by one of three methods. */
#ifndef CLOCKTIMING_EXPLAIN_QUERY_H
#define CLOCKTIMING_EXPLAIN_QUERY_H

#include "explain/run_series.h"
#include "explain/node_timing.h"

typedef enum ExplainMethod
{
	METHOD_SAMPLING,			/* times a sample of all nodes' calls */
	METHOD_FULL,				/* server's times minus the cost of timing */
	METHOD_ISOLATE				/* times each node in a separate execution */
} ExplainMethod;

#define N_EXPLAIN_METHODS (METHOD_ISOLATE + 1)

extern const char *const explain_methods[N_EXPLAIN_METHODS];

typedef struct ExplainedQuery
{
	/* input */
	const PlanQuery *query;
	ExplainMethod method;
	NodeTimingOptions options;	/* for METHOD_SAMPLING */
	bool		verify;			/* whether to execute plain runs, too: without
								 * counting and timing */
	int			runs;			/* for METHOD_SAMPLING: number of runs */

	/* called before ExecutorEnd(), when "plan" below has been set */
	void		(*finished) (QueryDesc *desc, void *arg);
	void	   *arg;

	/* output */
	PlanEstimate *plan;
	double	   *removed_ns;		/* timing cost subtracted per node; or NULL */
	double		plain_ms;		/* duration of a plain run; NaN: unknown */

	/* state of the execution */
	SampledRun	run;
	struct MeasuredNode *measured;	/* by plan_node_id */
	int			nmeasured;
	double		full_ms;		/* duration of METHOD_FULL's timed run */
	RunSeries	series;			/* sums over several runs */
} ExplainedQuery;

/*
 * Executes the query as often as the method requires.  "verify" adds plain runs.  If "runs" is
 * above 1, a plain run precedes each run, and plain_ms is the mean of the plain runs.  Otherwise
 * the first execution and the last one, after "finished", are plain runs, and plain_ms is the
 * shorter duration.  METHOD_FULL always executes plain runs, before and after the timed run.
 */
extern void explain_query(ExplainedQuery *explained);

#endif							/* CLOCKTIMING_EXPLAIN_QUERY_H */
