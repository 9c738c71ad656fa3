/*-------------------------------------------------------------------------
 *
 * stats.h
 *	  What a handful of measurements says: means and straight lines, how sure
 *	  they are, and Student's t, with which two of them are told apart.
 *
 * Everywhere, "x" are "n" finite numbers of any unit, below 1e150 in absolute
 * value, and results are in that unit.  NaN never goes in.  What is not
 * defined for the arguments comes out as NAN, and nothing else is an error.
 * Nothing here allocates; functions that have to sort do so in place, and
 * take an "x" that is not const.
 *
 * Relative errors of distribution functions and quantiles are below 1e-9 for
 * degrees of freedom from 0.01 upwards; they are usually below 1e-12.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_STATS_H
#define CLOCKTIMING_STATS_H

/* Quantile of the normal distribution for a confidence of 95 %. */
#define NORMAL_975		1.959963984540054

/*
 * Arithmetic mean: two passes, the second of which takes back the rounding of
 * the first.  Exact for constant data.  NAN for n < 1.
 */
extern double stats_mean(const double *x, int n);

/*
 * Sample standard deviation, with n - 1 in the denominator, by the corrected
 * two-pass algorithm (Chan, Golub and LeVeque, The American Statistician 37,
 * 1983).  Exactly 0 for constant data.  NAN for n < 2.
 */
extern double stats_stddev(const double *x, int n);

/* NAN for n < 1. */
extern double stats_min(const double *x, int n);

/*
 * The middle value, for even n the average of the two middle ones.  Sorts x.
 * NAN for n < 1.
 */
extern double stats_median(double *x, int n);

/*
 * Mean of the k smallest values, 1 <= k <= n; *limit is the largest of them.
 * Sorts x.
 */
extern double stats_low_mean(double *x, int n, int k, double *limit);

/*
 * Half the width of the confidence interval of the difference of two such
 * means, of n pairs a[i], b[i] that were measured together.  By the influence
 * function of a one-sided trimmed mean (Huber, Robust Statistics, 1981, 3.3),
 * which is min(x, limit) * n / k up to a constant: the standard error is that
 * of the mean of min(a[i], limit_a) - min(b[i], limit_b), times n / k.
 * Student's t with k - 1 degrees of freedom.  a and b are in their original
 * order; "work" has room for n; b may be NULL, for zeros.  NAN for k < 2.
 */
extern double stats_low_mean_half_width(const double *a, double limit_a,
										const double *b, double limit_b,
										int n, int k, double confidence,
										double *work);

/*
 * What n measurements of the same are where nothing has disturbed them, since
 * what disturbs one only ever makes it larger: the mean of the fastest fiftieth,
 * or of five; and half of its 95 % confidence interval.  NAN for fewer than five.
 * Sorts x; "work" has room for n.
 */
extern double stats_undisturbed(double *x, int n, double *margin, double *work);

/*
 * The median of n measurements, disturbed ones included, and half of its 95 %
 * confidence interval: that of the values whose ranks enclose the median (David
 * and Nagaraja, Order Statistics, 2003, 7.1), by the normal approximation of the
 * binomial distribution with a correction for continuity.  The margin is NAN for
 * fewer than six.  Sorts x.
 */
extern double stats_typical(double *x, int n, double *margin);

/*
 * A straight line through n points by ordinary least squares.  x and y may lie
 * far from 0 (times in nanoseconds since 1970, say): all sums are those of
 * differences.
 */
typedef struct StatsLine
{
	double		x_mean;			/* the line goes through this point */
	double		y_mean;
	double		slope;			/* NAN for n < 2 and if no two x differ */
	double		slope_stderr;	/* its standard error where deviations are
								 * independent; NAN for n < 3, too */
	double		residual_max;	/* largest distance of a point from the line,
								 * in the direction of y, either way */
	double		x_ssd;			/* sum of squared deviations of x */
} StatsLine;

extern StatsLine stats_line(const double *x, const double *y, int n);

#define STATS_MAX_BATCHES	30

/*
 * Half the width of the confidence interval of the slope of that line where the
 * deviations of successive points have to do with each other: n is divided into
 * this many batches of successive points, as equal as can be, and the interval
 * is that of the line through the batches' means, which are nearly independent
 * if a batch is longer than the deviations last: Student's t with batches - 2
 * degrees of freedom * its standard error.  (Batch means: Law, Simulation
 * Modeling and Analysis, 2015, section 9.5.3.  Schmeiser, Operations Research
 * 30(3), 1982, recommends 10 to 30 batches.)  NAN for less than 3 batches, more
 * than STATS_MAX_BATCHES or n, and a confidence out of range.
 */
extern double stats_line_half_width(const double *x, const double *y, int n,
									int batches, double confidence);

/*
 * By how much the slope of that line can be wrong at most where y[i] is known
 * to within "bound[i]" either side, apart from what all have in common: the sum
 * of |x[i] - mean| * bound[i], over that of (x[i] - mean)^2.  NAN where the
 * slope is.
 */
extern double stats_line_bound(const double *x, const double *bound, int n);

/*
 * Student's t distribution.  "df", the degrees of freedom, is any number above
 * 0, not only a whole one; from 1e17 upwards, INFINITY included, it is the
 * standard normal distribution.  NAN for any other df.
 *
 * Computed by the regularised incomplete beta function (NIST DLMF 8.17.22).
 */

/*
 * The two-sided p-value, P(|T| >= |t|), to full relative accuracy however
 * small it is; t may be infinite.
 */
extern double stats_t_p_value(double t, double df);

/*
 * The t that |T| stays below with probability "inside", and exceeds with
 * probability "outside": the critical value of a two-sided test.  They add up
 * to 1, and both are given lest the smaller one lose digits.  NAN unless both
 * are above 0.
 */
extern double stats_t_critical(double inside, double outside, double df);

#endif							/* CLOCKTIMING_STATS_H */
