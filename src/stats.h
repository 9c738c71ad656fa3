/*-------------------------------------------------------------------------
 *
 * stats.h
 *	  What a handful of measurements says: means, how sure they are, and
 *	  Student's t, with which two of them are told apart.
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
extern double stats_max(const double *x, int n);

/*
 * The middle value, for even n the average of the two middle ones.  Sorts x.
 * NAN for n < 1.
 */
extern double stats_median(double *x, int n);

/*
 * Half the width of the confidence interval of a mean, for a sample of n
 * values with this standard deviation: Student's t with n - 1 degrees of
 * freedom * stddev / sqrt(n).  "confidence" is that of the whole, two-sided
 * interval, above 0 and below 1.  0 for constant data.  NAN for n < 2 and for
 * a confidence out of range.
 */
extern double stats_half_width(double stddev, int n, double confidence);

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
 * order; "work" has room for n.  NAN for k < 2.
 */
extern double stats_low_mean_half_width(const double *a, double limit_a,
										const double *b, double limit_b,
										int n, int k, double confidence,
										double *work);

/*
 * Mean of what is left when floor(share * n) values are cut off at each end.
 * "share" is from 0 (stats_mean) to 0.5; the product is rounded as double
 * arithmetic does it, so 0.29 of 100 is 28, as in SciPy and R.  Sorts x.  NAN
 * where nothing is left or share is out of range.
 */
extern double stats_trimmed_mean(double *x, int n, double share);

/*
 * Half the width of the confidence interval of that trimmed mean (Tukey and
 * McLaughlin, Sankhya A 25, 1963): with g = floor(share * n) and h = n - 2g,
 * Student's t with h - 1 degrees of freedom * sqrt(SSD / (h * (h - 1))), where
 * SSD is the sum of squared deviations of the winsorised data, that is (n - 1)
 * times their squared standard deviation.  (Some later authors write
 * n * sw / (h * sqrt(n)), which is a little narrower.)  With share 0 it is
 * stats_half_width().  Sorts x.  0 for constant data, but also if only values
 * that are cut off differ.  NAN for h < 2 and for a share or a confidence out
 * of range.
 */
extern double stats_trimmed_half_width(double *x, int n, double share,
									   double confidence);

/*
 * Student's t distribution.  "df", the degrees of freedom, is any number above
 * 0, not only a whole one; from 1e17 upwards, INFINITY included, it is the
 * standard normal distribution.  NAN for any other df.
 *
 * Computed by the regularised incomplete beta function (NIST DLMF 8.17.22).
 */

/* P(T <= t); t may be infinite. */
extern double stats_t_cdf(double t, double df);

/*
 * The two-sided p-value, P(|T| >= |t|), to full relative accuracy however
 * small it is; t may be infinite.
 */
extern double stats_t_p_value(double t, double df);

/*
 * The t at which stats_t_cdf() is p, above 0 and below 1; accurate relative to
 * t near p = 0.5, too.  Infinite where t is beyond the range of double, which
 * takes a df far below 1.  NAN for a p out of range.
 */
extern double stats_t_quantile(double p, double df);

/* Quantile of the standard normal distribution, p above 0 and below 1. */
extern double stats_normal_quantile(double p);

#endif							/* CLOCKTIMING_STATS_H */
