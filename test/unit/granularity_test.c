/*
 * granularity_test: granularity() finds the step of a clock from any advances between its readings,
 * within a bounded time.
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock/sampling/granularity.h"
#include "tap.h"

#define N 1024

static uint64_t advances[N];

static double
uniform(void)
{
	return (rand() + rand() / (RAND_MAX + 1.0)) / (RAND_MAX + 1.0);
}

/*
 * Stores advances in ns of a clock with a given step.  The delays between readings are from "least"
 * to "least" + "spread"; one delay in "many" is longer by the factor "times".
 */
static void
read_clock(int n, double step, double least, double spread, int many, int times)
{
	double		now = 1e6;
	uint64_t	previous = 0;

	srand(7);
	for (int i = -1; i < n; i++)
	{
		double		delay = least + spread * uniform();
		uint64_t	reading;

		now += many > 0 && rand() % many == 0 ? times * delay : delay;
		reading = (uint64_t) floor(floor(now / step) * step);
		if (i >= 0)
			advances[i] = reading - previous;
		previous = reading;
	}
}

static void
is_step(int n, double expected, const char *what)
{
	double		found = granularity(advances, n);

	ok(fabs(found / expected - 1) < 5e-4, "%s: %.4f, found %.4f", what, expected, found);
}

/* Tests the steps in ns of well-known clocks: scaled TSC, Arm counters, HPET, ACPI timer, PIT. */
static void
known_steps(void)
{
	static const double steps[] = {10.01, 41.666, 52.083, 18.5185, 5.5, 26.5, 69.8413, 279.365};

	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
	{
		read_clock(N, steps[i], 200, 400, 0, 0);
		is_step(N, steps[i], "read in 0.2 to 0.6 us");
		read_clock(N, steps[i], 700, 600, 33, 50);
		is_step(N, steps[i], "read slowly, with interrupts");
	}
	read_clock(N, 838.095, 700, 600, 0, 0);
	is_step(N, 838.095, "advances of one to three steps");
	read_clock(N, 26, 200, 400, 0, 0);
	is_step(N, 26, "a step that is an integer");
	read_clock(N, 1000, 200, 400, 0, 0);
	is_step(N, 1000, "a step longer than most delays: most readings do not advance");
	read_clock(N, 1.3, 200, 400, 0, 0);
	is_step(N, 1, "a step of 1.3 is hidden by the rounding");
	read_clock(16, 26, 200, 400, 0, 0);
	is_step(16, 26, "sixteen advances are enough");
}

/*
 * Tests a process that is traced, for example by strace.  Each reading is a system call of about
 * 26.5 us, and some take longer.  In 5 ms, there are then only 180 readings.
 */
static void
traced(void)
{
	read_clock(N, 10.01, 26300, 450, 12, 2);
	is_step(N, 10.01, "traced, some calls twice as long");
	read_clock(N, 10.01, 26300, 450, 14, 9);
	is_step(N, 10.01, "traced, some calls very long");
	read_clock(180, 10.01, 24000, 6000, 12, 2);
	is_step(180, 10.01, "traced, in 5 ms");
}

/*
 * Tests clocks with a step of 1, some of whose readings are disturbed.  No step above 1 must be
 * found.
 */
static void
no_step(void)
{
	for (int percent = 0; percent <= 12; percent++)
	{
		srand(percent);
		for (int i = 0; i < N; i++)
			advances[i] = rand() % 100 < percent ? 28454 + rand() % 300 : 20 + rand() % 30;
		is_step(N, 1, "20 to 49 ticks, disturbed readings of nearly one length");
		for (int i = 0; i < N; i++)
			advances[i] = rand() % 100 < percent ? rand() % 400000 + 1 : 20 + rand() % 30;
		is_step(N, 1, "20 to 49 ticks, disturbed readings of any length");
	}
	for (int clusters = 1; clusters < 12; clusters++)
	{
		for (int i = 0; i < N; i++)
			advances[i] = 26519 * (1 + rand() % clusters) + rand() % 2000;
		is_step(N, 1, "clusters at equal distances");
	}
	for (int i = 0; i < N; i++)
		advances[i] = 1000 + rand() % 3;
	is_step(N, 1, "nearly equal advances");
}

/*
 * Tests that the time of the search is bounded for any values.  Trying all possible steps would
 * take hours or years.
 */
static void
bounded(void)
{
	static const double spreads[] = {1e3, 1e6, 1e9, 0x1p62};

	(void) alarm(120);
	for (unsigned int i = 0; i < sizeof(spreads) / sizeof(spreads[0]); i++)
	{
		srand(i);
		for (int j = 0; j < N; j++)
			advances[j] = 1 + (uint64_t) (uniform() * spreads[i]);
		is_step(N, 1, "random advances, uniform");
		for (int j = 0; j < N; j++)
			advances[j] = (uint64_t) exp(uniform() * log(spreads[i]));
		is_step(N, 1, "random advances of any size");
	}
	/*
	 * Clusters of clusters of values, whose differences have many orders of magnitude
	 */
	for (int j = 0; j < N; j++)
	{
		advances[j] = 1;
		for (int bits = 0; bits < 60; bits += 4)
			advances[j] += (uint64_t) (rand() % 4) << bits;
	}
	is_step(N, 1, "random advances, in clusters of clusters");
	for (int j = 0; j < N; j++)
		advances[j] = INT64_MAX - (uint64_t) (j % 2);
	is_step(N, 1, "the longest possible advances");
	(void) alarm(0);
}

int
main(void)
{
	for (int i = 0; i < N; i++)
		advances[i] = i < 15 ? 26 + 26 * i : 0;
	ok(granularity(advances, N) == 0, "no step is found in too few advances");
	known_steps();
	traced();
	no_step();
	bounded();
	return done();
}
