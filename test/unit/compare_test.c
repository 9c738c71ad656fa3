/*
 * compare_test: statistical tests of two data sets, and the plot of clock_compare().
 *
 * The expected numbers in the tables were computed by mpmath 1.4.1 with 40 digits: p is betainc(df
 * / 2, 1 / 2, 0, df / (df + t^2), regularized=True), and critical values are the inverse of p, by
 * findroot().  The numbers agree with SciPy 1.17.1: scipy.stats.ttest_ind(), with equal_var=not
 * welch, returns the same p to 1e-9, except for the last but one pair of data sets, for which it
 * warns of lost precision.  All digits of the margins agree with its confidence_interval(0.95).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock/sampling/comparison.h"
#include "core/stats.h"
#include "tap.h"

#define LENGTH(a)	((int) (sizeof(a) / sizeof((a)[0])))
#define PRECISION	1e-9

typedef struct Critical
{
	double		inside;
	double		outside;
	double		df;
	double		t;
} Critical;

static const Critical criticals[] = {
	{0.80000000000000004, 0.20000000000000001, 4, 1.5332062740589439},
	{0.90000000000000002, 0.10000000000000001, 7.5, 1.8757474792112885},
	{0.94999999999999996, 0.050000000000000003, 22, 2.0738730679040262},
	{0.97999999999999998, 0.02, 1.25, 16.795114160201661},
	{0.98999999999999999, 0.01, 60.125, 2.660102118993562},
	{0.995, 0.0050000000000000001, 100, 2.8706515238365376},
	{0.995, 0.0050000000000000001, 101, 2.8700086460699128},
	{0.998, 0.002, 51, 3.2578897641780835},
	{0.99999899999999997, 9.9999999999999995e-07, 9, 11.63678202732889},
	{0.99999999989999999, 1e-10, 3, 2804.2938253395256},
	{0.99999999999999001, 1e-14, 2, 9999999.999999925},
	{1e-08, 0.99999998999999995, 5, 1.3171527620701362e-8},
	{0.5, 0.5, 1, 1.0},
	{0.125, 0.875, 1000000, 0.15731072491107559},
};

/* A data set, not sorted. */
typedef struct Data
{
	double		x[10];
	int			n;
} Data;

typedef struct Pair
{
	Data		a;
	Data		b;
} Pair;

static const Pair pairs[] = {
	{{{2, 1}, 2}, {{4, 1.5, 8}, 3}},
	{{{1, 2, 3, 4, 5, 5.5, 6, 7}, 8}, {{3, 4, 5, 6, 7, 8, 9, 9.5, 5}, 9}},
	{{{50, 200, 150, 400, 750, 400, 150}, 7}, {{150, 400, 720, 500, 930}, 5}},
	{{{5, 5, 5}, 3}, {{6, 7, 8, 8, 9, 12}, 6}},
	{{{-5, -6, -7.5}, 3}, {{1000000, 1000001, 1000002.5, 999993}, 4}},
	{{{123456789.5, 123456790, 123456791}, 3}, {{123456789, 123456793, 123456794.25}, 3}},
	{{{1e-9, 2e-9, 3.5e-9}, 3}, {{2, 2}, 2}},
};

typedef struct Expected
{
	int			pair;
	bool		welch;
	double		difference;
	double		error;			/* half of the 95 % confidence interval */
	double		pooled_stddev;
	double		df;
	double		p_value;
} Expected;

static const Expected expected[] = {
	{0, false, 3.0, 7.8672178248360765, 2.7080128015453201, 3.0, 0.31174465437900036},
	{0, true, 3.0, 7.5419611643311919, NAN, 2.2667380824852705, 0.25076509824548817},
	{1, false, 2.0902777777777778, 2.2457274571657999, 2.1683220172221584, 15.0,
		0.065876296796720849},
	{1, true, 2.0902777777777778, 2.2342147720066821, NAN, 14.974628033253259,
		0.064639900087031477},
	{2, false, 240.0, 344.63893128442, 264.15904300250635, 10.0, 0.15179681521107501},
	{2, true, 240.0, 376.79317581686426, NAN, 7.4254283212425075, 0.17772184154340446},
	{3, false, 3.3333333333333333, 2.9189555473789698, 1.7457431218879391, 7.0,
		0.030625347570439532},
	{3, true, 3.3333333333333333, 2.1677049366579587, NAN, 5.0, 0.010819897411903738},
	{4, false, 1000005.2916666667, 6.5912509241805961, 3.3572061797472811, 5.0,
		2.1036545561834206e-27},
	{4, true, 1000005.2916666667, 6.4023713819298425, NAN, 3.6787491138271804,
		6.8739543243035108e-21},
	{5, false, 1.9166666666666667, 4.563338086820914, 2.0129787215301938, 4.0, 0.3083440854409365},
	{5, true, 1.9166666666666667, 6.2393038399644013, NAN, 2.3083940353152054, 0.34985414211728845},
	{6, false, 1.9999999978333333, 2.9847709543170105e-9, 1.0274023338281627e-9, 3.0,
		2.2742098442934254e-28},
	{6, true, 1.9999999978333333, 3.1258047396878886e-9, NAN, 2.0, 1.3194444473032406e-19},
};

