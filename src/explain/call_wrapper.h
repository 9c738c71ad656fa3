/* Wrapper around a node's ExecProcNode function: counts all calls and times some. */
#ifndef CLOCKTIMING_CALL_WRAPPER_H
#define CLOCKTIMING_CALL_WRAPPER_H

#include "explain/query_timing.h"

/* Returns a wrapper.  That for unseen calls, of nodes read to the end, does not check results. */
extern ExecProcNodeMtd call_wrapper(bool unseen);

/* Returns whether a node's function is the server's own, without instrumentation. */
extern bool has_server_function(const PlanState *node);

/*
 * Returns the function that the server gives a node after its first call, with or without
 * instrumentation.  Except at first, a signal handler may call it.
 */
extern ExecProcNodeMtd server_call_function(const PlanState *node);

/* Replaces a node's function by its wrapper.  The caller has set t->reading. */
extern void install_wrapper(NodeTiming *t);

/*
 * Registers the NodeTimings of an execution, until wrappers_forget().  A wrapper dereferences a
 * node's "instrument" as a NodeTiming only if it is registered.
 */
extern void wrappers_register(QueryTiming *query, void *timings, Size size);
extern void wrappers_forget(QueryTiming *query);

/* Begins or ends calls of wrappers for a NodeTiming outside of an execution. */
extern void wrappers_use(NodeTiming *t, bool use);

#endif							/* CLOCKTIMING_CALL_WRAPPER_H */
