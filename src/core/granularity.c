/*
 * A clock may return anything, so the work is bounded: a sample of SAMPLE advances, PAIRS pairs for
 * the greatest common divisor, and some 1000 frequencies for each of at most 15 widths over
 * DIFFERENCES differences.  These are a few million additions in the worst case.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/granularity.h"

#define MIN_ADVANCES	16
/* Share of the advances that must agree; interrupts may disturb the others. */
#define AGREEMENT		0.98
#define SAMPLE			256
#define PAIRS			256

/* Largest share of advances that may be shorter than the step. */
#define SHORTER			0.1

/*
 * Rounding to whole ticks smears a step of g ticks over 2 / g of its period, which hides any period
 * below four ticks.  A difference of two readings is off by less than a tick, and the period is not
 * known exactly.
 */
#define MIN_PERIOD		4.0
#define ROUNDING		1.25
#define REAL_AGREEMENT	0.95

/* Parameters of the search for a non-integer period in real_step(). */
#define DIFFERENCES		128
#define MIN_DIFFERENCES	32
#define MIN_COSINE		0.6
#define PERIODS_A_WIDTH	128.0
#define OVERSAMPLING	8.0
#define NARROWING		16.0
#define WIDENING		4.0
#define FITS			3
#define CANDIDATES		16

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

/* Returns whether nearly all values are multiples of the divisor.  Mostly a few values decide. */
static bool
divides_nearly_all(const uint64_t *value, int n, uint64_t divisor)
{
	int			strays = (int) ((1 - AGREEMENT) * n);

	for (int i = 0; i < n; i++)
	{
		if (value[i] % divisor != 0 && strays-- == 0)
			return false;
	}
	return true;
}

/*
 * Returns the greatest common divisor of nearly all values.  Each of PAIRS pairs proposes its own
 * divisor, which is the step in 6 / pi^2 of all cases.  The largest divisor that nearly all values
 * agree with wins.  A plain GCD would be 1 after a single disturbed value.
 */
static uint64_t
robust_gcd(const uint64_t *value, int n)
{
	uint64_t	best = 1;

	for (int pair = 0; pair < PAIRS; pair++)
	{
		uint64_t	a = value[pair * 7 % n];
		uint64_t	b = value[(pair * 7 + 1 + pair * 13 % (n - 1)) % n];
		uint64_t	divisor = gcd(a, b);

		if (divisor > best && divides_nearly_all(value, n, divisor))
			best = divisor;
	}
	return best;
}

