/*
 * Samples a clock.  Within a block, only the loop of sampler_loop.h runs.  After each block, the
 * reference clock is read, and determines whether the run ends.  It also tells the cause of a long
 * duration: a gap if the reference advanced as well, or a warp if only the clock did.
 */
#include <sched.h>
#include <math.h>
#include <string.h>

#include "clock/sampling/granularity.h"
#include "clock/sampling/sampler.h"
#include "core/arm_counter.h"
#include "core/random.h"
#include "core/reading_fence.h"
#include "core/system_clock.h"
#include "core/tsc.h"

/*
 * Limits of the number of pairs of readings in a block.  The number is doubled after a block that
 * takes less than SHORT_BLOCK_NS, and halved after one that takes more than LONG_BLOCK_NS.
 */
#define MIN_PAIRS		16
#define MAX_PAIRS		16384
#define SHORT_BLOCK_NS	100000.0
#define LONG_BLOCK_NS	400000.0

/*
 * Shortest duration in ns that is kept as a jump, which is a possible gap or warp: USUAL_NS within
 * a block, DISAGREEMENT_NS outside.  If the clock or the reference is slow, usual durations are as
 * long as that.  Then only those beyond USUAL_TIMES the usual one are jumps.  Otherwise jumps would
 * seem to explain each excess, and a wrong rate of a slow clock would count as thousands of warps.
 */
#define USUAL_NS		4096.0
#define USUAL_TIMES		3

/* Number of successive readings whose shortest distance is the usual duration within a block. */
#define USUAL_READINGS	10

/* Number of brackets that are read for a ReferencePair.  The narrowest one is used. */
#define BRACKETS		9		/* at both ends of a run */
#define BRACKETS_WITHIN	25		/* between blocks, until one is narrow */

/*
 * Parameters for learning the clock's rate relative to the reference.  The rates may differ because
 * NTP steers one of them, or because the stated frequency is wrong.  The learnt rate is an average
 * over about RATE_MEMORY_NS.  Its assumed error is RATE_TOLERANCE, plus a part that is UNKNOWN_RATE
 * at first and has halved after RATE_PRIOR_NS.  A stretch weighs at most RATE_WEIGHT_NS: if the
 * process loses the CPU while the clock steps, a long stretch hides the step.  Even three such
 * stretches then change the rate by less than its assumed error.
 */
#define RATE_MEMORY_NS	20e6
#define RATE_PRIOR_NS	1e6
#define RATE_WEIGHT_NS	250e3
#define RATE_TOLERANCE	100e-6
#define UNKNOWN_RATE	1500e-6

/* Number of successive stretches with the same unexpected rate that prove this rate. */
#define SERIES			4

/* Lower rates are no rate, but a clock that stands still. */
#define LOWEST_RATE		(-0.95)

/* Number of readings that measure the granularity, and the longest time for them in ns. */
#define GRANULARITY_READINGS 1024
#define GRANULARITY_NS	5000000

/* Number of measurements of the stopwatch's own duration.  The shortest one is used. */
#define STOPWATCH_READINGS 64

DEFINE_CLOCK_READER(reader_system, system_clock_read());
#if defined(__x86_64__) || defined(__i386__)
DEFINE_CLOCK_READER(reader_rdtscp, tsc_read_rdtscp());
DEFINE_CLOCK_READER(reader_rdtsc, tsc_read_rdtsc());
#elif defined(__aarch64__)
DEFINE_CLOCK_READER(reader_cntvct_isb, (reading_fence(), arm_counter_read()));
DEFINE_CLOCK_READER(reader_cntvct, arm_counter_read());
#endif

static double
ns_of(const SamplerRun *run, double ticks)
{
	return ticks * 1e9 / run->frequency_hz;
}

static void
add_event(Events *events, double ns)
{
	events->count++;
	events->total_ns += ns;
	if (ns > events->max_ns)
		events->max_ns = ns;
}

static void
add_warp(SamplerRun *run, double ns)
{
	if (ns >= run->least_warp_ns)
		add_event(&run->warps, ns);
}

static double
advance_ns(const SamplerRun *run, const ReferencePair *from, const ReferencePair *to)
{
	/* the difference is negative if the clock went backwards */
	return ns_of(run, (double) (int64_t) (to->reading - from->reading));
}

static double
passed_ns(const ReferencePair *from, const ReferencePair *to)
{
	/* a reference other than reference_ns() may go backwards */
	return (double) (int64_t) (to->reference_ns - from->reference_ns);
}

