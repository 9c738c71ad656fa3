/*-------------------------------------------------------------------------
 *
 * yardstick.c
 *	  How steady this machine is: a fixed piece of work, done again and again.
 *
 * Where others share the processor, the same query takes half as long again in
 * one moment as in the next.  A single run cannot know in which of them it was,
 * but what never changes by itself tells how much it matters.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "reference.h"
#include "yardstick.h"

#define MAX_KEPT		64
#define MAX_AGE_NS		60e9

/* 32 kB, as large as the smallest of fastest caches. */
#define WORDS			4096
#define STEPS			20000

static double taken_ns[MAX_KEPT];
static double taken_at[MAX_KEPT];
static int64_t taken = 0;
static uint64_t words[WORDS];

/* Loads that depend on each other, with some arithmetic and a store each. */
static uint64_t
work(uint64_t x)
{
	for (int i = 0; i < STEPS; i++)
	{
		uint64_t   *word = &words[(x >> 20) % WORDS];

		x = x * UINT64_C(6364136223846793005) + 1 + (*word & 1);
		*word = x;
	}
	return x;
}

void
yardstick_take(int n)
{
	static volatile uint64_t result = 1;

	/* one that does not count: whatever ran before has had the caches */
	result = work(result);
	for (int i = 0; i < n; i++)
	{
		uint64_t	start = reference_ns();

		result = work(result);
		taken_at[taken % MAX_KEPT] = (double) start;
		taken_ns[taken % MAX_KEPT] = (double) (reference_ns() - start);
		taken++;
	}
}

static int
compare(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

double
yardstick_deviation(void)
{
	double		recent[MAX_KEPT];
	double		now = (double) reference_ns();
	int			n = 0;

	for (int i = 0; i < MAX_KEPT && i < taken; i++)
	{
		if (now - taken_at[i] <= MAX_AGE_NS)
			recent[n++] = taken_ns[i];
	}
	if (n < 4)
		return NAN;
	qsort(recent, n, sizeof(double), compare);
	/* of a normal distribution, 68 % are within one either side */
	return (recent[(int) (0.84 * n)] - recent[(int) (0.16 * n)]) / 2 / recent[n / 2];
}
