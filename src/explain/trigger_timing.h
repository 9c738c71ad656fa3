/* Times a sample of triggers' firings.  A trigger is treated as a node, and a firing as a call. */
#ifndef CLOCKTIMING_TRIGGER_TIMING_H
#define CLOCKTIMING_TRIGGER_TIMING_H

#include "explain/query_timing.h"

/* Installs wrappers of the triggers of all written relations, if the server counts firings. */
extern void triggers_attach(QueryTiming *query);

/* Adds the cost of timing BEFORE triggers to their nodes, and of other triggers to the query. */
extern void triggers_add_costs(const QueryTiming *query, PlanEstimate *plan);

/* Writes the times of triggers, without the cost of timing, to the server's instrumentation. */
extern void triggers_show(const QueryTiming *query);

#endif							/* CLOCKTIMING_TRIGGER_TIMING_H */
