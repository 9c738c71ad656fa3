/*-------------------------------------------------------------------------
 *
 * node_timing.h
 *	  Times the plan nodes of one execution, a few of their calls only.
 *
 * Between ExecutorStart() and ExecutorRun(), node_timing_attach() puts itself
 * before every node's ExecProcNode.  From then on calls are counted, and some,
 * drawn at random, are timed.  node_timing_detach(), after ExecutorFinish()
 * and before ExecutorEnd(), says what was counted and timed, in this process
 * and in parallel workers.  What triggers have taken, if the server counts their
 * firings, it tells the server alone, which is who prints it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_NODE_TIMING_H
#define CLOCKTIMING_NODE_TIMING_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"

#include "core/plan_estimate.h"
#include "explain/timing_options.h"

typedef struct QueryTiming QueryTiming;
typedef struct NodeTiming NodeTiming;

/*
 * Calibrates, which takes some milliseconds, unless it was done a moment ago; to
 * be called where time does not matter.
 */
extern void node_timing_prepare(const NodeTimingOptions *options);

/* Only that, and unless the kernel was asked for its clock a moment ago as well. */
extern void node_timing_calibrate(void);

/* Installs the wrappers.  What it returns is in the query's memory. */
extern QueryTiming *node_timing_attach(QueryDesc *desc,
									   const NodeTimingOptions *options);

/*
 * Before ExecutorRun(), after it, and after ExecutorFinish(), without delay.  And
 * before a further ExecutorRun(), or before ExecutorFinish(), some time after that.
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
extern PlanEstimate *node_timing_record(QueryTiming *query, int nworkers, NodeRecorder recorder, void *arg);

/*
 * Returns the result in CurrentMemoryContext, and gives back all resources; an
 * error gives them back, too.  Returns NULL if no wrapper was called, because
 * another extension has replaced the functions of the nodes.  The server's
 * instrumentation is then as it would be without us.
 */
extern PlanEstimate *node_timing_detach(QueryTiming *query);

/*
 * Puts the figures into the server's own instrumentation, if there is one, so that
 * EXPLAIN prints them.
 */
extern void node_timing_show(QueryDesc *desc, const PlanEstimate *plan);

/* The place in the plan of a plan_node_id, -1 if none; the node's estimate. */
extern int	node_estimate_place(const PlanEstimate *plan, int id);
extern NodeEstimate *node_timing_estimate(const PlanEstimate *plan, PlanState *node);

#endif							/* CLOCKTIMING_NODE_TIMING_H */