/*
 * Counts a stall, backward step or gap that ends at a reading outside of a block.  Any other time
 * since the previous reading includes other work, so it is not counted as a duration.
 */
static void
judge_reading(void *arg, uint64_t reading)
{
	SamplerRun *run = arg;

	if (run->has_last)
	{
		uint64_t	ticks = reading - run->last;
		double		ns = ns_of(run, ticks);

		double		usual_ns = USUAL_TIMES * run->usual_width_ns;

		/* a throttled run counts stalls and gaps only within instants */
		if ((int64_t) ticks < 0 ||
			(run->stopwatch == NULL &&
			 (ticks == 0 || (run->started && ns >= fmax(GAP_NS, usual_ns)))))
			tally_unusual(run->tally, run->last, reading);
		else if (run->stopwatch == NULL && ns >= fmax(DISAGREEMENT_NS, usual_ns))
			tally_window_jump(run->tally, ticks);
	}
	run->last = reading;
	run->has_last = true;
}

/* Returns the granularity.  Random delays vary the number of the clock's steps between readings. */
static double
measure_granularity(SamplerRun *run)
{
	uint64_t	advances[GRANULARITY_READINGS];
	uint64_t	start = reference_ns();
	uint64_t	previous = run->reader->read();
	uint64_t	random = UINT64_C(0x9E3779B97F4A7C15);
	int			n = 0;

	judge_reading(run, previous);
	while (n < GRANULARITY_READINGS && reference_ns() - start <= GRANULARITY_NS)
	{
		uint64_t	reading;

		/* an iteration takes a cycle, so delays of all lengths occur */
		for (int i = 256 + (int) (random_next(&random) >> 55); i > 0; i--)
			__asm__ volatile ("");

		/* the reading must not begin before the end of the delay */
		reading_fence();
		reading = run->reader->read();
		judge_reading(run, reading);
		if ((int64_t) (reading - previous) > 0)
			advances[n++] = reading - previous;
		previous = reading;
	}
	return granularity(advances, n);
}

static void
visit_cpu(SamplerRun *run)
{
	int			cpu = -1;

#ifdef __linux__
	cpu = sched_getcpu();
#endif
	if (cpu < 0 || cpu >= SAMPLER_MAX_CPUS)
		return;
	run->cpus[cpu / 8] |= 1 << (cpu % 8);
	run->migrations += run->last_cpu >= 0 && cpu != run->last_cpu;
	run->last_cpu = cpu;
}

/* Returns the fewest jumps whose sum is about excess_ns, as bits; 0 if no jumps have that sum. */
static unsigned int
jumps_that_explain(const SamplerRun *run, double excess_ns)
{
	const TallyWindow *window = &run->tally->window;
	unsigned int best = 0;

	for (unsigned int set = 1; set < 1U << window->njumps; set++)
	{
		double		sum_ns = 0;

		if (best != 0 && __builtin_popcount(set) >= __builtin_popcount(best))
			continue;
		for (int i = 0; i < window->njumps; i++)
		{
			if (set & (1U << i))
				sum_ns += ns_of(run, window->jumps[i]);
		}
		if (fabs(sum_ns - excess_ns) <= DISAGREEMENT_NS)
			best = set;
	}
	return best;
}

/*
 * Counts the jumps since the latest pair of readings of both clocks, which is stretch_ns ago.  If
 * the clock has gained excess_ns > 0 on the reference since then, jumps whose sum is this excess
 * are warps.  All other jumps are gaps.
 */
static void
classify_jumps(SamplerRun *run, double excess_ns, double stretch_ns)
{
	const TallyWindow *window = &run->tally->window;
	unsigned int warps = 0;

	if (excess_ns > 0)
	{
		warps = jumps_that_explain(run, excess_ns);
		if (warps == 0)
			add_warp(run, excess_ns);
	}
	for (int i = 0; i < window->njumps; i++)
	{
		double		ns = ns_of(run, window->jumps[i]);
		double		true_ns = ns / (1 + run->recent_rate);

		if (warps & (1U << i))
			add_warp(run, ns);

		/*
		 * A jump longer than the elapsed time is no gap.  The time lost does
		 * not include the excess of a fast clock, and no gap is longer than
		 * the duration that shows it.
		 */
		else if (true_ns >= GAP_NS && true_ns <= stretch_ns + DISAGREEMENT_NS)
			add_event(&run->gaps, fmin(true_ns, ns));
	}
}

