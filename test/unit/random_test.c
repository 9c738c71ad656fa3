/*
 * random_test: a throttled run reads the clock only at random moments, its instants.  Tests the
 * random gaps between instants without a clock.  Also tests which readings, intervals and faults of
 * the clock the sampler counts in such a run.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock/sampling/sampler.h"
#include "clock/sampling/sampler_loop.h"
#include "core/random.h"
#include "core/reference.h"
#include "tap.h"

#define DRAWS		10000000

/*
 * Compares the first values of xorshift64* for the seed 1 with values that were computed by another
 * program.
 */
static void
generator(void)
{
	static const uint64_t expected[] = {
		UINT64_C(5180492295206395165), UINT64_C(12380297144915551517),
		UINT64_C(13389498078930870103), UINT64_C(5599127315341312413), UINT64_C(1036278371763004928)
	};
	uint64_t	state = 1;
	bool		same = true;

	for (int i = 0; i < 5; i++)
		same &= random_next(&state) == expected[i];
	ok(same, "the generator is xorshift64*");
}

static void
distribution(uint64_t state)
{
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
		double		x = random_exponential(&state);

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

	/*
	 * 0.1 % is about three standard errors.  The seed is constant, so the result is always the
	 * same.
	 */
	ok(fabs(mean - 1) < 0.001, "the mean of ten million gaps is within 0.1 %%: %.6f", mean);
	/*
	 * The variance of the estimated variance of an exponential distribution is 8 / n.
	 */
	ok(fabs(variance - 1) < 6 * sqrt(8.0 / DRAWS), "the variance is 1: %.6f", variance);
	ok(fabs(correlation) < 6 / sqrt(DRAWS), "successive gaps are not correlated: %.6f", correlation);
	ok(sane, "no gap is zero, negative or infinite: %g to %g", least, most);
	for (int t = 0; t < 10; t++)
	{
		double		p = exp(-t);

		tail &= fabs(above[t] - DRAWS * p) <= 6 * sqrt(DRAWS * p * (1 - p));
	}
	ok(tail, "gaps above 1 to 9 times the mean are as frequent as in the exponential distribution");
}

/* Returns the state after which xorshift64* returns z, which is not 0.  Inverts the generator. */
static uint64_t
state_before(uint64_t z)
{
	z *= UINT64_C(0x59071D96D81ECD35);
	z = z ^ (z >> 27) ^ (z >> 54);
	z = z ^ (z << 25) ^ (z << 50);
	return z ^ (z >> 12) ^ (z >> 24) ^ (z >> 36) ^ (z >> 48) ^ (z >> 60);
}

static double
exponential_of(uint64_t random)
{
	uint64_t	state = state_before(random);

	return random_exponential(&state);
}

/* Tests the shortest and the longest gap, which do not occur in ten million random ones. */
static void
ends(void)
{
	uint64_t	state = state_before(42);
	double		longest = exponential_of(1);
	double		shortest = exponential_of(UINT64_MAX);
	double		below = exponential_of(UINT64_MAX / 2);
	double		above = exponential_of(UINT64_MAX / 2 + 1);

	ok(random_next(&state) == 42, "state_before() inverts the generator");
	ok(fabs(longest - 54 * M_LN2) < 1e-12, "the longest gap is 54 ln 2: %.15g", longest);
	ok(fabs(shortest / 0x1p-54 - 1) < 1e-12, "the shortest is 2^-54: %g", shortest);
	ok(below > above && below - above < 1e-14, "the distribution is continuous at its median: %.17g, %.17g", below, above);
}

static void
schedule(void)
{
	uint64_t	a = 1;
	uint64_t	b = 1;
	uint64_t	other = 2;
	double		due_s = 0;
	bool		same = true;
	bool		ascending = true;
	int			equal = 0;

	for (int i = 0; i < 1000000; i++)
	{
		double		gap = random_exponential(&a);

		same &= gap == random_exponential(&b);
		equal += gap == random_exponential(&other);
		ascending &= due_s + gap / 200 > due_s;
		due_s += gap / 200;
	}
	ok(same, "the same seed gives the same gaps");
	ok(equal == 0, "another seed gives other gaps");
	ok(ascending, "each instant is later than the one before");
	ok(fabs(due_s / 5000 - 1) < 6e-3, "a million instants at 200 per second take 5000 s: %.1f", due_s);
}

