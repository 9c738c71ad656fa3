/*-------------------------------------------------------------------------
 *
 * sampler.h
 *	  Samples one clock: a clock in, a finished tally and findings out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SAMPLER_H
#define CLOCKTIMING_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "tally.h"

/*
 * A duration from here on is a gap where the reference clock moved, too: the
 * threshold of Linux's hardware latency detector (tracing/hwlat_detector).
 */
#define GAP_NS			10000.0

/*
 * The clock and the reference disagree if they differ by more than this after
 * one block, besides the clock's own resolution and rate, 0.01 % of the
 * time, and what is not known of the moments when they were read.
 */
#define DISAGREEMENT_NS	1000.0

#define SAMPLER_MAX_CPUS	4096

/*
 * How to read one clock.  "read" takes one reading.  "block" takes
 * 2 * pairs + 2 readings in a row, counts the durations between them, stores
 * the first reading and returns the last.  "repeat" takes n readings and does
 * nothing but add them up.
 */
typedef struct ClockReader
{
	uint64_t	(*read) (void);
	uint64_t	(*block) (Tally *tally, int pairs, uint64_t *first);
	uint64_t	(*repeat) (int n);
} ClockReader;

/* The readers that need nothing of PostgreSQL. */
extern const ClockReader reader_system;
#if defined(__x86_64__) || defined(__i386__)
extern const ClockReader reader_rdtscp;
extern const ClockReader reader_rdtsc;
#endif

/* A number of events of one kind, and their sizes in nanoseconds. */
typedef struct Events
{
	int64_t		count;
	double		max_ns;
	double		total_ns;
} Events;

typedef struct SamplerRun
{
	/* in */
	const ClockReader *reader;
	double		frequency_hz;	/* ticks a second */
	double		resolution_ns;	/* as reported, 0 if unknown */
	double		duration_s;
	bool		cpu_time;		/* the clock stands still while the process
								 * does not run: that is no lag */
	double		slack_ns;		/* by which it may fall behind and catch up by
								 * its nature, besides its resolution */
	double		least_warp_ns;	/* smaller ones are not counted */
	uint64_t	(*reference) (void);	/* to judge by; NULL: reference_ns() */

	/*
	 * Called between blocks, every 0.1 ms or so; may leave by longjmp, the
	 * run owns nothing.  May be NULL.
	 */
	void		(*between_blocks) (void *arg, double elapsed_s);
	void	   *arg;

	/* out */
	Tally	   *tally;
	int64_t		readings;		/* durations counted + backward steps */
	double		elapsed_s;		/* on the reference clock, from the first
								 * reading to the last */
	double		advance_ns;		/* of the clock in that time */
	double		reference_error_ns; /* bound of the error of advance_ns less
									 * elapsed_s, resolution included */
	double		mean_error_ns;	/* half-width of the mean duration's 95 %
								 * confidence interval, NAN if unknown */
	double		granularity_ticks;	/* 0 if the clock did not show it */
	Events		warps;			/* jumped ahead of the reference */
	Events		lags;			/* fell behind it, backward steps apart */
	Events		gaps;			/* both moved: off the CPU */
	int64_t		migrations;		/* changes of CPU seen between blocks */
	uint8_t		cpus[SAMPLER_MAX_CPUS / 8]; /* bit set: visited */

	/* the sampler's own */
	uint64_t	last;			/* latest reading of the clock, judged */
	bool		has_last;
	bool		started;
	double		usual_width_ns; /* of a bracket, undisturbed */
	double		recent_rate;	/* of the clock less that of the reference */
	double		learnt_ns;		/* time that this was learnt from */
} SamplerRun;

/*
 * Samples for duration_s seconds on the reference clock, whatever the clock
 * itself does.  tally must have been initialised.
 */
extern void sampler_run(SamplerRun *run);

#endif							/* CLOCKTIMING_SAMPLER_H */
