/*
 * jumps_test: every step of a clock is found, and nothing else is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/jumps.h"
#include "tap.h"

#define LOOKS	400

/* a run of made-up looks, a millisecond apart or so */
static Jumps jumps;
static int64_t look;
static double found_ns;			/* sum of the steps told of */

static uint32_t random_state = 2463534242U;

static double
uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state / 4294967296.0;
}

static void
found(void *arg, const JumpsInterval *interval, double size_ns, double bound_ns)
{
	(void) arg;
	(void) interval;
	(void) bound_ns;
	found_ns += size_ns;
}

static void
start(void)
{
	memset(&jumps, 0, sizeof(jumps));
	jumps.found = found;
	look = 0;
	found_ns = 0;
}

static void
add(double passed_ns, double rate, double step_ns, double backward_ns)
{
	JumpsInterval interval = {++look, passed_ns, 0, 400, backward_ns};

	/* an error that stays within the doubt */
	interval.lead_ns = passed_ns * rate + step_ns + (uniform() - 0.5) * 2 * interval.doubt_ns;
	jumps_add(&jumps, &interval);
}

/* mostly a sleep; now and then hardly any time, or a long wait */
static double
some_time(void)
{
	double		u = uniform();

	return u < 0.1 ? 5e3 + 5e4 * uniform() : u < 0.15 ? 1e8 * uniform() : 1.06e6 + 1e5 * uniform();
}

static bool
nothing(void)
{
	return jumps.warps.count == 0 && jumps.lags.count == 0 && found_ns == 0;
}

static void
test_honest(void)
{
	static const double rates[] = {0, 200e-6, -500e-6, 0.5, -1, -4};

	for (unsigned int i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
	{
		start();
		for (int j = 0; j < 100000; j++)
			add(some_time(), rates[i], 0, rates[i] < -1 ? 1e6 : 0);
		jumps_end(&jumps);
		ok(nothing(), "rate %g: no step", rates[i]);
	}

	/* NTP changes its mind */
	start();
	for (int j = 0; j < 1000; j++)
		add(1e7, j < 300 ? 500e-6 : j < 305 ? -500e-6 : 100e-6, 0, 0);
	jumps_end(&jumps);
	ok(jumps.warps.count + jumps.lags.count <= 1, "a change of the rate is none, if it lasts");

	/* few, none, or of no length */
	for (int n = 0; n < 40; n++)
	{
		start();
		for (int j = 0; j < n; j++)
			add(j % 3 == 0 ? 0 : 1e6, 0, 0, 0);
		jumps_end(&jumps);
		ok(nothing(), "%d intervals", n);
	}
}

static void
test_steps(void)
{
	static const double sizes[] = {5e3, 1e6, 1e10};

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		for (int sign = -1; sign <= 1; sign += 2)
		{
			double		size = sign * sizes[i];
			JumpsCount *count = sign > 0 ? &jumps.warps : &jumps.lags;
			JumpsCount *other = sign > 0 ? &jumps.lags : &jumps.warps;

			/* one, wherever */
			for (int at = 0; at < LOOKS; at += at < 20 || at > LOOKS - 20 ? 1 : 20)
			{
				start();
				for (int j = 0; j < LOOKS; j++)
					add(1e6, 200e-6, j == at ? size : 0, 0);
				jumps_end(&jumps);
				ok(count->count == 1 && other->count == 0, "%g ns at %d: found", size, at);
				ok(fabs(count->max_ns - sizes[i]) < 2000 && fabs(found_ns - size) < 2000, "its size: %g", found_ns);
			}

			/* many */
			start();
			for (int j = 0; j < LOOKS; j++)
				add(1e6, 0, j % 10 == 5 ? size : 0, 0);
			jumps_end(&jumps);
			ok(count->count == LOOKS / 10 && other->count == 0, "%g ns every 10: %ld", size, (long) count->count);
		}

		/* there and back, one interval or more apart */
		for (int apart = 1; apart < 5; apart++)
		{
			start();
			for (int j = 0; j < LOOKS; j++)
				add(1e6, 0, j == 200 ? sizes[i] : j == 200 + apart ? -sizes[i] : 0, 0);
			jumps_end(&jumps);
			ok(jumps.warps.count == 1 && jumps.lags.count == 1, "%g ns, and back %d later", sizes[i], apart);
		}
	}

	/* what lasts some intervals is one */
	start();
	for (int j = 0; j < LOOKS; j++)
		add(1e6, j >= 100 && j < 103 ? -1 : 0, 0, 0);
	jumps_end(&jumps);
	ok(jumps.lags.count == 1 && fabs(jumps.lags.max_ns - 3e6) < 5e3, "still for three intervals: %ld, %g",
	   (long) jumps.lags.count, jumps.lags.max_ns);

	/* also with a look in it that tells nothing */
	start();
	for (int j = 0; j < LOOKS; j++)
		add(j == 101 ? 1e3 : 1e6, j >= 100 && j < 104 ? -1 : 0, 0, 0);
	jumps_end(&jumps);
	ok(jumps.lags.count == 1 && fabs(jumps.lags.max_ns - 3e6) < 5e3, "still for four, of which one is short: %ld, %g",
	   (long) jumps.lags.count, jumps.lags.max_ns);
}

static void
test_backward(void)
{
	/* seen in readings, right before the interval or in it */
	for (int before = 0; before < 2; before++)
	{
		start();
		for (int j = 0; j < LOOKS; j++)
			add(1e6, 0, j == 200 ? -5e6 : 0, j == 200 - before ? 4.2e6 : 0);
		jumps_end(&jumps);
		ok(jumps.lags.count == 0 && jumps.warps.count == 0, "a step back is no lag");
		ok(fabs(jumps.backward_max_ns - 5e6) < 2000, "its size: %g", jumps.backward_max_ns);
		ok(fabs(found_ns + 5e6) < 2000, "and it is told of");
	}

	/* one reading that was wrong */
	start();
	for (int j = 0; j < LOOKS; j++)
		add(1e6, 0, 0, j == 200 ? 5e6 : 0);
	jumps_end(&jumps);
	ok(nothing(), "there and back between two looks");

	/* a step back and a larger lag in one */
	start();
	for (int j = 0; j < LOOKS; j++)
		add(1e6, 0, j == 200 ? -9e6 : 0, j == 200 ? 4e6 : 0);
	jumps_end(&jumps);
	ok(jumps.lags.count == 1 && fabs(jumps.lags.max_ns - 4e6) < 2000, "the rest is a lag: %g", jumps.lags.max_ns);
}

/* A coarse clock: its own rate does not show from one look to the next. */
static void
test_nominal(void)
{
	JumpsInterval interval = {0, 1e6, 0, 4e6, 0};

	start();
	jumps.nominal = true;
	for (int j = 0; j < LOOKS; j++)
	{
		interval.look++;
		interval.lead_ns = j % 4 == 3 ? 3e6 : -1e6;
		jumps_add(&jumps, &interval);
	}
	ok(nothing(), "ticks of 4 ms are no steps");
	interval.look++;
	interval.lead_ns = 1e9;
	jumps_add(&jumps, &interval);
	jumps_end(&jumps);
	ok(jumps.warps.count == 1 && jumps.warps.max_ns == 1e9, "but a second is");
}

int
main(void)
{
	test_honest();
	test_steps();
	test_backward();
	test_nominal();
	return done();
}
