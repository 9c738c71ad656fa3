/*
 * Compares data sets, and plots them like FreeBSD's ministat(1).
 *
 * The rank test is in rank_test.c.  The t tests compute the difference of two means and its
 * standard error, from the pooled variance of both sets (Student) or from their separate variances
 * (Welch).  The divisor of a difference in percent, the mean or median of the first set, has an
 * error, too.  So the margin in percent is not that of the difference: it is computed from the
 * interval of b - r * a, where the factor r makes the centers of both sets equal.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clock/sampling/comparison.h"
#include "core/stats.h"

/* Values that are all below TINY_DATA are scaled by 2^TINY_SCALE: otherwise, squares would be 0. */
#define TINY_DATA		1e-100
#define TINY_SCALE		600

/*
 * Largest height of the plot in rows.  In a taller plot, a symbol stands for several values.  The
 * picture of two data sets fits a screen of 50 lines, except by COMPARE_STUDENT, which draws
 * ministat's picture.
 */
#define MAX_HEIGHT		32
#define STUDENT_HEIGHT	200

/*
 * Values farther from the quartiles than this number of interquartile ranges are outliers, for
 * which John Tukey's "far out" uses 3.  They do not determine the ends of the axis if they are at
 * most this share of the values, and otherwise all other values had less than this share of it.
 */
#define FAR_OUT			3
#define OUTLIERS_SHARE	0.05
#define CROWDED_SHARE	0.25

#define TABLE_COLUMNS	5		/* columns of the table after the column N */
#define TABLE_WIDTH		13		/* largest width of a column, as in ministat */
#define TABLE_DIGITS	8		/* significant digits of a number */

/* Symbols of data sets and of their overlaps.  The index is the OR of the data sets' numbers. */
static const char symbols[] = " x+*%#@O";

static void
scale(double *x, int n, int exponent)
{
	for (int i = 0; exponent != 0 && i < n; i++)
		x[i] = ldexp(x[i], exponent);
}

/*
 * Computes the summary of sorted data.  Tiny data are scaled by a power of 2, so that their squares
 * do not underflow.  mean_rest is the rounding error of the mean.
 */
void
compare_summary(CompareSet *set)
{
	double	   *x = set->x;
	int			n = set->n;
	double		rest = 0;
	int			exponent;

	set->median = stats_median(x, n);
	set->min = x[0];
	set->max = x[n - 1];

	exponent = fmax(fabs(set->min), fabs(set->max)) < TINY_DATA ? TINY_SCALE : 0;
	scale(x, n, exponent);
	set->mean = stats_mean(x, n);
	set->stddev = ldexp(stats_stddev(x, n), -exponent);
	for (int i = 0; i < n; i++)
		rest += x[i] - set->mean;
	set->mean_rest = ldexp(rest / n, -exponent);
	set->mean = ldexp(set->mean, -exponent);
	scale(x, n, -exponent);
}

/* Returns NAN for an infinite number: a percentage of 0 is undefined. */
static double
number_or_nan(double x)
{
	return isfinite(x) ? x : NAN;
}

typedef struct Margin
{
	double		pooled_stddev;	/* NAN for Welch's test */
	double		df;				/* degrees of freedom */
	double		standard_error;
} Margin;

/*
 * Returns the standard error of the difference of two means, and its degrees of freedom: for
 * Welch's test by the equation of Welch and Satterthwaite (Welch, Biometrika 34, 1947), which
 * estimates them from the variances of both sets.
 */
static Margin
margin_of(double a_stddev, int a_n, double b_stddev, int b_n, bool welch)
{
	/* in units of the larger deviation, so that squares do not overflow */
	double		unit = fmax(a_stddev, b_stddev);
	double		a_variance = unit > 0 ? pow(a_stddev / unit, 2) : 0;
	double		b_variance = unit > 0 ? pow(b_stddev / unit, 2) : 0;
	Margin		margin;

	margin.df = (double) a_n + b_n - 2;
	if (!welch)
	{
		margin.pooled_stddev = unit *
			sqrt(((a_n - 1) * a_variance + (b_n - 1) * b_variance) / margin.df);
		margin.standard_error = margin.pooled_stddev * sqrt(1.0 / a_n + 1.0 / b_n);
	}
	else
	{
		double		a_share = a_variance / a_n;
		double		b_share = b_variance / b_n;

		margin.pooled_stddev = NAN;
		margin.standard_error = unit * sqrt(a_share + b_share);
		if (unit > 0)
			margin.df = pow(a_share + b_share, 2) /
				(a_share * a_share / (a_n - 1) + b_share * b_share / (b_n - 1));
	}
	return margin;
}

static double
half_width(const Margin *margin, const ConfidenceLevel *level)
{
	if (margin->standard_error == 0)
		return 0;
	return margin->standard_error * stats_t_critical(level->inside, level->outside, margin->df);
}

