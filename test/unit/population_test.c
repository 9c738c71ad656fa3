/*
 * population_test: samples populations of durations as the statistics of plans do, and compares the
 * estimated totals with the true ones.
 *
 * A value is seen with a small probability, or if one of the ticks of a clock falls into it.
 */
#include <math.h>

#include "core/random.h"
#include "plan/estimate/population_sums.h"
#include "tap.h"

#define VALUES		5000
#define RUNS		500

static uint64_t state = UINT64_C(88172645463325252);

static double
uniform(void)
{
	return (double) (random_next(&state) >> 11) / 9007199254740992.0;
}

/* Durations in us. */

static double
constant(int i)
{
	(void) i;
	return 10;
}

static double
exponential(int i)
{
	(void) i;
	return 10 * random_exponential(&state);
}

static double
rare_and_long(int i)
{
	return i % 250 == 249 ? 25000 * (0.9 + 0.2 * uniform()) : 2 + uniform();
}

static double
rare_and_shorter_than_a_tick(int i)
{
	return i % 100 == 99 ? 3000 : 10 + uniform();
}

static double
medium(int i)
{
	(void) i;
	return uniform() < 0.5 ? 400 : 600;
}

static void
simulate(const char *name, double (*next) (int i), double largest_error)
{
	double		sum = 0;
	double		worst = 0;
	int			in = 0;

	for (int run = 0; run < RUNS; run++)
	{
		PopulationSums sums = {0};
		double		total = 0;
		double		error;

		for (int i = 0; i < VALUES; i++)
		{
			double		x = next(i);
			double		drawn = fmax(0.002, 1.5 * pow(1 + i, -0.6));
			double		ticked = fmin(x / 5000, 1);

			total += x;
			drawn = fmin(drawn, 1);
			if (uniform() < drawn || uniform() < ticked)
				population_add(&sums, 1 / (drawn + ticked - drawn * ticked), x);
		}
		error = population_total(&sums, VALUES, 0).wx / total - 1;
		sum += error;
		worst = fmax(worst, fabs(error));
		in += fabs(error) * total <= population_margin(&sums, VALUES, 0) + 1e-9 * total;
	}
	ok(fabs(sum / RUNS) < 0.02, "%s: the total has no bias: %+.3f", name, sum / RUNS);
	ok(worst < largest_error, "%s: largest error of a total %.3f", name, worst);
	ok(in > RUNS * 0.92, "%s: 95 %% intervals: %d of %d contain the truth", name, in, RUNS);
}

/* Counts how often the interval of the mean contains the mean of the distribution. */
static void
simulate_mean(void)
{
	int			in = 0;

	for (int run = 0; run < RUNS; run++)
	{
		PopulationSums sums = {0};
		WeightedSums all;

		for (int i = 0; i < VALUES; i++)
		{
			bool		is_long = uniform() < 0.01;
			double		x = is_long ? 5000 : random_exponential(&state) * 10;

			if (is_long || uniform() < 0.02)
				population_add(&sums, is_long ? 1 : 50, x);
		}
		all = population_total(&sums, VALUES, 0);
		in += fabs(weighted_mean(&all) - 59.9) <= weighted_mean_margin(&all);
	}
	ok(in > RUNS * 0.92 && in < RUNS * 0.98, "95 %% intervals of the mean: %d of %d contain the truth", in, RUNS);
}

static void
edges(void)
{
	PopulationSums none = {0},
				certain = {0},
				one = {0},
				mixed = {0},
				equal = {0};
	WeightedSums all;

	for (int i = 1; i <= 3; i++)
		population_add(&certain, 1, i);
	all = population_total(&certain, 3, 100);
	ok(all.wx == 6 && all.w == 3 && population_margin(&certain, 3, 100) == 0, "if all values are certain, the margin is 0");
	ok(weighted_mean(&all) == 2 && fabs(weighted_mean_stderr(&all) - sqrt(1 / 3.0)) < 1e-9,
	   "their mean estimates the mean of future values");
	ok(population_typical(&certain) == 2, "the typical value is then the mean");
	all = population_total(&certain, 1, 100);
	ok(all.wx == 6 && all.w == 3, "a population is not smaller than the values that were seen");
	all = population_total(&certain, 5, 100);
	ok(all.wx == 106 && population_margin(&certain, 5, 100) == 100, "without a sample, each of the others is between 0 and the largest");
	all = population_total(&none, 2, 100);
	ok(all.wx == 100 && population_margin(&none, 2, 100) == 100 && isnan(population_typical(&none)),
	   "nothing was seen");

	population_add(&one, 30, 7);
	ok(population_total(&one, 40, 100).wx == 280 && isnan(population_margin(&one, 40, 100)),
	   "no margin from one of several values");

	for (int i = 0; i < 20; i++)
		population_add(&mixed, 50, 2);
	population_add(&mixed, 1, 5000);
	ok(population_typical(&mixed) == 2, "the typical value does not include certain ones");
	ok(population_total(&mixed, 901, 0).wx == 900 * 2 + 5000 &&
	   population_margin(&mixed, 901, 0) == 0,
	   "the number of values is known");
	ok(population_mean_margin(&certain, 3, 0, 100) == weighted_mean_margin(&certain.seen),
	   "without values that were not seen, the margin of the mean is that of the values");
	for (int i = 0; i < 20; i++)
		population_add(&equal, 50, 2000);
	ok(population_total_margin(&equal, 1000, 0, 100) == 98000 &&
	   fabs(population_mean_margin(&equal, 1000, 0, 100) - 98) < 1e-9,
	   "margins of totals and means contain what measuring adds");
}

int
main(void)
{
	simulate("constant", constant, 1e-9);
	simulate("exponential", exponential, 1);
	simulate("rare and long", rare_and_long, 0.02);
	simulate("rare and shorter than a tick", rare_and_shorter_than_a_tick, 0.5);
	simulate("medium", medium, 0.05);
	simulate_mean();
	edges();
	return done();
}
