/*
 * The rank test of Mann and Whitney, and the shift of Hodges and Lehmann.
 *
 * Both need order statistics of the differences of all pairs, b[j] - a[i].  Two sets of 10^6 values
 * have 10^12 pairs, so the differences are not stored.  As both sets are sorted, a single pass
 * counts the differences up to a given value (pass_over()), and the k-th smallest difference is
 * found by bisection (rank_difference()).
 *
 * The p-value is exact for few distinct values, from the distribution of the statistic if all
 * orders of the values are equally likely (exact_distribution()).  Otherwise the statistic is
 * approximately normal.  Ties reduce its variance, and it has integer values, so the approximation
 * is corrected for both.
 */
#include <math.h>
#include <string.h>

#include "clock/sampling/rank_test.h"
#include "core/stats.h"

/* Number of probabilities in half of the exact distribution, which is symmetric. */
#define MAX_EXACT		((RANK_EXACT_BELOW - 1) * (RANK_EXACT_BELOW - 1) / 2 + 1)

/* Relative tolerance for probabilities that are equal apart from rounding. */
#define FUZZ			1e-12

/* Returns the i-th smallest of a's values, multiplied by the factor, which may be negative. */
static double
a_at(const RankSets *sets, int i)
{
	return sets->a_factor * sets->a[sets->a_factor < 0 ? sets->a_n - 1 - i : i];
}

/* All differences b[j] - a[i], compared with a value. */
typedef struct Pass
{
	int64_t		count;			/* number of differences <= value */
	double		below;			/* largest of these differences; or -INFINITY */
	double		above;			/* smallest difference > value; or INFINITY */
} Pass;

/* Compares all differences with a value.  One pass over both sets suffices: they are sorted. */
static Pass
pass_over(const RankSets *sets, double value)
{
	Pass		pass = {0, -INFINITY, INFINITY};
	int			j = 0;

	for (int i = 0; i < sets->a_n; i++)
	{
		double		a = a_at(sets, i);

		while (j < sets->b_n && sets->b[j] - a <= value)
			j++;
		pass.count += j;
		if (j > 0)
			pass.below = fmax(pass.below, sets->b[j - 1] - a);
		if (j < sets->b_n)
			pass.above = fmin(pass.above, sets->b[j] - a);
	}
	if (sets->pause != NULL)
		sets->pause();
	return pass;
}

/* Maps a double to an integer.  The integers have the same order as the doubles. */
static int64_t
order_of(double x)
{
	int64_t		bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits < 0 ? INT64_MIN - bits : bits;
}