/*
 * Compares means by Student's or Welch's t test.  The means' rounding errors are part of the
 * difference, because data far from 0 may differ by less than these errors.  The relative margin is
 * that of the difference between b and a, scaled by the ratio of the means.
 */
static CompareTest
t_test(const CompareSet *a, const CompareSet *b, const ConfidenceLevel *level, bool welch)
{
	double		ratio = b->mean / a->mean;
	Margin		margin = margin_of(a->stddev, a->n, b->stddev, b->n, welch);
	Margin		relative = margin_of(fabs(ratio) * a->stddev, a->n, b->stddev, b->n, welch);
	CompareTest test;

	test.difference = (b->mean - a->mean) + (b->mean_rest - a->mean_rest);
	test.margin = half_width(&margin, level);
	test.low = test.difference - test.margin;
	test.high = test.difference + test.margin;
	test.percent = number_or_nan(test.difference * 100 / a->mean);
	test.margin_percent = number_or_nan(half_width(&relative, level) * 100 / fabs(a->mean));
	if (isnan(test.percent))
		test.margin_percent = NAN;
	test.pooled_stddev = margin.pooled_stddev;
	test.df = margin.df;
	test.p_value = margin.standard_error > 0 ?
		stats_t_p_value(test.difference / margin.standard_error, test.df) : NAN;
	test.verdict = isnan(test.p_value) ? COMPARE_NO_TEST :
		fabs(test.difference) > test.margin ? COMPARE_DIFFERENT : COMPARE_NOT_PROVEN;
	return test;
}

/* Sets *low and *high to the k-th smallest and largest difference; returns half their distance. */
static double
rank_margin(const RankSets *sets, int64_t k, double *low, double *high)
{
	*low = rank_difference(sets, k);
	*high = rank_difference(sets, (int64_t) sets->a_n * sets->b_n + 1 - k);
	return (*high - *low) / 2;
}

/*
 * Compares data sets by ranks.  The margin in percent is half of the interval of the shift between
 * b and a, scaled by the ratio of the medians.
 */
static CompareTest
shift_test(const CompareSet *a, const CompareSet *b, const ConfidenceLevel *level, RankPause pause)
{
	RankSets	sets = {a->x, a->n, 1, b->x, b->n, pause};
	RankTest	ranks = rank_test(&sets, level->inside, level->outside);
	CompareTest test = {.percent = NAN, .margin_percent = NAN, .pooled_stddev = NAN, .df = NAN};
	double		ratio;

	test.difference = rank_shift(&sets);
	test.p_value = ranks.p_value;
	if (isnan(ranks.p_value))
		test.verdict = COMPARE_NO_TEST;
	else
	{
		test.verdict = ranks.k == 0 ? COMPARE_TOO_FEW :
			ranks.p_value < level->outside ? COMPARE_DIFFERENT : COMPARE_NOT_PROVEN;
		test.margin = rank_margin(&sets, ranks.k, &test.low, &test.high);
	}

	ratio = (a->median + test.difference) / a->median;
	if (!(fabs(ratio) * fmax(fabs(a->min), fabs(a->max)) < COMPARE_LIMIT))
		return test;
	test.percent = number_or_nan(test.difference * 100 / a->median);
	if (test.verdict == COMPARE_NO_TEST)
		test.margin_percent = 0;
	else
	{
		double		low;
		double		high;

		sets.a_factor = ratio;
		test.margin_percent =
			number_or_nan(rank_margin(&sets, ranks.k, &low, &high) * 100 / fabs(a->median));
	}
	return test;
}

CompareTest
compare_test(const CompareSet *a, const CompareSet *b, const ConfidenceLevel *level,
			 CompareMethod method, RankPause pause)
{
	if (method == COMPARE_RANK)
		return shift_test(a, b, level, pause);
	return t_test(a, b, level, method == COMPARE_WELCH);
}

const char *
compare_verdict(const CompareTest *test, const char *lower, const char *higher)
{
	static const char *const verdicts[] = {
		[COMPARE_NOT_PROVEN] = "no difference proven",
		[COMPARE_TOO_FEW] = "too few values",
		[COMPARE_NO_TEST] = "nothing varies",
	};

	if (test->verdict == COMPARE_DIFFERENT)
		return test->difference < 0 ? lower : test->difference > 0 ? higher : "differs";
	return verdicts[test->verdict];
}

/* Writes a line, truncated to the plot's width. */
__attribute__((format(printf, 2, 3)))
static void
put_line(const ComparePlot *plot, const char *format, ...)
{
	char		line[COMPARE_MAX_WIDTH + 1];
	va_list		args;

	va_start(args, format);
	vsnprintf(line, plot->width + 1, format, args);
	va_end(args);
	plot->line(plot->arg, line);
}