/* Returns the index of the first value above the limit; values are ascending. */
static int
first_above(const uint64_t *value, int n, uint64_t limit)
{
	int			low = 0;
	int			high = n;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (value[middle] > limit)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Writes differences between width / 2 and width, from the whole range; returns their number. */
static int
take_differences(const uint64_t *value, int n, double width, double *difference)
{
	int			found = 0;

	for (int round = 0; round < 2; round++)
	{
		for (int i = round; i < n && found < DIFFERENCES; i += 2)
		{
			int			first = first_above(value, n, value[i] + (uint64_t) (width / 2));
			int			end = first_above(value, n, value[i] + (uint64_t) width);

			if (first < end)
				difference[found++] = (double) (value[first + i * 7 % (end - first)] - value[i]);
		}
	}
	return found;
}

/* Returns the phase in cycles, from -0.5 to 0.5. */
static double
phase(double length, double frequency)
{
	return length * frequency - round(length * frequency);
}

/*
 * Adjusts the frequency so that each length is as close as possible to a whole number of cycles:
 * first by the mean phase, then by least squares.  Returns the mean cosine of the phases: 1 if all
 * lengths are multiples of 1 / frequency, about 0 by chance.
 */
static double
fit_frequency(const double *length, int n, double *frequency)
{
	double		sum = 0;
	double		x = 0;
	double		y = 0;

	for (int i = 0; i < n; i++)
	{
		sum += length[i];
		x += cos(2 * M_PI * phase(length[i], *frequency));
		y += sin(2 * M_PI * phase(length[i], *frequency));
	}
	*frequency -= atan2(y, x) / (2 * M_PI) * n / sum;

	for (int iteration = 0; iteration < FITS; iteration++)
	{
		double		products = 0;
		double		squares = 0;

		for (int i = 0; i < n; i++)
		{
			products += length[i] * phase(length[i], *frequency);
			squares += length[i] * length[i];
		}
		*frequency -= products / squares;
	}

	x = 0;
	for (int i = 0; i < n; i++)
		x += cos(2 * M_PI * phase(length[i], *frequency));
	return x / n;
}

/*
 * Returns the period near 1 / frequency of which nearly all values are multiples within rounding;
 * 0: none.  "width" is the longest difference that the frequency comes from.  Longer differences
 * refine the frequency, and at last the values themselves must fit.
 */
static double
confirmed_period(const uint64_t *value, int n, double frequency, double width)
{
	double		spread = (double) (value[n - 1] - value[0]);
	double		length[SAMPLE];
	uint64_t	multiples[SAMPLE];
	int			agreeing = 0;

	for (;;)
	{
		int			found = take_differences(value, n, width, length);

		if (found >= MIN_ADVANCES &&
			fit_frequency(length, found, &frequency) < MIN_COSINE)
			return 0;
		if (width >= spread)
			break;
		width = fmin(width * WIDENING, spread);
	}

	for (int i = 0; i < n; i++)
		length[i] = (double) value[i];
	(void) fit_frequency(length, n, &frequency);
	if (frequency <= 0)
		return 0;
	for (int i = 0; i < n; i++)
	{
		double		multiple = round(length[i] * frequency);

		if (multiple >= 1 && fabs(length[i] - multiple / frequency) <= ROUNDING)
			multiples[agreeing++] = (uint64_t) multiple;
	}
	if (agreeing < REAL_AGREEMENT * n)
		return 0;

	/* the period may be half of a step or less */
	return (double) robust_gcd(multiples, agreeing) / frequency;
}

/*
 * Returns the longest confirmed period between "shortest" and "longest" ticks, from differences of
 * up to "width"; 0: none.  The mean cosine changes over frequencies of about 1 / width, so it is
 * evaluated at an eighth of that.  Cosines at equidistant frequencies are computed by rotation.
 */
static double
period_among(const uint64_t *value, int n, double width, double shortest,
			 double longest, int *candidates)
{
	double		difference[DIFFERENCES];
	double		x[DIFFERENCES];
	double		y[DIFFERENCES];
	double		turn_x[DIFFERENCES];
	double		turn_y[DIFFERENCES];
	double		increment = 1 / (OVERSAMPLING * width);
	double		peak = 0;
	double		peak_frequency = 0;
	int			found = take_differences(value, n, width, difference);
	int			steps = (int) ((1 / shortest - 1 / longest) / increment) + 2;

	if (found < MIN_DIFFERENCES)
		return 0;
	for (int i = 0; i < found; i++)
	{
		x[i] = cos(2 * M_PI * difference[i] / longest);
		y[i] = sin(2 * M_PI * difference[i] / longest);
		turn_x[i] = cos(2 * M_PI * difference[i] * increment);
		turn_y[i] = sin(2 * M_PI * difference[i] * increment);
	}
	for (int step = 0; step <= steps && *candidates > 0; step++)
	{
		double		cosine = 0;

		for (int i = 0; i < found; i++)
		{
			double		turned = x[i] * turn_x[i] - y[i] * turn_y[i];

			cosine += x[i];
			y[i] = x[i] * turn_y[i] + y[i] * turn_x[i];
			x[i] = turned;
		}
		cosine /= found;
		if (cosine > MIN_COSINE && cosine > peak)
		{
			peak = cosine;
			peak_frequency = 1 / longest + step * increment;
		}
		else if (peak > 0 && (cosine < peak / 2 || step == steps))
		{
			/* the peak has been passed */
			double		period = confirmed_period(value, n, peak_frequency, width);

			if (period > 0)
				return period;
			(*candidates)--;
			peak = 0;
		}
	}
	return 0;
}

/*
 * Searches the widths in ascending order.  A period longer than half of a width cannot be
 * distinguished from a cluster of differences.  For a much shorter period a smaller width suffices,
 * which needs a less exact frequency.  Large widths also show the distances of clusters.
 */
static double
real_step(const uint64_t *value, int n)
{
	double		spread = (double) (value[n - 1] - value[0]);
	double		limit = (double) value[(int) (SHORTER * n)] + 1;
	double		width = spread;
	int			candidates = CANDIDATES;

	if (spread < 4 * MIN_PERIOD)
		return 1;
	while (width >= NARROWING * 4 * MIN_PERIOD)
		width /= NARROWING;
	for (; width <= spread * 1.5; width *= NARROWING)
	{
		double		shortest = fmax(width / PERIODS_A_WIDTH, MIN_PERIOD);
		double		longest = fmin(width / 2, limit);
		double		period = 0;

		if (longest > shortest)
			period = period_among(value, n, width, shortest, longest, &candidates);
		if (period > 0)
			return period;
	}
	return 1;
}

double
granularity(uint64_t *advances, int n)
{
	uint64_t	value[SAMPLE];
	int			first = 0;
	int			nvalues;
	uint64_t	step;

	qsort(advances, n, sizeof(uint64_t), compare_uint64);
	while (first < n && advances[first] == 0)
		first++;
	n -= first;
	if (n < MIN_ADVANCES)
		return 0;

	/* leaves out the longest ones, which interrupts have stretched */
	n = (int) (n * INT64_C(95) / 100) + 1;
	nvalues = n < SAMPLE ? n : SAMPLE;
	for (int i = 0; i < nvalues; i++)
		value[i] = advances[first + (int) (i * (int64_t) n / nvalues)];

	step = robust_gcd(value, nvalues);
	return step > 1 ? (double) step : real_step(value, nvalues);
}
