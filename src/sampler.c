/*-------------------------------------------------------------------------
 *
 * sampler.c
 *	  Samples one clock: a clock in, a finished tally and findings out.
 *
 * A run is a sequence of blocks of some 0.1 ms.  Within a block there is
 * nothing but the hot loop; between two blocks the reference clock is read,
 * which bounds the run, and tells what a long duration was: a gap, if the
 * reference moved as well, or a warp, if the clock alone did.
 *
 *-------------------------------------------------------------------------
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#ifdef __linux__
#include <sched.h>
#endif
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "granularity.h"
#include "reference.h"
#include "sampler.h"
#include "sampler_loop.h"
#include "system_clock.h"
#include "tsc.h"

/* pairs of readings in a block: few at first, since nobody knows their cost */
#define MIN_PAIRS		16
#define MAX_PAIRS		8192
#define SHORT_BLOCK_NS	50000.0
#define LONG_BLOCK_NS	400000.0

/* brackets tried for a pair of clock and reference readings that matters */
#define BRACKETS		9

/* readings for the granularity, and the longest time to take for them */
#define GRANULARITY_READINGS 1024
#define GRANULARITY_NS	5000000

DEFINE_CLOCK_READER(reader_system, system_clock_read());
#if defined(__x86_64__) || defined(__i386__)
DEFINE_CLOCK_READER(reader_rdtscp, tsc_read_rdtscp());
DEFINE_CLOCK_READER(reader_rdtsc, tsc_read_rdtsc());
#endif

static void
event(Events *events, double ns)
{
	events->count++;
	events->total_ns += ns;
	if (ns > events->max_ns)
		events->max_ns = ns;
}

/*
 * Judges a reading that was not taken in a block.  The time since the reading
 * before contains work of ours and is no duration of the clock, but a clock
 * that stands still or goes backwards does so here as well, and a process can
 * be taken off the CPU here as well.
 */
static void
judge_reading(void *arg, uint64_t reading)
{
	SamplerRun *run = arg;

	if (run->has_last)
	{
		uint64_t	ticks = reading - run->last;

		if (ticks == 0 || (int64_t) ticks < 0 ||
			(run->started && ticks * 1e9 / run->frequency_hz >= GAP_NS))
			tally_unusual(run->tally, run->last, reading);
	}
	run->last = reading;
	run->has_last = true;
}

/*
 * What the clock is really seen to advance by.  The time between two readings
 * varies at random (xorshift; Marsaglia, 2003) and is long enough for several
 * steps of a fast clock.
 */
static double
measure_granularity(SamplerRun *run)
{
	uint64_t	advances[GRANULARITY_READINGS];
	uint64_t	start = reference_ns();
	uint64_t	previous;
	uint32_t	random = 2463534242U;
	int			n = 0;

	previous = run->reader->read();
	judge_reading(run, previous);
	while (n < GRANULARITY_READINGS)
	{
		uint64_t	reading;

		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		/* one cycle a turn, so that the delay brings no period of its own */
		for (uint32_t i = 256 + (random & 511); i > 0; i--)
			__asm__ volatile("");

		/*
		 * A reading must not begin before the delay is over, which the
		 * processor would otherwise see no reason against.
		 */
		tsc_fence();
		reading = run->reader->read();
		judge_reading(run, reading);
		if ((int64_t) (reading - previous) > 0)
			advances[n++] = reading - previous;
		previous = reading;
		if (reference_ns() - start > GRANULARITY_NS)
			break;
	}
	return granularity(advances, n);
}

static void
visit_cpu(SamplerRun *run, int *last_cpu)
{
#ifdef __linux__
	int			cpu = sched_getcpu();

	if (cpu < 0 || cpu >= SAMPLER_MAX_CPUS)
		return;
	run->cpus[cpu / 8] |= 1 << (cpu % 8);
	if (*last_cpu >= 0 && cpu != *last_cpu)
		run->migrations++;
	*last_cpu = cpu;
#else
	(void) run;
	(void) last_cpu;
#endif
}

/*
 * Tells gaps from warps.  "excess_ns" is what the clock has advanced by more
 * than the reference since the last look, a confirmed warp, or 0.  Jumps are
 * taken from the largest down: what the excess explains is a warp, what is
 * left of it was time off the CPU.
 */
static void
sort_out_jumps(SamplerRun *run, double excess_ns, double reference_ns)
{
	TallyWindow *window = &run->tally->window;

	for (int i = 0; i < window->njumps; i++)
	{
		int			largest = i;
		uint64_t	ticks;
		double		ns;

		for (int j = i + 1; j < window->njumps; j++)
		{
			if (window->jumps[j] > window->jumps[largest])
				largest = j;
		}
		ticks = window->jumps[largest];
		window->jumps[largest] = window->jumps[i];
		window->jumps[i] = ticks;
		ns = ticks * 1e9 / run->frequency_hz;

		if (excess_ns > DISAGREEMENT_NS)
		{
			double		warp = ns < excess_ns ? ns : excess_ns;

			event(&run->warps, warp);
			excess_ns -= warp;
			ns -= warp;
		}
		/* a coarse clock's step is no gap: less time has passed at all */
		if (ns >= GAP_NS && ns <= reference_ns + DISAGREEMENT_NS)
			event(&run->gaps, ns);
	}
	if (excess_ns > DISAGREEMENT_NS)
		event(&run->warps, excess_ns);
}

