/*
 * rank_test: compares the shifts, confidence intervals and p-values that
 * clock/sampling/rank_test.c computes with those of R.  Also tests the selection of the k-th of all
 * pairwise differences.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "clock/sampling/rank_test.h"
#include "tap.h"

#define LENGTH(a)	((int) (sizeof(a) / sizeof((a)[0])))
#define PRECISION	1e-9

typedef struct Reference
{
	int			seed;
	int			shape;
	int			a_n;
	int			b_n;
	double		offset;
	double		percent;		/* confidence in percent */
	double		shift;
	double		low;
	double		high;
	double		p_value;
} Reference;

static const Reference references[] = {
#include "rank_reference.h"
};

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Returns the data of draw() in rank_reference.R, sorted. */
static double *
draw(int64_t seed, int n, int shape, double offset)
{
	double	   *x = malloc(sizeof(double) * n);

	for (int i = 0; i < n; i++)
	{
		double		u;

		seed = seed * 48271 % 2147483647;
		u = seed / 2147483647.0;
		x[i] = offset + (shape == 0 ? 4 * u : shape == 1 ? floor(8 * u) :
						 shape == 2 ? 20 + 1 / u : shape == 3 ? (u - 0.5) * 1e9 :
						 floor(40 * u) / 8);
	}
	qsort(x, n, sizeof(double), compare_doubles);
	return x;
}

/*
 * Returns whether two values agree.  The tolerance is relative to |wanted|, or to "unit" if that is
 * larger, because "wanted" may be near 0.
 */
static bool
near(double value, double wanted, double unit)
{
	if (isnan(wanted))
		return isnan(value);
	return fabs(value - wanted) <= PRECISION * fmax(fabs(wanted), unit);
}

static void
beside_r(void)
{
	int			exact = 0;
	int			tied = 0;

	for (int i = 0; i < LENGTH(references); i++)
	{
		const Reference *r = &references[i];
		double	   *a = draw(r->seed, r->a_n, r->shape, 0);
		double	   *b = draw(r->seed + 1, r->b_n, r->shape, r->offset);
		RankSets	sets = {a, r->a_n, 1, b, r->b_n, NULL};
		RankSets	reverse = {b, r->b_n, 1, a, r->a_n, NULL};
		double		outside = (100 - r->percent) / 100;
		int64_t		pairs = (int64_t) r->a_n * r->b_n;
		RankTest	test = rank_test(&sets, r->percent / 100, outside);
		RankTest	back = rank_test(&reverse, r->percent / 100, outside);
		double		shift = rank_shift(&sets);
		double		low = rank_difference(&sets, test.k);
		double		high = rank_difference(&sets, pairs + 1 - test.k);
		double		unit = b[r->b_n - 1] - a[0];

		ok(near(shift, r->shift, unit) && near(low, r->low, unit) && near(high, r->high, unit) &&
		   near(test.p_value, r->p_value, 0),
		   "%d: %d and %d values, %g %%: %.12g (%.12g to %.12g), p = %.12g", i, r->a_n, r->b_n, r->percent,
		   shift, low, high, test.p_value);
		ok(near(back.p_value, r->p_value, 0) && back.k == test.k &&
		   near(rank_shift(&reverse), -shift, unit),
		   "%d: exchanging the data sets only changes the sign", i);
		if (r->shape == 1 || r->shape == 4)
			tied++;
		else
		{
			exact += r->a_n < RANK_EXACT_BELOW && r->b_n < RANK_EXACT_BELOW;
			ok((test.p_value < outside) == (low > 0 || high < 0), "%d: p and the interval agree", i);
		}
		free(a);
		free(b);
	}
	ok(exact > 30 && tied > 30, "%d data sets with the exact distribution, %d with ties", exact, tied);
}

/* Number of passes over the data in the latest selection */
static int	passes;

static void
count_pass(void)
{
	passes++;
}

