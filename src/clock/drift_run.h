/*-------------------------------------------------------------------------
 *
 * drift_run.h
 *	  Clocks beside a reference over a longer time: the drift of one, or how
 *	  several advance.
 *
 * Both look at a clock now and then and sleep in between, so they take next to
 * no CPU time.  All times to wait for are those of the kernel's clock, whatever
 * the reference is, lest one that stands still make a run that never ends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_DRIFT_RUN_H
#define CLOCKTIMING_DRIFT_RUN_H

#include "clock/source.h"
#include "core/jumps.h"
#include "core/reference.h"

/* A clock that is compared. */
typedef struct ComparedClock
{
	const ClockSource *source;
	double		tick_ns;
	ReferencePair first;
	uint64		narrowest_ns;	/* bracket so far; UINT64_MAX: none */
	bool		has_last;
	uint64		last;			/* latest reading, of any bracket */

	/* steps seen from one reading to the next */
	int64		backward_steps;
	double		backward_max_ns;
	double		backward_ns;	/* sum */
} ComparedClock;

/* NAN is what cannot be told. */
typedef struct Drift
{
	ComparedClock clock;
	int			pairs;			/* looks that the rate is told by ... */
	int			rejected;		/* ... and those with a wide bracket */
	double		duration_s;
	double		rate_ppm;		/* steps taken off */
	double		margin_ppm;
	double		residual_max_ns;
	double		bracket_ns;		/* median */
	double		backward_max_ns;
	JumpsCount	warps;
	JumpsCount	lags;
} Drift;

/*
 * Compares a source, which must be available, with the reference for so many
 * seconds, with progress reports.  Can be cancelled.
 */
extern Drift drift_run(const ClockSource *source, const ClockReference *reference,
					   double duration_s);

/* By how much a clock has advanced since the run began. */
typedef struct ClockAdvance
{
	double		elapsed_s;		/* of the run */
	const ClockSource *source;
	double		advance_ns;
	double		lead_ns;		/* over the reference; NAN: not known */
	double		bracket_ns;		/* likewise */
} ClockAdvance;

/*
 * Compares several sources with the reference each every_s seconds, and passes
 * on what they advanced by, in a short-lived memory context.  Returns a clock a
 * source.
 */
extern ComparedClock *monitor_run(List *sources, const ClockReference *reference,
								  double duration_s, double every_s,
								  void (*put) (void *arg, const ClockAdvance *advance),
								  void *arg);

#endif							/* CLOCKTIMING_DRIFT_RUN_H */
