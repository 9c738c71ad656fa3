/*
 * The granularity of a clock, from the advances between readings at random times.
 *
 * The advances are multiples of the step by which the clock really advances, apart from
 * disturbances and rounding.  The smallest advance is not the step, because several steps may pass
 * between any two readings.  There are two cases.
 *
 * - The step is a whole number of ticks, as that of a counter that advances by several ticks at a
 *   time.  It is the greatest common divisor of nearly all advances: robust_gcd().
 * - The step is not a whole number of ticks, because a counter was scaled to nanoseconds and
 *   rounded.  Then the step is a period, and each advance is within a tick of one of its multiples.
 *   Candidates are tried from the longest possible one on, each 3 % shorter than the one before:
 *   confirmed_period().  The first one that is confirmed is the step.  A shorter one would be a
 *   fraction of it.
 *
 * A candidate is tested by phases (Mardia and Jupp, Directional Statistics, 2000, section 2.3).  A
 * length divided by the period leaves a remainder, which is seen as an angle on a circle.  If the
 * candidate is nearly the period, the angles of all lengths are nearly equal, and their mean vector
 * is long.  The error of the angle is the length times the candidate's relative error.  So the
 * candidate is tested first by short lengths, the differences between similar advances, which a
 * candidate that is off by 3 % still passes.  Then longer and longer differences correct it, and
 * finally the advances themselves.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "clock/sampling/granularity.h"

#define MIN_ADVANCES	16		/* smallest number of positive advances */
#define AGREEMENT		0.98	/* share of advances that the step divides */
#define SAMPLE			256		/* largest number of advances used */
#define PAIRS			256		/* number of pairs of advances tried */

/* Largest share of advances that may be shorter than the step. */
#define SHORTER			0.1

/*
 * A step that is not a whole number of ticks is called a period.  Readings are rounded to whole
 * ticks, so a period below four ticks cannot be found.  Rounding changes an advance by less than a
 * tick.  ROUNDING is larger, because the period has an error, too.
 */
#define MIN_PERIOD		4.0		/* in ticks */
#define ROUNDING		1.25	/* largest deviation from a multiple, in ticks */
#define REAL_AGREEMENT	0.95	/* share of advances within that deviation */

/* Candidates for the period are tested by differences between advances, short differences first. */
#define CANDIDATE_RATIO	1.03	/* ratio of successive candidates */
#define PERIODS			4		/* longest difference in the first test, in
								 * periods */
#define MIN_DIFFERENCES	32		/* first test: least number of differences */
#define MIN_RESULTANT	0.6		/* least agreement with multiples, from 0 to 1 */

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
 * Returns the greatest common divisor of nearly all values.  A plain GCD would be 1 after a single
 * disturbed value.  So each of PAIRS pairs of values proposes its own GCD, which is the step with a
 * probability of 6 / pi^2.  The result is the largest one that divides nearly all values.
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

/*
 * For each value, writes at most one difference to a larger value.  The differences are above width
 * / 2 and at most width.  Returns the number of differences.
 */
static int
take_differences(const uint64_t *value, int n, double width, double *difference)
{
	int			found = 0;
	int			first = 0;
	int			end = 0;

	for (int i = 0; i < n; i++)
	{
		while (first < n && (double) (value[first] - value[i]) <= width / 2)
			first++;
		while (end < n && (double) (value[end] - value[i]) <= width)
			end++;
		if (first < end)
			difference[found++] = (double) (value[first + i * 7 % (end - first)] - value[i]);
	}
	return found;
}

/*
 * A length's phase is its distance from a multiple of the period 1 / frequency, as an angle.
 * Corrects the frequency, so that the mean phase becomes 0.  Returns the length of the phases' mean
 * vector: 1 if all phases are equal, and about 0 if the lengths have nothing to do with the period.
 */
static double
fit_frequency(const double *length, int n, double *frequency)
{
	double		sum = 0;
	double		x = 0;
	double		y = 0;

	for (int i = 0; i < n; i++)
	{
		double		phase = 2 * M_PI * fmod(length[i] * *frequency, 1);

		sum += length[i];
		x += cos(phase);
		y += sin(phase);
	}
	*frequency -= atan2(y, x) / (2 * M_PI) * n / sum;
	return hypot(x, y) / n;
}

/*
 * Returns a period near 1 / frequency if nearly all values are multiples of it within ROUNDING;
 * else 0.  Refines the period by longer and longer differences, and then by the values.
 */
static double
confirmed_period(const uint64_t *value, int n, double frequency)
{
	double		spread = (double) (value[n - 1] - value[0]);
	double		length[SAMPLE];
	uint64_t	multiples[SAMPLE];
	int			agreeing = 0;

	for (double width = PERIODS / frequency; width < PERIODS * spread; width *= PERIODS)
	{
		int			found = take_differences(value, n, fmin(width, spread), length);

		if (width * frequency <= PERIODS && found < MIN_DIFFERENCES)
			return 0;
		if (found >= MIN_ADVANCES && fit_frequency(length, found, &frequency) < MIN_RESULTANT)
			return 0;
	}
	for (int i = 0; i < n; i++)
		length[i] = (double) value[i];
	(void) fit_frequency(length, n, &frequency);
	for (int i = 0; i < n && frequency > 0; i++)
	{
		double		multiple = round(length[i] * frequency);

		if (multiple >= 1 && fabs(length[i] - multiple / frequency) <= ROUNDING)
			multiples[agreeing++] = (uint64_t) multiple;
	}
	/* if the multiples have a common divisor, the step is that many periods */
	return agreeing < REAL_AGREEMENT * n ? 0 : (double) robust_gcd(multiples, agreeing) / frequency;
}

/* Returns the longest period that confirmed_period() finds; 1: none. */
static double
real_step(const uint64_t *value, int n)
{
	double		period = 0;
	double		candidate = fmin((double) value[(int) (SHORTER * n)] + 1,
								 (double) (value[n - 1] - value[0]) / 2);

	for (; candidate >= MIN_PERIOD && period == 0; candidate /= CANDIDATE_RATIO)
		period = confirmed_period(value, n, 1 / candidate);
	return period > 0 ? period : 1;
}

/*
 * Sorts the advances, and leaves out zeros and the longest twentieth.  Of the rest, uses up to
 * SAMPLE evenly spaced ones, which suffice to tell a step from chance.
 */
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

	/* leaves out the longest advances, which interrupts have stretched */
	n = (int) (n * INT64_C(95) / 100) + 1;
	nvalues = n < SAMPLE ? n : SAMPLE;
	for (int i = 0; i < nvalues; i++)
		value[i] = advances[first + (int) (i * (int64_t) n / nvalues)];

	step = robust_gcd(value, nvalues);
	return step > 1 ? (double) step : real_step(value, nvalues);
}