/* A clock with an offset, whose next reading can be delayed. */
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
	uint64_t	before_ns;
	uint64_t	rest_ns;
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
	ok(moments, "the stated time of an instant is that of its call");
	sampler_end(&run);
	ok(run.readings == n * INSTANT_DURATIONS, "the run counts the readings of its instants: %d", (int) run.readings);
	ok(run.elapsed_s >= 0.1, "the elapsed time includes the pauses");
	ok(run.advance_ns / 1e9 >= 0.1, "the clock's advance includes the pauses");
	ok(run.mean_margin_ns > 0, "the mean has a margin");
	ok(run.warps.count == 0 && run.lags.count == 0 && run.tally->backward_steps == 0, "a correct clock has no warps, lags and backward steps");

	/* Beside other work, a reading may take some ms, but no longer than the rest of its call. */
	begin(reference_ns);
	next_takes_ns = 30000000;
	before_ns = reference_ns();
	sampler_instant(&run, &instant);
	rest_ns = reference_ns() - before_ns - 30000000;
	ok(instant.first_ns >= 30e6, "the time of the first reading includes its delay of 30 ms: %.0f ns", instant.first_ns);
	ok(instant.all_ns >= instant.first_ns, "the time of the instant includes the first reading");
	ok(run.gaps.count == 0 || run.gaps.max_ns <= rest_ns, "the delay of the first reading is no gap");
	ok(run.tally->largest <= rest_ns, "the delay of the first reading is no duration");

	pause_ms(2);
	offset += 5000000;
	before_ns = reference_ns();
	sampler_instant(&run, &instant);
	if (rest_ns < reference_ns() - before_ns)
		rest_ns = reference_ns() - before_ns;
	ok(run.warps.count == 1 && fabs(run.warps.max_ns - 5e6) < 1e5, "a jump ahead in a pause is a warp");
	ok(run.tally->largest <= rest_ns, "a jump ahead in a pause is no duration");
	pause_ms(2);
	offset -= 50000000;
	sampler_instant(&run, &instant);
	ok(run.tally->backward_steps == 1, "a step back in a pause is a backward step");
	ok(run.lags.count == 0, "a step back in a pause is no lag");
	sampler_end(&run);
	ok(run.readings == 3 * INSTANT_DURATIONS + 1, "the reading after the backward step counts: %d", (int) run.readings);
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
		ok(tally_moments(run.tally).count == 0 && run.gaps.count == 0, "interval %d begins without durations and gaps", i);
		sampler_resume(&run);
		sampler_until(&run, edge_s);
		late &= sampler_elapsed(&run) >= edge_s;
		readings += tally_moments(run.tally).count;
	}
	ok(late, "no interval ends too early");
	ok(readings > 1000, "the intervals have readings");

	/* A pause between two intervals does not count as a gap. */
	sampler_clear(&run);
	pause_ms(100);
	sampler_resume(&run);
	ok(tally_moments(run.tally).count == 0 && run.gaps.count == 0, "a pause is no duration and no gap");
	ok(run.warps.count == 0 && run.lags.count == 0, "a pause is neither a warp nor a lag");
	offset += 7000000;
	pause_ms(10);
	sampler_resume(&run);
	ok(run.warps.count == 1 && fabs(run.warps.max_ns - 7e6) < 1e5, "a jump ahead in a pause is found");
	offset -= 90000000;
	pause_ms(10);
	sampler_resume(&run);
	ok(run.tally->backward_steps == 1 && run.lags.count == 0, "a step back in a pause is found, and is no lag");
	sampler_clear(&run);
	ok(run.warps.count == 0 && run.tally->backward_steps == 0, "the next interval does not count faults of this one");
	sampler_end(&run);
	ok(run.elapsed_s >= edge_s + 0.12, "the run's elapsed time includes intervals and pauses");
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
