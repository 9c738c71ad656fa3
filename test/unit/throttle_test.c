/*
 * throttle_test: the gaps between the instants of a throttled run, by
 * themselves, without any clock.
 */
#include <math.h>

#include "tap.h"
#include "throttle.h"

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

int
main(void)
{
	generator();
	distribution(1);
	ends();
	schedule();
	return done();
}
