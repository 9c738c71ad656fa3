/*
 * jumps_test: jumps.c must find each step of a clock relative to the reference clock, and the size
 * of the step, but must not find a step of a clock that has none.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock/sampling/jumps.h"
#include "tap.h"

#define SAMPLES	400

/* State of jumps.c, which is usually fed with simulated observations about a millisecond apart. */
static Jumps jumps;
static int64_t number;
static double found_ns;			/* sum of the reported steps */

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
	number = 0;
	found_ns = 0;
}

static void
add(double passed_ns, double rate, double step_ns, double backward_ns)
{
	JumpsInterval interval = {++number, passed_ns, 0, 400, backward_ns};

	/* Adds a random error within the stated bound. */
	interval.lead_ns = passed_ns * rate + step_ns + (uniform() - 0.5) * 2 * interval.doubt_ns;
	jumps_add(&jumps, &interval);
}

/*
 * Returns a time between two observations in ns: usually a sleep, sometimes nearly no time,
 * sometimes a long wait.
 */
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

	/* NTP changes the rate of the clock. */
	start();
	for (int j = 0; j < 1000; j++)
		add(1e7, j < 300 ? 500e-6 : j < 305 ? -500e-6 : 100e-6, 0, 0);
	jumps_end(&jumps);
	ok(jumps.warps.count + jumps.lags.count <= 1, "lasting changes of the rate are at most one step");

	/*
	 * The rate changes by 1000 ppm during interval number "at".  So the mean rate of this interval
	 * is between the old and the new rate: "part" tenths of 1000 ppm.
	 */
	for (int at = 1; at < 30; at++)
	{
		for (int part = 0; part <= 10; part++)
		{
			start();
			for (int j = 0; j < 30; j++)
				add(1e8, j < at ? 0 : j > at ? 1000e-6 : 100e-6 * part, 0, 0);
			jumps_end(&jumps);
			ok(nothing(), "a change of the rate in interval %d of 30, by %d tenths in this interval: no step", at, part);
		}
	}

	/* Few intervals, none, or intervals without length */
	for (int n = 0; n < 40; n++)
	{
		start();
		for (int j = 0; j < n; j++)
			add(j % 3 == 0 ? 0 : 1e6, 0, 0, 0);
		jumps_end(&jumps);
		ok(nothing(), "%d intervals: no step", n);
	}

	/* The reference clock stands still, but the clock advances. */
	start();
	for (int j = 0; j < SAMPLES; j++)
		add(0, 0, 1e6, 0);
	jumps_end(&jumps);
	ok(nothing(), "a reference clock that stands still: no step");
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

			/* One step in any interval, including the first and the last one */
			for (int at = 0; at < SAMPLES; at += at < 20 || at > SAMPLES - 20 ? 1 : 20)
			{
				start();
				for (int j = 0; j < SAMPLES; j++)
					add(1e6, 200e-6, j == at ? size : 0, 0);
				jumps_end(&jumps);
				ok(count->count == 1 && other->count == 0, "a step of %g ns in interval %d: found", size, at);
				ok(fabs(count->max_ns - sizes[i]) < 2000 && fabs(found_ns - size) < 2000,
				   "the size of the step: %g", found_ns);
			}

			/* Many steps */
			start();
			for (int j = 0; j < SAMPLES; j++)
				add(1e6, 0, j % 10 == 5 ? size : 0, 0);
			jumps_end(&jumps);
			ok(count->count == SAMPLES / 10 && other->count == 0, "steps of %g ns in every tenth interval: %ld found", size, (long) count->count);
		}

		/* A step and its return, one or more intervals later */
		for (int apart = 1; apart < 5; apart++)
		{
			start();
			for (int j = 0; j < SAMPLES; j++)
				add(1e6, 0, j == 200 ? sizes[i] : j == 200 + apart ? -sizes[i] : 0, 0);
			jumps_end(&jumps);
			ok(jumps.warps.count == 1 && jumps.lags.count == 1, "a step of %g ns, and its return %d intervals later: both found", sizes[i], apart);
		}
	}

	/* Steps of clocks that run 50 % too fast or 40 % too slowly */
	for (int i = 0; i < 4; i++)
	{
		double		size = i % 2 == 0 ? 3e5 : -3e5;

		start();
		for (int j = 0; j < SAMPLES; j++)
			add(1e6, i < 2 ? 0.5 : -0.4, j % 20 == 10 ? size : 0, 0);
		jumps_end(&jumps);
		ok((size > 0 ? &jumps.warps : &jumps.lags)->count == SAMPLES / 20 &&
		   jumps.warps.count + jumps.lags.count == SAMPLES / 20, "steps of %g ns at a wrong rate: all found", size);
	}

	/* The clock stands still for three intervals.  This counts as one lag. */
	start();
	for (int j = 0; j < SAMPLES; j++)
		add(1e6, j >= 100 && j < 103 ? -1 : 0, 0, 0);
	jumps_end(&jumps);
	ok(jumps.lags.count == 1 && fabs(jumps.lags.max_ns - 3e6) < 5e3, "the clock stands still for three intervals: %ld lag, %g ns",
	   (long) jumps.lags.count, jumps.lags.max_ns);

	/* The same for four intervals, of which one is very short */
	start();
	for (int j = 0; j < SAMPLES; j++)
		add(j == 101 ? 1e3 : 1e6, j >= 100 && j < 104 ? -1 : 0, 0, 0);
	jumps_end(&jumps);
	ok(jumps.lags.count == 1 && fabs(jumps.lags.max_ns - 3e6) < 5e3, "the clock stands still for four intervals, one of them short: %ld lag, %g ns",
	   (long) jumps.lags.count, jumps.lags.max_ns);
}

