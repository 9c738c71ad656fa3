/*-------------------------------------------------------------------------
 *
 * call_wrapper.h
 *	  What stands before a node's function: it counts calls, and times some.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CALL_WRAPPER_H
#define CLOCKTIMING_CALL_WRAPPER_H

#include "explain/query_timing.h"

/*
 * The wrapper of nodes whose results need not be looked at, as they are read to
 * the end, and the one of others.
 */
extern ExecProcNodeMtd call_wrapper(bool unseen);

/* Whether a node's function is the server's, without its instrumentation, and not another extension's. */
extern bool has_server_function(const PlanState *node);

/*
 * Returns the function that the server gives a node once the node has been called, with or without
 * instrumentation.  After the first call, a signal handler may call it, too.
 */
extern ExecProcNodeMtd server_call_function(const PlanState *node);

/* Puts its wrapper in place of a node's function, whose t->reading is known. */
extern void install_wrapper(NodeTiming *t);

/*
 * Registers an execution's NodeTimings until it is forgotten.  A wrapper reads what
 * a node's "instrument" points to only if that is one of them.
 */
extern void wrappers_register(QueryTiming *query, void *timings, Size size);
extern void wrappers_forget(QueryTiming *query);

/* Begins or ends calls of wrappers for a NodeTiming that is of no execution. */
extern void wrappers_use(NodeTiming *t, bool use);

#endif							/* CLOCKTIMING_CALL_WRAPPER_H */
