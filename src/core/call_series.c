/*-------------------------------------------------------------------------
 *
 * call_series.c
 *	  From the calls of a plan node that were timed to the time of all.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/call_series.h"
#include "core/stats.h"

/* Below so many timed calls, a stratum says too little by itself. */
#define MIN_TIMED		16

/*
 * A call is long if it takes so many times the mean of those before it, and
 * long calls are no exception if there are so many of them.
 */
#define MANY_TIMES		16
#define MANY_LONG		8

/* There may be so many times as many time slices of other processes as expected. */
#define MANY_DISTURBANCES	2

/* A call that makes so many calls below is long for that reason. */
#define MANY_BELOW		16

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

/*
 * What a call takes as a rule, in which so much is done below: in proportion if
 * that is much.  The very first one is no exception to anything.
 */
static double
expected_time(const CallSeries *series, const CallsBelow *below)
{
	double		timed = (double) (series->before.timed + series->now.timed);
	double		mean = (series->before.sum + series->now.sum) / timed;
	double		n = 0;
	double		sum_below = 0;

	if (timed <= 0)
		return INFINITY;
	for (int i = 0; i < N_BELOW; i++)
	{
		n += (double) below->n[i];
		sum_below += series->before.below_sum[i] + series->now.below_sum[i];
	}
	if (n < MANY_BELOW)
		return mean;
	return sum_below <= 0 ? INFINITY : mean * fmax(n / (sum_below / timed), 1);
}

/*
 * A disturbance that happens to hit a call that is timed would count "gap"
 * times, and all those that hit others not at all.  So long calls stand for
 * themselves only, as outliers in surveys do (Hidiroglou and Srinath,
 * Biometrics 37(4), 1981), unless there are so many of them that they are in
 * the nature of the node, and not all others' turns.  Then each stands for "gap"
 * calls (Horvitz and Thompson, JASA 47, 1952).
 */
int
call_series_add(CallSeries *series, double time, const CallsBelow *below,
				int gap, double long_time)
{
	series->timed_sum += time;
	if (time > long_time && time > MANY_TIMES * expected_time(series, below))
	{
		series->now.timed++;
		series->nlong++;
		series->long_sum += time;
		series->long_total += gap * time;
		series->long_variance += (double) gap * (gap - 1) * time * time;
		return 1;
	}
	call_stratum_add(&series->now, time, below);
	return gap;
}

/* Adds sums of products of deviations from the means, each times "weight". */
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
 * Stratified sampling without replacement (Cochran, Sampling Techniques, 1977,
 * 5.4 and 5.6): N times the mean of the sample, with a variance of N^2 * s^2 / n
 * * (1 - n / N).  "like" is another stratum that tells how much calls differ,
 * or NULL.
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
		/* of a single one nothing is known but that it can vary by itself */
		series->variance += weight * stratum->sum * stratum->sum;
		return;
	}
	/* of a few not much: what goes with the normal quantile is Student's t */
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
 * A stratum of which no call was timed is taken to be like the one beside it.
 * One of few timed calls keeps its own mean, since calls may take longer as time
 * goes by, and those of different strata were not timed with the same chance;
 * only how much they differ is taken from the one before it, too (a pooled
 * variance).
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
	series->measured = series->timed_sum;
	if ((double) series->nlong >= MANY_LONG + MANY_DISTURBANCES * series->disturbances)
	{
		series->measured += series->long_total - series->long_sum;
		series->total += series->long_total;
		series->variance += series->long_variance;
		series->long_sum = series->hidden = 0;
	}
	else
	{
		series->total += series->long_sum;
		series->variance += series->long_sum * series->long_sum / 4;
	}
}

/*
 * Slopes by least squares: Gaussian elimination.  Of counts that always vary together
 * the larger one gets the whole slope, the others nothing: many calls cost more
 * than one does.  None is negative, since what is done below takes time: the most
 * negative one is left out until there is none, which with three of them is what
 * Lawson and Hanson (Solving Least Squares Problems, 1974, 23.3) do.
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
				/*
				 * counts are integers: what varies has a sum of squares of
				 * some 1
				 */
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
 * What is done below as auxiliary variables: the combined regression estimator
 * (Cochran, 7.10), whose variance is that of what the slopes leave.  Where the
 * sample says too little of a slope, since calls in which much is done below
 * are not in it, the calls known serve as well, and the margin contains half
 * of what follows from it.
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
	double		beyond = 0;		/* variance of what the sample does not say */

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
			 * Nothing is known but that none takes longer than a call does,
			 * and all together no longer than the gaps that they explain.
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
	series->timed_sum += other->timed_sum;
	series->measured += other->measured;
	series->nlong += other->nlong;
	series->long_sum += other->long_sum;
	series->disturbances += other->disturbances;
	series->hidden = fmin(series->hidden, other->hidden);
	for (int i = 0; i < N_BELOW; i++)
		series->expected[i] += other->expected[i];
	add_products(series->products, other->products, 1);
	add_products(series->weighted, other->weighted, 1);
}

/*
 * Had each gap a long call of this node, "chance" calls as long would have been among the
 * timed ones by expectation; "seen" were.  The number is one of a Poisson
 * distribution, whose 95 % limits are about n +/- (2 * sqrt(n) + 3).
 */
double
call_series_hidden(CallSeries *series)
{
	double		seen = fmax((double) series->nlong - MANY_DISTURBANCES * series->disturbances, 0);
	double		chance = fmax(series->chance, 1);
	double		margin = series->hidden * fmin((2 * sqrt(seen) + 3) / chance, 1);

	if (series->chance >= 1)
		series->total += series->hidden * fmin(seen / chance, 1);
	series->variance += margin / NORMAL_975 * margin / NORMAL_975;
	return margin;
}
