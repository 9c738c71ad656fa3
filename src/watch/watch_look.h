/*-------------------------------------------------------------------------
 *
 * watch_look.h
 *	  What the worker that watches the clocks measures.
 *
 * In each interval it looks at the clock some times, for a fraction of a
 * millisecond each, so that what slows the processor down for a while is not
 * taken for the clock's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_WATCH_LOOK_H
#define CLOCKTIMING_WATCH_LOOK_H

#include "watch/watch_store.h"

#define WATCH_LOOKS		5		/* in an interval */

/* What was found in an interval, besides what is in the row. */
typedef struct WatchFindings
{
	TimestampTz ended_at;		/* of the interval */
	double		warm_ns;		/* smallest cost; NAN: none */
	double		backward_max_ns;
	TimestampTz warp_at;
	double		warp_ns;		/* the latest one; of a lag, above 0, too */
	TimestampTz lag_at;
	double		lag_ns;
	double		suspended_s;	/* in this interval */

	/* the clock's rate against the reference, by the latest looks */
	bool		rate_known;		/* they agree */
	double		rate_ppm;
	double		steered_ppm;	/* up to so much is no finding */
} WatchFindings;

/* What the clock that EXPLAIN ANALYZE reads is, and where. */
extern void watch_find_machine(WatchMachine *machine);

/* The measurements begin, or begin anew as another clock is read. */
extern void watch_start(void);

/* Whether another clock is read by now, for which that has to be done. */
extern bool watch_is_outdated(void);

extern void watch_look(void);

/* Sums up the looks since the last time. */
extern void watch_end_interval(WatchRow *row, WatchFindings *findings);

#endif							/* CLOCKTIMING_WATCH_LOOK_H */