/* Returns the part of the clock's advance that reference and learnt rate do not explain, in ns. */
static double
excess(const SamplerRun *run, const ReferencePair *from, const ReferencePair *to)
{
	return advance_ns(run, from, to) - passed_ns(from, to) * (1 + run->recent_rate);
}

/* Returns the ns that the clock counts in a ns of the reference, or 1 if it is slower. */
static double
speed(const SamplerRun *run)
{
	return fmax(1 + run->recent_rate, 1);
}

/* Returns whether at least half of an excess may be warps: jumps that are no longer than it. */
static bool
jumps_may_explain(const SamplerRun *run, double excess_ns)
{
	const TallyWindow *window = &run->tally->window;
	double		sum_ns = 0;

	for (int i = 0; i < window->njumps; i++)
	{
		double		ns = ns_of(run, window->jumps[i]);

		if (ns <= excess_ns + DISAGREEMENT_NS)
			sum_ns += ns;
	}
	/* a full window lacks jumps */
	return excess_ns > 0 && (sum_ns >= excess_ns / 2 || window->njumps == TALLY_JUMPS);
}

/* Returns the error bound of the difference of the two clocks' advances. */
static double
reading_bound(const SamplerRun *run, const ReferencePair *from, const ReferencePair *to)
{
	return run->resolution_ns + run->slack_ns +
		((double) from->width_ns + (double) to->width_ns) / 2 * speed(run);
}

/* Returns the largest excess that errors of readings and of the learnt rate explain. */
static double
error_bound(const SamplerRun *run, const ReferencePair *from, const ReferencePair *to)
{
	double		rate = RATE_TOLERANCE +
		UNKNOWN_RATE * RATE_PRIOR_NS / (RATE_PRIOR_NS + run->learnt_ns);

	return reading_bound(run, from, to) + passed_ns(from, to) * rate * speed(run);
}

/* Returns the largest excess that is tolerated.  A larger one is a warp or a lag. */
static double
tolerance(const SamplerRun *run, const ReferencePair *from,
		  const ReferencePair *to)
{
	return DISAGREEMENT_NS + error_bound(run, from, to);
}

/* Learns the rate from a stretch without warp or lag: as a mean, later as a moving average. */
static void
learn_rate(SamplerRun *run, double excess_ns, double stretch_ns)
{
	double		weight_ns = fmin(stretch_ns, RATE_WEIGHT_NS);

	if (stretch_ns <= 0)
		return;
	run->recent_rate += excess_ns / stretch_ns * weight_ns /
		(RATE_PRIOR_NS + run->learnt_ns + weight_ns);
	run->learnt_ns = fmin(run->learnt_ns + weight_ns, RATE_MEMORY_NS);
}

/*
 * Takes a rate that UNKNOWN_RATE does not explain from the first readings of the run, so that short
 * runs do not report warps or lags instead.
 */
static void
learn_first_rate(SamplerRun *run, const ReferencePair *from, const ReferencePair *to)
{
	double		excess_ns = excess(run, from, to);
	double		rate = excess_ns / passed_ns(from, to);

	if (run->tally->backward_steps == 0 && fabs(excess_ns) > error_bound(run, from, to) &&
		rate > (run->cpu_time ? 0 : LOWEST_RATE) &&
		(excess_ns < 0 || jumps_that_explain(run, excess_ns) == 0))
		run->recent_rate = rate;
}

/*
 * Tells a wrong rate from warps and lags.  Returns true if the latest stretches show the same rate,
 * and SERIES of them have an excess over recent_rate that is not tolerated.  Then sets recent_rate
 * to that rate, and undoes the counting of warps and lags for these stretches.  "tolerated" is about
 * this stretch.  Ignores stretches with backward steps, and those whose jumps may be the excess.
 */
