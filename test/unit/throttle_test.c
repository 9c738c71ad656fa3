/*
 * throttle_test: the gaps between the instants of a throttled run, by
 * themselves, without any clock; and what the sampler makes of instants, of
 * intervals, and of what a clock does between them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/reference.h"
#include "core/sampler.h"
#include "core/sampler_loop.h"
#include "core/throttle.h"
#include "tap.h"

#define DRAWS		10000000

/* The first values of SplitMix64 for the seed 1234567, as published with it. */
static void
generator(void)
{
	static const uint64_t expected[] = {
		UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
		UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
		UINT64_C(16408922859458223821)
	};
	Throttle	throttle;
	bool		same = true;

	throttle.state = 1234567;
	for (int i = 0; i < 5; i++)
		same &= throttle_random(&throttle) == expected[i];
	ok(same, "the generator is SplitMix64");
}

static void
distribution(uint64_t seed)
{
	Throttle	throttle = {.state = seed};
	double		sum = 0;
	double		squares = 0;
	double		products = 0;
	double		previous = 1;
	double		least = INFINITY;
	double		most = 0;
	double		mean;
	double		variance;
	double		correlation;
	bool		sane = true;
	int			above[10] = {0};
	bool		tail = true;

	for (int i = 0; i < DRAWS; i++)
	{
		double		x = throttle_exponential(&throttle);

		sane &= isfinite(x) && x > 0 && x < 37.5;
		least = fmin(least, x);
		most = fmax(most, x);
		sum += x;
		squares += x * x;
		products += (x - 1) * (previous - 1);
		previous = x;
		for (int t = 0; t < 10 && x > t; t++)
			above[t]++;
	}
	mean = sum / DRAWS;
	variance = squares / DRAWS - mean * mean;
	correlation = products / DRAWS;

	/* six standard errors are 0.19 %, so 0.1 % is as much as can be asked */
	ok(fabs(mean - 1) < 0.001, "the mean of ten million gaps is within 0.1 %%: %.6f", mean);
	/* the variance of the variance of an exponential distribution is 8 / n */
	ok(fabs(variance - 1) < 6 * sqrt(8.0 / DRAWS), "the variance is 1: %.6f", variance);
	ok(fabs(correlation) < 6 / sqrt(DRAWS), "no gap depends on the one before: %.6f", correlation);
	ok(sane, "no gap is zero, negative or infinite: %g to %g", least, most);
	for (int t = 0; t < 10; t++)
	{
		double		p = exp(-t);

		tail &= fabs(above[t] - DRAWS * p) <= 6 * sqrt(DRAWS * p * (1 - p));
	}
	ok(tail, "gaps above 1 to 9 times the mean are as frequent as they ought to be");
}

/* The state after which SplitMix64 gives z, by its inverse. */
static uint64_t
state_before(uint64_t z)
{
	z = (z ^ (z >> 31) ^ (z >> 62)) * UINT64_C(0x319642B2D24D8EC3);
	z = (z ^ (z >> 27) ^ (z >> 54)) * UINT64_C(0x96DE1B173F119089);
	z = z ^ (z >> 30) ^ (z >> 60);
	return z - UINT64_C(0x9E3779B97F4A7C15);
}

static double
exponential_of(uint64_t random)
{
	Throttle	throttle = {.state = state_before(random)};

	return throttle_exponential(&throttle);
}

/* What ten million draws will not hit upon. */
static void
ends(void)
{
	Throttle	throttle = {.state = state_before(42)};
	double		longest = exponential_of(0);
	double		shortest = exponential_of(UINT64_MAX);
	double		below = exponential_of(UINT64_MAX / 2);
	double		above = exponential_of(UINT64_MAX / 2 + 1);

	ok(throttle_random(&throttle) == 42, "any random number can be had");
	ok(fabs(longest - 54 * M_LN2) < 1e-12, "the longest gap is 54 ln 2: %.15g", longest);
	ok(fabs(shortest / 0x1p-54 - 1) < 1e-12, "the shortest is 2^-54: %g", shortest);
	ok(below > above && below - above < 1e-14, "both halves meet: %.17g, %.17g", below, above);
}

static void
schedule(void)
{
	Throttle	a;
	Throttle	b;
	Throttle	other;
	double		previous = 0;
	bool		same = true;
	bool		ascending = true;
	int			equal = 0;

	throttle_start(&a, 200, 1);
	throttle_start(&b, 200, 1);
	throttle_start(&other, 200, 2);
	ok(a.due_s > 0, "the first instant is not the start itself");
	for (int i = 0; i < 1000000; i++)
	{
		same &= a.due_s == b.due_s;
		equal += a.due_s == other.due_s;
		ascending &= a.due_s > previous;
		previous = a.due_s;
		throttle_next(&a);
		throttle_next(&b);
		throttle_next(&other);
	}
	ok(same, "the same seed gives the same schedule");
	ok(equal == 0, "another seed another one");
	ok(ascending, "instants follow each other");
	ok(fabs(previous / 5000 - 1) < 6e-3, "a million of them at 200 a second take 5000 s: %.1f", previous);
}