static const ConfidenceLevel level95 = {0.95, 0.05, "95.0"};

static bool
near(double value, double wanted)
{
	if (isnan(wanted))
		return isnan(value);
	if (wanted == 0 || isinf(wanted))
		return value == wanted;
	return fabs(value - wanted) <= PRECISION * fabs(wanted);
}

/*
 * Returns a data set in memory of exactly the required size, so that ASan detects reads beyond its
 * end.
 */
static CompareSet
set_of(const char *name, const double *x, int n)
{
	CompareSet	set = {.name = name, .n = n};

	set.x = malloc(sizeof(double) * n);
	memcpy(set.x, x, sizeof(double) * n);
	compare_summary(&set);
	return set;
}

static void
quantiles(void)
{
	for (int i = 0; i < LENGTH(criticals); i++)
	{
		const Critical *c = &criticals[i];
		double		t = stats_t_critical(c->inside, c->outside, c->df);

		ok(near(t, c->t), "critical value for %.17g, df %g: %.17g", c->inside, c->df, t);
	}
	ok(isnan(stats_t_critical(0, 1, 5)) && isnan(stats_t_critical(1, 0, 5)) &&
	   isnan(stats_t_critical(0.5, 0.5, 0)) && isnan(stats_t_critical(NAN, 0.5, 5)),
	   "no critical value for arguments out of range");
}

static void
tests(void)
{
	for (int i = 0; i < LENGTH(expected); i++)
	{
		const Expected *e = &expected[i];
		const Pair *pair = &pairs[e->pair];
		CompareMethod method = e->welch ? COMPARE_WELCH : COMPARE_STUDENT;
		CompareSet	a = set_of("a", pair->a.x, pair->a.n);
		CompareSet	b = set_of("b", pair->b.x, pair->b.n);
		CompareTest test = compare_test(&a, &b, &level95, method, NULL);
		CompareTest reverse = compare_test(&b, &a, &level95, method, NULL);
		double		mean;

		ok(near(test.difference, e->difference) && near(test.margin, e->error) &&
		   near(test.pooled_stddev, e->pooled_stddev) && near(test.df, e->df) &&
		   near(test.p_value, e->p_value),
		   "pair %d%s: %.17g +- %.17g, s = %.17g, df = %.17g, p = %.17g", e->pair,
		   e->welch ? ", Welch" : "", test.difference, test.margin, test.pooled_stddev, test.df,
		   test.p_value);
		ok(near(test.low, e->difference - e->error) && near(test.high, e->difference + e->error),
		   "pair %d: the ends of the interval", e->pair);
		ok(test.verdict == (e->p_value < 0.05 ? COMPARE_DIFFERENT : COMPARE_NOT_PROVEN),
		   "pair %d: the verdict follows from p", e->pair);
		ok(near(reverse.difference, -e->difference) && near(reverse.margin, e->error) &&
		   near(reverse.p_value, e->p_value) && reverse.verdict == test.verdict,
		   "pair %d: exchanging the data sets only changes the sign", e->pair);
		ok(near(test.percent, e->difference / a.mean * 100), "pair %d: difference in percent", e->pair);

		/* Scales a so that both means are equal, and the difference is 0. */
		for (int j = 0; j < a.n; j++)
			a.x[j] *= b.mean / a.mean;
		mean = fabs(a.mean);
		compare_summary(&a);
		reverse = compare_test(&a, &b, &level95, method, NULL);
		ok(near(test.margin_percent, reverse.margin / mean * 100), "pair %d: margin in percent", e->pair);
		free(a.x);
		free(b.x);
	}
}

