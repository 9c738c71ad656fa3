/*
 * outliers.c
 *	  See outliers.h.
 */
#include "core/outliers.h"

#include <math.h>

#include "core/stats.h"

/* Standard deviation divided by the MAD, for a normal distribution. */
#define NORMAL_MAD		1.482602218505602

/* Efficiency of the MAD. */
#define MAD_EFFICIENCY	0.37

OutlierLimits
outlier_limits(double *x, int n, double outside, double tolerance)
{
	OutlierLimits limits = {NAN, NAN, NAN};
	double		deviation;

	if (n < 3)
		return limits;
	limits.median = stats_median(x, n);
	for (int i = 0; i < n; i++)
		x[i] = fabs(x[i] - limits.median);
	deviation = NORMAL_MAD * stats_median(x, n) * n / (n - 0.8) *
		stats_t_critical(1 - outside, outside, MAD_EFFICIENCY * (n - 1));
	deviation = fmax(deviation, tolerance);
	limits.low = limits.median - deviation;
	limits.high = limits.median + deviation;
	return limits;
}
