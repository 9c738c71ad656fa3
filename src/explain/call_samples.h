/*-------------------------------------------------------------------------
 *
 * call_samples.h
 *	  Which calls of a node are timed, and what is kept of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CALL_SAMPLES_H
#define CLOCKTIMING_CALL_SAMPLES_H

#include "explain/query_timing.h"

/* More calls than there can be. */
#define NEVER			PG_INT32_MAX

/* Seeds the generator; to be called before anything else here. */
extern void call_samples_prepare(void);

/* Makes room for a node's samples: its calls begin, all of which are timed at first. */
extern void begin_samples(NodeTiming *t);

/* One call in "gap" shall be timed; 0: none. */
extern void set_gap(CallClass *class, int gap);

/* How many calls pass until one is timed. */
extern int64 draw_gap(const CallClass *class);

/* Draws which of the later calls is timed next. */
extern void draw_later(NodeTiming *t);

/* What has been counted by now in the nodes below and in the node itself. */
extern CallsBelow calls_below(const NodeTiming *t);

/*
 * Keeps what a call has taken, of which "known" ticks are of calls below that were
 * timed while all were, and what has been counted meanwhile.
 */
extern void keep_sample(NodeTiming *t, CallClass *class, uint64 start, uint64 stop,
						double known, CallsBelow below);

/* A timed call of a node begins: call it before that call is executed. */
extern void begin_timed_call(NodeTiming *t, uint64 start);

/* Adds a call that took so many ticks and was timed while all are. */
extern void add_known(NodeTiming *t, CallClass *class, double ticks, double known);

/* Adds up samples that are not yet used. */
extern void add_samples(NodeTiming *t, CallClass *class);

/* All calls are over: those of both classes that were not all timed. */
extern CallSeries end_samples(NodeTiming *t);

#endif							/* CLOCKTIMING_CALL_SAMPLES_H */