/* By how much more the clock has advanced than the reference, in ns. */
static double
excess(const SamplerRun *run, const ReferencePair *from,
	   const ReferencePair *to)
{
	/* a clock that went backwards for good makes the difference negative */
	double		advance_ns = (double) (int64_t) (to->reading - from->reading) *
		1e9 / run->frequency_hz;

	return advance_ns - (double) (to->reference_ns - from->reference_ns);
}

/* A pair good enough to judge by, at the price of many readings. */
static ReferencePair
careful_look(SamplerRun *run)
{
	return reference_pair(run->reader->read, BRACKETS, judge_reading, run);
}

/*
 * A pair at the price of one reading of each clock: the reference is read
 * between "last", the reading that the block ended with, and one more.
 */
static ReferencePair
quick_look(SamplerRun *run, uint64_t last)
{
	ReferencePair pair;
	uint64_t	after;
	int64_t		width;

	pair.reference_ns = reference_ns();
	after = run->reader->read();
	judge_reading(run, after);
	width = (int64_t) (after - last);
	pair.reading = last + width / 2;
	pair.width_ns = width < 0 ? UINT64_MAX :
		(uint64_t) (width * 1e9 / run->frequency_hz);
	return pair;
}

/*
 * Compares the clock's advance with the reference's since "anchor", records
 * what it finds, and makes the present the new anchor.
 */
static void
compare_with_reference(SamplerRun *run, ReferencePair *anchor,
					   ReferencePair now)
{
	double		passed_ns = (double) (now.reference_ns - anchor->reference_ns);
	double		tolerance_ns = DISAGREEMENT_NS + run->usual_width_ns +
		run->resolution_ns + passed_ns / 1000;
	double		excess_ns = excess(run, anchor, &now);

	/*
	 * A careful look where the two seem to disagree or where the quick one
	 * was interrupted.  Together, the errors of both ends stay within the
	 * tolerance then.
	 */
	if (fabs(excess_ns) > tolerance_ns / 2 ||
		now.width_ns > run->usual_width_ns + DISAGREEMENT_NS / 2)
	{
		now = careful_look(run);
		passed_ns = (double) (now.reference_ns - anchor->reference_ns);
		excess_ns = excess(run, anchor, &now);
	}

	if (excess_ns < -tolerance_ns)
	{
		double		backward_ns = run->tally->window.backward_ticks *
			1e9 / run->frequency_hz;

		if (-excess_ns - backward_ns > tolerance_ns)
			event(&run->lags, -excess_ns - backward_ns);
	}
	sort_out_jumps(run, excess_ns > tolerance_ns ? excess_ns : 0, passed_ns);
	tally_window_reset(run->tally);
	*anchor = now;
}

void
sampler_run(SamplerRun *run)
{
	int			pairs = MIN_PAIRS;
	int			last_cpu = -1;
	double		target_ns = run->duration_s * 1e9;
	ReferencePair start;
	ReferencePair anchor;

	/* mean of the blocks' mean durations and its error (Welford, weighted) */
	double		weight = 0;
	double		mean = 0;
	double		squares = 0;
	int64_t		blocks = 0;

	run->has_last = false;
	run->started = false;
	run->granularity_ticks = measure_granularity(run);
	visit_cpu(run, &last_cpu);

	start = careful_look(run);
	anchor = start;
	run->usual_width_ns = (double) start.width_ns;
	tally_window_reset(run->tally);
	run->started = true;
	for (;;)
	{
		uint64_t	block_start = anchor.reference_ns;
		uint64_t	first;
		uint64_t	last;
		double		block_ns;
		ReferencePair now;

		last = run->reader->block(run->tally, pairs, &first);
		judge_reading(run, first);
		run->last = last;
		now = quick_look(run, last);

		/* blocks as short as the first ones are mostly overhead */
		if (pairs > MIN_PAIRS)
		{
			double		durations = 2.0 * pairs + 1;
			double		block_mean = (double) (int64_t) (last - first) *
				1e9 / run->frequency_hz / durations;
			double		delta = block_mean - mean;

			blocks++;
			weight += durations;
			mean += delta * durations / weight;
			squares += durations * delta * (block_mean - mean);
		}

		compare_with_reference(run, &anchor, now);
		visit_cpu(run, &last_cpu);
		if ((double) (anchor.reference_ns - start.reference_ns) >= target_ns)
			break;
		if (run->between_blocks != NULL)
			run->between_blocks(run->arg,
								(anchor.reference_ns - start.reference_ns) / 1e9);

		block_ns = (double) (anchor.reference_ns - block_start);
		if (block_ns < SHORT_BLOCK_NS && pairs < MAX_PAIRS)
			pairs *= 2;
		else if (block_ns > LONG_BLOCK_NS && pairs > MIN_PAIRS)
			pairs /= 2;
	}

	compare_with_reference(run, &anchor, careful_look(run));
	run->elapsed_s = (anchor.reference_ns - start.reference_ns) / 1e9;
	run->advance_ns = (double) (int64_t) (anchor.reading - start.reading) *
		1e9 / run->frequency_hz;
	run->reference_error_ns = (start.width_ns + anchor.width_ns) / 2.0;
	run->readings = (int64_t) (tally_moments(run->tally).count +
							   run->tally->backward_steps);

	/*
	 * Successive durations are anything but independent; the means of blocks
	 * nearly are.  1.96, since any run that is worth an error has hundreds.
	 */
	run->mean_error_ns = blocks < 30 ? NAN :
		1.96 * sqrt(squares / weight / (blocks - 1));
}
