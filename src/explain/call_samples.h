/* Draws which calls of a node are timed, and keeps their durations. */
#ifndef CLOCKTIMING_CALL_SAMPLES_H
#define CLOCKTIMING_CALL_SAMPLES_H

#include "explain/query_timing.h"

/* Result of draw_gap() if no call is to be timed. */
#define NEVER			PG_INT32_MAX

/* Seeds the random number generator.  Must be called before all functions below. */
extern void call_samples_prepare(void);

/*
 * Allocates samples at a node's first call.  Initially all calls are timed; with sampling 0, none.
 */
extern void begin_samples(NodeTiming *t);

/* Sets the sampling interval: on average one call in "gap" is timed; 0: none. */
extern void set_gap(CallClass *class, int gap);

/* Returns the random number of calls before the next timed one. */
extern int64 draw_gap(const CallClass *class);

extern void draw_later(NodeTiming *t);

/* Returns a node's counts so far: calls of nodes below, and rows removed by them and by itself. */
extern CallsBelow calls_below(const NodeTiming *t);

/*
 * Keeps the duration of a timed call, and what was counted in the nodes below during the call.
 * "known" is the part of the duration, in ticks, of calls of nodes below that timed every call.
 */
extern void keep_sample(NodeTiming *t, CallClass *class, uint64 start, uint64 stop,
						double known, CallsBelow below);

/* Called before a timed call.  Updates the running means of the intervals between timed calls. */
extern void begin_timed_call(NodeTiming *t, uint64 start);

/*
 * Called while every call of a class is timed.  Adds the duration of a call to NodeTiming.known of
 * its node and of all nodes above, except for the part "known", which calls of nodes below have
 * already added.
 */
extern void add_known(NodeTiming *t, CallClass *class, double ticks, double known);

extern void add_samples(NodeTiming *t, CallClass *class);

/* Ends sampling.  Returns the series of the sampled calls of both classes, joined. */
extern CallSeries end_samples(NodeTiming *t);

#endif							/* CLOCKTIMING_CALL_SAMPLES_H */
