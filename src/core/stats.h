/*
 * Statistics of a few measurements.  Everywhere, x contains n finite numbers below 1e150 in
 * absolute value.  Results are NAN if they are not defined.  Functions that sort do so in place
 * and take a non-const x.  Relative errors of distribution functions and quantiles are below 1e-9
 * for degrees of freedom from 0.01 upwards.
 */
#ifndef CLOCKTIMING_STATS_H
#define CLOCKTIMING_STATS_H

/* 0.975-quantile of the normal distribution, for 95 % confidence intervals. */
#define NORMAL_975		1.959963984540054

/* Returns the mean, with rounding corrected by a second pass; exact for constant data. */
extern double stats_mean(const double *x, int n);

/*
 * Returns the sample standard deviation, with n - 1 in the denominator, by the corrected two-pass
 * algorithm (Chan, Golub and LeVeque, The American Statistician 37, 1983).  Exactly 0 for constant
 * data. NAN for n < 2.
 */
extern double stats_stddev(const double *x, int n);

/* Returns the minimum; NAN for n < 1. */
extern double stats_min(const double *x, int n);

/* Returns the median; for even n, the mean of the two middle values.  Sorts x.  NAN for n < 1. */
extern double stats_median(double *x, int n);

/* Returns the mean of the k smallest values; *limit is the largest of them.  Sorts x. */
extern double stats_low_mean(double *x, int n, int k, double *limit);

/*
 * Returns half of the confidence interval of the difference of two means by stats_low_mean().  The
 * n pairs a[i], b[i] were measured together; b of NULL means zeros.  By the influence function of a
 * one-sided trimmed mean (Huber, Robust Statistics, 1981, 3.3), the standard error is that of the
 * mean of min(a[i], limit_a) - min(b[i], limit_b), times n / k.  Student's t has k - 1 degrees of
 * freedom.  a and b are in their original order; "work" needs n elements.  NAN for k < 2.
 */
extern double stats_low_mean_half_width(const double *a, double limit_a,
										const double *b, double limit_b,
										int n, int k, double confidence,
										double *work);

/*
 * Returns the undisturbed value of n measurements of the same quantity, given that disturbances
 * only increase it: the mean of the fastest fiftieth, at least five.  Sets *margin to half of its
 * 95 % confidence interval.  NAN for n < 5.  Sorts x; "work" needs n elements.
 */
extern double stats_undisturbed(double *x, int n, double *margin, double *work);

/*
 * Returns the median of n measurements, including disturbed ones.  Sets *margin to half of its 95 %
 * confidence interval, whose ends are values by their ranks (David and Nagaraja, Order Statistics,
 * 2003, 7.1).  The ranks come from the normal approximation of the binomial distribution.  The
 * margin is NAN for n < 6.  Sorts x.
 */
extern double stats_typical(double *x, int n, double *margin);

/* Least-squares line.  x and y may be far from 0, such as times in nanoseconds since 1970. */
typedef struct StatsLine
{
	double		x_mean;			/* the line contains (x_mean, y_mean) */
	double		y_mean;
	double		slope;			/* NAN if n < 2 or all x are equal */
	double		slope_stderr;	/* if deviations are independent; or NAN */
	double		residual_max;	/* largest absolute deviation in y */
	double		x_ssd;			/* sum of squared deviations of x */
} StatsLine;

extern StatsLine stats_line(const double *x, const double *y, int n);

#define STATS_MAX_BATCHES	30

/*
 * Returns half of the confidence interval of the slope by stats_line(), where deviations of
 * successive points may be correlated.  It is that of the line through the means of batches, which
 * are nearly independent if a batch is longer than the correlation (Law, Simulation Modeling and
 * Analysis, 2015, section 9.5.3; Schmeiser, Operations Research 30(3), 1982, recommends 10 to 30
 * batches).  NAN for fewer than 3 batches, more than STATS_MAX_BATCHES or n, and for a confidence
 * out of range.
 */
extern double stats_line_half_width(const double *x, const double *y, int n,
									int batches, double confidence);

/*
 * Returns the largest possible error of the slope by stats_line() if y[i] is known to within
 * bound[i], apart from a common error.  It is the sum of |x[i] - mean| * bound[i] over that of
 * (x[i] - mean)^2.  NAN if the slope is NAN.
 */
extern double stats_line_bound(const double *x, const double *bound, int n);

/*
 * Student's t distribution.  The degrees of freedom, df, may be any number above 0; from 1e17
 * upwards, including INFINITY, it is the normal distribution.  NAN for any other df.  Computed by
 * the regularised incomplete beta function (NIST DLMF 8.17.22).
 */

/* Returns the two-sided p-value, P(|T| >= |t|), to full relative accuracy.  t may be infinite. */
extern double stats_t_p_value(double t, double df);

/*
 * Returns the critical value t of a two-sided test: |T| < t with probability "inside", and |T| > t
 * with probability "outside".  The two add up to 1.  Both are passed so that the smaller one keeps
 * its digits.  NAN unless both are above 0.
 */
extern double stats_t_critical(double inside, double outside, double df);

/* Limits by median and median absolute deviation (MAD).  Values outside of them are outliers. */
typedef struct OutlierLimits
{
	double		median;
	double		low;
	double		high;
} OutlierLimits;

/*
 * Returns the limits median -/+ max(t * s, tolerance).  s = 1.4826 * MAD * n / (n - 0.8) estimates
 * the standard deviation of the regular values (Croux and Rousseeuw, COMPSTAT 1992).  t is the
 * critical value of Student's distribution with 0.37 * (n - 1) degrees of freedom, because the MAD
 * has 37 % of the efficiency of the standard deviation.  "outside" is the probability that a
 * regular value is outside the limits.  If it is p / n, any of n regular values is outside with a
 * probability of about p (Davies and Gather, Journal of the American Statistical Association 88,
 * 1993).  Up to half of the values may be outliers.  Overwrites x.  All limits are NAN for n < 3.
 */
extern OutlierLimits outlier_limits(double *x, int n, double outside, double tolerance);

#endif							/* CLOCKTIMING_STATS_H */
