/*
 * sampler_test: the sampler must find each injected fault of a clock exactly once, and the correct
 * granularity of counters whose steps are known.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock/sampling/granularity.h"
#include "clock/sampling/sampler.h"
#include "clock/sampling/sampler_loop.h"
#include "core/reference.h"
#include "tap.h"

/*
 * The clock under test.  It returns the true time plus an offset.  From the reading "from" on, it
 * has a fault at every "period"-th reading.
 */
static struct
{
	uint64_t	readings;
	uint64_t	from;
	uint64_t	period;
	int64_t		step;			/* added to the offset, permanently */
	int64_t		once;			/* added to one reading only */
	int			still;			/* number of times that a fault repeats a reading */
	uint64_t	pause_ns;		/* pause without readings of any clock */
	double		rate;			/* rate, relative to the true one */
	uint64_t	tick_ns;		/* length of a tick in ns */
	int64_t		offset;
	int			left;			/* remaining repetitions of a reading */
	uint64_t	last;
	uint64_t	injected;
} fake;

static uint64_t
true_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static uint64_t
fake_read(void)
{
	uint64_t	now;
	int64_t		once = 0;

	fake.readings++;
	if (fake.left > 0)
	{
		fake.left--;
		fake.injected++;
		return fake.last;
	}
	if (fake.period > 0 && fake.readings > fake.from &&
		fake.readings % fake.period == 0)
	{
		fake.offset += fake.step;
		once = fake.once;
		fake.left = fake.still;
		fake.injected += fake.step != 0 || fake.once != 0 || fake.pause_ns != 0;
		for (uint64_t from = true_ns(); true_ns() - from < fake.pause_ns;)
			;
	}
	now = ((uint64_t) (true_ns() * fake.rate) + (uint64_t) (fake.offset + once)) / fake.tick_ns;
	fake.last = now;
	return now;
}

extern const ClockReader reader_fake;

DEFINE_CLOCK_READER(reader_fake, fake_read());

/*
 * Least number of blocks of readings in a run, and the time in s after which a run ends in any
 * case.  If other processes use the CPUs, a run of a fixed time may have few blocks.
 */
#define LEAST_BLOCKS	120
#define LONGEST_S		60

static Tally *tally;
static SamplerRun run;
static int	calls;
static int	parts;				/* number of calls of sampler_until() */

/* Numbers of injected faults and of warps, in all blocks or in those without a gap. */
typedef struct Found
{
	int64_t		injected;
	int64_t		warps;
	int64_t		gaps;
} Found;

static Found counted;			/* in all blocks so far */
static Found undisturbed;		/* in the blocks without a gap */

/* Adds the latest block to "undisturbed" unless the process was off the CPU in this block. */
static void
count_undisturbed(void)
{
	Found		now = {(int64_t) fake.injected, run.warps.count, run.gaps.count};

	if (now.gaps == counted.gaps)
	{
		undisturbed.injected += now.injected - counted.injected;
		undisturbed.warps += now.warps - counted.warps;
	}
	counted = now;
}

static void
between_blocks(void *arg, double elapsed_s)
{
	calls += arg == &calls && elapsed_s > 0;
	count_undisturbed();
}

/*
 * Samples the clock for at least duration_s.  Goes on until the clock has had the given number of
 * faults, and there are LEAST_BLOCKS blocks.
 */
static void
sample(double duration_s, uint64_t faults)
{
	calls = parts = 0;
	memset(&counted, 0, sizeof(counted));
	memset(&undisturbed, 0, sizeof(undisturbed));
	memset(&run, 0, sizeof(run));
	tally_init(tally);
	run.reader = &reader_fake;
	run.frequency_hz = 1e9 / fake.tick_ns;
	run.resolution_ns = fake.tick_ns;
	run.tally = tally;
	run.between_blocks = between_blocks;
	run.arg = &calls;
	sampler_begin(&run);
	do
	{
		sampler_until(&run, duration_s);
		count_undisturbed();
		parts++;
		duration_s = sampler_elapsed(&run) + 0.05;
	} while ((fake.injected < faults || run.blocks.n < LEAST_BLOCKS) && duration_s < LONGEST_S);
	sampler_end(&run);
}

static void
reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.rate = 1;
	fake.tick_ns = 1;
	/*
	 * The first 20000 readings have no faults, because the first readings of a run are not compared
	 * with the reference clock.
	 */
	fake.from = 20000;
}

static double
rate_ppm(void)
{
	return (run.advance_ns / (run.elapsed_s * 1e9) - 1) * 1e6;
}

