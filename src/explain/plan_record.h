/*-------------------------------------------------------------------------
 *
 * plan_record.h
 *	  From what was counted and timed to the estimates of a plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLAN_RECORD_H
#define CLOCKTIMING_PLAN_RECORD_H

#include "explain/query_timing.h"

/* What this process has counted and timed at a node, once its run is over. */
extern void record_node(NodeTiming *t, NodeRecord *record);

extern void record_add(NodeRecord *sum, const NodeRecord *record);

/*
 * A node's estimate, as far as it is "in", with what its workers have reported:
 * every stride-th record.
 */
extern void record_estimate(NodeTiming *t, int nworkers, const NodeRecord *workers,
							size_t stride, NodeEstimate *estimate);

/* What is outside of the root's calls. */
extern void record_outside(const QueryTiming *query, PlanEstimate *plan);

/* See node_timing_choose_cte_parents(). */
extern void record_cte_parents(const QueryTiming *query, PlanEstimate *plan);

#endif							/* CLOCKTIMING_PLAN_RECORD_H */
