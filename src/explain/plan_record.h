/* Converts counters and timed calls of a plan's nodes to NodeRecords and estimates. */
#ifndef CLOCKTIMING_PLAN_RECORD_H
#define CLOCKTIMING_PLAN_RECORD_H

#include "explain/query_timing.h"

/* Sets the record of a node's calls in this process.  Called after the run. */
extern void record_node(NodeTiming *t, NodeRecord *record);

/* Writes counts so far to the server's instrumentation, in case an extension explains the plan. */
extern void record_show_counts(QueryTiming *query);

/* Adds a record to a sum, or with sign -1 subtracts it. */
extern void record_add(NodeRecord *sum, const NodeRecord *record, int sign);

/*
 * Set the input members of estimates: record_estimate() those of a node, record_parts() those of
 * the uses of shared subplans. record_parts() must be called after record_estimate() for all nodes.
 * "records" are the results of parallel workers, or NULL.
 */
extern void record_estimate(NodeTiming *t, int nworkers, const NodeRecord *records,
							NodeEstimate *estimate);
extern void record_parts(const QueryTiming *query, const NodeRecord *records, PlanEstimate *plan);

extern void record_outside(const QueryTiming *query, PlanEstimate *plan);

/* Sets the record of a shared subplan's calls by one node.  The subplan takes whole_ns in total. */
extern void record_part(const SubplanUse *use, double whole_ns, NodeRecord *record);

#endif							/* CLOCKTIMING_PLAN_RECORD_H */
