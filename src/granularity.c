/*-------------------------------------------------------------------------
 *
 * granularity.c
 *	  The smallest step that a clock is really seen to advance by.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "granularity.h"

#define MIN_ADVANCES	16
/* An interrupt or two may hit: this share of the advances has to agree. */
#define AGREEMENT		0.98
/*
 * Rounding to whole ticks smears a step of g ticks over phases of one tick in
 * g, twice; below four ticks that hides any period.
 */
#define MIN_PERIOD		4.0
#define MIN_RESULTANT	0.9
#define MAX_DISTINCT	512

static int
compare_uint64(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

static uint64_t
gcd(uint64_t a, uint64_t b)
{
	while (b != 0)
	{
		uint64_t	rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Mean resultant length of the advances at a period of 1/frequency ticks. */
static double
resultant(const double *value, const double *weight, int n, double total,
		  double frequency)
{
	double		x = 0;
	double		y = 0;

	for (int i = 0; i < n; i++)
	{
		double		phase = value[i] * frequency;

		phase = (phase - floor(phase)) * 2 * M_PI;
		x += weight[i] * cos(phase);
		y += weight[i] * sin(phase);
	}
	return sqrt(x * x + y * y) / total;
}

/*
 * Greatest common divisor of all advances but a few.  Strays make a plain GCD
 * 1, so each of the commonest advances proposes its divisors with another and
 * the largest one that nearly all agree to wins.
 */
static uint64_t
robust_gcd(const uint64_t *value, const int *count, int n, int total)
{
	uint64_t	best = 1;

	for (int i = 0; i < n; i++)
	{
		for (int j = i + 1; j < n && j < i + 8; j++)
		{
			uint64_t	divisor = gcd(value[i], value[j]);
			int			agreeing = 0;

			if (divisor <= best)
				continue;
			for (int k = 0; k < n; k++)
			{
				if (value[k] % divisor == 0)
					agreeing += count[k];
			}
			if (agreeing >= AGREEMENT * total)
				best = divisor;
		}
	}
	return best;
}

double
granularity(uint64_t *advances, int n)
{
	uint64_t	value[MAX_DISTINCT];
	int			count[MAX_DISTINCT];
	double		real_value[MAX_DISTINCT];
	double		weight[MAX_DISTINCT];
	int			distinct = 0;
	int			total = 0;
	int			first = 0;
	uint64_t	limit;
	uint64_t	step;
	double		best_frequency = 0;
	double		best = MIN_RESULTANT;
	double		spread;
	double		lowest;
	double		increment;

	qsort(advances, n, sizeof(uint64_t), compare_uint64);
	while (first < n && advances[first] == 0)
		first++;
	if (n - first < MIN_ADVANCES)
		return 0;

	/* leave out the longest, which interrupts have stretched */
	limit = advances[first + (n - first) * 95 / 100];
	for (int i = first; i < n && advances[i] <= limit; i++)
	{
		if (distinct > 0 && value[distinct - 1] == advances[i])
			count[distinct - 1]++;
		else
		{
			if (distinct == MAX_DISTINCT)
				break;
			value[distinct] = advances[i];
			count[distinct] = 1;
			distinct++;
		}
		total++;
	}

	/* a clock that always advances by the same has shown its step */
	if (distinct == 1)
		return (double) value[0];
	step = robust_gcd(value, count, distinct, total);
	if (step > 1)
		return (double) step;

	for (int i = 0; i < distinct; i++)
	{
		real_value[i] = (double) value[i];
		weight[i] = count[i];
	}

	/*
	 * Periods longer than half of the spread are indistinguishable from a
	 * mere cluster.  The resultant changes over frequencies of about 1 /
	 * spread: look eight times as often.
	 */
	spread = (double) (value[distinct - 1] - value[0]);
	if (spread < 4 * MIN_PERIOD)
		return 1;
	lowest = 2 / spread;
	increment = 1 / (8 * spread);
	for (double f = lowest; f <= 1 / MIN_PERIOD; f += increment)
	{
		double		r = resultant(real_value, weight, distinct, total, f);

		if (r > best)
		{
			best = r;
			best_frequency = f;
		}
		else if (best_frequency > 0 && f > best_frequency + 4 * increment)
			break;				/* the peak of the longest period is behind us */
	}
	if (best_frequency == 0)
		return 1;

	/* the top of the peak, by bisection of the bracket around it */
	for (double width = increment; width > 1e-6 / spread; width /= 2)
	{
		for (int sign = -1; sign <= 1; sign += 2)
		{
			double		f = best_frequency + sign * width / 2;
			double		r = resultant(real_value, weight, distinct, total, f);

			if (r > best)
			{
				best = r;
				best_frequency = f;
			}
		}
	}
	return 1 / best_frequency;
}
