/*
 * Compares clocks with a reference over a long time: the drift of one, or the advance of several.
 * reference_ns() measures the length of a run, so that the run ends even if the reference is
 * another clock and stands still.
 *
 * A bracket is a reading of the clock between two readings of the reference.
 */
#ifndef CLOCKTIMING_DRIFT_RUN_H
#define CLOCKTIMING_DRIFT_RUN_H

#include "clock/measure/source.h"
#include "clock/sampling/jumps.h"
#include "core/reference.h"

typedef struct ComparedClock
{
	const ClockSource *source;
	double		tick_ns;
	ReferencePair first;
	uint64		narrowest_ns;	/* narrowest bracket so far; UINT64_MAX: none */
	bool		has_last;
	uint64		last;			/* latest reading */

	/* backward steps between successive readings */
	int64		backward_steps;
	double		backward_max_ns;
	double		backward_ns;	/* sum of these steps */
} ComparedClock;

/* Result of drift_run().  NAN: not known. */
typedef struct Drift
{
	ComparedClock clock;
	int			pairs;			/* number of brackets used for the rate */
	int			rejected;		/* number of brackets that are too wide */
	double		duration_s;
	double		rate_ppm;		/* drift without steps */
	double		margin_ppm;
	double		residual_max_ns;	/* largest distance from the fitted line */
	double		bracket_ns;		/* median width of the brackets */
	double		backward_max_ns;
	JumpsCount	warps;
	JumpsCount	lags;
} Drift;

/* Compares an available source with the reference for duration_s seconds.  Can be cancelled. */
extern Drift drift_run(const ClockSource *source, const ClockReference *reference,
					   double duration_s);

typedef struct ClockAdvance
{
	double		elapsed_s;		/* time since the run began */
	const ClockSource *source;
	double		advance_ns;		/* since the run began */
	double		lead_ns;		/* lead over the reference; NAN: not known */
	double		bracket_ns;		/* NAN: not known */
} ClockAdvance;

/*
 * Compares several sources with the reference every every_s seconds.  Calls put() with each clock's
 * advance in a short-lived memory context.  Returns an array with one clock per source.
 */
extern ComparedClock *monitor_run(List *sources, const ClockReference *reference,
								  double duration_s, double every_s,
								  void (*put) (void *arg, const ClockAdvance *advance),
								  void *arg);

#endif							/* CLOCKTIMING_DRIFT_RUN_H */
