/*-------------------------------------------------------------------------
 *
 * plan_attach.h
 *	  Finds a plan's nodes, and installs a wrapper before each.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLAN_ATTACH_H
#define CLOCKTIMING_PLAN_ATTACH_H

#include "explain/query_timing.h"
#include "explain/timing_options.h"

/* The plan's nodes, in the query's memory. */
extern QueryTiming *plan_attach(QueryDesc *desc, const NodeTimingOptions *options);

/* The only node that scans a CTE, or NULL. */
extern NodeTiming *only_cte_scan(const QueryTiming *query, const PlanState *cte);

#endif							/* CLOCKTIMING_PLAN_ATTACH_H */
