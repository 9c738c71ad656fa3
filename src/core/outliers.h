/*-------------------------------------------------------------------------
 *
 * outliers.h
 *	  Detects outliers by the median and the MAD, the median absolute deviation, which are robust
 *	  against up to half of the values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_OUTLIERS_H
#define CLOCKTIMING_OUTLIERS_H

/* Values below "low" or above "high" are outliers. */
typedef struct OutlierLimits
{
	double		median;
	double		low;
	double		high;
} OutlierLimits;

/*
 * Returns the limits median -/+ max(t * s, tolerance).  s = 1.4826 * MAD * n / (n - 0.8) estimates
 * the standard deviation of the regular values; the last factor corrects for small n (Croux and
 * Rousseeuw, COMPSTAT 1992).  t is the critical value of Student's distribution with 0.37 * (n - 1)
 * degrees of freedom, because the MAD has 37 % of the efficiency of the standard deviation.
 * "outside" is the probability that a regular value is outside the limits.  With a / n it is a for
 * all n values together: Hampel's identifier according to Davies and Gather (The identification of
 * multiple outliers, Journal of the American Statistical Association 88, 1993).
 *
 * By simulation of normal values in test/unit/outliers_test.c with a = 5 %, some value is outside
 * in 0.3 to 2 % of the cases if n is 5 to 20, and in 3 to 5 % from 50 on.
 *
 * Overwrites x, whose n values must be finite.  All limits are NAN for n < 3.
 */
extern OutlierLimits outlier_limits(double *x, int n, double outside, double tolerance);

#endif							/* CLOCKTIMING_OUTLIERS_H */