static void
summaries(void)
{
	CompareSet	even = set_of("even", (double[]) {7, 1, 5, 2}, 4);
	CompareSet	odd = set_of("odd", (double[]) {7, -1, 5}, 3);
	CompareSet	tiny = set_of("tiny", (double[]) {3e-310, 1e-310, 2e-310}, 3);
	CompareSet	same = set_of("same", (double[]) {0.1, 0.1, 0.1}, 3);
	CompareSet	large = set_of("large", (double[]) {-9e149, 9e149}, 2);
	CompareSet	zero = set_of("zero", (double[]) {-1, 1}, 2);
	CompareTest test;

	ok(even.min == 1 && even.max == 7 && even.median == 3.5 && even.mean == 3.75,
	   "even number of values: the median is the mean of the middle two");
	ok(odd.median == 5 && near(odd.mean, 11.0 / 3), "odd number of values");
	ok(near(tiny.mean, 2e-310) && near(tiny.stddev, 1e-310) && tiny.x[0] == 1e-310,
	   "values near the smallest double: mean %g, standard deviation %g", tiny.mean, tiny.stddev);
	ok(same.stddev == 0 && same.mean == 0.1, "constant values");
	ok(near(large.stddev, 9e149 * sqrt(2)) && large.mean == 0, "values near the largest accepted one: standard deviation %g", large.stddev);

	test = compare_test(&even, &tiny, &level95, COMPARE_WELCH, NULL);
	ok(isfinite(test.margin) && test.margin > 0 && test.p_value > 0, "standard deviations of different magnitude");
	test = compare_test(&zero, &odd, &level95, COMPARE_STUDENT, NULL);
	ok(isnan(test.percent) && isnan(test.margin_percent), "no percentage of a mean of 0");
	test = compare_test(&tiny, &large, &level95, COMPARE_STUDENT, NULL);
	ok(isfinite(test.difference) && isfinite(test.margin) && isnan(test.margin_percent),
	   "a percentage too large for a double is NaN");

	test = compare_test(&same, &same, &level95, COMPARE_STUDENT, NULL);
	ok(test.verdict == COMPARE_NO_TEST && test.difference == 0 && test.margin == 0 &&
	   isnan(test.p_value) && test.pooled_stddev == 0, "neither data set varies: no test");
	ok(strcmp(compare_verdict(&test, "lower", "higher"), "nothing varies") == 0, "neither data set varies: the verdict's text");
	test = compare_test(&same, &same, &level95, COMPARE_WELCH, NULL);
	ok(test.verdict == COMPARE_NO_TEST && isnan(test.pooled_stddev), "neither data set varies: no test by Welch");

	free(even.x);
	free(odd.x);
	free(tiny.x);
	free(same.x);
	free(large.x);
	free(zero.x);
}

