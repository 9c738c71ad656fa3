/* Estimates the progress and the remaining time of a running execution. */
#ifndef CLOCKTIMING_LIVE_PROGRESS_H
#define CLOCKTIMING_LIVE_PROGRESS_H

#include "plan/live/live_memory.h"

typedef struct LiveProgress
{
	double		remaining_ns;	/* NAN: unknown */
	double		doubt;			/* standard deviation of its logarithm */
	const char *reason;			/* why both are unknown; else NULL */
} LiveProgress;

/*
 * Estimates the remaining time of an execution from its counters.  In "image", the counters are sums
 * over all processes.  "processes", an array indexed by the nodes' places, has the number of
 * processes that executed each node.  The remaining time is counted from "now", which is later than
 * the header's "as_of".
 */
extern LiveProgress live_progress(LiveImage *image, const int *processes, TimestampTz now);

#endif							/* CLOCKTIMING_LIVE_PROGRESS_H */