/* Tests selection on data for which bisection, or faster methods, need many passes. */
static void
selection(void)
{
	static const double data[][5] = {
		{1, 2, 3, 4, 5},
		{0, 0, 0, 0, 0},
		{-9e149, -1e-300, 0, 5e-324, 9e149},
		{-1, -1, 0, 1, 1},
		{1e-310, 2e-310, 1, 1 + 2.3e-16, 1e20},
		{123456789, 123456789.5, 123456789.5, 123456790, 123456791},
	};
	static const double factors[] = {1, -2.5, 0};

	for (int i = 0; i < LENGTH(data) * LENGTH(data) * LENGTH(factors); i++)
	{
		RankSets	sets = {data[i % LENGTH(data)], 5, factors[i / LENGTH(data) / LENGTH(data)],
		data[i / LENGTH(data) % LENGTH(data)], 5, count_pass};
		double		all[25];
		bool		same = true;
		int			most = 0;

		for (int j = 0; j < 25; j++)
			all[j] = sets.b[j % 5] - sets.a_factor * sets.a[j / 5];
		qsort(all, 25, sizeof(double), compare_doubles);
		for (int k = 1; k <= 25; k++)
		{
			passes = 0;
			same = same && rank_difference(&sets, k) == all[k - 1];
			most = passes > most ? passes : most;
		}
		ok(same && rank_shift(&sets) == all[12] && isnan(rank_difference(&sets, 0)) &&
		   isnan(rank_difference(&sets, 26)), "data %d: each of the 25 differences is found", i);
		ok(most < 150, "data %d: a selection needs at most %d passes", i, most);
	}
}

static void
special_cases(void)
{
	static double x[100000];
	static double y[100000];
	RankSets	large = {x, LENGTH(x), 1, y, LENGTH(y), count_pass};
	RankSets	pair = {(double[]) {1, 2}, 2, 1, (double[]) {3, 4}, 2, NULL};
	RankSets	same = {(double[]) {5, 5}, 2, 1, (double[]) {5, 5, 5}, 3, NULL};
	RankSets	three = {(double[]) {1, 2, 3}, 3, 1, (double[]) {4, 5, 6}, 3, NULL};
	RankSets	halves = {x, 60, 1, y, 60, NULL};
	RankTest	test = rank_test(&pair, 0.95, 0.05);

	ok(near(test.p_value, 1.0 / 3, 0) && test.k == 0, "two and two values cannot differ significantly at 95 %%");
	ok(rank_test(&pair, 0.5, 0.5).k == 1, "two and two values can differ significantly at 50 %%");
	test = rank_test(&same, 0.95, 0.05);
	ok(isnan(test.p_value) && test.k == 0, "constant data have neither a p-value nor an interval");
	/*
	 * The smallest possible p for three values each is 0.1, which is not below 1 - 0.9.  So there
	 * is no interval of 90 %.
	 */
	test = rank_test(&three, 0.9, 0.1);
	ok(test.p_value == 0.1 && test.k == 0, "no interval of 90 %% of three and three values: p = %.17g", test.p_value);
	ok(rank_test(&three, 0.89, 0.11).k == 1, "three and three values have an interval of 89 %%");
	ok(rank_test(&three, 1e-11, 1 - 1e-11).k == 4, "the narrowest interval");

	/*
	 * Half of the values are 0, half are 1.  The standard deviation that determines k is
	 * sqrt(300 * (121 - 4 * (30^3 - 30) / (120 * 119))).  It ignores ties between the two sets.
	 */
	for (int i = 0; i < 60; i++)
		x[i] = y[i] = i / 30;
	test = rank_test(&halves, 0.95, 0.05);
	ok(test.k == 1438 && test.p_value == 1, "ties within and between sets: k is %d", (int) test.k);

	/*
	 * 10^10 differences, a number that needs more than 32 bits.  The largest difference is far from
	 * the others.
	 */
	for (int i = 0; i < LENGTH(x); i++)
	{
		x[i] = i;
		y[i] = i + 0.25;
	}
	y[LENGTH(y) - 1] = 1e12;
	passes = 0;
	ok(rank_shift(&large) == 0.25, "the shift of %d values", LENGTH(x));
	ok(passes > 0 && passes < 100, "the shift is found in %d passes", passes);
	test = rank_test(&large, 0.95, 0.05);
	ok(test.p_value > 0.9 &&
	   near(rank_difference(&large, test.k) +
			rank_difference(&large, INT64_C(10000000000) + 1 - test.k), 0.5, 10),
	   "the confidence interval of the shift");
}

int
main(void)
{
	beside_r();
	selection();
	special_cases();
	return done();
}
