/* Wrapper around a node's ExecProcNode function: counts all calls and times some. */
#ifndef CLOCKTIMING_CALL_WRAPPER_H
#define CLOCKTIMING_CALL_WRAPPER_H

#include "explain/query_timing.h"

/* Returns the wrapper function.  With "unseen", it does not check whether a call returned a row. */
extern ExecProcNodeMtd call_wrapper(bool unseen);

/* Returns whether a node's ExecProcNode is neither a wrapper nor the server's instrumentation. */
extern bool has_server_function(const PlanState *node);

/*
 * Returns the function that the server sets as a node's ExecProcNode after its first call, with or
 * without instrumentation.  A signal handler must not be the first caller in a session.
 */
extern ExecProcNodeMtd server_call_function(const PlanState *node);

/* Replaces a node's ExecProcNode by the wrapper that members of "t", such as "seen", require. */
extern void install_wrapper(NodeTiming *t);

/*
 * Registers the array of an execution's NodeTimings, until wrappers_forget().  A wrapper treats a
 * node's "instrument" as part of a NodeTiming only if "instrument" points into a registered array.
 */
extern void wrappers_register(QueryTiming *query, void *timings, Size size);
extern void wrappers_forget(QueryTiming *query);

/* Registers or unregisters a single NodeTiming, with which the cost of wrappers is measured. */
extern void wrappers_use(NodeTiming *t, bool use);

#endif							/* CLOCKTIMING_CALL_WRAPPER_H */
