/* Finds a plan's nodes, and installs a wrapper around each. */
#ifndef CLOCKTIMING_PLAN_ATTACH_H
#define CLOCKTIMING_PLAN_ATTACH_H

#include "explain/query_timing.h"
#include "explain/timing_options.h"

/* Returns the timing state of the plan's nodes, in the query's memory context. */
extern QueryTiming *plan_attach(QueryDesc *desc, const NodeTimingOptions *options);

/* Returns the only node that scans a CTE; NULL if several do. */
extern NodeTiming *only_cte_scan(const QueryTiming *query, const PlanState *cte);

#endif							/* CLOCKTIMING_PLAN_ATTACH_H */