/* Tests that the results of rank_test() are stored in the right members of the comparison. */
static void
shifts(void)
{
	CompareSet	a = set_of("a", (double[]) {4, 1, 3, 2}, 4);
	CompareSet	b = set_of("b", (double[]) {8, 6.5, 20, 5.25}, 4);
	CompareSet	ties = set_of("ties", (double[]) {1, 1, 1, 2, 2, 2, 2, 2}, 8);
	CompareSet	more = set_of("more", (double[]) {2, 2, 2, 2, 2, 2, 1, 2}, 8);
	CompareSet	zero = set_of("zero", (double[]) {-1, 1}, 2);
	CompareSet	same = set_of("same", (double[]) {0.1, 0.1, 0.1}, 3);
	CompareSet	other = set_of("other", (double[]) {0.3, 0.3}, 2);
	CompareSet	tiny = set_of("tiny", (double[]) {3e-310, 1e-310, 2e-310}, 3);
	CompareSet	large = set_of("large", (double[]) {9e149, 8e149, 5e149}, 3);
	CompareTest test = compare_test(&a, &b, &level95, COMPARE_RANK, NULL);
	CompareTest reverse = compare_test(&b, &a, &level95, COMPARE_RANK, NULL);
	CompareTest scaled;
	double		by;

	/*
	 * With four values each, the smallest possible p is 2 / 70.  No larger p is below 5 %, so the
	 * 95 % confidence interval extends from the smallest of all differences to the largest.
	 */
	ok(test.difference == 4.75 && test.low == 1.25 && test.high == 19 && test.margin == 8.875 &&
	   near(test.p_value, 2.0 / 70) && test.verdict == COMPARE_DIFFERENT &&
	   isnan(test.pooled_stddev) && isnan(test.df), "%.17g (%.17g to %.17g), p = %.17g",
	   test.difference, test.low, test.high, test.p_value);
	ok(strcmp(compare_verdict(&test, "lower", "higher"), "higher") == 0 &&
	   strcmp(compare_verdict(&reverse, "lower", "higher"), "lower") == 0, "the texts of the verdict: higher, lower");
	ok(reverse.difference == -4.75 && reverse.low == -19 && reverse.high == -1.25 &&
	   reverse.margin == 8.875,
	   "exchanging the data sets changes the signs");
	/*
	 * The percentages are relative to a's median, 2.5.  A shift of 4.75 makes the median 7.25,
	 * which is 190 % more (2.9 times as much).  The interval extends from the smallest to the
	 * largest difference between b and 2.9 * a: from -6.35 to 17.1.
	 */
	ok(near(test.percent, 190) && near(test.margin_percent, (17.1 + 6.35) / 2 / 2.5 * 100),
	   "in percent: %.17g +- %.17g", test.percent, test.margin_percent);
	/*
	 * With a negative median, the difference in percent is negative, and the margin is the same.
	 */
	for (int i = 0; i < a.n; i++)
		a.x[i] = -a.x[i];
	compare_summary(&a);
	scaled = compare_test(&a, &b, &level95, COMPARE_RANK, NULL);
	by = (scaled.difference - 2.5) / -2.5;
	ok(near(scaled.percent, scaled.difference / -2.5 * 100) &&
	   near(scaled.margin_percent, ((20 + by) - (5.25 + 4 * by)) / 2 / 2.5 * 100),
	   "in percent of a negative median: %.17g +- %.17g", scaled.percent, scaled.margin_percent);

	test = compare_test(&a, &zero, &level95, COMPARE_RANK, NULL);
	ok(test.verdict == COMPARE_TOO_FEW && isnan(test.margin) && isnan(test.low) &&
	   isnan(test.high) &&
	   isnan(test.margin_percent) && !isnan(test.percent) && test.p_value > 0.05, "too few values for an interval");
	test = compare_test(&ties, &more, &level95, COMPARE_RANK, NULL);
	ok(test.verdict == COMPARE_NOT_PROVEN && test.difference == 0 && test.high == 1, "ties");
	ok(strcmp(compare_verdict(&test, "lower", "higher"), "no difference proven") == 0, "no difference proven: the verdict's text");
	test.verdict = COMPARE_DIFFERENT;
	ok(strcmp(compare_verdict(&test, "lower", "higher"), "differs") == 0, "a significant difference of 0: the verdict's text");
	test = compare_test(&zero, &b, &level95, COMPARE_RANK, NULL);
	ok(isnan(test.percent) && isnan(test.margin_percent) && !isnan(test.difference), "no percentage of a median of 0");
	test = compare_test(&tiny, &large, &level95, COMPARE_RANK, NULL);
	ok(test.difference == 8e149 && isnan(test.percent), "a percentage too large for a double is NaN");
	test = compare_test(&same, &same, &level95, COMPARE_RANK, NULL);
	ok(test.verdict == COMPARE_NO_TEST && test.difference == 0 && test.margin == 0 &&
	   isnan(test.p_value) &&
	   test.percent == 0 && test.margin_percent == 0, "neither data set varies: no test by ranks");
	test = compare_test(&same, &other, &level95, COMPARE_RANK, NULL);
	ok(test.verdict == COMPARE_TOO_FEW && near(test.difference, 0.2), "neither data set varies, but they differ: too few values");

	free(a.x);
	free(b.x);
	free(ties.x);
	free(more.x);
	free(zero.x);
	free(same.x);
	free(other.x);
	free(tiny.x);
	free(large.x);
}

typedef struct Lines
{
	int			n;
	int			longest;
	bool		ascii;
	char		text[400][COMPARE_MAX_WIDTH + 1];
} Lines;

static Lines lines;

static void
add_line(void *arg, const char *line)
{
	Lines	   *into = arg;
	int			length = (int) strlen(line);

	into->longest = length > into->longest ? length : into->longest;
	for (int i = 0; i < length; i++)
		into->ascii = into->ascii && line[i] >= ' ' && line[i] <= '~';
	strcpy(into->text[into->n++], line);
}

