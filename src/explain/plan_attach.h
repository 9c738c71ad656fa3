/* Finds a plan's nodes, and installs a wrapper around each. */
#ifndef CLOCKTIMING_PLAN_ATTACH_H
#define CLOCKTIMING_PLAN_ATTACH_H

#include "explain/query_timing.h"

/* Installs the wrappers.  Returns the timing state, in the query's memory context. */
extern QueryTiming *plan_attach(QueryDesc *desc, const NodeTimingOptions *options);

#endif							/* CLOCKTIMING_PLAN_ATTACH_H */