/* Columns of the plot, without its frame, and the values that they stand for. */
typedef struct Axis
{
	int			columns;
	double		low;			/* lower end of the first column */
	double		step;			/* width of a column */
	int			outside;		/* number of values beyond the ends */
} Axis;

static int
column_of(const Axis *axis, double value)
{
	double		column = (value - axis->low) / axis->step;

	/* an outlier may be beyond the range of integers */
	return !(column >= 0) ? 0 : column >= axis->columns ? axis->columns - 1 : (int) column;
}

/* Returns the number of values beyond these limits, or 0 if too many are to be outliers. */
static int
outliers(const ComparePlot *plot, double low, double high)
{
	int			n = 0;
	int			total = 0;

	for (int i = 0; i < plot->nsets; i++)
		for (int j = 0; j < plot->sets[i].n; j++)
		{
			n += plot->sets[i].x[j] < low || plot->sets[i].x[j] > high;
			total++;
		}
	return n <= OUTLIERS_SHARE * total ? n : 0;
}

/*
 * Returns the axis from the smallest to the largest value and end of a bar, as in ministat.  If a
 * few outliers would leave less than CROWDED_SHARE of it to the other values, its ends are those of
 * the other values, and the outliers are in the first or last column, except by COMPARE_STUDENT.
 */
static Axis
axis_of(const ComparePlot *plot)
{
	Axis		axis = {.columns = plot->width - 2, .low = plot->sets[0].min};
	double		high = plot->sets[0].max;
	double		inner_low = INFINITY;
	double		inner_high = -INFINITY;

	for (int i = 0; i < plot->nsets; i++)
	{
		const CompareSet *set = &plot->sets[i];

		/*
		 * the quartiles; if they are equal, the quantiles 0.05 and 0.95; or
		 * the limits
		 */
		int			outer = set->n / 4;
		double		lower;
		double		upper;
		double		reach;
		int			first = 0;
		int			last = set->n - 1;

		if (set->x[outer] == set->x[set->n - 1 - outer])
			outer = set->n / 20;
		if (set->x[outer] == set->x[set->n - 1 - outer])
			outer = 0;
		lower = set->x[outer];
		upper = set->x[set->n - 1 - outer];
		reach = FAR_OUT * (upper - lower);

		axis.low = fmin(axis.low, fmin(set->min, set->mean - set->stddev));
		high = fmax(high, fmax(set->max, set->mean + set->stddev));
		while (set->x[first] < lower - reach)
			first++;
		while (set->x[last] > upper + reach)
			last--;
		inner_low = fmin(inner_low, set->x[first]);
		inner_high = fmax(inner_high, set->x[last]);
	}
	if (plot->method != COMPARE_STUDENT && inner_high > inner_low &&
		inner_high - inner_low < CROWDED_SHARE * (high - axis.low))
		axis.outside = outliers(plot, inner_low, inner_high);
	if (axis.outside > 0)
	{
		axis.low = inner_low;
		high = inner_high;
	}
	axis.step = (high - axis.low) / (axis.columns - 1);
	/* shifted by half a step, because column_of() truncates */
	axis.low -= axis.step / 2;
	return axis;
}

static void
draw_frame(const ComparePlot *plot, const Axis *axis)
{
	char		line[COMPARE_MAX_WIDTH + 1];

	memset(line, '-', axis->columns);
	put_line(plot, "+%.*s+", axis->columns, line);
}

/*
 * Draws each column as a pile of symbols, one for each value, or for several values if the highest
 * pile would have more than MAX_HEIGHT symbols.  Where piles of several data sets overlap, draws
 * the symbol of the overlap.
 */
static void
draw_values(const ComparePlot *plot, const Axis *axis)
{
	int			piles[COMPARE_MAX_SETS][COMPARE_MAX_WIDTH] = {{0}};
	int			max_height = plot->method == COMPARE_STUDENT ? STUDENT_HEIGHT : MAX_HEIGHT;
	int			tallest = 0;
	int			values;			/* values per symbol */

	for (int i = 0; i < plot->nsets; i++)
		for (int j = 0; j < plot->sets[i].n; j++)
		{
			int			height = ++piles[i][column_of(axis, plot->sets[i].x[j])];

			tallest = height > tallest ? height : tallest;
		}
	values = (tallest + max_height - 1) / max_height;
	if (values > 1)
		put_line(plot, "(a symbol stands for up to %d values)", values);
	if (axis->outside > 0)
		put_line(plot, "(outliers in the first and last column: %d values)", axis->outside);

	draw_frame(plot, axis);
	for (int row = (tallest - 1) / values; row >= 0; row--)
	{
		char		line[COMPARE_MAX_WIDTH + 1];

		for (int column = 0; column < axis->columns; column++)
		{
			int			number = 0;

			for (int i = 0; i < plot->nsets; i++)
				if (piles[i][column] > row * values)
					number |= i + 1;
			line[column] = symbols[number];
		}
		put_line(plot, "|%.*s|", axis->columns, line);
	}
}

