/*-------------------------------------------------------------------------
 *
 * trigger_timing.h
 *	  Times some of the firings of triggers.
 *
 * Firings are later calls of a node that calls no other, and has no loops.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_TRIGGER_TIMING_H
#define CLOCKTIMING_TRIGGER_TIMING_H

#include "explain/query_timing.h"

/* Those of all relations that the plan writes to, if the server counts firings. */
extern void triggers_attach(QueryTiming *query);

/* Tells the server what firings have taken, without what timing costs. */
extern void triggers_show(const QueryTiming *query);

#endif							/* CLOCKTIMING_TRIGGER_TIMING_H */