static bool
is_of_rate(SamplerRun *run, const ReferencePair *from, const ReferencePair *to, bool tolerated)
{
	double		stretch_ns = passed_ns(from, to);
	double		lead_ns = advance_ns(run, from, to) - stretch_ns;
	double		bound_ns = reading_bound(run, from, to);
	double		part = run->series.n > 0 ? stretch_ns / run->series.passed_ns : 0;
	double		excess_ns = excess(run, from, to);

	if (run->tally->window.backward_ticks > 0 || (run->series.n == 0 && tolerated) ||
		(!tolerated && jumps_may_explain(run, excess_ns)))
		return false;
	if (lead_ns <= LOWEST_RATE * stretch_ns ||
		fabs(lead_ns - run->series.lead_ns * part) > DISAGREEMENT_NS + bound_ns +
		(run->series.bound_ns * part + stretch_ns * RATE_TOLERANCE) * speed(run))
		run->series.n = 0;
	if (lead_ns <= LOWEST_RATE * stretch_ns || tolerated)
		return false;
	if (run->series.n == 0)
	{
		memset(&run->series, 0, sizeof(run->series));
		run->series.warps = run->warps;
		run->series.lags = run->lags;
	}
	run->series.n++;
	run->series.passed_ns += stretch_ns;
	run->series.lead_ns += lead_ns;
	run->series.bound_ns = fmax(run->series.bound_ns, bound_ns);
	if (run->series.n < SERIES)
		return false;
	run->recent_rate = run->series.lead_ns / run->series.passed_ns;
	run->learnt_ns = 0;
	run->warps = run->series.warps;
	run->lags = run->series.lags;
	run->series.n = 0;
	return true;
}

static double
good_width_ns(const SamplerRun *run)
{
	return run->usual_width_ns + DISAGREEMENT_NS / 2;
}

static ReferencePair
read_pair(SamplerRun *run, int tries, double good_ns)
{
	return reference_pair(run->reference, run->reader->read, tries,
						  (uint64_t) good_ns, judge_reading, run);
}

/* Reads an accurate pair, again if the clock went backwards: its reading may be the low one. */
static ReferencePair
accurate_pair(SamplerRun *run)
{
	ReferencePair pair;
	uint64_t	backward_steps;
	int			tries = 3;

	do
	{
		backward_steps = run->tally->backward_steps;
		pair = read_pair(run, BRACKETS_WITHIN, good_width_ns(run));
	} while (run->tally->backward_steps != backward_steps && --tries > 0);
	return pair;
}

/* Returns a pair with the reference read once, between the clock's reading "last" and a new one. */
static ReferencePair
quick_pair(SamplerRun *run, uint64_t last)
{
	ReferencePair pair;
	uint64_t	after;
	int64_t		width;

	pair.reference_ns = run->reference();
	after = run->reader->read();
	judge_reading(run, after);
	width = (int64_t) (after - last);
	pair.reading = last + width / 2;
	pair.width_ns = width < 0 ? UINT64_MAX / 4 : (uint64_t) ns_of(run, width);
	return pair;
}

/*
 * Counts a loss as a lag unless backward steps explain it.  Readings show a backward step of S ns
 * as a decrease by S minus the time between the two readings, which is at most the stretch.
 */
static void
add_lag(SamplerRun *run, double loss_ns, double tolerance_ns, double stretch_ns)
{
	uint64_t	backward_ticks = run->tally->window.backward_ticks;

	if (backward_ticks > 0)
		loss_ns -= ns_of(run, (double) backward_ticks) + stretch_ns;
	if (loss_ns > tolerance_ns)
		add_event(&run->lags, loss_ns);
}

/* Compares the clock's advance since the latest pair with the reference's, and counts events. */
static void
compare_with_reference(SamplerRun *run, ReferencePair now)
{
	const ReferencePair *anchor = &run->anchor;
	double		excess_ns = excess(run, anchor, &now);
	double		tolerance_ns;

	/* reads an accurate pair if this one is wide, or to confirm an event */
	if (now.width_ns > good_width_ns(run) || fabs(excess_ns) > tolerance(run, anchor, &now))
	{
		now = accurate_pair(run);
		if (fabs(excess(run, anchor, &now)) > tolerance(run, anchor, &now))
			now = accurate_pair(run);
		excess_ns = excess(run, anchor, &now);
	}
	tolerance_ns = tolerance(run, anchor, &now);

	/* a clock of CPU time falls behind whenever the process is off the CPU */
	if (run->cpu_time && excess_ns < -tolerance_ns)
		excess_ns = 0;
	else if (is_of_rate(run, anchor, &now, fabs(excess_ns) <= tolerance_ns))
		excess_ns = 0;
	else if (fabs(excess_ns) <= tolerance_ns)
	{
		if (run->tally->window.backward_ticks == 0)
			learn_rate(run, excess_ns, passed_ns(anchor, &now));
	}
	else if (excess_ns < 0)
		add_lag(run, -excess_ns, tolerance_ns, passed_ns(anchor, &now));
	classify_jumps(run, excess_ns > tolerance_ns ? excess_ns : 0, passed_ns(anchor, &now));
	tally_window_reset(run->tally);
	run->anchor = now;
}