static void
draw_bar(char *line, const Axis *axis, const CompareSet *set)
{
	int			from = column_of(axis, set->mean - set->stddev);
	int			to = column_of(axis, set->mean + set->stddev);

	line[from] = line[to] = '|';
	for (int column = from + 1; column < to; column++)
		if (line[column] == ' ')
			line[column] = '_';
	line[column_of(axis, set->median)] = 'M';
	line[column_of(axis, set->mean)] = 'A';
}

static void
draw_bars(const ComparePlot *plot, const Axis *axis)
{
	char		line[COMPARE_MAX_WIDTH + 1];

	for (int i = 0; i < plot->nsets; i++)
	{
		if (i == 0 || plot->separate)
			memset(line, ' ', axis->columns);
		draw_bar(line, axis, &plot->sets[i]);
		if (i == plot->nsets - 1 || plot->separate)
			put_line(plot, "|%.*s|", axis->columns, line);
	}
}

/* Prints the comparison of a data set with the first one, in the words and columns of ministat. */
static void
put_test(const ComparePlot *plot, const CompareSet *set)
{
	static const char *const lines[] = {
		[COMPARE_DIFFERENT] = "Difference at %s%% confidence",
		[COMPARE_NOT_PROVEN] = "No difference proven at %s%% confidence",
		[COMPARE_TOO_FEW] = "Too few values for %s%% confidence",
		[COMPARE_NO_TEST] = "No test, as nothing varies",
	};
	CompareTest test = compare_test(&plot->sets[0], set, plot->level, plot->method, plot->pause);

	put_line(plot, lines[test.verdict], plot->level->percent);
	if (test.verdict == COMPARE_NOT_PROVEN || test.verdict == COMPARE_TOO_FEW)
		return;
	if (plot->method == COMPARE_RANK)
		put_line(plot, "        %g +/- %g (%g to %g)", test.difference, test.margin, test.low, test.high);
	else
		put_line(plot, "        %g +/- %g", test.difference, test.margin);
	if (!isnan(test.percent))
		put_line(plot, "        %g%% +/- %g%%", test.percent, test.margin_percent);
	if (test.verdict == COMPARE_NO_TEST)
		return;
	switch (plot->method)
	{
		case COMPARE_RANK:
			put_line(plot, "        (Hodges-Lehmann shift, Mann-Whitney interval)");
			break;
		case COMPARE_STUDENT:
			put_line(plot, "        (Student's t, pooled s = %g)", test.pooled_stddev);
			break;
		case COMPARE_WELCH:
			put_line(plot, "        (Welch's t, %g degrees of freedom)", test.df);
			break;
	}
}

/* Prints a row of statistics for each data set, and below it the comparison with the first one. */
static void
put_table(const ComparePlot *plot)
{
	int			n_width = 3;
	int			width;

	for (int i = 0; i < plot->nsets; i++)
	{
		int			needed = snprintf(NULL, 0, "%d", plot->sets[i].n);

		n_width = needed > n_width ? needed : n_width;
	}
	width = (plot->width - 2 - n_width) / TABLE_COLUMNS - 1;
	if (width > TABLE_WIDTH)
		width = TABLE_WIDTH;

	put_line(plot, "  %*s %*s %*s %*s %*s %*s", n_width, "N", width, "Min", width, "Max",
			 width, "Median", width, "Avg", width, "Stddev");
	for (int i = 0; i < plot->nsets; i++)
	{
		const CompareSet *set = &plot->sets[i];
		const double values[TABLE_COLUMNS] =
		{set->min, set->max, set->median, set->mean, set->stddev};
		char		line[256];
		int			length = sprintf(line, "%c %*d", symbols[i + 1], n_width, set->n);

		for (int column = 0; column < TABLE_COLUMNS; column++)
		{
			char		number[40];
			int			digits = TABLE_DIGITS;

			/* prints as many digits as fit */
			do
				snprintf(number, sizeof(number), "%.*g", digits, values[column]);
			while ((int) strlen(number) > width && --digits > 0);
			length += sprintf(line + length, " %*s", width, number);
		}
		put_line(plot, "%s", line);
		if (i > 0)
			put_test(plot, set);
	}
}

void
compare_plot(const ComparePlot *plot)
{
	Axis		axis = axis_of(plot);

	for (int i = 0; i < plot->nsets; i++)
		put_line(plot, "%c %s", symbols[i + 1], plot->sets[i].name);
	if (axis.step > 0)
	{
		draw_values(plot, &axis);
		draw_bars(plot, &axis);
		draw_frame(plot, &axis);
	}
	else
		put_line(plot, "(no plot, as all values are the same)");
	put_table(plot);
}
