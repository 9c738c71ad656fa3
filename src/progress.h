/*-------------------------------------------------------------------------
 *
 * progress.h
 *	  Progress of long runs, reported as pgbench reports it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PROGRESS_H
#define CLOCKTIMING_PROGRESS_H

#include "tally.h"

/* clocktiming.progress_interval, in milliseconds; 0: no reports */
extern int	progress_interval_ms;

typedef struct Progress
{
	const char *label;			/* what runs, such as a clock's name */
	double		total_s;		/* how long it will run */
	double		frequency_hz;	/* ticks a second of what the tally counts */
	double		next_s;			/* when to report next */
	TallyMoments before;		/* what had been counted at the last report */
} Progress;

extern void progress_start(Progress *progress, const char *label,
						   double total_s, double frequency_hz);

/*
 * To be called every so often: sends a NOTICE if an interval is over.  The
 * mean and the standard deviation in it are those of the interval.
 */
extern void progress_tick(Progress *progress, double elapsed_s,
						  const Tally *tally);

#endif							/* CLOCKTIMING_PROGRESS_H */
