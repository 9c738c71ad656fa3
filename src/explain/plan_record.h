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

/*
 * Writes the rows and loops counted so far into the server's instrumentation, for
 * extensions that explain the plan before the estimates are made.
 */
extern void record_show_counts(QueryTiming *query);

extern void record_add(NodeRecord *sum, const NodeRecord *record);

/*
 * A node's estimate, as far as it is "in", with what its workers have reported:
 * every stride-th record.
 */
extern void record_estimate(NodeTiming *t, int nworkers, const NodeRecord *workers,
							size_t stride, NodeEstimate *estimate);

/* What is outside of the root's calls. */
extern void record_outside(const QueryTiming *query, PlanEstimate *plan);

/*
 * Calls of a shared subplan that one user has made, in this process, of whose total
 * time is "whole_ns"; and an estimate's "in" fields, as record_estimate().
 */
extern void record_part(const SubplanUse *use, double whole_ns, NodeRecord *record);
extern void record_part_estimate(const SubplanUse *use, int nworkers, const NodeRecord *workers,
								 size_t stride, const PlanEstimate *plan, NodeEstimate *estimate);

#endif							/* CLOCKTIMING_PLAN_RECORD_H */