static void
test_backward(void)
{
	/*
	 * A backward step of 5 ms.  The readings show 4.2 ms of it.  The lead changes in the same
	 * interval or in the next one.
	 */
	for (int before = 0; before < 2; before++)
	{
		start();
		for (int j = 0; j < SAMPLES; j++)
			add(1e6, 0, j == 200 ? -5e6 : 0, j == 200 - before ? 4.2e6 : 0);
		jumps_end(&jumps);
		ok(jumps.lags.count == 0 && jumps.warps.count == 0, "a backward step is neither a lag nor a warp");
		ok(fabs(jumps.backward_max_ns - 5e6) < 2000, "the size of the backward step: %g", jumps.backward_max_ns);
		ok(fabs(found_ns + 5e6) < 2000, "the backward step is reported");
	}

	/* A single wrong reading */
	start();
	for (int j = 0; j < SAMPLES; j++)
		add(1e6, 0, 0, j == 200 ? 5e6 : 0);
	jumps_end(&jumps);
	ok(nothing(), "a single wrong reading between two observations: no step");

	/*
	 * The readings show a backward step of 4 ms.  The step can have been 1 ms larger, because 1 ms
	 * has passed between the readings.  The clock loses 9 ms, so the other 4 ms are a lag.
	 */
	start();
	for (int j = 0; j < SAMPLES; j++)
		add(1e6, 0, j == 200 ? -9e6 : 0, j == 200 ? 4e6 : 0);
	jumps_end(&jumps);
	ok(jumps.lags.count == 1 && fabs(jumps.lags.max_ns - 4e6) < 2000, "the part of the loss that the readings do not explain is a lag: %g", jumps.lags.max_ns);
}

/* Tests a coarse clock, whose lead changes by up to a tick between two observations. */
static void
test_nominal(void)
{
	JumpsInterval interval = {0, 1e6, 0, 4e6, 0};

	start();
	jumps.nominal = true;
	for (int j = 0; j < SAMPLES; j++)
	{
		interval.number++;
		interval.lead_ns = j % 4 == 3 ? 3e6 : -1e6;
		jumps_add(&jumps, &interval);
	}
	ok(nothing(), "ticks of 4 ms are no steps");
	interval.number++;
	interval.lead_ns = 1e9;
	jumps_add(&jumps, &interval);
	jumps_end(&jumps);
	ok(jumps.warps.count == 1 && jumps.warps.max_ns == 1e9, "a step of a second is found in a coarse clock");
}

/*
 * Simulated clock.  It is 200 ppm fast, and stands still for some time at the beginning of each
 * period of EVERY_NS.  Observations are rare and irregular, as on a busy machine.
 */

#define MOST_PAIRS	1200
#define EVERY_NS	300e6

static JumpsPair pairs[MOST_PAIRS];
static double steps_ns[MOST_PAIRS + 1];
static double doubts_ns[MOST_PAIRS + 1];

