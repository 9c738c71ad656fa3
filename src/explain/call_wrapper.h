/* Wrapper around a node's ExecProcNode function: counts all calls and times some. */
#ifndef CLOCKTIMING_CALL_WRAPPER_H
#define CLOCKTIMING_CALL_WRAPPER_H

#include "explain/query_timing.h"

/* Returns the wrapper.  "unseen": the wrapper that does not check the results of calls. */
extern ExecProcNodeMtd call_wrapper(bool unseen);

/* Returns whether a node's function is the server's own, without instrumentation. */
extern bool has_server_function(const PlanState *node);

/*
 * Returns the function that the server sets as a node's ExecProcNode after its first call, with or
 * without instrumentation.  A signal handler may call this, except for the first time in a session.
 */
extern ExecProcNodeMtd server_call_function(const PlanState *node);

/* Replaces a node's function by its wrapper, according to t->seen and t->uses. */
extern void install_wrapper(NodeTiming *t);

/*
 * Registers the array of an execution's NodeTimings, until wrappers_forget().  A wrapper treats a
 * node's "instrument" as part of a NodeTiming only if it points into a registered array.
 */
extern void wrappers_register(QueryTiming *query, void *timings, Size size);
extern void wrappers_forget(QueryTiming *query);

/* Registers or unregisters a single NodeTiming, for calibration. */
extern void wrappers_use(NodeTiming *t, bool use);

#endif							/* CLOCKTIMING_CALL_WRAPPER_H */
