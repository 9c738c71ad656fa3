/*
 * Statistics of a few measurements. x always contains n finite numbers below 1e150 in absolute
 * value.  Results are NAN if they are not defined.  Distribution functions and quantiles have
 * relative errors below 1e-9 for degrees of freedom from 0.01 upwards.
 */
#ifndef CLOCKTIMING_STATS_H
#define CLOCKTIMING_STATS_H

/* 0.975-quantile of the normal distribution, for 95 % confidence intervals. */
#define NORMAL_975		1.959963984540054

/* Returns the mean, exactly if all values are equal.  A second pass corrects rounding errors. */
extern double stats_mean(const double *x, int n);

/*
 * Returns the sample standard deviation, with n - 1 in the denominator.  It is exactly 0 if all
 * values are equal, and NAN for n < 2.
 */
extern double stats_stddev(const double *x, int n);

/* Returns the smallest value; NAN for n < 1. */
extern double stats_min(const double *x, int n);

/* Returns the median; for even n, the mean of the two middle values.  Sorts x.  NAN for n < 1. */
extern double stats_median(double *x, int n);

/* Returns the mean of the k smallest values; *limit is the largest of them.  Sorts x. */
extern double stats_low_mean(double *x, int n, int k, double *limit);

/*
 * Returns half of the confidence interval of the difference between the stats_low_mean() of a and
 * of b. a[i] and b[i] were measured together; a NULL b stands for zeros. limit_a and limit_b are
 * the limits by stats_low_mean(). a and b must be in their original order.  "work" needs n
 * elements.  NAN for k < 2.
 */
extern double stats_low_mean_half_width(const double *a, double limit_a,
										const double *b, double limit_b,
										int n, int k, double confidence,
										double *work);

/*
 * Returns the value of n measurements of the same quantity without disturbances, which only
 * increase a value: the mean of the smallest fiftieth, but of at least five values.  Sets *margin
 * to half of its 95 % confidence interval.  NAN for n < 5.  Sorts x; "work" needs n elements.
 */
extern double stats_undisturbed(double *x, int n, double *margin, double *work);

/*
 * Returns the median of n measurements, including disturbed ones.  Sets *margin to half of its 95 %
 * confidence interval; NAN for n < 6.  Sorts x.
 */
extern double stats_typical(double *x, int n, double *margin);

/* Least-squares line.  x and y may be far from 0, such as times in nanoseconds since 1970. */
typedef struct StatsLine
{
	double		x_mean;			/* the line contains (x_mean, y_mean) */
	double		y_mean;
	double		slope;			/* NAN if n < 2 or all x are equal */
	double		slope_stderr;	/* for independent deviations; NAN if n < 3 */
	double		residual_max;	/* largest vertical distance of a point */
	double		x_ssd;			/* sum of squared deviations of x */
} StatsLine;

extern StatsLine stats_line(const double *x, const double *y, int n);

/* Largest number of batches; 10 to 30 are recommended (see stats.c). */
#define STATS_MAX_BATCHES	30

/*
 * Returns half of the confidence interval of the slope by stats_line() if deviations of successive
 * points may be correlated.  Divides the points into batches of successive points, which should be
 * long.  NAN unless "batches" is at least 3, and at most STATS_MAX_BATCHES and n.
 */
extern double stats_line_half_width(const double *x, const double *y, int n,
									int batches, double confidence);

/*
 * Returns the largest possible error of the slope by stats_line() if the error of y[i] is at most
 * bound[i], apart from an error that all y share.  NAN if the slope is NAN.
 */
extern double stats_line_bound(const double *x, const double *bound, int n);

/*
 * The next two functions are about Student's t distribution. df is the degrees of freedom, any
 * number above 0.  From 1e17 upwards, including INFINITY, the distribution is normal.  Results for
 * other df are NAN.
 */

/* Returns the two-sided p-value, P(|T| >= |t|).  t may be infinite. */
extern double stats_t_p_value(double t, double df);

/* Confidence of a two-sided test, for example of 95 %. */
typedef struct ConfidenceLevel
{
	double		inside;			/* 0.95 */
	double		outside;		/* 0.05, without the rounding of 1 - inside */
	const char *percent;		/* "95.0" */
} ConfidenceLevel;

/*
 * Returns the critical value t of a two-sided test: |T| < t with probability "inside", and |T| > t
 * with probability "outside".  The two must add up to 1.  Both are arguments, so that the smaller
 * one is not computed as 1 minus the other, which would lose digits.  NAN unless both are above 0.
 */
extern double stats_t_critical(double inside, double outside, double df);

/* Values outside of these limits are outliers. */
typedef struct OutlierLimits
{
	double		median;
	double		low;
	double		high;
} OutlierLimits;

/*
 * Returns the limits of values that are no outliers.  "outside" is the probability that a value
 * that is no outlier is outside the limits.  If it is p / n, any of n such values is outside with a
 * probability of about p (Davies and Gather, Journal of the American Statistical Association 88,
 * 1993).  The limits differ from the median by at least "tolerance".  Up to half of the values may
 * be outliers.  Overwrites x.  All limits are NAN for n < 3.
 */
extern OutlierLimits outlier_limits(double *x, int n, double outside, double tolerance);

#endif							/* CLOCKTIMING_STATS_H */
