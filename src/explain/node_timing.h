/*
 * Times the plan nodes of one execution by a sample of their calls.
 *
 * A wrapper around the function of every node counts all calls and times a random sample.  The
 * results include those of parallel workers.  The times of triggers go to the server's
 * instrumentation only, because the server prints them.
 */
#ifndef CLOCKTIMING_NODE_TIMING_H
#define CLOCKTIMING_NODE_TIMING_H

#include "explain/plan_run.h"
#include "explain/query_timing.h"

#define SAMPLING_DEFAULT		64
#define MAX_OVERHEAD_DEFAULT	1.0

/* Return the value of this name, or raise an error if it is not valid for NodeTimingOptions. */
extern int	sampling_check(const char *name, int64 sampling);
extern double max_overhead_check(const char *name, double percent);

typedef struct SampledRun
{
	NodeTimingOptions options;
	MemoryContext context;		/* for "plan"; NULL: the query's own */
	void		(*finished) (QueryDesc *desc, void *arg);	/* called with the plan,
															 * before ExecutorEnd();
															 * may be NULL */
	void	   *arg;

	QueryTiming *timing;		/* state during the execution */
	PlanEstimate *plan;			/* result after ExecutorFinish(); NULL:
								 * another extension has replaced the
								 * functions of the nodes, so that no wrapper
								 * was called */
} SampledRun;

/* Executes the plan.  Raises an error if another extension prevents the timing. */
extern void sampled_run(const PlanQuery *query, SampledRun *run);

/*
 * Callbacks of its observer, for other ways to execute a plan; arg is the SampledRun.  An error
 * releases all resources, too.
 */
extern void sampled_before_run(QueryDesc *desc, void *arg);
extern void sampled_after_run(QueryDesc *desc, void *arg);
extern void sampled_after_finish(QueryDesc *desc, void *arg);

/*
 * Chooses the clock and calibrates for some milliseconds.  Not while a query is timed.  "recent":
 * the kernel is not asked for its clock if it was asked recently.
 */
extern const CallCost *node_timing_prepare(bool all_timed, bool recent);

/* Installs the wrappers.  The result is in the query's memory context. */
extern QueryTiming *node_timing_attach(QueryDesc *desc, const NodeTimingOptions *options);

/* Fills in the "in" fields of a node's estimate. */
typedef void (*NodeRecorder) (NodeTiming *t, NodeEstimate *estimate, void *arg);

/*
 * Returns the estimates of all nodes, in CurrentMemoryContext, by what the recorder says of each.
 * NULL: at the end of the execution, including the reports of workers.
 */
extern PlanEstimate *node_timing_record(QueryTiming *query, NodeRecorder recorder, void *arg);

/* Writes the estimates into the server's instrumentation, if any, so that EXPLAIN prints them. */
extern void node_timing_show(QueryDesc *desc, const PlanEstimate *plan);

/* Return a plan_node_id's place in the plan, -1 if none; and its estimate, or NULL. */
extern int	node_estimate_place(const PlanEstimate *plan, int id);
extern NodeEstimate *node_estimate(const PlanEstimate *plan, int id);

#endif							/* CLOCKTIMING_NODE_TIMING_H */
