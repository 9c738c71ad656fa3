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

#include "core/cpu_hop.h"
#include "watch/watch_store.h"

#define WATCH_LOOKS		5		/* in an interval ... */

extern int	watch_interval_ms;	/* ... of so long, which is a setting */

/* A step of the clock. */
typedef struct WatchStep
{
	bool		seen;
	TimestampTz at;				/* of the look after it */
	double		ns;				/* its size */
} WatchStep;

/* What a look has shown. */
typedef struct WatchLook
{
	TimestampTz at;
	WatchStep	backward;
	WatchStep	warp;			/* these two show some looks later */
	WatchStep	lag;

	/* the clock's rate against the reference, by the latest looks */
	bool		rate_known;		/* they agree */
	TimestampTz rate_since;		/* the first of them */
	double		rate_ppm;
	double		steered_ppm;	/* up to so much is no finding */
} WatchLook;

/* What was found in an interval, besides what is in the row. */
typedef struct WatchFindings
{
	TimestampTz ended_at;		/* of the interval */
	double		warm_ns;		/* smallest cost; NAN: none */
	double		suspended_s;	/* in this interval */
	int			cpus;			/* that the worker may run on */
	int			hops;			/* to others of them ... */
	CpuHop		skewed;			/* ... the one that proves most, if any */
	double		skew_ns;		/* by so much; below 0: behind */
} WatchFindings;

/* What the clock that EXPLAIN ANALYZE reads is, and where. */
extern void watch_find_machine(WatchMachine *machine);

/* The measurements begin, or begin anew as another clock is read. */
extern void watch_start(void);

/* Whether another clock is read by now, for which that has to be done. */
extern bool watch_is_outdated(void);

/* The time of day was set by so much: times remembered become those of now. */
extern void watch_move_times(int64 set_us);

extern void watch_look(WatchLook *look);

/* Sums up the looks since the last time. */
extern void watch_end_interval(WatchRow *row, WatchFindings *findings);

#endif							/* CLOCKTIMING_WATCH_LOOK_H */
