/*
 * Times the plan nodes of one execution by sampling their calls.
 *
 * A wrapper around the function of every node counts all calls and times a random sample.  The
 * results include those of parallel workers.  Times of triggers are only written to the server's
 * instrumentation, because the server prints them.
 */
#ifndef CLOCKTIMING_NODE_TIMING_H
#define CLOCKTIMING_NODE_TIMING_H

#include "explain/plan_run.h"
#include "explain/query_timing.h"

#define SAMPLING_DEFAULT		64
#define MAX_OVERHEAD_DEFAULT	1.0

/* Return the value if it is valid, else raise an error about the parameter called "name". */
extern int	sampling_check(const char *name, int64 sampling);
extern double max_overhead_check(const char *name, double percent);

typedef struct SampledRun
{
	NodeTimingOptions options;
	MemoryContext context;		/* context of "plan"; NULL: the query's */
	void		(*finished) (QueryDesc *desc, void *arg);	/* called before
															 * ExecutorEnd(), if
															 * "plan" is set; or
															 * NULL */
	void	   *arg;

	QueryTiming *timing;		/* state during the execution */
	PlanEstimate *plan;			/* result after ExecutorFinish(); NULL if no
								 * wrapper was called, because another
								 * extension has replaced the nodes' functions */
} SampledRun;

/* Executes the plan.  Raises an error if another extension prevents the timing. */
extern void sampled_run(const PlanQuery *query, SampledRun *run);

/*
 * Functions that sampled_run() calls, for callers that execute a plan by themselves.  "arg" is the
 * SampledRun.  After an error, the query's memory context releases all resources.
 */
extern void sampled_before_run(QueryDesc *desc, void *arg);
extern void sampled_after_run(QueryDesc *desc, void *arg);
extern void sampled_after_finish(QueryDesc *desc, void *arg);

/*
 * Chooses the clock and returns the time that counting and timing add to a call.  May have to
 * measure that time for some milliseconds, so it must be called before timing begins.  "recent":
 * keeps a choice of the clock that is less than 10 s old.
 */
extern const CallCost *node_timing_prepare(bool all_timed, bool recent);

/* Installs the wrappers.  Returns the timing state, in the query's memory context. */
extern QueryTiming *node_timing_attach(QueryDesc *desc, const NodeTimingOptions *options);

/* Sets the input members of a node's estimate. */
typedef void (*NodeRecorder) (NodeTiming *t, NodeEstimate *estimate, void *arg);

/*
 * Returns the estimates of all nodes, in CurrentMemoryContext.  The recorder sets each node's
 * input.  A NULL recorder requires that the execution has ended; then workers' results are
 * included.
 */
extern PlanEstimate *node_timing_record(QueryTiming *query, NodeRecorder recorder, void *arg);

/* Writes the estimates into the server's instrumentation, so that EXPLAIN prints them. */
extern void node_timing_show(QueryDesc *desc, const PlanEstimate *plan);

/* Return the index in PlanEstimate.nodes (or -1) and the estimate (or NULL) of the node "id". */
extern int	node_estimate_place(const PlanEstimate *plan, int id);
extern NodeEstimate *node_estimate(const PlanEstimate *plan, int id);

#endif							/* CLOCKTIMING_NODE_TIMING_H */
