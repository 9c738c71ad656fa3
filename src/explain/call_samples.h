/* Draws the calls of a node that are timed, and keeps their times. */
#ifndef CLOCKTIMING_CALL_SAMPLES_H
#define CLOCKTIMING_CALL_SAMPLES_H

#include "explain/query_timing.h"

/* Gap of a class without timed calls. */
#define NEVER			PG_INT32_MAX

/* Seeds the random number generator.  To be called before all functions below. */
extern void call_samples_prepare(void);

/* Allocates a node's samples when its first call begins.  At first all calls are timed. */
extern void begin_samples(NodeTiming *t);

/* Sets the mean gap: one call in "gap" is timed; 0: none. */
extern void set_gap(CallClass *class, int gap);

/* Returns the random number of calls before the next timed one. */
extern int64 draw_gap(const CallClass *class);

extern void draw_later(NodeTiming *t);

/* Returns the numbers of calls counted so far in the node and in the nodes below it. */
extern CallsBelow calls_below(const NodeTiming *t);

/*
 * Keeps the time of a call, and the numbers of calls counted below it.  "known" is the part of it,
 * in ticks, that calls below took while all of them were timed.
 */
extern void keep_sample(NodeTiming *t, CallClass *class, uint64 start, uint64 stop,
						double known, CallsBelow below);

/* Begins a timed call of a node.  To be called before the call itself. */
extern void begin_timed_call(NodeTiming *t, uint64 start);

/* Adds the ticks of a call that was timed while all calls are timed. */
extern void add_known(NodeTiming *t, CallClass *class, double ticks, double known);

/* Adds up the samples that are not yet part of the sums. */
extern void add_samples(NodeTiming *t, CallClass *class);

/* Ends sampling; returns the series of both classes, without calls timed while all were. */
extern CallSeries end_samples(NodeTiming *t);

#endif							/* CLOCKTIMING_CALL_SAMPLES_H */
