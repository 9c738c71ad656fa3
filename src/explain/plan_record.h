/* Makes estimates of a plan from counters and timed calls. */
#ifndef CLOCKTIMING_PLAN_RECORD_H
#define CLOCKTIMING_PLAN_RECORD_H

#include "explain/query_timing.h"

/* Copies what this process has counted and timed at a node after the run. */
extern void record_node(NodeTiming *t, NodeRecord *record);

/* Writes the counts so far into the server's instrumentation, for plans explained meanwhile. */
extern void record_show_counts(QueryTiming *query);

extern void record_add(NodeRecord *sum, const NodeRecord *record);

/* Sets the "in" members of an estimate, with those of the workers: every stride-th record. */
extern void record_estimate(NodeTiming *t, int nworkers, const NodeRecord *workers,
							size_t stride, NodeEstimate *estimate);

/* Sets the time outside of the root's calls. */
extern void record_outside(const QueryTiming *query, PlanEstimate *plan);

/*
 * record_part() sets the record of the calls that one user has made of a shared subplan, in this
 * process; whole_ns is the subplan's total time. record_part_estimate() sets the "in" members of an
 * estimate, as record_estimate() does.
 */
extern void record_part(const SubplanUse *use, double whole_ns, NodeRecord *record);
extern void record_part_estimate(const SubplanUse *use, int nworkers, const NodeRecord *workers,
								 size_t stride, const PlanEstimate *plan, NodeEstimate *estimate);

#endif							/* CLOCKTIMING_PLAN_RECORD_H */