/* Adds a block's mean.  The margin uses block means, because durations are not independent. */
static void
count_block(SamplerRun *run, uint64_t first, uint64_t last, double durations)
{
	double		mean = ns_of(run, (double) (int64_t) (last - first)) / durations;
	double		delta = mean - run->blocks.mean;

	run->blocks.n++;
	run->blocks.weight += durations;
	run->blocks.mean += delta * durations / run->blocks.weight;
	run->blocks.squares += durations * delta * (mean - run->blocks.mean);
}

/* Returns the ticks that the stopwatch shows if nothing is done between its two readings. */
static uint64_t
measure_stopwatch(const SamplerRun *run)
{
	uint64_t	least = UINT64_MAX;

	for (int i = 0; i < STOPWATCH_READINGS; i++)
	{
		uint64_t	before = run->stopwatch();
		uint64_t	after;

		reading_fence();
		reading_fence();
		after = run->stopwatch();
		if (after - before < least)
			least = after - before;
	}
	return least;
}

/*
 * Sets the usual width of a bracket, which determines the shortest jump outside of blocks.  Forgets
 * the jumps so far.
 */
static void
set_usual_width(SamplerRun *run, double width_ns)
{
	run->usual_width_ns = width_ns;
	/* keeps backward_ticks */
	run->tally->window.njumps = 0;
}

/*
 * Sets the shortest jump within a block, where no other clock is read.  If a reading repeats the
 * one before, the clock is coarse, and an advance is a step, not the duration of a reading.
 */
static void
set_usual_duration(SamplerRun *run)
{
	uint64_t	readings[USUAL_READINGS];
	uint64_t	least = UINT64_MAX;

	for (int i = 0; i < USUAL_READINGS; i++)
		readings[i] = run->reader->read();
	judge_reading(run, readings[0]);
	for (int i = 1; i < USUAL_READINGS; i++)
	{
		uint64_t	ticks = readings[i] - readings[i - 1];

		judge_reading(run, readings[i]);
		if ((int64_t) ticks >= 0 && ticks < least)
			least = ticks;
	}
	if (least != UINT64_MAX)
		tally_set_jump(run->tally, USUAL_TIMES * (double) least);
}

/*
 * Prepares a run: measures the granularity, reads both clocks for the first time, and learns the
 * usual width of a bracket.  Steps of the clock count from the first of these readings; jumps count
 * only from the end of the preparation, because its other work looks like gaps.
 */
void
sampler_begin(SamplerRun *run)
{
	ReferencePair first;

	tally_set_usual(run->tally, USUAL_NS * run->frequency_hz / 1e9);
	run->begin_ns = reference_ns();
	run->pairs = MIN_PAIRS;
	run->last_cpu = -1;
	memset(&run->blocks, 0, sizeof(run->blocks));
	if (run->reference == NULL)
		run->reference = reference_ns;
	if (run->stopwatch != NULL)
		run->stopwatch_ticks = measure_stopwatch(run);
	run->has_last = false;
	run->started = false;
	run->series.n = 0;
	tally_window_reset(run->tally);
	run->usual_width_ns = 0;
	first = read_pair(run, BRACKETS, 0);
	set_usual_width(run, (double) first.width_ns);
	set_usual_duration(run);
	run->granularity_ticks = measure_granularity(run);
	run->start = read_pair(run, BRACKETS, 0);
	learn_first_rate(run, &first, &run->start);
	visit_cpu(run);

	tally_window_reset(run->tally);
	run->start = read_pair(run, BRACKETS, 0);
	run->anchor = run->start;
	/* the clock may have gone back since "start", so backward_ticks remain */
	set_usual_width(run, (double) run->start.width_ns);
	run->started = true;
}

double
sampler_elapsed(const SamplerRun *run)
{
	return passed_ns(&run->start, &run->anchor) / 1e9;
}

/*
 * Samples block by block.  The length of the blocks adapts to the clock, so that blocks take a
 * fraction of a millisecond: long compared with a reading of the reference, and short compared with
 * the time in which a user expects an answer to a cancellation.
 */
