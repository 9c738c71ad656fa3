/* Draws which calls of a node are timed, and keeps their durations. */
#ifndef CLOCKTIMING_CALL_SAMPLES_H
#define CLOCKTIMING_CALL_SAMPLES_H

#include "explain/query_timing.h"

/* Result of draw_gap() for a class without timed calls. */
#define NEVER			PG_INT32_MAX

/* Seeds the random number generator.  To be called before all functions below. */
extern void call_samples_prepare(void);

/* Allocates a node's samples at its first call.  Initially the sampling interval is 1. */
extern void begin_samples(NodeTiming *t);

/* Sets the sampling interval: on average one call in "gap" is timed; 0: none. */
extern void set_gap(CallClass *class, int gap);

/* Returns the random number of calls before the next timed one. */
extern int64 draw_gap(const CallClass *class);

extern void draw_later(NodeTiming *t);

/* Returns the sums of calls of nodes below so far, and of rows removed by them and by the node. */
extern CallsBelow calls_below(const NodeTiming *t);

/*
 * Keeps the duration of a timed call, and the counts of calls below within it. "known" is the part
 * of the duration, in ticks, of calls below that were made while every call was timed.
 */
extern void keep_sample(NodeTiming *t, CallClass *class, uint64 start, uint64 stop,
						double known, CallsBelow below);

/* Called before a timed call.  Updates the running means of the intervals between timed calls. */
extern void begin_timed_call(NodeTiming *t, uint64 start);

/* Adds the ticks of a call made while every call was timed; "known" of them are already added. */
extern void add_known(NodeTiming *t, CallClass *class, double ticks, double known);

/* Adds the kept samples to the sums. */
extern void add_samples(NodeTiming *t, CallClass *class);

/* Ends sampling.  Returns the joined series of both classes, without known calls. */
extern CallSeries end_samples(NodeTiming *t);

#endif							/* CLOCKTIMING_CALL_SAMPLES_H */