static void
a_good_clock(void)
{
	reset();
	sample(0.2, 0);
	ok(run.elapsed_s >= 0.2, "a run takes at least the requested time");
	ok(run.readings > 10000, "there are readings");
	ok(tally->backward_steps == 0, "no backward step");
	ok(run.warps.count == 0 && run.lags.count == 0, "no warp, no lag");
	ok(tally->direct[0][0] == 0, "no stall");
	ok(fabs(rate_ppm()) < 5 + run.reference_bound_ns / 1e3 / run.elapsed_s, "the clock's rate is right");
	ok(run.blocks.n > 100 && calls >= run.blocks.n - parts, "the callback is called after each block but the last one");
	ok(run.readings == (int64_t) tally_moments(tally).count, "every reading is counted");
	ok(run.mean_margin_ns > 0, "the mean has a margin");
}

static void
faults(void)
{
	uint64_t	expected;

	reset();
	fake.period = 5003;
	/*
	 * A step back that is longer than any time in which the process is off the CPU between two
	 * readings
	 */
	fake.step = -1000000000;
	sample(0.2, 11);
	ok(tally->backward_steps == fake.injected && fake.injected > 10,
	   "permanent backward steps, every 5003 readings: %d of %d found",
	   (int) tally->backward_steps, (int) fake.injected);
	ok(tally->backward_max <= 1000000000 && tally->backward_max > 999000000, "their size is 1 s less the time of a reading");
	ok(run.warps.count == 0, "a permanent backward step is no warp");

	reset();
	fake.period = 5003;
	fake.once = -1000000000;
	sample(0.2, 11);
	ok(tally->backward_steps == fake.injected && fake.injected > 10,
	   "single low readings: %d of %d found", (int) tally->backward_steps, (int) fake.injected);
	ok(run.warps.count == 0 && run.lags.count == 0, "a single low reading is neither a warp nor a lag");

	reset();
	fake.period = 333;
	fake.once = -50000;
	sample(0.05, 101);
	ok(run.warps.count == 0 && run.lags.count == 0 && run.gaps.count < (int64_t) fake.injected / 4,
	   "the return of a single low reading is no gap: %d gaps, %d steps", (int) run.gaps.count, (int) fake.injected);

	reset();
	fake.period = 1;
	fake.from = 0;
	fake.step = -1000000000;
	sample(0.01, 1);
	ok(tally->backward_steps == (uint64_t) run.readings && run.readings > 0,
	   "a clock that only goes backwards: each reading is a backward step");
	ok(run.elapsed_s >= 0.01 && run.elapsed_s < 10, "a run with a clock that goes backwards ends on time");

	reset();
	fake.period = 5003;
	fake.still = 7;
	sample(0.2, 101);
	expected = fake.injected;
	ok(tally->direct[0][0] == expected && expected > 100,
	   "stalls of 7 readings: %d of %d found", (int) tally->direct[0][0], (int) expected);
	ok(tally->longest_stall == 7, "the longest stall has 7 readings");

	reset();
	fake.rate = 1.001;
	sample(0.2, 0);
	ok(fabs(rate_ppm() - 1000) < 10 + run.reference_bound_ns / 1e3 / run.elapsed_s,
	   "0.1 %% fast: %+.0f ppm", rate_ppm());
	ok(run.warps.count == 0, "a fast clock has no warps");

	reset();
	fake.period = 40000;
	fake.still = 2000000000;
	sample(0.05, 10001);
	ok(run.elapsed_s >= 0.05 && run.elapsed_s < 10,
	   "a clock that stands still for good: the run ends on time");
	ok(tally->longest_stall > 10000, "the stall of a clock that stands still for good is found");
	ok(run.warps.count == 0 && tally->backward_steps == 0, "a clock that stands still has neither warps nor backward steps");

	reset();
	fake.period = 1;
	fake.from = 0;
	fake.still = 2000000000;
	sample(0.02, 1);
	ok(run.granularity_ticks == 0, "a clock that never moves shows no granularity");
}

/*
 * Tests jumps ahead, of a clock with ticks of 1 ns, and of a counter of 25 MHz with ticks of 40 ns.
 */
