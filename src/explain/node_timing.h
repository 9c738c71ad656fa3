/*
 * Times the plan nodes of one execution by a sample of their calls.
 *
 * Between ExecutorStart() and ExecutorRun(), node_timing_attach() installs a wrapper around the
 * function of every node.  The wrapper counts all calls and times a random sample.  After
 * ExecutorFinish() and before ExecutorEnd(), node_timing_detach() returns counts and times of this
 * process and of parallel workers.  The times of triggers go to the server's instrumentation only,
 * because the server prints them.
 */
#ifndef CLOCKTIMING_NODE_TIMING_H
#define CLOCKTIMING_NODE_TIMING_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"

#include "core/plan_estimate.h"
#include "explain/timing_options.h"

typedef struct QueryTiming QueryTiming;
typedef struct NodeTiming NodeTiming;

/* Calibrates for some milliseconds unless that was done recently.  Not while a query is timed. */
extern void node_timing_prepare(const NodeTimingOptions *options);

/* The same without options; also asks the kernel for its clock, unless that was done recently. */
extern void node_timing_calibrate(void);

/* Installs the wrappers.  The result is in the query's memory context. */
extern QueryTiming *node_timing_attach(QueryDesc *desc,
									   const NodeTimingOptions *options);

/*
 * To be called without delay: node_timing_start() before the first ExecutorRun(), node_timing_ran()
 * after it, node_timing_stop() after ExecutorFinish(). node_timing_resume() is called before a
 * later ExecutorRun(), with "again", and before ExecutorFinish().
 */
extern void node_timing_start(QueryTiming *query);
extern void node_timing_ran(QueryTiming *query);
extern void node_timing_stop(QueryTiming *query);
extern void node_timing_resume(QueryTiming *query, bool again);

/* Fills in the "in" fields of a node's estimate. */
typedef void (*NodeRecorder) (NodeTiming *t, NodeEstimate *estimate, void *arg);

/*
 * Returns the estimates of all nodes, in CurrentMemoryContext, by what the recorder says of each.
 * "nworkers" is the number of workers whose reports count.
 */
extern PlanEstimate *node_timing_record(QueryTiming *query, int nworkers, NodeRecorder recorder,
										void *arg);

/*
 * Returns the result in CurrentMemoryContext, and releases all resources; an error releases them,
 * too.  Returns NULL if another extension has replaced the functions of the nodes, so that no
 * wrapper was called.  The server's instrumentation is then as it would be without clocktiming.
 */
extern PlanEstimate *node_timing_detach(QueryTiming *query);

/* Writes the estimates into the server's instrumentation, if any, so that EXPLAIN prints them. */
extern void node_timing_show(QueryDesc *desc, const PlanEstimate *plan);

/* Return a plan_node_id's place in the plan, -1 if none; the estimate of a node. */
extern int	node_estimate_place(const PlanEstimate *plan, int id);
extern NodeEstimate *node_timing_estimate(const PlanEstimate *plan, PlanState *node);

#endif							/* CLOCKTIMING_NODE_TIMING_H */