static double
double_of(int64_t order)
{
	int64_t		bits = order < 0 ? INT64_MIN - order : order;
	double		x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Returns the double in the middle of the ordered doubles from low to high. */
static double
halve(double low, double high)
{
	int64_t		from = order_of(low);

	return double_of(from + (int64_t) (((uint64_t) order_of(high) - (uint64_t) from) / 2));
}

/*
 * Bisection: each step counts the differences up to the middle double, and moves "low" or "high" to
 * an existing difference.  At most 64 steps are needed, because each halves the number of doubles.
 */
double
rank_difference(const RankSets *sets, int64_t k)
{
	double		low = sets->b[0] - a_at(sets, sets->a_n - 1);
	double		high = sets->b[sets->b_n - 1] - a_at(sets, 0);

	if (k < 1 || k > (int64_t) sets->a_n * sets->b_n)
		return NAN;
	while (low < high)
	{
		Pass		pass = pass_over(sets, halve(low, high));

		if (pass.count >= k)
			high = pass.below;
		else
			low = pass.above;
	}
	return low;
}

double
rank_shift(const RankSets *sets)
{
	int64_t		pairs = (int64_t) sets->a_n * sets->b_n;
	int64_t		k = (pairs + 1) / 2;
	double		middle = rank_difference(sets, k);
	Pass		pass;

	if (pairs % 2 != 0)
		return middle;
	pass = pass_over(sets, middle);
	return pass.count > k ? middle : middle + (pass.above - middle) / 2;
}

/* Sums of t^3 - t over groups of t equal values (ties), and the statistic of the test. */
typedef struct Ties
{
	double		within;			/* groups within a, and groups within b */
	double		all;			/* groups in both sets together */
	double		statistic;		/* pairs with b above a; equal pairs count
								 * half */
} Ties;

static double
cube(double t)
{
	return t * (t * t - 1);
}

/*
 * Visits the distinct values of both sets in ascending order, by merging the sets.  Computes the
 * sums of all groups of equal values, and the statistic: each of b's values counts the values of a
 * below it.
 */
static Ties
count_ties(const RankSets *sets)
{
	Ties		ties = {0, 0, 0};
	int			i = 0;
	int			j = 0;

	while (i < sets->a_n || j < sets->b_n)
	{
		double		value = i == sets->a_n ? sets->b[j] :
			j == sets->b_n ? sets->a[i] : fmin(sets->a[i], sets->b[j]);
		int			a = 0;
		int			b = 0;

		while (i + a < sets->a_n && sets->a[i + a] == value)
			a++;
		while (j + b < sets->b_n && sets->b[j + b] == value)
			b++;
		ties.within += cube(a) + cube(b);
		ties.all += cube((double) a + b);
		ties.statistic += (double) b * (i + a / 2.0);
		i += a;
		j += b;
	}
	return ties;
}

/*
 * Computes the cumulative distribution of the statistic from 0 to m * n / 2, if all orders of the m
 * and n values are equally likely.  The number of orders with statistic w is the coefficient of x^w
 * in the product of (1 - x^(m + i)) / (1 - x^i) for i from 1 to n (Gaussian binomial: E. F.
 * Harding, Applied Statistics 33, 1984).
 */
static void
exact_distribution(int m, int n, double *p)
{
	int			last = m * n / 2;
	double		orders = 1;

	memset(p, 0, sizeof(double) * (last + 1));
	p[0] = 1;
	for (int i = 1; i <= n; i++)
	{
		for (int w = last; w >= m + i; w--)
			p[w] -= p[w - m - i];
		for (int w = i; w <= last; w++)
			p[w] += p[w - i];
		orders *= (double) (m + i) / i;
	}
	for (int w = 1; w <= last; w++)
		p[w] += p[w - 1];
	for (int w = 0; w <= last; w++)
		p[w] /= orders;
}

static RankTest
exact_test(const RankSets *sets, double statistic, double outside)
{
	double		p[MAX_EXACT];
	double		pairs = (double) sets->a_n * sets->b_n;
	int			last = (int) pairs / 2;
	RankTest	test = {0, 0};

	exact_distribution(sets->a_n, sets->b_n, p);
	test.p_value = fmin(1, 2 * p[(int) fmin(statistic, pairs - statistic)]);
	while (test.k < last && p[test.k] < outside / 2 * (1 - FUZZ))
		test.k++;
	/* rounding must not make p-value and interval disagree */
	if (fabs(test.p_value - outside) < outside * FUZZ)
		test.p_value = outside;
	return test;
}

static double
stddev_of(const RankSets *sets, double ties)
{
	double		n = (double) sets->a_n + sets->b_n;

	return sqrt((double) sets->a_n * sets->b_n / 12 * (n + 1 - ties / (n * (n - 1))));
}

static RankTest
normal_test(const RankSets *sets, const Ties *ties, double inside, double outside)
{
	double		half = (double) sets->a_n * sets->b_n / 2;
	double		distance = fmax(fabs(ties->statistic - half) - 0.5, 0);
	double		z = stats_t_critical(inside, outside, INFINITY);
	double		rank = floor(half - 0.5 - z * stddev_of(sets, ties->within)) + 1;
	RankTest	test;

	test.p_value = erfc(distance / stddev_of(sets, ties->all) / sqrt(2));
	test.k = rank > 0 ? (int64_t) rank : 0;
	return test;
}

RankTest
rank_test(const RankSets *sets, double inside, double outside)
{
	double		first = sets->a[0];
	Ties		ties = count_ties(sets);
	RankTest	none = {NAN, 0};

	if (sets->a[sets->a_n - 1] == first && sets->b[0] == first &&
		sets->b[sets->b_n - 1] == first)
		return none;
	if (ties.all == 0 && sets->a_n < RANK_EXACT_BELOW && sets->b_n < RANK_EXACT_BELOW)
		return exact_test(sets, ties.statistic, outside);
	return normal_test(sets, &ties, inside, outside);
}
