/*-------------------------------------------------------------------------
 *
 * outliers.h
 *	  Which of many figures is odd, by the median and the MAD, the median of the
 *	  absolute deviations from it, which up to half of the figures cannot spoil.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_OUTLIERS_H
#define CLOCKTIMING_OUTLIERS_H

/* What lies below "low" or above "high" is odd. */
typedef struct OutlierLimits
{
	double		median;
	double		low;
	double		high;
} OutlierLimits;

/*
 * The limits median -/+ max(t * s, tolerance), where s = 1.4826 * MAD * n / (n - 0.8)
 * estimates the standard deviation of what is not odd (the correction for small n:
 * Croux and Rousseeuw, COMPSTAT 1992), and t is the critical value of Student's
 * distribution with 0.37 * (n - 1) degrees of freedom, which s is worth as the
 * MAD has 37 % of the efficiency of the standard deviation.  "outside" is the
 * probability that a figure that is not odd lies outside the limits; for all of n
 * figures together to be wrong with the probability a it is a / n: the identifier of
 * Hampel as Davies and Gather have it (The identification of multiple outliers,
 * Journal of the American Statistical Association 88, 1993).
 *
 * By simulation of normal figures, in test/unit/outliers_test.c, with a = 5 %: some
 * figure is outside in 0.3 to 2 % of cases where n is 5 to 20, in 3 to 5 % from 50 on.
 *
 * Overwrites x, whose n figures are finite.  All are NAN for n < 3.
 */
extern OutlierLimits outlier_limits(double *x, int n, double outside, double tolerance);

#endif							/* CLOCKTIMING_OUTLIERS_H */
