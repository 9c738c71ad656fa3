/*
 * weighted_test: compares totals and means that are estimated from a random sample with those of
 * a simulation, and Welch's test with its formula.
 */
#include <math.h>

#include "core/random.h"
#include "core/stats.h"
#include "plan/estimate/weighted_sums.h"
#include "tap.h"

#define VALUES		400
#define RUNS		4000

static double
uniform(uint64_t *state)
{
	return (double) (random_next(state) >> 11) / 9007199254740992.0;
}

static bool
is_near(double a, double b, double relative)
{
	return fabs(a - b) <= relative * fabs(b);
}

/*
 * Samples a population many times.  Half of the values are observed with a larger probability than
 * the others, and the observed values have errors.  Counts how often the intervals contain the true
 * figures, and compares the margins with the variation of the estimates.
 */
static void
simulate(void)
{
	uint64_t	state = UINT64_C(88172645463325252);
	double		x[VALUES],
				p[VALUES],
				total = 0,
				sum = 0,
				sum_sq = 0,
				margin_sq = 0,
				count_sum = 0;
	int			total_in = 0,
				count_in = 0;

	for (int i = 0; i < VALUES; i++)
	{
		x[i] = 10 + random_exponential(&state) * 5;
		p[i] = i % 2 == 0 ? 0.2 : 0.5;
		total += x[i];
	}
	for (int run = 0; run < RUNS; run++)
	{
		WeightedSums sums = {0};

		for (int i = 0; i < VALUES; i++)
		{
			if (uniform(&state) < p[i])
			{
				/* uniform errors, whose variance is width^2 / 12 */
				double		off = (uniform(&state) - 0.5) * 12;

				weighted_add(&sums, 1 / p[i], x[i] + off, 12);
			}
		}
		sum += sums.wx;
		sum_sq += (sums.wx - total) * (sums.wx - total);
		margin_sq += pow(weighted_total_margin(&sums), 2);
		count_sum += sums.w;
		total_in += fabs(sums.wx - total) <= weighted_total_margin(&sums);
		count_in += fabs(sums.w - VALUES) <= weighted_count_margin(&sums);
	}
	ok(is_near(sum / RUNS, total, 0.005), "estimated totals have no bias");
	ok(is_near(count_sum / RUNS, VALUES, 0.005), "estimated counts have no bias");
	ok(is_near(margin_sq / RUNS, pow(1.96, 2) * sum_sq / RUNS, 0.08), "the margins of totals agree with the variation of the totals: %g, %g",
	   sqrt(margin_sq / RUNS), 1.96 * sqrt(sum_sq / RUNS));
	ok(total_in > RUNS * 0.93 && total_in < RUNS * 0.97, "95 %% intervals of the total: %d of %d contain the truth", total_in, RUNS);
	ok(count_in > RUNS * 0.92 && count_in < RUNS * 0.97, "95 %% intervals of the count: %d of %d contain the truth", count_in, RUNS);
}

/*
 * Counts how often the interval of a mean contains the true mean, and how often Welch's test calls
 * two samples of the same population different.
 */
static void
simulate_means(void)
{
	uint64_t	state = UINT64_C(362436069);
	int			in = 0,
				differ = 0;

	for (int run = 0; run < RUNS; run++)
	{
		WeightedSums sums[2] = {0};

		for (int i = 0; i < 120; i++)
		{
			double		chance = i % 2 == 0 ? 0.5 : 1;

			for (int k = 0; k < 2; k++)
			{
				double		x = 3 + uniform(&state);

				if (uniform(&state) < chance)
					weighted_add(&sums[k], 1 / chance, x, 0);
			}
		}
		in += fabs(weighted_mean(&sums[0]) - 3.5) <= weighted_mean_margin(&sums[0]);
		differ += weighted_test(&sums[0], &sums[1], 0.95).p_value < 0.05;
	}
	ok(in > RUNS * 0.93 && in < RUNS * 0.97, "95 %% intervals of the mean: %d of %d contain the truth", in, RUNS);
	ok(differ > RUNS * 0.03 && differ < RUNS * 0.07, "samples of the same population differ at 5 %%: %d of %d", differ, RUNS);
}

/*
 * Tests the data sets 1 to 5 and 4, 6, 8, 10.  Their squared standard errors are 1/2 and 5/3, their
 * degrees of freedom 4 and 3.
 */
static void
compare(void)
{
	WeightedSums none = {0},
				one = {0},
				a = {0},
				b = {0},
				later;
	WeightedTest test;
	double		variance = 1.0 / 2 + 5.0 / 3;
	double		expected =
		stats_t_p_value(4 / sqrt(variance), variance * variance / (1.0 / 4 / 4 + 25.0 / 9 / 3));

	for (int i = 1; i <= 5; i++)
		weighted_add(&a, 1, i, 0);
	for (int i = 4; i <= 10; i += 2)
		weighted_add(&b, 1, i, 0);
	ok(weighted_mean(&a) == 3 && is_near(weighted_mean_stderr(&a), sqrt(0.5), 1e-12), "with equal weights, mean and standard error are the unweighted ones");
	test = weighted_test(&a, &b, 0.95);
	ok(test.difference == 4 && is_near(test.p_value, expected, 1e-12), "Welch's test: p = %.6f", test.p_value);
	ok(test.margin < 4, "the interval of a significant difference does not contain 0: margin %g", test.margin);
	ok(isnan(weighted_test(&a, &none, 0.95).p_value), "no test against an empty sample");

	later = a;
	weighted_add(&later, 2, 7, 0.5);
	weighted_add(&later, 3, 9, 0.5);
	weighted_subtract(&later, &a);
	ok(later.n == 2 && later.w == 5 && later.wx == 41 && later.wxx == 341 && later.wv == 2.5, "weighted_subtract() leaves only the values that were added later");
	ok(weighted_count_margin(&a) == 0 && weighted_total_margin(&a) == 0, "if all values are observed, count and total have no margin");
	weighted_add(&one, 1, 5, 0);
	ok(isnan(weighted_mean_margin(&one)), "the margin of a single value's mean is unknown");

	a = none;
	for (int i = 0; i < 1000; i++)
		weighted_add(&a, 3, 0.1, 0);
	ok(weighted_mean_stderr(&a) == 0 && isnan(weighted_test(&a, &a, 0.95).p_value), "constant values have neither a standard error nor a test");
}

int
main(void)
{
	simulate();
	simulate_means();
	compare();
	return done();
}
