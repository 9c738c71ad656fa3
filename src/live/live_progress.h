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
 * "image" has sums over all processes.  "processes" is the number of processes that executed each
 * node, by place.  The time from the latest publication to "now" is subtracted from the rest.
 */
extern LiveProgress live_progress(LiveImage *image, const int *processes, TimestampTz now);

#endif							/* CLOCKTIMING_LIVE_PROGRESS_H */
