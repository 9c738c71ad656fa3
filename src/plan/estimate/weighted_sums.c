/*
 * Estimates totals and means from a random sample with unequal probabilities.
 *
 * The number of values is estimated by the sum of w, whose variance is the sum of w (w - 1).  The
 * total is estimated by the sum of w x, whose variance is the sum of w (w - 1) x^2 + w v (Horvitz
 * and Thompson, JASA 47, 1952, for independent sampling; Saerndal, Swensson and Wretman, Model
 * Assisted Survey Sampling, 1992, results 2.8.1 and 4.3.1).  The mean is the sum of w x divided by
 * the sum of w (Hajek's estimator: Saerndal et al., section 5.7).
 *
 * All of these need only sums over the sampled values, so a value is added in constant time, and
 * the values between two snapshots are the difference of their sums.
 */
#include <math.h>

#include "core/stats.h"
#include "plan/estimate/weighted_sums.h"

/* With fewer degrees of freedom, one of two values has nearly all of the weight. */
#define LEAST_DF		0.5

/* Returns a standard error.  Rounding errors of subtracted sums may make a variance negative. */
static double
root(double variance)
{
	return variance > 0 ? sqrt(variance) : 0;
}

void
weighted_add(WeightedSums *sums, double w, double x, double variance)
{
	sums->n += 1;
	sums->w += w;
	sums->w2 += w * w;
	sums->wx += w * x;
	sums->wxx += w * x * x;
	sums->w2x += w * w * x;
	sums->w2xx += w * w * x * x;
	sums->wv += w * variance;
}

void
weighted_subtract(WeightedSums *sums, const WeightedSums *before)
{
	for (int i = 0; i < WEIGHTED_SUMS_MEMBERS; i++)
		((double *) sums)[i] -= ((const double *) before)[i];
}

double
weighted_count_margin(const WeightedSums *sums)
{
	return NORMAL_975 * root(sums->w2 - sums->w);
}

double
weighted_total_margin(const WeightedSums *sums)
{
	return NORMAL_975 * root(sums->w2xx - sums->wxx + sums->wv);
}

double
weighted_mean(const WeightedSums *sums)
{
	return sums->n >= 1 && sums->w > 0 ? sums->wx / sums->w : NAN;
}

/*
 * The standard error is the root of n / (n - 1) times the sum of w^2 (x - mean)^2, divided by the
 * sum of w.
 */
double
weighted_mean_stderr(const WeightedSums *sums)
{
	double		mean = weighted_mean(sums);
	double		squares = sums->w2xx - 2 * mean * sums->w2x + mean * mean * sums->w2;

	if (!(sums->n >= 2))
		return NAN;
	/* if all values are equal, "squares" is only a rounding error */
	if (fabs(squares) <= 1e-12 * sums->w2xx)
		return 0;
	return root(squares * sums->n / (sums->n - 1)) / sums->w;
}

/*
 * Returns the degrees of freedom: n - 1, where n equally weighted values would be as precise (Kish,
 * Survey Sampling, 1965, section 11.7).  In the sums of a population
 * (plan/estimate/population_sums.h), this number of values is larger than the number that was seen.
 */
static double
weighted_df(const WeightedSums *sums)
{
	return fmin(sums->w * sums->w / sums->w2, sums->n) - 1;
}

double
weighted_mean_margin(const WeightedSums *sums)
{
	if (!(sums->n >= 2) || weighted_df(sums) < LEAST_DF)
		return NAN;
	return stats_t_critical(0.95, 0.05, weighted_df(sums)) * weighted_mean_stderr(sums);
}

/* Welch's test, with the degrees of freedom of Welch and Satterthwaite. */
WeightedTest
weighted_test(const WeightedSums *a, const WeightedSums *b, double confidence)
{
	WeightedTest test = {
		.difference = weighted_mean(b) - weighted_mean(a),
		.margin = NAN,
		.p_value = NAN
	};
	double		error_a = weighted_mean_stderr(a);
	double		error_b = weighted_mean_stderr(b);
	double		variance = error_a * error_a + error_b * error_b;
	double		df;

	/* also rejects NaN */
	if (!(variance > 0))
		return test;
	df = variance * variance /
		(pow(error_a, 4) / weighted_df(a) + pow(error_b, 4) / weighted_df(b));
	test.margin = stats_t_critical(confidence, 1 - confidence, df) * sqrt(variance);
	test.p_value = stats_t_p_value(test.difference / sqrt(variance), df);
	return test;
}
