#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/call_series.h"
#include "core/stats.h"

/* A stratum with fewer timed calls than this pools its variance with the previous stratum's. */
#define MIN_TIMED		16

/*
 * long_gap_share() weights the possible shares 0, 1 / SHARE_STEPS, ..., 1 of gaps that a node
 * caused.  Usually one node caused all gaps.  So the share 1 has the prior weight p (argument
 * "prior"), and the share 0 has 1 - p.  The shares between have a total weight of p (1 - p).
 */
#define SHARE_STEPS		20

static void
add_products(CallProducts into, const CallProducts from, double weight)
{
	for (int i = 0; i <= CALL_TIME; i++)
	{
		for (int j = 0; j <= CALL_TIME; j++)
			into[i][j] += weight * from[i][j];
	}
}

void
call_stratum_add(CallStratum *stratum, double time, const CallsBelow *below)
{
	double		x[N_BELOW + 1];

	stratum->timed++;
	stratum->sum += time;
	x[CALL_TIME] = time;
	for (int i = 0; i < N_BELOW; i++)
	{
		x[i] = (double) below->n[i];
		stratum->below_sum[i] += x[i];
	}
	for (int i = 0; i <= CALL_TIME; i++)
	{
		for (int j = 0; j <= CALL_TIME; j++)
			stratum->products[i][j] += x[i] * x[j];
	}
}

/* Adds the sums of products of a stratum's deviations from its means, multiplied by "weight". */
static void
add_deviations(CallProducts into, const CallStratum *stratum, double weight)
{
	double		sums[N_BELOW + 1];

	if (stratum->timed < 2)
		return;
	memcpy(sums, stratum->below_sum, sizeof(stratum->below_sum));
	sums[CALL_TIME] = stratum->sum;
	for (int i = 0; i <= CALL_TIME; i++)
	{
		for (int j = 0; j <= CALL_TIME; j++)
			into[i][j] += weight * (stratum->products[i][j] -
									sums[i] * sums[j] / (double) stratum->timed);
	}
}

/*
 * Adds a stratum's estimate to the sums.  Of N calls, n were timed, with variance s^2.  The
 * estimate is N times the mean of the timed calls, with a variance of N^2 * s^2 / n * (1 - n / N)
 * (stratified sampling without replacement: Cochran, Sampling Techniques, 1977, 5.4 and 5.6).
 * "like" is a stratum whose timed calls also contribute to s^2, or NULL.
 */
static void
close_stratum(CallSeries *series, const CallStratum *stratum, const CallStratum *like)
{
	double		calls = (double) stratum->calls;
	double		timed = (double) stratum->timed;
	CallProducts spread = {{0}};
	int64_t		df = stratum->timed - 1;
	double		weight;

	series->calls += stratum->calls;
	series->timed += stratum->timed;
	if (stratum->timed == 0)
		return;
	series->total += stratum->sum / timed * calls;
	for (int i = 0; i < N_BELOW; i++)
		series->expected[i] += stratum->below_sum[i] / timed * calls;
	if (stratum->timed >= stratum->calls)
		return;
	add_deviations(spread, stratum, 1);
	add_products(series->products, spread, 1);

	if (like != NULL && like->timed > 1)
	{
		add_deviations(spread, like, 1);
		df += like->timed - 1;
	}
	weight = calls * calls / timed * (1 - timed / calls);
	if (df < 1)
	{
		/* assumes a deviation as large as the only timed call's time */
		series->variance += weight * stratum->sum * stratum->sum;
		return;
	}
	/* enlarges the variance: 1.96 standard errors are Student's margin */
	weight *= pow(stats_t_critical(0.95, 0.05, (double) df) / NORMAL_975, 2) / (double) df;
	series->variance += weight * fmax(spread[CALL_TIME][CALL_TIME], 0);
	add_products(series->weighted, spread, weight);
}

static void
merge_strata(CallStratum *into, const CallStratum *from)
{
	into->calls += from->calls;
	into->timed += from->timed;
	into->sum += from->sum;
	for (int i = 0; i < N_BELOW; i++)
		into->below_sum[i] += from->below_sum[i];
	add_products(into->products, from->products, 1);
}

/*
 * Merges a stratum without timed calls with the adjacent one.  A stratum with few timed calls also
 * uses the variance of the previous one, but its own mean, because calls may have become slower.
 */
void
call_series_next(CallSeries *series)
{
	if (series->now.timed == 0 || series->before.timed == 0)
		merge_strata(&series->before, &series->now);
	else if (series->now.timed < MIN_TIMED)
		close_stratum(series, &series->now, &series->before);
	else
	{
		close_stratum(series, &series->before, NULL);
		series->before = series->now;
	}
	memset(&series->now, 0, sizeof(CallStratum));
}

void
call_series_end(CallSeries *series)
{
	call_series_next(series);
	close_stratum(series, &series->before, NULL);
	memset(&series->before, 0, sizeof(CallStratum));
}

/*
 * Computes slopes, the times per unit of each CountBelow, by least squares (Gaussian elimination).
 * If two counts always vary together, only the larger one gets a slope.  Work takes time, so no
 * slope may be negative: removes the most negative one and repeats, until none is negative.  For
 * three slopes, this is the method of Lawson and Hanson (Solving Least Squares Problems, 1974,
 * 23.3).
 */
