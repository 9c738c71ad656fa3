/*
 * Estimates totals and means of a population from a random sample with unequal probabilities.  A
 * value that was sampled with probability p has the weight w = 1/p.  The state is a set of sums
 * over the sampled values.  Subtracting earlier sums leaves the sums of later values.  Unknown
 * results are NAN.
 */
#ifndef CLOCKTIMING_WEIGHTED_SUMS_H
#define CLOCKTIMING_WEIGHTED_SUMS_H

/* Sums over the sampled values x.  All are doubles, because SQL sees them as an array. */
typedef struct WeightedSums
{
	double		n;				/* number of sampled values */
	double		w;				/* sum of w */
	double		w2;				/* sum of w^2 */
	double		wx;				/* sum of w x */
	double		wxx;			/* sum of w x^2 */
	double		w2x;			/* sum of w^2 x */
	double		w2xx;			/* sum of w^2 x^2 */
	double		wv;				/* sum of w v; v is the variance of x's error */
} WeightedSums;

#define WEIGHTED_SUMS_MEMBERS	8

/*
 * Adds a value x of weight w >= 1.  If x itself is an estimate, "variance" is its variance, else 0.
 */
extern void weighted_add(WeightedSums *sums, double w, double x, double variance);

extern void weighted_subtract(WeightedSums *sums, const WeightedSums *before);

/*
 * Return half of a 95 % confidence interval of the number of values in the population, and of their
 * total; 0 if all values are sampled and exact.
 */
extern double weighted_count_margin(const WeightedSums *sums);
extern double weighted_total_margin(const WeightedSums *sums);

/*
 * Return the mean, NAN for n = 0, and its standard error, NAN for n < 2.  The standard error is not
 * 0 if all values are sampled, because the result estimates the mean of future values.  Errors of x
 * increase it, because they add to the scatter of the values.
 */
extern double weighted_mean(const WeightedSums *sums);
extern double weighted_mean_stderr(const WeightedSums *sums);

/* Returns half of the mean's 95 % confidence interval, by Student's t; NAN for n < 2. */
extern double weighted_mean_margin(const WeightedSums *sums);

/* Comparison of two means, a and b. */
typedef struct WeightedTest
{
	double		difference;		/* mean of b minus mean of a */
	double		margin;			/* half of its confidence interval */
	double		p_value;		/* two-sided */
} WeightedTest;

/*
 * Compares independent sums by Welch's test (Biometrika 34, 1947).  margin and p_value are NAN if
 * a or b has n < 2, or if neither varies.  "confidence" is between 0 and 1, such as 0.95.
 */
extern WeightedTest weighted_test(const WeightedSums *a, const WeightedSums *b, double confidence);

#endif							/* CLOCKTIMING_WEIGHTED_SUMS_H */
