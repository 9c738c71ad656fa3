/* Estimates how much of a running execution is done, and how long the rest will take. */
#ifndef CLOCKTIMING_LIVE_PROGRESS_H
#define CLOCKTIMING_LIVE_PROGRESS_H

#include "live/live_memory.h"

typedef struct LiveProgress
{
	double		percent;		/* part of the time that is over; NAN: unknown */
	double		remaining_ns;	/* NAN: unknown */
	const char *reason;			/* why both are unknown; else NULL */
} LiveProgress;

/*
 * Estimates the progress of an execution.  In "image", the counters are sums over all processes.
 * "processes", an array indexed by the nodes' places, has the number of processes that executed each
 * node.  The remaining time is counted from "now", which is later than the counters.
 */
extern LiveProgress live_progress(LiveImage *image, const int *processes, TimestampTz now);

#endif							/* CLOCKTIMING_LIVE_PROGRESS_H */
