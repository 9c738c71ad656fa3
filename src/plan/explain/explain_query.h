/* Times the nodes of a query's plan by one of two methods. */
#ifndef CLOCKTIMING_EXPLAIN_QUERY_H
#define CLOCKTIMING_EXPLAIN_QUERY_H

#include "plan/explain/observed_run.h"
#include "plan/explain/run_series.h"

typedef enum ExplainMethod
{
	METHOD_SAMPLING,			/* the sampler sees which node is at work */
	METHOD_FULL					/* server's times minus the cost of timing */
} ExplainMethod;

#define N_EXPLAIN_METHODS (METHOD_FULL + 1)

extern const char *const explain_methods[N_EXPLAIN_METHODS];

typedef struct ExplainedQuery
{
	/* input */
	const PlanQuery *query;
	ExplainMethod method;
	bool		verify;			/* whether to execute plain runs, too: without
								 * instrumentation */
	int			runs;			/* for METHOD_SAMPLING: number of runs */

	/* called before ExecutorEnd(), when the output below has been set */
	void		(*finished) (QueryDesc *desc, void *arg);
	void	   *arg;

	/* output */
	const Observation *observation; /* nodes of the plan */
	PlanEstimate *plan;
	double		plain_ms;		/* duration of a plain run; NaN: unknown */

	/* state of the execution */
	ObservedRun run;
	double		throttled_ns;	/* at the beginning */
	RunSeries	series;			/* sums over several runs */
} ExplainedQuery;

/*
 * Executes the query as often as the method requires.  "verify" adds plain runs.  If "runs" is
 * above 1, a plain run precedes each run, and plain_ms is the mean of the plain runs.  Otherwise
 * the first execution and the last one, after "finished", are plain runs, and plain_ms is the
 * shorter duration.  METHOD_FULL always executes two plain runs, before the timed run.
 */
extern void explain_query(ExplainedQuery *explained);

#endif							/* CLOCKTIMING_EXPLAIN_QUERY_H */
