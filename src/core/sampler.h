/*-------------------------------------------------------------------------
 *
 * sampler.h
 *	  Samples one clock: a clock in, a finished tally and findings out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SAMPLER_H
#define CLOCKTIMING_SAMPLER_H

#include "core/block_costs.h"
#include "core/reference.h"
#include "core/sampler_loop.h"

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

/* The readers that need nothing of PostgreSQL. */
extern const ClockReader reader_system;
#if defined(__x86_64__) || defined(__i386__)
extern const ClockReader reader_rdtscp;
extern const ClockReader reader_rdtsc;
#elif defined(__aarch64__)
extern const ClockReader reader_cntvct_isb;
extern const ClockReader reader_cntvct;
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

	/* called every 0.1 ms or so; may leave by longjmp; may be NULL */
	void		(*between_blocks) (void *arg, double elapsed_s);
	void	   *arg;

	/* for sampler_instant(), else NULL: times readings after a sleep */
	uint64_t	(*stopwatch) (void);
	double		stopwatch_hz;

	BlockCosts *costs;			/* all zeros; NULL: cost_ns is not asked for */

	/* out */
	Tally	   *tally;
	int64_t		readings;		/* durations counted + backward steps */
	double		elapsed_s;		/* on the reference clock, from the first
								 * reading to the last */
	double		advance_ns;		/* of the clock in that time */
	double		reference_bound_ns; /* bound of the error of advance_ns less
									 * elapsed_s, resolution included */
	double		mean_margin_ns; /* half-width of the mean duration's 95 %
								 * confidence interval, NAN if unknown */
	double		cost_ns;		/* of a reading, undisturbed; NAN where blocks
								 * do not tell */
	double		cost_margin_ns; /* half-width of its 95 % confidence interval */
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
	uint64_t	begin_ns;		/* of the run, on reference_ns() */
	ReferencePair start;		/* the run's first look at both clocks */
	ReferencePair anchor;		/* the latest one */
	int			pairs;			/* of readings in a block, at present */
	int			last_cpu;		/* -1: unknown */
	uint64_t	stopwatch_ticks;	/* that the stopwatch itself takes */

	/* mean of the blocks' mean durations and its error (Welford, weighted) */
	struct
	{
		int64_t		n;
		double		weight;
		double		mean;
		double		squares;
	}			blocks;
} SamplerRun;

/*
 * Samples for duration_s seconds on the reference clock, whatever the clock
 * itself does.  tally must have been initialised.
 */
extern void sampler_run(SamplerRun *run);

/*
 * Or in parts, without duration_s.  A run begins; goes on, as often as one
 * likes, to the end of the first block by which so many seconds of it are over;
 * and ends, which gives the findings that are of the run as a whole.
 */
extern void sampler_begin(SamplerRun *run);
extern void sampler_until(SamplerRun *run, double until_s);
extern void sampler_end(SamplerRun *run);

/* Seconds from the beginning to the latest look at the reference. */
extern double sampler_elapsed(const SamplerRun *run);

/*
 * To be called before going on, if something else has been done meanwhile: the
 * time that this took is no duration and no gap.  Steps of the clock in it are
 * found nevertheless.
 */
extern void sampler_resume(SamplerRun *run);

/* Empties the tally and forgets warps, lags and gaps: an interval is over. */
extern void sampler_clear(SamplerRun *run);

/* What came of one instant of a throttled run. */
typedef struct SamplerInstant
{
	uint64_t	at_ns;			/* when it began, on reference_ns() */
	double		first_ns;		/* what the first reading took */
	double		all_ns;			/* from the first to the last */
} SamplerInstant;

/* Durations counted at an instant. */
#define INSTANT_DURATIONS 32

/*
 * Takes readings after a pause, in which nothing is known of the process, in
 * place of sampler_until().  The first one is timed by the stopwatch, and not
 * counted; the durations of those right after it are.
 */
extern void sampler_instant(SamplerRun *run, SamplerInstant *instant);

#endif							/* CLOCKTIMING_SAMPLER_H */
