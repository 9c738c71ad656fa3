/*
 * Samples a clock.  A run reads the clock in a loop and counts the durations, which are the
 * differences between successive readings.  The loop is divided into blocks of about 0.1 to 0.2 ms.
 * After each block, the run also reads the reference clock, and compares the advances of the two.
 */
#ifndef CLOCKTIMING_SAMPLER_H
#define CLOCKTIMING_SAMPLER_H

#include "clock/sampling/sampler_loop.h"
#include "core/reference.h"

/* Shortest gap (time off the CPU) in ns; same limit as Linux's hardware latency detector. */
#define GAP_NS			10000.0

/*
 * Difference in ns that is always tolerated between the advances of the clock and the reference.
 * A larger one shows that the clock has jumped ahead (a warp) or has fallen behind (a lag).
 * tolerance() in sampler.c adds other known errors to this limit.
 */
#define DISAGREEMENT_NS	1000.0

#define SAMPLER_MAX_CPUS	4096	/* higher CPU numbers are not recorded */

/* Readers of the system clock and of the processor's counter.  os_clocks.h has further clocks. */
extern const ClockReader reader_system;
#if defined(__x86_64__) || defined(__i386__)
extern const ClockReader reader_rdtscp;
extern const ClockReader reader_rdtsc;
#elif defined(__aarch64__)
extern const ClockReader reader_cntvct_isb;
extern const ClockReader reader_cntvct;
#endif

/* Events of one kind, such as gaps: their number, and their sizes in ns. */
typedef struct Events
{
	int64_t		count;
	double		max_ns;
	double		total_ns;
} Events;

typedef struct SamplerRun
{
	/* input */
	const ClockReader *reader;	/* reads the clock */
	double		frequency_hz;	/* the clock's ticks per second */
	double		resolution_ns;	/* reported by the system; 0: not known */
	double		duration_s;		/* length of the run, for sampler_run() only */
	bool		cpu_time;		/* the clock counts CPU time: no lags */
	double		slack_ns;		/* largest delay of a coarse clock's update */
	double		least_warp_ns;	/* smaller warps are ignored */
	uint64_t	(*reference) (void);	/* NULL: reference_ns() */

	/* called after each block; may leave by longjmp(); may be NULL */
	void		(*between_blocks) (void *arg, double elapsed_s);
	void	   *arg;

	/* clock that times each first reading after a sleep; NULL: no sleeps */
	uint64_t	(*stopwatch) (void);
	double		stopwatch_hz;

	/* output; the caller provides the tally, initialised by tally_init() */
	Tally	   *tally;			/* durations, stalls and backward steps */
	int64_t		readings;		/* number of durations and backward steps */
	double		elapsed_s;		/* advance of the reference in the run */
	double		advance_ns;		/* advance of the clock in the run */
	double		reference_bound_ns; /* error bound of the advances' difference */
	double		mean_margin_ns; /* 95 % margin of the mean duration, or NAN */
	double		granularity_ticks;	/* the clock's smallest step; 0: not known */
	Events		warps;			/* the clock jumped ahead of the reference */
	Events		lags;			/* the clock fell behind the reference */
	Events		gaps;			/* the process was off the CPU: GAP_NS or more */
	int64_t		migrations;		/* number of moves to another CPU */
	uint8_t		cpus[SAMPLER_MAX_CPUS / 8]; /* bit set of the CPUs used */

	/* internal */
	uint64_t	last;			/* latest reading of the clock */
	bool		has_last;		/* "last" is set */
	bool		started;		/* false while preparing: no gaps are counted */
	double		usual_width_ns; /* usual width of a ReferencePair's bracket */
	double		recent_rate;	/* rate minus the reference's; 1e-6 is 1 ppm */
	double		learnt_ns;		/* weight of recent_rate; 0: assumed or new */
	uint64_t	begin_ns;		/* start of the run on reference_ns() */
	ReferencePair start;		/* first readings of both clocks in the run */
	ReferencePair anchor;		/* latest readings of both clocks */
	int			pairs;			/* half of the number of readings in the next
								 * block */
	int			last_cpu;		/* latest CPU; -1: unknown */
	uint64_t	stopwatch_ticks;	/* duration of a reading of the stopwatch */

	/* latest stretches in a row with the same rate, which is not recent_rate */
	struct
	{
		int			n;			/* number of stretches */
		double		passed_ns;	/* their length on the reference */
		double		lead_ns;	/* the clock's advance minus passed_ns */
		double		bound_ns;	/* largest error bound of a stretch's lead */
		Events		warps;		/* before the first one */
		Events		lags;
	}			series;

	/* mean duration of all blocks, weighted by the number of durations */
	struct
	{
		int64_t		n;			/* number of blocks */
		double		weight;		/* number of durations */
		double		mean;		/* in ns */
		double		squares;	/* weighted sum of squared deviations */
	}			blocks;
} SamplerRun;

/* Samples the clock for duration_s seconds of the reference clock. */
extern void sampler_run(SamplerRun *run);

/*
 * The parts of sampler_run(), for callers that set no duration_s. sampler_until() samples until a
 * block ends at least until_s seconds after sampler_begin().  It can be called repeatedly.
 * sampler_end() sets the output that describes the whole run.
 */
extern void sampler_begin(SamplerRun *run);
extern void sampler_until(SamplerRun *run, double until_s);
extern void sampler_end(SamplerRun *run);

/* Returns the time in s from the first to the latest reading of the reference clock in the run. */
extern double sampler_elapsed(const SamplerRun *run);

/*
 * Must be called before sampler_until() if the caller did other work after the last block.  The
 * time of that work is neither a duration nor a gap, but steps of the clock during it are counted.
 */
extern void sampler_resume(SamplerRun *run);

/* Clears the tally, warps, lags and gaps, to count them for another part of the run. */
extern void sampler_clear(SamplerRun *run);

/*
 * Result of one instant of a throttled run.  Such a run sleeps, wakes up at many random instants,
 * and reads the clock a few times at each.
 */
typedef struct SamplerInstant
{
	uint64_t	at_ns;			/* beginning on reference_ns() */
	double		first_ns;		/* time that the first reading took */
	double		all_ns;			/* time from the first to the last reading */
} SamplerInstant;

/* Number of durations counted at an instant. */
#define INSTANT_DURATIONS 32

/*
 * Takes the readings of an instant.  A throttled run calls this function after each sleep, instead
 * of sampler_until().  The first reading after a sleep is slow.  It is not counted as a duration;
 * the stopwatch times it.  Only the durations of the following readings are counted.
 */
extern void sampler_instant(SamplerRun *run, SamplerInstant *instant);

#endif							/* CLOCKTIMING_SAMPLER_H */
