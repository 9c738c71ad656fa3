/*
 * Totals and means of a population, estimated from a random sample with unequal probabilities.  A
 * value that was sampled with probability p has the weight w = 1/p.  The sums of all values so far
 * minus those at an earlier time are the sums of the values since then.  Results are NAN if
 * unknown.
 */
#ifndef CLOCKTIMING_WEIGHTED_SUMS_H
#define CLOCKTIMING_WEIGHTED_SUMS_H

/* All members are doubles, because SQL sees the sums as an array. */
typedef struct WeightedSums
{
	double		n;				/* number of sampled values */
	double		w;				/* sum of w; below: of w^2, w x, ... */
	double		w2;
	double		wx;
	double		wxx;
	double		w2x;
	double		w2xx;
	double		wv;				/* sum of w times the variance of x itself */
} WeightedSums;

#define WEIGHTED_SUMS_MEMBERS	8

/*
 * Adds a value x of weight w >= 1.  If x itself is an estimate, "variance" is its variance, else 0.
 */
extern void weighted_add(WeightedSums *sums, double w, double x, double variance);

/* Subtracts earlier sums. */
extern void weighted_subtract(WeightedSums *sums, const WeightedSums *before);

/*
 * Return half of a 95 % confidence interval; 0 if all values are sampled and exact.  The number of
 * values is estimated by the sum of w, whose variance is the sum of w (w - 1).  Their total is
 * estimated by the sum of w x, whose variance is the sum of w (w - 1) x^2 + w v (Horvitz and
 * Thompson, JASA 47, 1952, for independent sampling; Saerndal, Swensson and Wretman, Model Assisted
 * Survey Sampling, 1992, results 2.8.1 and 4.3.1).
 */
extern double weighted_count_margin(const WeightedSums *sums);
extern double weighted_total_margin(const WeightedSums *sums);

/*
 * Returns the mean: the sum of w x over the sum of w (Hajek's estimator; ibid., section 5.7), NAN
 * for n = 0.  Its standard error is that of an estimate of the long-run mean of such values: the
 * root of the sum of w^2 (x - mean)^2 times n / (n - 1), over the sum of w; NAN for n < 2.  The
 * scatter of the values includes the errors of the values themselves.
 */
extern double weighted_mean(const WeightedSums *sums);
extern double weighted_mean_stderr(const WeightedSums *sums);

/* Returns half of the mean's 95 % confidence interval, by Student's t; NAN for n < 2. */
extern double weighted_mean_margin(const WeightedSums *sums);

/* Comparison of two means. */
typedef struct WeightedTest
{
	double		difference;		/* mean of b minus mean of a */
	double		margin;			/* half of its confidence interval */
	double		p_value;		/* two-sided */
} WeightedTest;

/*
 * Compares independent sums by Welch's test (Biometrika 34, 1947).  margin and p_value are NAN if
 * either has n < 2, or if neither varies.  0 < confidence < 1.
 */
extern WeightedTest weighted_test(const WeightedSums *a, const WeightedSums *b,
								  double confidence);

#endif							/* CLOCKTIMING_WEIGHTED_SUMS_H */