static void
slopes_of(const CallProducts products, double *slopes)
{
	bool		use[N_BELOW] = {true, true, true};
	int			worst;

	do
	{
		CallProducts m;
		bool		solved[N_BELOW] = {false};
		int			i;

		memcpy(m, products, sizeof(m));
		do
		{
			i = -1;
			for (int k = 0; k < N_BELOW; k++)
			{
				/* sums of squared deviations of integers are 0 or >= 1/2 */
				if (use[k] && !solved[k] && m[k][k] >= 0.5 && m[k][k] >= 1e-6 * products[k][k] &&
					(i < 0 || m[k][k] > m[i][i]))
					i = k;
			}
			for (int k = 0; i >= 0 && k < N_BELOW; k++)
			{
				double		factor = m[k][i] / m[i][i];

				for (int j = 0; k != i && j <= CALL_TIME; j++)
					m[k][j] -= factor * m[i][j];
			}
			if (i >= 0)
				solved[i] = true;
		} while (i >= 0);

		worst = -1;
		for (int k = 0; k < N_BELOW; k++)
		{
			slopes[k] = solved[k] ? m[k][CALL_TIME] / m[k][k] : 0;
			if (slopes[k] < 0 && (worst < 0 || slopes[k] < slopes[worst]))
				worst = k;
		}
		if (worst >= 0)
			use[worst] = false;
	} while (worst >= 0);
}

void
call_series_slopes(const CallSeries *series, const CallStratum *known, double *slopes)
{
	CallProducts products;

	memcpy(products, series->products, sizeof(products));
	add_deviations(products, &series->before, 1);
	add_deviations(products, &series->now, 1);
	add_deviations(products, known, 1);
	slopes_of(products, slopes);
}

/*
 * The combined regression estimator, with CountBelow as auxiliary variables (Cochran, Sampling
 * Techniques, 1977, 7.10).  Its variance is the variance of the residuals.  A count is far if its
 * mean over all calls differs from its mean over the sample by more than a standard deviation.  The
 * slope of a far count is uncertain.  So the calls of "known", which were all timed, also contribute
 * to the slopes, and the margin includes half of the time that the far count adds to the total.
 */
void
call_series_regress(CallSeries *series, const CallStratum *known, const CallsBelow *below)
{
	CallProducts products;
	double		slopes[N_BELOW + 1];
	double		missing[N_BELOW];
	double		calls = (double) series->calls;
	bool		far[N_BELOW];
	bool		any_far = false;
	double		mean;
	double		beyond = 0;		/* variance due to uncertain slopes */

	if (series->calls == 0)
		return;
	mean = series->total / calls;
	memcpy(products, series->products, sizeof(products));
	for (int i = 0; i < N_BELOW; i++)
	{
		missing[i] = (double) below->n[i] - series->expected[i];
		far[i] = missing[i] / calls * missing[i] / calls * (double) series->timed > products[i][i];
		any_far |= far[i];
	}
	if (any_far)
		add_deviations(products, known, 1);
	slopes_of(products, slopes);
	slopes[CALL_TIME] = -1;
	for (int i = 0; i < N_BELOW; i++)
	{
		double		time = slopes[i] * missing[i];

		if (far[i])
			beyond += time * time / 16;
		if (products[i][i] < 0.5 && missing[i] > 0)
		{
			/*
			 * The count does not vary in the sample, so its slope is unknown,
			 * but at most the mean time of the node's calls.  Assumes half of
			 * this mean or, if untimed calls may contain long gaps, the whole
			 * mean, but adds at most the time of these gaps.
			 */
			time = mean * missing[i] / 2;
			if (series->hidden > 0)
				time = fmin(2 * time, series->hidden);
			beyond += time * time / 4;
			series->hidden = fmax(series->hidden - time, 0);
		}
		series->total += time;
	}
	series->variance -= series->weighted[CALL_TIME][CALL_TIME];
	for (int i = 0; i <= CALL_TIME; i++)
	{
		for (int j = 0; j <= CALL_TIME; j++)
			series->variance += slopes[i] * slopes[j] * series->weighted[i][j];
	}
	series->variance = fmax(series->variance, 0) + beyond;
}

void
call_series_join(CallSeries *series, const CallSeries *other)
{
	series->calls += other->calls;
	series->timed += other->timed;
	series->total += other->total;
	series->variance += other->variance;
	series->hidden = fmin(series->hidden, other->hidden);
	for (int i = 0; i < N_BELOW; i++)
		series->expected[i] += other->expected[i];
	add_products(series->products, other->products, 1);
	add_products(series->weighted, other->weighted, 1);
}

/*
 * Bayes' theorem: the number of long gaps in timed calls has a Poisson distribution with the mean
 * certain + share * expected.
 */
double
long_gap_share(double prior, int64_t seen, double certain, double expected, double *error)
{
	double		sum = 0;
	double		sum_share = 0;
	double		sum_square = 0;

	*error = 0;
	if (!(expected > 0))
		return 0;
	for (int i = 0; i <= SHARE_STEPS; i++)
	{
		double		share = (double) i / SHARE_STEPS;
		double		mean = certain + share * expected;
		double		before = i == 0 ? 1 - prior : i == SHARE_STEPS ? prior :
			prior * (1 - prior) / (SHARE_STEPS - 1);
		double		weight = before *
			exp((seen > 0 ? (double) seen * log(fmax(mean, 1e-9) / (certain + expected)) : 0) -
				(share - 1) * expected);

		sum += weight;
		sum_share += weight * share;
		sum_square += weight * share * share;
	}
	sum_share /= sum;
	*error = sqrt(fmax(sum_square / sum - sum_share * sum_share, 0));
	return sum_share;
}
