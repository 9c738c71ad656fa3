/* Draws at random which calls of a node are timed, and keeps the durations of these calls. */
#ifndef CLOCKTIMING_CALL_SAMPLES_H
#define CLOCKTIMING_CALL_SAMPLES_H

#include "explain/query_timing.h"

/* Result of the function draw_gap() below if no call is to be timed. */
#define NEVER			PG_INT32_MAX

/* Seeds the random number generator.  Must be called before all functions below. */
extern void call_samples_prepare(void);

/* Allocates a node's samples.  At first all calls are timed; if QueryTiming.sampling is 0, none. */
extern void begin_samples(NodeTiming *t);

/* Sets the sampling interval: on average one call in "gap" is timed; 0: none. */
extern void set_gap(CallClass *class, int gap);

/* Returns a random number of calls that are not timed before the next timed one. */
extern int64 draw_gap(const CallClass *class);

extern void draw_later(NodeTiming *t);

/* Returns counts so far: calls of nodes below, and rows removed by the node and nodes below. */
extern CallsBelow calls_below(const NodeTiming *t);

/*
 * Keeps the duration of a timed call.  "below" are the counts of the nodes below during the call.
 * "known" is the part of the duration, in ticks, spent in nodes below that had every call timed.
 */
extern void keep_sample(NodeTiming *t, CallClass *class, uint64 start, uint64 stop,
						double known, CallsBelow below);

/* Called before a timed call.  Updates running means of the time between starts of timed calls. */
extern void begin_timed_call(NodeTiming *t, uint64 start);

/*
 * Called after each call of a class in which every call is timed.  Adds the call's duration, minus
 * the part "known", to NodeTiming.known of its node and of all nodes above.  Calls of nodes below
 * have already added the part "known".
 */
extern void add_known(NodeTiming *t, CallClass *class, double ticks, double known);

extern void add_samples(NodeTiming *t, CallClass *class);

/* Ends sampling.  Returns sums over the sampled calls of both classes together. */
extern CallSeries end_samples(NodeTiming *t);

#endif							/* CLOCKTIMING_CALL_SAMPLES_H */