static void
jumps(uint64_t tick_ns)
{
	int64_t		missed;

	/*
	 * A jump is missed if the process loses the CPU in the same block of readings.  At least one of
	 * ten runs must find all jumps.
	 */
	for (int i = 0; i < 10; i++)
	{
		reset();
		fake.tick_ns = tick_ns;
		fake.period = 50021;
		fake.step = 5000;
		sample(0.5, 11);
		if (run.warps.count == (int64_t) fake.injected)
			break;
	}
	/*
	 * On a busy machine, each run may miss jumps, but only in blocks with a gap.
	 */
	missed = (int64_t) fake.injected - (int64_t) run.warps.count;
	ok(missed >= 0 && missed <= (int64_t) run.gaps.count && run.warps.count > fake.injected * 0.5 &&
	   fake.injected > 10,
	   "ticks of %d ns, jumps of 5 us: %d of %d found, %d gaps", (int) tick_ns, (int) run.warps.count, (int) fake.injected,
	   (int) run.gaps.count);
	ok(run.warps.max_ns > 4000 && run.warps.max_ns < 6500, "the largest jump found is about 5 us");
	ok(tally->backward_steps == 0 && run.lags.count == 0, "jumps ahead are neither backward steps nor lags");
	ok(run.gaps.max_ns < run.elapsed_s * 1e9, "the longest gap is shorter than the run");

	reset();
	fake.tick_ns = tick_ns;
	fake.period = 1009;
	fake.step = 5000;
	sample(0.2, 101);
	/*
	 * An interruption of the process must not be reported as a jump or as a part of one.  In a
	 * block with a gap of some ms, jumps of 5 us may be missed.  The clock's rate is still unknown,
	 * because almost every block contains a jump, so its assumed error exceeds the jumps.
	 */
	ok(run.warps.count <= (int64_t) fake.injected && undisturbed.injected > 10 &&
	   undisturbed.warps >= undisturbed.injected * 0.9,
	   "several jumps in a block of readings: %d of %d found, without gaps %d of %d",
	   (int) run.warps.count, (int) fake.injected,
	   (int) undisturbed.warps, (int) undisturbed.injected);

	reset();
	fake.tick_ns = tick_ns;
	fake.period = 5003;
	fake.pause_ns = 50000;
	sample(0.2, 11);
	/*
	 * There may be more gaps, because the process may also lose the CPU by itself.
	 */
	ok(run.gaps.count >= fake.injected * 0.9 && fake.injected > 10,
	   "pauses of 50 us: %d of %d found", (int) run.gaps.count, (int) fake.injected);
	ok(run.warps.count == 0 && run.lags.count == 0, "pauses are neither warps nor lags");
}

/*
 * Called between blocks of readings.  Sleeps once for 0.3 s without reading a clock, as if the
 * process were stopped.
 */
static void
a_gap(void *arg, double elapsed_s)
{
	static bool slept = false;
	struct timespec nap = {0, 300000000};

	(void) arg;
	if (!slept && elapsed_s > 0.02)
	{
		slept = true;
		nanosleep(&nap, NULL);
	}
}

static void
gaps(void)
{
	reset();
	memset(&run, 0, sizeof(run));
	tally_init(tally);
	run.reader = &reader_fake;
	run.frequency_hz = 1e9;
	run.resolution_ns = 1;
	run.duration_s = 0.5;
	run.tally = tally;
	run.between_blocks = a_gap;
	sampler_run(&run);
	ok(run.gaps.max_ns >= 3e8, "a pause of 0.3 s is a gap");
	ok(run.warps.count == 0 && run.lags.count == 0 && tally->backward_steps == 0, "a pause of 0.3 s is no fault of the clock");
	ok(tally->largest >= 300000000, "a pause of 0.3 s is the longest duration");
}

/*
 * Returns the granularity that is found for a counter with this step in ns.  If "whole", all
 * readings are multiples of the step as an integer.  "strays" is the number of wrong advances.
 */
static double
granularity_of(double step, bool whole, int strays)
{
	uint64_t	advances[1024];
	uint64_t	previous = 0;
	double		now = 1e6;

	srand(7);
	for (int i = 0; i < 1024; i++)
	{
		uint64_t	reading;

		now += 200 + rand() % 400 + rand() / (double) RAND_MAX;
		reading = whole ? (uint64_t) (floor(now / step)) * (uint64_t) step :
			(uint64_t) floor(floor(now / step) * step);
		advances[i] = i == 0 ? 300 : reading - previous;
		previous = reading;
	}
	advances[0] = advances[1];
	for (int i = 0; i < strays; i++)
		advances[100 * i] += 1 + i;
	return granularity(advances, 1024);
}

static void
granularities(void)
{
	static const double real[] = {10.01, 41.666, 52.083, 5.5};
	uint64_t	few[8] = {26, 52, 26, 52, 26, 52, 26, 52};

	ok(granularity_of(26, true, 0) == 26, "a counter of 26 ticks");
	ok(granularity_of(26, true, 5) == 26, "a counter of 26 ticks, with wrong advances");
	ok(granularity_of(2, true, 0) == 2, "a counter of 2 ticks");
	ok(granularity_of(1, true, 0) == 1, "a counter of 1 tick");
	ok(granularity_of(100, true, 0) == 100, "a counter of 100 ticks");
	for (unsigned int i = 0; i < sizeof(real) / sizeof(real[0]); i++)
	{
		double		g = granularity_of(real[i], false, 3);

		ok(fabs(g / real[i] - 1) < 0.005, "nanoseconds in steps of %.3f: %.3f", real[i], g);
	}
	ok(granularity_of(1.3, false, 0) == 1, "a step that rounding hides counts as one tick");
	ok(granularity(few, 8) == 0, "too few readings show no granularity");
}

int
main(void)
{
	tally = malloc(sizeof(Tally));
	a_good_clock();
	faults();
	jumps(1);
	jumps(40);
	gaps();
	granularities();
	free(tally);
	return done();
}
