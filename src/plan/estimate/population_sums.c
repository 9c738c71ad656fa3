#include <math.h>

#include "core/stats.h"
#include "plan/estimate/population_sums.h"

/* Weights are certain if the sum of w (w - 1) is below this share of the sum of w. */
#define CERTAIN			1e-6

/* Number of equally weighted uncertain values below which there is no margin. */
#define FEWEST			1.5

/* Returns the sum of w (w - 1); 0 if all values are certain. */
static double
uncertain_weight(const WeightedSums *seen)
{
	double		sum = seen->w2 - seen->w;

	return sum > CERTAIN * seen->w ? sum : 0;
}

static double
variance(const WeightedSums *seen, double m)
{
	if (uncertain_weight(seen) <= 0)
		return 0;
	return fmax(seen->w2xx - seen->wxx - 2 * m * (seen->w2x - seen->wx) +
				m * m * (seen->w2 - seen->w), 0);
}

void
population_add(PopulationSums *sums, double w, double x)
{
	double		m;

	weighted_add(&sums->seen, w, x, 0);
	m = population_typical(sums);
	sums->fourth += pow(w * (w - 1) * (x - m) * (x - m), 2);
}

double
population_typical(const PopulationSums *sums)
{
	const WeightedSums *seen = &sums->seen;
	double		uncertain = uncertain_weight(seen);

	return uncertain > 0 ? (seen->w2x - seen->wx) / uncertain : weighted_mean(seen);
}

WeightedSums
population_total(const PopulationSums *sums, double n, double most)
{
	WeightedSums all = sums->seen;
	double		m = uncertain_weight(&all) > 0 ? population_typical(sums) : most / 2;
	double		others = fmax(n, all.n) - all.w;
	double		design = variance(&all, m);

	if (uncertain_weight(&all) <= 0)
		others = fmax(others, 0);
	all.w += others;
	all.wx = fmax(all.wx + others * m, 0);
	all.wxx = fmax(all.wxx + others * m * m, 0);
	/* the scatter of all values, and the variance of the total */
	all.w2 = all.w;
	all.w2x = all.wx;
	all.w2xx = all.wxx + design;
	return all;
}

double
population_margin(const PopulationSums *sums, double n, double most)
{
	const WeightedSums *seen = &sums->seen;
	double		weights = seen->w - seen->n;	/* sum of w - 1, and of its
												 * square */
	double		squares = seen->w2 - 2 * seen->w + seen->n;
	double		v = variance(seen, population_typical(sums));

	if (uncertain_weight(seen) <= 0)
		return fmax(n - seen->w, 0) * most / 2;
	if (weights * weights < FEWEST * squares)
		return NAN;
	if (!(v > 0) || !(sums->fourth > 0))
		return 0;
	return stats_t_critical(0.95, 0.05, 1 + v * v / sums->fourth) * sqrt(v);
}