void
sampler_until(SamplerRun *run, double until_s)
{
	double		target_ns = until_s * 1e9;

	for (;;)
	{
		ReferencePair before = run->anchor;
		ReferencePair now;
		uint64_t	first;
		uint64_t	last = run->reader->block(run->tally, run->pairs, &first);
		double		block_ns;

		judge_reading(run, first);
		run->last = last;
		now = quick_pair(run, last);

		/* the shortest blocks consist mostly of the loop's overhead */
		if (run->pairs > MIN_PAIRS)
			count_block(run, first, last, 2.0 * run->pairs + 1);

		compare_with_reference(run, now);
		visit_cpu(run);
		if (passed_ns(&run->start, &run->anchor) >= target_ns)
			break;
		/* ends also if a reference other than reference_ns() stands still */
		if (run->reference != reference_ns &&
			(double) (reference_ns() - run->begin_ns) >= 2 * target_ns + GRANULARITY_NS)
			break;
		if (run->between_blocks != NULL)
			run->between_blocks(run->arg, sampler_elapsed(run));

		block_ns = passed_ns(&before, &run->anchor);
		if (block_ns < SHORT_BLOCK_NS && run->pairs < MAX_PAIRS)
			run->pairs *= 2;
		else if (block_ns > LONG_BLOCK_NS && run->pairs > MIN_PAIRS)
			run->pairs /= 2;
	}
}

void
sampler_resume(SamplerRun *run)
{
	ReferencePair now;

	run->started = false;
	now = accurate_pair(run);
	run->started = true;
	run->tally->window.njumps = 0;
	compare_with_reference(run, now);
	visit_cpu(run);
}

void
sampler_clear(SamplerRun *run)
{
	bool		went_back = run->tally->went_back;
	uint64_t	back_from = run->tally->back_from;
	uint64_t	usual = run->tally->usual;
	uint64_t	jump = run->tally->jump;
	const Events none = {0};

	tally_init(run->tally);
	run->tally->usual = usual;
	run->tally->jump = jump;
	/* keeps went_back and back_from, because the clock may return later */
	run->tally->went_back = went_back;
	run->tally->back_from = back_from;
	run->warps = run->lags = run->gaps = none;
	run->series.n = 0;
}

static double
stopwatch_ns(const SamplerRun *run, uint64_t ticks)
{
	return (int64_t) ticks > 0 ? (double) ticks * 1e9 / run->stopwatch_hz : 0;
}

/* Counts the durations after all readings, because a sleep evicts the tally from the CPU caches. */
void
sampler_instant(SamplerRun *run, SamplerInstant *instant)
{
	uint64_t	readings[INSTANT_DURATIONS + 2];
	uint64_t	(*read) (void) = run->reader->read;
	uint64_t	before;
	uint64_t	after;

	/* loads the stopwatch's code into the caches */
	(void) run->stopwatch();
	before = run->stopwatch();
	reading_fence();
	readings[0] = read();
	reading_fence();
	after = run->stopwatch();
	for (int i = 1; i < INSTANT_DURATIONS + 2; i++)
		readings[i] = read();
	instant->all_ns = stopwatch_ns(run, run->stopwatch() - before);
	instant->at_ns = reference_ns() - (uint64_t) instant->all_ns;
	instant->first_ns = stopwatch_ns(run, after - before - run->stopwatch_ticks);

	/* checks the pause and the first reading only for backward steps */
	if (run->has_last && (int64_t) (readings[0] - run->last) < 0)
		tally_unusual(run->tally, run->last, readings[0]);
	if ((int64_t) (readings[1] - readings[0]) < 0)
		tally_unusual(run->tally, readings[0], readings[1]);
	for (int i = 1; i < INSTANT_DURATIONS + 1; i++)
		CLOCK_STEP(run->tally, run->tally->usual, i % 2, readings[i], readings[i + 1]);
	run->last = readings[INSTANT_DURATIONS + 1];
	run->has_last = true;
	count_block(run, readings[1], run->last, INSTANT_DURATIONS);

	compare_with_reference(run, accurate_pair(run));
	visit_cpu(run);
}

void
sampler_end(SamplerRun *run)
{
	compare_with_reference(run, read_pair(run, BRACKETS, 0));
	run->elapsed_s = sampler_elapsed(run);
	run->advance_ns = advance_ns(run, &run->start, &run->anchor);
	run->reference_bound_ns = (run->start.width_ns + run->anchor.width_ns) / 2.0 +
		run->resolution_ns;
	run->readings = (int64_t) (tally_moments(run->tally).count + run->tally->backward_steps);

	/* 1.96 instead of Student's t, because there are many blocks */
	run->mean_margin_ns = run->blocks.n < 30 ? NAN :
		1.96 * sqrt(run->blocks.squares / run->blocks.weight / (run->blocks.n - 1));
}

void
sampler_run(SamplerRun *run)
{
	sampler_begin(run);
	sampler_until(run, run->duration_s);
	sampler_end(run);
}
