/* Estimates how much of a running execution is done, and how long the rest will take. */
#ifndef CLOCKTIMING_LIVE_PROGRESS_H
#define CLOCKTIMING_LIVE_PROGRESS_H

#include "live/live_memory.h"

typedef struct LiveProgress
{
	double		percent;		/* NAN if unknown */
	double		remaining_ns;
	const char *reason;			/* why it is unknown; NULL if it is known */
} LiveProgress;

/*
 * "image" has the sums of all processes; "processes" is the number that executed each node. The
 * time from the latest publication to "now" counts as done.
 */
extern LiveProgress live_progress(LiveImage *image, const int *processes, TimestampTz now);

#endif							/* CLOCKTIMING_LIVE_PROGRESS_H */