static void
found_at(void *arg, const JumpsInterval *interval, double size_ns, double bound_ns)
{
	(void) arg;
	steps_ns[interval->number] += size_ns;
	doubts_ns[interval->number] += bound_ns;
}

/* Returns the lead of the simulated clock relative to the reference clock. */
static double
lead_at(double time_ns, double still_ns)
{
	double		into = fmod(time_ns, EVERY_NS);

	return time_ns * 200e-6 - (floor(time_ns / EVERY_NS) * still_ns + fmin(into, still_ns));
}

/*
 * Simulates the observations of clock_drift() for a second, or longer until there are 30.  One
 * observation in ten follows the one before it within about 0.1 ms; the other ones do so after
 * least_ms to most_ms.  Returns the number of observations.
 */
static int
observations_of_still(double still_ns, double least_ms, double most_ms)
{
	static double work[3 * MOST_PAIRS];
	double		begin_ns = uniform() * EVERY_NS;
	double		time_ns = begin_ns;
	double		stepped_ns = 0;
	double		doubt_ns = 0;
	int			n = 0;

	start();
	jumps.found = found_at;
	memset(steps_ns, 0, sizeof(steps_ns));
	memset(doubts_ns, 0, sizeof(doubts_ns));
	while (n < 30 || (time_ns - begin_ns < 1e9 && n < MOST_PAIRS))
	{
		JumpsPair  *pair = &pairs[n];

		pair->time_ns = time_ns;
		pair->bound_ns = 200;
		pair->lead_ns = lead_at(time_ns, still_ns) + (uniform() - 0.5) * 2 * pair->bound_ns;
		pair->doubt_ns = 0;
		if (n > 0)
		{
			JumpsInterval interval = {n, pair->time_ns - pair[-1].time_ns,
			pair->lead_ns - pair[-1].lead_ns, pair->bound_ns + pair[-1].bound_ns, 0};

			jumps_add(&jumps, &interval);
		}
		n++;
		time_ns += uniform() < 0.1 ? 5e3 + 1e5 * uniform() :
			1e6 * least_ms * pow(most_ms / least_ms, uniform());
	}
	jumps_end(&jumps);
	for (int i = 0; i < n; i++)
	{
		pairs[i].lead_ns -= stepped_ns += steps_ns[i];
		pairs[i].doubt_ns = doubt_ns += doubts_ns[i];
	}
	jumps_subtract_stretches(&jumps, pairs, n, work);
	return n;
}

static void
test_still(void)
{
	static const double stills[] = {1e6, 3e6, 30e6, 100e6};
	static const double mosts[] = {1.3, 10, 50, 100, 200, 400};
	const int	runs = 300;

	for (unsigned int s = 0; s < sizeof(stills) / sizeof(stills[0]); s++)
		for (unsigned int m = 0; m < sizeof(mosts) / sizeof(mosts[0]); m++)
			for (int steady = 0; steady < 2; steady++)
			{
				int			warped = 0;
				int			missed = 0;
				int			off = 0;

				/*
				 * Not tested: if the clock stands still between any two observations, it only seems
				 * to be slow, and no step is found.
				 */
				if (steady && mosts[m] >= 200 && stills[s] < 30e6)
					continue;
				for (int i = 0; i < runs; i++)
				{
					int			n = observations_of_still(stills[s], steady ? mosts[m] * 0.9 : 1,
														  mosts[m]);
					double		rest_ns = pairs[n - 1].lead_ns - pairs[0].lead_ns -
						200e-6 * (pairs[n - 1].time_ns - pairs[0].time_ns);

					warped += jumps.warps.count > 0;
					missed += jumps.lags.max_ns < 0.9 * stills[s];
					off += fabs(rest_ns) > pairs[n - 1].doubt_ns + 400;
				}
				/*
				 * The tolerance is large for long stops and long intervals: the clock stands still
				 * for a third of the time, which hides many steps.
				 */
				ok(fmax(warped, fmax(missed, off)) <=
				   (stills[s] == 100e6 && mosts[m] >= 100 ? 0.1 : 0.015) * runs,
				   "still for %g ms, observed %s %g ms apart: %d with a warp, %d without such a lag, %d off, of %d",
				   stills[s] / 1e6, steady ? "about" : "up to", mosts[m], warped, missed, off, runs);
			}
}

int
main(void)
{
	test_honest();
	test_steps();
	test_backward();
	test_nominal();
	test_still();
	return done();
}
