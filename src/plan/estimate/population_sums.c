/*
 * Estimates the total of a population of known size.
 *
 * The values are the durations of a plan's executions.  Nearly all of them are similar, and are
 * seen with a small probability; long ones are rare, and are nearly certain to be seen.  The sum of
 * w x alone would vary with the number of values that happen to be seen, although the size of the
 * population is known.  So the total is n times a typical value, plus the weighted sum of the
 * differences from it.  This estimator has the least variance among those with the same form
 * (Montanari, International Statistical Review 55, 1987).
 */
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

/*
 * Each value is weighted by w (w - 1).  With these weights, the sum of w (w - 1) (x - m)^2, which
 * is the variance of the total, is smallest.
 */
double
population_typical(const PopulationSums *sums)
{
	const WeightedSums *seen = &sums->seen;
	double		uncertain = uncertain_weight(seen);

	return uncertain > 0 ? (seen->w2x - seen->wx) / uncertain : weighted_mean(seen);
}

/*
 * The total is n m + the sum of w (x - m), where m is population_typical(): the number of values is
 * known, so only their differences from m are estimated by the sample.
 */
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

/*
 * The variance is the sum of w (w - 1) (x - m)^2.  The degrees of freedom are Satterthwaite's
 * (Biometrics 2, 1946) plus 1: in simulations, intervals with fewer degrees are wider, but do not
 * contain the truth more often.
 */
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

double
population_total_margin(const PopulationSums *sums, double n, double most, double slowed)
{
	return hypot(population_margin(sums, n, most), slowed * fmax(n - sums->seen.n, 0));
}

double
population_mean_margin(const PopulationSums *sums, double n, double most, double slowed)
{
	WeightedSums all = population_total(sums, n, most);

	return hypot(weighted_mean_margin(&all),
				 all.w > 0 ? slowed * fmax(n - sums->seen.n, 0) / all.w : 0);
}