/* A clock with an offset, whose next reading comes back late if asked to. */
static int64_t offset;
static int64_t next_takes_ns;

static uint64_t
fake_read(void)
{
	uint64_t	now = reference_ns();

	while ((int64_t) (reference_ns() - now) < next_takes_ns)
		;
	next_takes_ns = 0;
	return now + (uint64_t) offset;
}

extern const ClockReader reader_fake;

DEFINE_CLOCK_READER(reader_fake, fake_read());

static SamplerRun run;

static void
begin(uint64_t (*stopwatch) (void))
{
	Tally	   *tally = run.tally != NULL ? run.tally : malloc(sizeof(Tally));

	memset(&run, 0, sizeof(run));
	tally_init(tally);
	offset = 0;
	run.reader = &reader_fake;
	run.frequency_hz = 1e9;
	run.resolution_ns = 1;
	run.tally = tally;
	run.stopwatch = stopwatch;
	run.stopwatch_hz = 1e9;
	sampler_begin(&run);
	sampler_clear(&run);
}

static void
pause_ms(int ms)
{
	struct timespec ts = {0, ms * 1000000L};

	nanosleep(&ts, NULL);
}

static void
instants(void)
{
	SamplerInstant instant;
	int64_t		n = 0;
	bool		moments = true;

	begin(reference_ns);
	for (; n < 50; n++)
	{
		uint64_t	before;

		pause_ms(2);
		before = reference_ns();
		sampler_instant(&run, &instant);
		moments &= instant.at_ns >= before && instant.at_ns <= reference_ns();
	}
	ok(moments, "instants are when they are");
	sampler_end(&run);
	ok(run.readings == n * INSTANT_DURATIONS, "readings are those of instants: %d", (int) run.readings);
	ok(run.elapsed_s >= 0.1, "pauses are part of the run");
	ok(run.advance_ns / 1e9 >= 0.1, "and of the clock's advance");
	ok(run.mean_error_ns > 0, "the mean has an error");
	ok(run.warps.count == 0 && run.lags.count == 0 && run.tally->backward_steps == 0, "a good clock");

	begin(reference_ns);
	next_takes_ns = 30000000;
	sampler_instant(&run, &instant);
	ok(instant.first_ns >= 30e6, "the first reading is timed as a whole: %.0f ns", instant.first_ns);
	ok(instant.all_ns >= instant.first_ns, "and is part of the time awake");
	ok(run.gaps.count == 0 || run.gaps.max_ns < 30e6, "it is no gap");
	ok(run.tally->largest < 30000000, "and no duration");

	pause_ms(2);
	offset += 5000000;
	sampler_instant(&run, &instant);
	ok(run.warps.count == 1 && fabs(run.warps.max_ns - 5e6) < 1e5, "a jump ahead in a pause is a warp");
	ok(run.tally->largest < 5000000, "and no duration");
	pause_ms(2);
	offset -= 50000000;
	sampler_instant(&run, &instant);
	ok(run.tally->backward_steps == 1, "a step back in a pause is one");
	ok(run.lags.count == 0, "and no lag");
	sampler_end(&run);
	ok(run.readings == 3 * INSTANT_DURATIONS + 1, "which counts as a reading: %d", (int) run.readings);
}

static void
intervals(void)
{
	int64_t		readings = 0;
	double		edge_s = 0;
	bool		late = true;

	begin(NULL);
	for (int i = 0; i < 5; i++)
	{
		edge_s += 0.02;
		sampler_clear(&run);
		ok(tally_moments(run.tally).count == 0 && run.gaps.count == 0, "interval %d begins with nothing", i);
		sampler_resume(&run);
		sampler_until(&run, edge_s);
		late &= sampler_elapsed(&run) >= edge_s;
		readings += tally_moments(run.tally).count;
	}
	ok(late, "no interval ends before its edge");
	ok(readings > 1000, "readings of all");

	/* a pause between intervals is no gap of either */
	sampler_clear(&run);
	pause_ms(100);
	sampler_resume(&run);
	ok(tally_moments(run.tally).count == 0 && run.gaps.count == 0, "a pause is no duration and no gap");
	ok(run.warps.count == 0 && run.lags.count == 0, "and nothing that the clock did wrong");
	offset += 7000000;
	pause_ms(10);
	sampler_resume(&run);
	ok(run.warps.count == 1 && fabs(run.warps.max_ns - 7e6) < 1e5, "what it did wrong in a pause is found");
	offset -= 90000000;
	pause_ms(10);
	sampler_resume(&run);
	ok(run.tally->backward_steps == 1 && run.lags.count == 0, "a step back is, too, and no lag");
	sampler_clear(&run);
	ok(run.warps.count == 0 && run.tally->backward_steps == 0, "and belongs to that interval only");
	sampler_end(&run);
	ok(run.elapsed_s >= edge_s + 0.12, "the run as a whole has all of it");
}

int
main(void)
{
	generator();
	distribution(1);
	ends();
	schedule();
	instants();
	intervals();
	free(run.tally);
	return done();
}
