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
extern ExecProcNodeMtd call_wrapper(bool read_to_end);

/* Puts its wrapper in place of a node's function, whose t->reading is known. */
extern void install_wrapper(NodeTiming *t);

#endif							/* CLOCKTIMING_CALL_WRAPPER_H */
