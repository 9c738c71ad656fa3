/* Samples a clock: counts durations and finds steps, stalls and gaps. */
#ifndef CLOCKTIMING_SAMPLER_H
#define CLOCKTIMING_SAMPLER_H

#include "core/reference.h"
#include "core/sampler_loop.h"

/* Shortest gap, in ns: the threshold of Linux's hardware latency detector. */
#define GAP_NS			10000.0

/*
 * Tolerance for the difference between the advances of clock and reference in a block, in ns.  A
 * larger difference is a finding.  The clock's resolution, 0.01 % of the elapsed time, and the
 * widths of the brackets are added to the tolerance.
 */
#define DISAGREEMENT_NS	1000.0

#define SAMPLER_MAX_CPUS	4096

/* Readers of clocks that need no PostgreSQL header. */
extern const ClockReader reader_system;
#if defined(__x86_64__) || defined(__i386__)
extern const ClockReader reader_rdtscp;
extern const ClockReader reader_rdtsc;
#elif defined(__aarch64__)
extern const ClockReader reader_cntvct_isb;
extern const ClockReader reader_cntvct;
#endif

/* Events of one kind, with their sizes in ns. */
typedef struct Events
{
	int64_t		count;
	double		max_ns;
	double		total_ns;
} Events;

typedef struct SamplerRun
{
	/* input */
	const ClockReader *reader;
	double		frequency_hz;	/* ticks per second */
	double		resolution_ns;	/* as the clock source states; 0: not known */
	double		duration_s;
	bool		cpu_time;		/* CPU time clock, whose lags are ignored */
	double		slack_ns;		/* largest delay of a coarse clock's update */
	double		least_warp_ns;	/* smaller warps are ignored */
	uint64_t	(*reference) (void);	/* reference_ns() if NULL */

	/* called every 0.1 ms or so; may leave by longjmp(); may be NULL */
	void		(*between_blocks) (void *arg, double elapsed_s);
	void	   *arg;

	/*
	 * clock that times the first reading of a SamplerInstant; NULL: the run
	 * has no instants
	 */
	uint64_t	(*stopwatch) (void);
	double		stopwatch_hz;

	/* output */
	Tally	   *tally;
	int64_t		readings;		/* durations plus backward steps */
	double		elapsed_s;		/* from first to last reading */
	double		advance_ns;		/* advance of the clock in elapsed_s */
	double		reference_bound_ns; /* error bound of advance_ns relative to
								 * elapsed_s */
	double		mean_margin_ns; /* margin of the mean duration; NAN: not known */
	double		granularity_ticks;	/* 0: not known */
	Events		warps;			/* forward steps */
	Events		lags;			/* clock stood still, or was slow */
	Events		gaps;			/* both clocks advanced: process off CPU */
	int64_t		migrations;		/* changes of CPU between blocks */
	uint8_t		cpus[SAMPLER_MAX_CPUS / 8]; /* bit set of visited CPUs */

	/* internal */
	uint64_t	last;			/* latest reading */
	bool		has_last;		/* whether "last" is set */
	bool		started;		/* true from the first block on; before it,
								 * long durations are no gaps */
	double		usual_width_ns; /* width of an undisturbed bracket */
	double		recent_rate;	/* learnt rate relative to the reference's */
	double		learnt_ns;		/* time over which recent_rate is a mean */
	uint64_t	begin_ns;		/* start of the run on reference_ns() */
	ReferencePair start;		/* first pair of the run */
	ReferencePair anchor;		/* latest pair */
	int			pairs;			/* pairs of readings in a block */
	int			last_cpu;		/* -1: unknown */
	uint64_t	stopwatch_ticks;	/* duration of a reading of the stopwatch */

	/* weighted mean of the blocks, and squared deviations (Welford) */
	struct
	{
		int64_t		n;
		double		weight;
		double		mean;
		double		squares;
	}			blocks;
} SamplerRun;

/* Samples for duration_s seconds of the reference clock.  The tally must be initialised. */
extern void sampler_run(SamplerRun *run);

/*
 * The parts of sampler_run(), for callers that set no duration_s.  sampler_until() continues until
 * the first block that ends at least until_s seconds after sampler_begin().  sampler_end() computes
 * the findings of the whole run.
 */
extern void sampler_begin(SamplerRun *run);
extern void sampler_until(SamplerRun *run, double until_s);
extern void sampler_end(SamplerRun *run);

extern double sampler_elapsed(const SamplerRun *run);

/*
 * Continues sampling after other work.  The time of that work is neither a duration nor a gap.
 * Steps of the clock during that work are counted.
 */
extern void sampler_resume(SamplerRun *run);

/* Starts a new interval: clears the tally, warps, lags and gaps. */
extern void sampler_clear(SamplerRun *run);

/* Results of an instant.  A throttled run takes a few readings at each of many random instants. */
typedef struct SamplerInstant
{
	uint64_t	at_ns;			/* beginning on reference_ns() */
	double		first_ns;		/* duration of the first reading */
	double		all_ns;			/* from the first to the last reading */
} SamplerInstant;

/* Number of durations counted at an instant. */
#define INSTANT_DURATIONS 32

/*
 * Takes the readings of an instant, which follows a pause.  A throttled run calls this instead of
 * sampler_until().  The stopwatch times the first reading.  Only the durations of the following
 * readings are counted.
 */
extern void sampler_instant(SamplerRun *run, SamplerInstant *instant);

#endif							/* CLOCKTIMING_SAMPLER_H */
