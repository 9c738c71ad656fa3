/*
 * The background worker's observations of the watched clock, the one that EXPLAIN ANALYZE reads.
 * An interval (clocktiming.watch_interval) has several observations of a fraction of a millisecond
 * each, so that a short slowdown of the processor does not count as a change of the clock.
 */
#ifndef CLOCKTIMING_WATCH_OBSERVE_H
#define CLOCKTIMING_WATCH_OBSERVE_H

#include "clock/sampling/cpu_hop.h"
#include "clock/watch/watch_store.h"

#define WATCH_OBSERVATIONS		5	/* per interval */

extern int	watch_interval_ms;	/* clocktiming.watch_interval */

/* A backward step, warp or lag of the clock (doc/glossary.md). */
typedef struct WatchStep
{
	bool		seen;			/* there was a step */
	TimestampTz at;				/* first observation after the step */
	double		ns;				/* size of the step */
} WatchStep;

/* Results of an observation.  Warps and lags are reported some observations after they occur. */
typedef struct WatchObservation
{
	TimestampTz at;
	WatchStep	backward;		/* a reading was below the previous one */
	WatchStep	warp;			/* the clock jumped ahead of the reference */
	WatchStep	lag;			/* the clock fell behind the reference */

	/* rate relative to the reference clock, by the latest observations */
	bool		rate_known;		/* the latest observations agree */
	TimestampTz rate_since;		/* time of the first of these observations */
	double		rate_ppm;
	double		steered_ppm;	/* largest rate that is no event */
	double		assumed_ppm;	/* rate of the times that the server computes
								 * from the TSC; NAN: it reads another clock */
	double		assumed_limit_ppm;	/* largest such rate that is no event */
} WatchObservation;

/* Results of an interval that are not part of its WatchRow. */
typedef struct WatchFindings
{
	TimestampTz ended_at;		/* end of the interval */
	double		suspended_s;	/* time for which the machine was suspended */
	int			cpus;			/* number of CPUs that the worker may use */
	int			hops;			/* number of comparisons of CPUs' clocks */
	CpuHop		skewed;			/* comparison with the largest difference */
	double		skew_ns;		/* that difference; below 0: other CPU behind */
} WatchFindings;

extern void watch_find_machine(WatchMachine *machine);

extern void watch_start(void);

/* Returns whether EXPLAIN ANALYZE now reads another clock.  If so, call watch_start() again. */
extern bool watch_is_outdated(void);

/* Adds set_us to this module's stored times, after the time of day was changed by set_us. */
extern void watch_move_times(int64 set_us);

extern void watch_observe(WatchObservation *observed);

/* Summarises the observations of the interval, and starts the next interval. */
extern void watch_end_interval(WatchRow *row, WatchFindings *findings);

#endif							/* CLOCKTIMING_WATCH_OBSERVE_H */