static void
draw(const CompareSet *sets, int n, int width, bool separate, CompareMethod method)
{
	ComparePlot plot = {.sets = sets, .nsets = n, .level = &level95, .method = method,
	.width = width, .separate = separate, .line = add_line, .arg = &lines};

	lines.n = lines.longest = 0;
	lines.ascii = true;
	compare_plot(&plot);
}

static void
pictures(void)
{
	/*
	 * Expected plot.  Columns 0 to 57 are 0.125 apart, from 0 to 7.125.  A bar has its middle at
	 * the mean, and is two standard deviations long.  First bar: 2.67 - 2.31 (column 2.9), 2.67
	 * (21.3), 2.67 + 2.31 (39.8).  Second bar: 5.38 - 1.60 (30.2), 5.38 (43.0), 5.38 + 1.60 (55.8).
	 */
	static const char *const wanted[] = {
		"x first",
		"+ second",
		"+----------------------------------------------------------+",
		"|                                x                         |",
		"|x                               *       +                +|",
		"|   |_________________A__________M_______|                 |",
		"|                              |_________M__A____________| |",
		"+----------------------------------------------------------+",
	};
	CompareSet	sets[COMPARE_MAX_SETS];
	CompareSet	tall;
	bool		same = true;
	int			columns;
	double		x[2000];

	sets[0] = set_of("first", (double[]) {0, 4, 4}, 3);
	sets[1] = set_of("second", (double[]) {4, 5, 7.125}, 3);
	draw(sets, 2, 60, true, COMPARE_STUDENT);
	for (int i = 0; i < LENGTH(wanted); i++)
	{
		same = same && strcmp(lines.text[i], wanted[i]) == 0;
		printf("# %s\n", lines.text[i]);
	}
	ok(same, "the plot of two data sets is the expected one");

	draw(sets, 2, 60, true, COMPARE_RANK);
	ok(strcmp(lines.text[lines.n - 1], "Too few values for 95.0% confidence") == 0, "%s", lines.text[lines.n - 1]);

	for (int i = 2; i < COMPARE_MAX_SETS; i++)
		sets[i] = set_of("one whose name is longer than any line of the narrowest plot can ever be",
						 (double[]) {-1e-149 * i, 1e149 * i}, 2);
	for (int width = COMPARE_MIN_WIDTH; width <= COMPARE_MAX_WIDTH; width += 47)
	{
		draw(sets, COMPARE_MAX_SETS, width, false, COMPARE_STUDENT);
		ok(lines.longest == width && lines.ascii, "the longest line has %d columns", width);
	}
	ok(strncmp(lines.text[6], "O one", 5) == 0, "the last data set's symbol is O");

	for (int i = 0; i < LENGTH(x); i++)
		x[i] = i % 500 == 0;
	tall = set_of("tall", x, LENGTH(x));
	draw(&tall, 1, 74, false, COMPARE_RANK);
	ok(lines.n < 50 && strcmp(lines.text[1], "(a symbol stands for up to 63 values)") == 0,
	   "many equal values: the plot has only %d lines", lines.n);

	/* all values but one are between 20 and 27, in steps of 0.1 */
	for (int i = 0; i < LENGTH(x); i++)
		tall.x[i] = i == 0 ? 1e6 : 20 + i % 71 * 0.1;
	compare_summary(&tall);
	draw(&tall, 1, 74, false, COMPARE_RANK);
	ok(lines.n < 50 && strcmp(lines.text[1], "(outliers in the first and last column: 1 values)") == 0,
	   "an outlier: %s", lines.text[1]);
	columns = 0;
	for (const char *c = lines.text[lines.n - 6]; *c != '\0'; c++)
		columns += *c == 'x';
	ok(columns > 65, "an outlier: the other values have %d columns", columns);

	for (int i = 0; i < LENGTH(x); i++)
		tall.x[i] = 5;
	compare_summary(&tall);
	draw(&tall, 1, 74, false, COMPARE_STUDENT);
	ok(strcmp(lines.text[1], "(no plot, as all values are the same)") == 0, "no plot if all values are the same");

	for (int i = 0; i < COMPARE_MAX_SETS; i++)
		free(sets[i].x);
	free(tall.x);
}

int
main(void)
{
	quantiles();
	tests();
	summaries();
	shifts();
	pictures();
	return done();
}
