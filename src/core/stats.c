/*
 * Statistics of a few measurements.
 *
 * Means and sums of squares are computed from deviations, because a difference of two large sums
 * loses digits.  The Student distribution is the regularised incomplete beta function, which a
 * continued fraction computes.  Its quantiles are found by Newton's method.  Of two probabilities
 * that add up to 1, one is computed as 1 minus the other only if it is not small, so that it keeps
 * its digits.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/stats.h"

#define SQRT_PI			1.77245385090551602730
#define NORMAL_DF		1e17	/* from this df on, t is normally distributed */
#define FAR_OUT			1e8		/* at larger w = t / sqrt(df), 1 + w^2 = w^2 */
#define UNDISTURBED_SHARE 50	/* one value in this many is undisturbed */
#define UNDISTURBED_LEAST 5		/* smallest number of undisturbed values */
#define TINY			1e-300	/* replaces 0 in Lentz's method */
#define MAX_TERMS		10000	/* limit of terms of the continued fraction */
#define MAX_STEPS		200		/* limit of steps in stats_t_critical() */
#define CLOSE_ENOUGH	1e-9	/* step of log(t) that ends the iteration */

static int
compare_double(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/*
 * Returns Gamma(a + 1/2) / Gamma(a).  For a >= 100, the difference of two large logarithms would
 * lose digits, so the asymptotic series replaces it (DLMF 5.11.13; first omitted term < 2e-13).
 */
static double
gamma_ratio(double a)
{
	if (a < 100)
		return exp(lgamma(a + 0.5) - lgamma(a));
	return sqrt(a) *
		(1 + (-1.0 / 8 + (1.0 / 128 + (5.0 / 1024 - 21.0 / 32768 / a) / a) / a) / a);
}

/*
 * Returns the continued fraction f of the regularised incomplete beta function I_x, by the modified
 * Lentz method.  With y = 1 - x, I_x(a, b) = x^a y^b / (B(a, b) f).
 *
 * f is the even part of the fraction of DLMF 8.17.22: its convergents are every second one of that
 * fraction (DiDonato and Morris, ACM TOMS 18, 1992, BFRAC).  If a is large and x near 1, the whole
 * fraction needs about sqrt(a) terms, and its beginning, 1 - x (a + b) / (a + 1), loses digits.
 */
static double
beta_fraction(double a, double b, double x, double y)
{
	double		f = a * (a * y - b * x + 1) / (a + 1);
	double		c;
	double		d = 0;

	if (fabs(f) < TINY)
		f = TINY;
	c = f;
	for (int m = 1; m <= MAX_TERMS; m++)
	{
		double		share = m * ((b - m) * x) / (a + 2 * m - 1);
		double		numerator = share * (a + m - 1) * ((a + b + m - 1) * x) / (a + 2 * m - 1);
		double		denominator = m + share +
			(a + m) * (a * y - b * x + 1 + m * (1 + y)) / (a + 2 * m + 1);
		double		factor;

		d = denominator + numerator * d;
		if (fabs(d) < TINY)
			d = TINY;
		d = 1 / d;
		c = denominator + numerator / c;
		if (fabs(c) < TINY)
			c = TINY;
		factor = c * d;
		f *= factor;
		if (fabs(factor - 1) < DBL_EPSILON)
			break;
	}
	return f;
}

/*
 * For t > 0, sets *outside to P(|T| > t) and *inside to P(|T| < t).  The smaller one keeps all its
 * digits.  Sets *density to t times the density at t.  The derivative by log(t) is 2 * *density for
 * *inside, and -2 * *density for *outside.
 *
 * With x = df / (df + t^2) and y = 1 - x, *outside is I_x(df/2, 1/2), and *inside is I_y(1/2, df/2)
 * (DLMF 8.17.4).  In both, the factor before the continued fraction is *density.
 */
static void
both_sides(double t, double df, double *outside, double *inside, double *density)
{
	double		w;
	double		x;
	double		y;
	double		power;
	double		root;

	if (df >= NORMAL_DF)
	{
		*outside = erfc(t / M_SQRT2);
		*inside = erf(t / M_SQRT2);
		*density = t * exp(-t * t / 2) / sqrt(2 * M_PI);
		return;
	}

	w = t / sqrt(df);
	x = 1 / (1 + w * w);
	if (w > FAR_OUT)
	{
		y = 1;
		power = df * (log(t) - log(df) / 2);
		root = 1;
	}
	else
	{
		y = w * w * x;
		power = df / 2 * log1p(w * w);
		root = w / sqrt(1 + w * w);
	}
	*density = gamma_ratio(df / 2) / SQRT_PI * exp(-power) * root;

	/* computes the probability whose fraction converges fast */
	if (y > 3 / (df + 5))
	{
		*outside = *density / beta_fraction(df / 2, 0.5, x, y);
		*inside = 1 - *outside;
	}
	else
	{
		*inside = *density / beta_fraction(0.5, df / 2, y, x);
		*outside = 1 - *inside;
	}
}

/*
 * Newton's method, applied to the logarithm of the smaller probability as a function of log(t).
 * This function is nearly straight at both ends and concave between them.  A step that would leave
 * the range from low to high, which contains the solution, is replaced by a bisection.
 */
double
stats_t_critical(double inside, double outside, double df)
{
	bool		by_tail = outside < inside;
	double		target = by_tail ? outside : inside;
	double		low = DBL_MIN;
	double		high = DBL_MAX;

	/* starts at approximately the quantile of the normal distribution */
	double		t = by_tail ? sqrt(-2 * log(outside)) : inside * sqrt(M_PI / 2);
	double		out;
	double		in;
	double		density;

	if (!(inside > 0 && outside > 0 && df > 0))
		return NAN;
	both_sides(high, df, &out, &in, &density);
	if (by_tail ? out > target : in < target)
		return INFINITY;

	for (int i = 0; i < MAX_STEPS; i++)
	{
		double		value;
		double		step;
		double		next;

		both_sides(t, df, &out, &in, &density);
		value = by_tail ? out : in;
		if (value == target)
			break;
		if (by_tail == (value < target))
			high = t;
		else
			low = t;
		step = (log(value) - log(target)) * value / (2 * density);
		next = t * exp(by_tail ? step : -step);
		if (fabs(step) < CLOSE_ENOUGH)
			return next;
		/* also bisects if "next" is NAN, because "value" was 0 */
		if (!(next > low && next < high))
			next = sqrt(low) * sqrt(high);
		t = next;
	}
	return t;
}

/* Sums deviations from the first value, so that values with small differences keep their digits. */
double
stats_mean(const double *x, int n)
{
	double		sum = 0;
	double		rest = 0;
	double		mean;

	if (n < 1)
		return NAN;
	for (int i = 0; i < n; i++)
		sum += x[i] - x[0];
	mean = x[0] + sum / n;
	for (int i = 0; i < n; i++)
		rest += x[i] - mean;
	return mean + rest / n;
}

/*
 * The corrected two-pass algorithm (Chan, Golub and LeVeque, The American Statistician 37, 1983):
 * the sum of the deviations, which would be 0 without rounding errors, corrects the sum of their
 * squares.
 */
double
stats_stddev(const double *x, int n)
{
	double		mean = stats_mean(x, n);
	double		sum = 0;
	double		sumsq = 0;

	for (int i = 0; i < n; i++)
	{
		sum += x[i] - mean;
		sumsq += (x[i] - mean) * (x[i] - mean);
	}
	return n < 2 ? NAN : sqrt(fmax(sumsq - sum * sum / n, 0) / (n - 1));
}

double
stats_min(const double *x, int n)
{
	double		min = n < 1 ? NAN : x[0];

	for (int i = 1; i < n; i++)
		min = fmin(min, x[i]);
	return min;
}

double
stats_median(double *x, int n)
{
	if (n < 1)
		return NAN;
	qsort(x, n, sizeof(double), compare_double);
	return n % 2 == 1 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

double
stats_t_p_value(double t, double df)
{
	double		outside;
	double		inside;
	double		density;

	if (!(df > 0))
		return NAN;
	if (t == 0)
		return 1;
	both_sides(fabs(t), df, &outside, &inside, &density);
	return outside;
}

double
stats_low_mean(double *x, int n, int k, double *limit)
{
	if (k < 1 || k > n)
		return *limit = NAN;
	qsort(x, n, sizeof(double), compare_double);
	*limit = x[k - 1];
	return stats_mean(x, k);
}

/*
 * The standard error is that of the mean of min(a[i], limit_a) - min(b[i], limit_b), times n / k
 * (by the influence function of a one-sided trimmed mean: Huber, Robust Statistics, 1981, 3.3).
 * Student's t has k - 1 degrees of freedom.
 */
double
stats_low_mean_half_width(const double *a, double limit_a,
						  const double *b, double limit_b,
						  int n, int k, double confidence, double *work)
{
	if (k < 2)
		return NAN;
	for (int i = 0; i < n; i++)
		work[i] = (fmin(a[i], limit_a) - (b != NULL ? fmin(b[i], limit_b) : 0)) * n / k;
	return stats_t_critical(confidence, 1 - confidence, k - 1) *
		stats_stddev(work, n) / sqrt(n);
}

double
stats_undisturbed(double *x, int n, double *margin, double *work)
{
	int			k = n / UNDISTURBED_SHARE > UNDISTURBED_LEAST ? n / UNDISTURBED_SHARE :
		UNDISTURBED_LEAST;
	double		limit;
	double		mean = stats_low_mean(x, n, k, &limit);

	*margin = isnan(mean) ? NAN :
		stats_low_mean_half_width(x, limit, NULL, 0, n, k, 0.95, work);
	return mean;
}

/*
 * The interval's ends are values of x with certain ranks, by the normal approximation of the
 * binomial distribution (David and Nagaraja, Order Statistics, 2003, 7.1).
 */
double
stats_typical(double *x, int n, double *margin)
{
	double		median = stats_median(x, n);
	double		below = floor((n - 1 - NORMAL_975 * sqrt(n)) / 2);

	*margin = n > 0 && below >= 0 ? (x[n - 1 - (int) below] - x[(int) below]) / 2 : NAN;
	return median;
}

/* Deviations are relative to the first point, so that data far from 0 keep their digits. */
StatsLine
stats_line(const double *x, const double *y, int n)
{
	StatsLine	line = {NAN, NAN, NAN, NAN, NAN, NAN};
	double		dx_mean = 0;
	double		dy_mean = 0;
	double		sxx = 0;
	double		sxy = 0;
	double		rest = 0;

	if (n < 1)
		return line;
	for (int i = 0; i < n; i++)
	{
		dx_mean += (x[i] - x[0]) / n;
		dy_mean += (y[i] - y[0]) / n;
	}
	line.x_mean = x[0] + dx_mean;
	line.y_mean = y[0] + dy_mean;
	for (int i = 0; i < n; i++)
	{
		double		dx = x[i] - x[0] - dx_mean;

		sxx += dx * dx;
		sxy += dx * (y[i] - y[0] - dy_mean);
	}
	line.x_ssd = sxx;
	if (!(sxx > 0))
		return line;
	line.slope = sxy / sxx;

	line.residual_max = 0;
	for (int i = 0; i < n; i++)
	{
		double		residual = y[i] - y[0] - dy_mean - line.slope * (x[i] - x[0] - dx_mean);

		rest += residual * residual;
		line.residual_max = fmax(line.residual_max, fabs(residual));
	}
	if (n > 2)
		line.slope_stderr = sqrt(rest / (n - 2) / sxx);
	return line;
}

/*
 * The interval is that of the line through the means of the batches, which are nearly independent
 * if batches are long (Law, Simulation Modeling and Analysis, 2015, section 9.5.3; Schmeiser,
 * Operations Research 30(3), 1982, recommends 10 to 30 batches).
 */
double
stats_line_half_width(const double *x, const double *y, int n, int batches,
					  double confidence)
{
	double		x_means[STATS_MAX_BATCHES];
	double		y_means[STATS_MAX_BATCHES];

	if (batches < 3 || batches > STATS_MAX_BATCHES || batches > n)
		return NAN;
	for (int i = 0; i < batches; i++)
	{
		int			first = (int) ((int64_t) n * i / batches);
		int			end = (int) ((int64_t) n * (i + 1) / batches);

		x_means[i] = stats_mean(x + first, end - first);
		y_means[i] = stats_mean(y + first, end - first);
	}
	return stats_t_critical(confidence, 1 - confidence, batches - 2) *
		stats_line(x_means, y_means, batches).slope_stderr;
}

/*
 * The slope is the sum of (x[i] - mean) * y[i], divided by the sum of (x[i] - mean)^2.  So its
 * largest error is the sum of |x[i] - mean| * bound[i], divided by the same sum of squares.
 */
double
stats_line_bound(const double *x, const double *bound, int n)
{
	StatsLine	line = stats_line(x, bound, n);
	double		sum = 0;

	if (isnan(line.slope))
		return NAN;
	for (int i = 0; i < n; i++)
		sum += fabs(x[i] - line.x_mean) * bound[i];
	return sum / line.x_ssd;
}

/* Standard deviation divided by the median absolute deviation, for a normal distribution. */
#define NORMAL_MAD		1.482602218505602

#define MAD_EFFICIENCY	0.37	/* efficiency of the MAD, relative to the
								 * standard deviation */

/*
 * The limits are the median -/+ max(t * s, tolerance). s = 1.4826 * MAD * n / (n - 0.8) estimates
 * the standard deviation of the values that are no outliers, from the median absolute deviation
 * (MAD; Croux and Rousseeuw, COMPSTAT 1992). t is the critical value of Student's distribution with
 * 0.37 * (n - 1) degrees of freedom, because the MAD has 37 % of the efficiency of the standard
 * deviation.
 */
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
