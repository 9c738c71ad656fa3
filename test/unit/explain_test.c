/*
 * explain_test: tests estimates of plan_estimate.c and call_series.c from counted and timed calls.
 *
 * Populations of calls, whose total time is known, are sampled many times, as node_timing.c samples
 * the calls of a node.  The mean of the estimates must be the total, and the stated share of the
 * margins must contain the total.  Plans have known times, to which the cost of timing is added;
 * the estimates must be the known times.  All random numbers come from a generator with a constant
 * seed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu_usage.h"
#include "core/plan_estimate.h"
#include "core/stats.h"
#include "tap.h"

#define LENGTH(a)	((int) (sizeof(a) / sizeof((a)[0])))

/* ---------------------------------------------------------------------
 * Random numbers: xorshift64*
 */

static uint64_t random_state = 1;

static uint64_t
next_random(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * UINT64_C(0x2545F4914F6CDD1D);
}

/* Returns a random number above 0 and below 1. */
static double
uniform(void)
{
	return ((next_random() >> 11) + 0.5) / 9007199254740992.0;
}

static int
below(int n)
{
	return (int) (uniform() * n);
}

static double
normal(void)
{
	double		r = sqrt(-2 * log(uniform()));

	return r * cos(2 * M_PI * uniform());
}

static bool
near(double value, double wanted, double precision)
{
	return fabs(value - wanted) <= precision * fmax(fabs(wanted), 1);
}

/* ---------------------------------------------------------------------
 * Series of calls.  A series consists of strata: successive calls of which the same share is timed.
 */

static const CallsBelow nothing;

static void
add_all(CallSeries *series, const double *x, int n)
{
	for (int i = 0; i < n; i++)
		call_stratum_add(&series->now, x[i], &nothing);
}

/*
 * Returns the factor by which a variance is enlarged because it is estimated with few degrees of
 * freedom.
 */
static double
widened(double df)
{
	return pow(stats_t_critical(0.95, 0.05, df) / NORMAL_975, 2);
}

/*
 * Computes the total of a stratum (N * mean) and its variance directly from the timed calls, for
 * comparison.
 */
static void
direct(const double *x, int n, double calls, double *total, double *variance)
{
	double		mean = 0;
	double		square = 0;

	for (int i = 0; i < n; i++)
		mean += x[i] / n;
	for (int i = 0; i < n; i++)
		square += (x[i] - mean) * (x[i] - mean) / (n - 1);
	*total = calls * mean;
	*variance = widened(n - 1) * calls * calls * square / n * (1 - n / calls);
}

static void
test_strata(void)
{
	double		x[100];
	CallSeries	s;
	double		total[3];
	double		variance[3];

	for (int i = 0; i < LENGTH(x); i++)
		x[i] = 100 + (i * 37) % 101 + (i >= 40 ? 250 : 0);

	memset(&s, 0, sizeof(s));
	call_series_end(&s);
	ok(s.calls == 0 && s.timed == 0 && s.total == 0 && s.variance == 0, "no calls");

	memset(&s, 0, sizeof(s));
	call_stratum_add(&s.now, 1234.5, &nothing);
	s.now.calls = 1;
	call_series_end(&s);
	ok(s.calls == 1 && s.timed == 1 && s.total == 1234.5 && s.variance == 0, "one call, which was timed");

	memset(&s, 0, sizeof(s));
	call_stratum_add(&s.now, 50, &nothing);
	s.now.calls = 10;
	call_series_end(&s);
	ok(s.total == 500 && near(s.variance, 100 * 2500 * 0.9, 1e-12), "one of ten calls timed: the standard error of a call is its time");

	memset(&s, 0, sizeof(s));
	s.now.calls = 3;
	call_series_end(&s);
	ok(s.calls == 3 && s.timed == 0 && s.total == 0 && s.variance == 0, "none of three calls timed: total and variance are 0");

	/* All values are integers, so the sums are exact. */
	memset(&s, 0, sizeof(s));
	total[0] = 0;
	for (int i = 0; i < 3; i++)
	{
		add_all(&s, x + 30 * i, 30);
		s.now.calls = 30;
		call_series_next(&s);
	}
	for (int i = 0; i < 90; i++)
		total[0] += x[i];
	call_series_end(&s);
	ok(s.calls == 90 && s.timed == 90 && near(s.total, total[0], 1e-14) && s.variance == 0,
	   "all calls timed, in three strata: the total is the sum, without variance");

	memset(&s, 0, sizeof(s));
	add_all(&s, x, 32);
	s.now.calls = 70;
	call_series_next(&s);
	add_all(&s, x + 32, 16);
	s.now.calls = 66;
	call_series_next(&s);
	add_all(&s, x + 48, 52);
	s.now.calls = 400;
	call_series_end(&s);
	direct(x, 32, 70, &total[0], &variance[0]);
	direct(x + 32, 16, 66, &total[1], &variance[1]);
	direct(x + 48, 52, 400, &total[2], &variance[2]);
	ok(s.calls == 536 && s.timed == 100, "three strata: numbers of calls and of timed calls");
	ok(near(s.total, total[0] + total[1] + total[2], 1e-12), "three strata: the total is the sum of their totals");
	ok(near(s.variance, variance[0] + variance[1] + variance[2], 1e-10), "three strata: the variance is the sum of their variances: %.17g, %.17g",
	   s.variance, variance[0] + variance[1] + variance[2]);

	/*
	 * Of 12 calls, three are timed: 3, 4 and 5. s^2 is 1, and Student's t for two degrees of
	 * freedom is 4.3027.
	 */
	memset(&s, 0, sizeof(s));
	for (int i = 3; i <= 5; i++)
		call_stratum_add(&s.now, i, &nothing);
	s.now.calls = 12;
	call_series_end(&s);
	ok(s.total == 48 && near(NORMAL_975 * sqrt(s.variance), 4.302653 * 12 * sqrt(0.75 / 3), 1e-6),
	   "three of 12 calls timed: the margin is by Student's t: %.9f", NORMAL_975 * sqrt(s.variance));

	/*
	 * The last stratum has few timed calls.  It has a mean of its own, but its variance is pooled
	 * with that of the stratum before it.
	 */
	memset(&s, 0, sizeof(s));
	add_all(&s, x + 30, 32);
	s.now.calls = 70;
	call_series_next(&s);
	add_all(&s, x, 15);
	s.now.calls = 66;
	call_series_end(&s);
	direct(x + 30, 32, 70, &total[0], &variance[0]);
	direct(x, 15, 66, &total[1], &variance[1]);
	ok(near(s.total, total[0] + total[1], 1e-12), "a stratum with few timed calls has a mean of its own: %.9f", s.total);
	/*
	 * Divides each variance by its factors, to get s^2 of both strata, and pools them.
	 */
	variance[2] = (31 * variance[0] / (70 * 70.0 / 32 * (1 - 32 / 70.0)) / widened(31) +
				   14 * variance[1] / (66 * 66.0 / 15 * (1 - 15 / 66.0)) / widened(14)) / 45;
	variance[2] *= 66 * 66.0 / 15 * (1 - 15 / 66.0) * widened(45);
	ok(near(s.variance, variance[0] + variance[2], 1e-9), "the variance of a stratum with few timed calls is pooled: %.9g", s.variance);

	/*
	 * If the first or the last stratum has no timed call, the mean of the adjacent stratum is used.
	 */
	for (int last = 0; last < 2; last++)
	{
		memset(&s, 0, sizeof(s));
		if (!last)
		{
			s.now.calls = 7;
			call_series_next(&s);
		}
		add_all(&s, x, 32);
		s.now.calls = 70;
		if (last)
		{
			call_series_next(&s);
			s.now.calls = 7;
		}
		call_series_end(&s);
		direct(x, 32, 77, &total[0], &variance[0]);
		ok(s.calls == 77 && s.timed == 32 && near(s.total, total[0], 1e-12) &&
		   near(s.variance, variance[0], 1e-9),
		   "no timed call in the %s stratum: the mean of the adjacent one is used", last ? "last" : "first");
	}

	/* 2^40 calls of 1 to 2 ms, which would take decades */
	memset(&s, 0, sizeof(s));
	for (int i = 0; i < 64; i++)
		call_stratum_add(&s.now, i % 2 == 0 ? 1e6 : 2e6, &nothing);
	s.now.calls = INT64_C(1) << 40;
	call_series_end(&s);
	ok(s.calls == INT64_C(1) << 40 && s.total == 1.5e6 * pow(2, 40), "2^40 calls");
	ok(near(s.variance, pow(2, 80) * 0.25e12 / 63 * widened(63), 1e-6), "2^40 calls: the variance %g", s.variance);
}

/*
 * Tests long_gap_share().  A gap between two timed calls is long if an untimed call between them
 * took long.  The function estimates which share of the long gaps was caused by a node.
 */
static void
test_gaps(void)
{
	static const struct
	{
		double		prior;		/* prior probability that the node caused the gaps */
		double		certain;	/* number of long calls expected in any case */
		double		expected;	/* further long calls, if the node caused all gaps */
		int			seen;		/* number of long timed calls */
		double		least;		/* accepted range of the result: at least this share */
		double		most;
		double		error;		/* upper bound of the error that long_gap_share() states */
	}			cases[] = {
		{0.5, 0, 0, 0, 0, 0, 0},	/* no long gaps */
		{0.5, 0, 0.01, 0, 0.49, 0.5, 0.5},	/* few long calls expected: the share is the prior */
		{0.2, 0, 0.01, 0, 0.19, 0.25, 0.45},
		{0, 0, 5, 20, 0, 0, 0}, /* with a prior of 0 the share is 0 */
		{0.5, 0, 10, 0, 0, 0.01, 0.05}, /* the 10 expected long calls were not seen */
		{0.5, 0, 10, 10, 0.9, 1, 0.15},
		{0.5, 0, 1000, 1000, 0.99, 1, 0.01},
		{0.5, 0, 1000, 500, 0.45, 0.55, 0.03},	/* half of the expected long calls were seen */
		{0.5, 0, 10, 100, 0.95, 1, 0.1},	/* more long calls were seen than expected */
		{0.5, 10, 10, 10, 0, 0.12, 0.25},	/* only the certain long calls were seen */
		{0.5, 10, 10, 20, 0.85, 1, 0.2},
	};

	for (int i = 0; i < LENGTH(cases); i++)
	{
		double		error;
		double		share =
			long_gap_share(cases[i].prior, cases[i].seen, cases[i].certain, cases[i].expected,
						   &error);

		ok(share >= cases[i].least && share <= cases[i].most && error >= 0 &&
		   error <= cases[i].error,
		   "%d long calls seen, %g + %g expected, prior %g: %.3f +/- %.3f of the gaps", cases[i].seen,
		   cases[i].certain, cases[i].expected, cases[i].prior, share, error);
	}
}

/* ---------------------------------------------------------------------
 * Samples calls as node_timing.c does: at first, times all calls.  After each MIN_STRATUM timed
 * calls, the mean gap is doubled, until one in SAMPLING calls is timed.
 */

#define MIN_STRATUM		32
#define N_QUANTILES		256
#define SAMPLING		64
#define REPEATS			4000

/* Quantiles of the exponential distribution with the mean 1. */
static float exponential[N_QUANTILES];

/* Returns a random number of calls to skip, so that on average one in "gap" calls is timed. */
static int64_t
draw_gap(int gap)
{
	float		scale = gap <= 1 ? 0 : (float) (-1 / log1p(-1.0 / gap));

	return (int64_t) (exponential[next_random() >> 56] * scale);
}

/*
 * Samples calls with the times x.  Returns the series.  Sets *known to the total time of the first
 * calls, which are all timed.
 */
static CallSeries
sample(const double *x, int n, double *known)
{
	CallSeries	s = {0};
	int			gap = 1;
	int			timed = 0;
	int64_t		stratum = 0;	/* number of calls before the current stratum */
	int64_t		i = 0;

	*known = 0;
	while (i < n)
	{
		if (gap == 1)
			*known += x[i];
		else
			call_stratum_add(&s.now, x[i], &nothing);
		i++;
		if (++timed >= MIN_STRATUM && gap < SAMPLING)
		{
			if (gap > 1)
			{
				s.now.calls = i - stratum;
				call_series_next(&s);
			}
			stratum = i;
			gap *= 2;
			timed = 0;
		}
		i += draw_gap(gap);
	}
	if (gap > 1)
	{
		s.now.calls = n - stratum;
		call_series_next(&s);
	}
	call_series_end(&s);
	return s;
}

typedef struct Outcome
{
	double		truth;
	double		bias;			/* relative error of the mean of the estimates */
	double		bias_error;		/* standard error of the bias */
	double		spread;			/* relative standard deviation of the estimates */
	double		margin;			/* mean margin, relative to the truth */
	double		coverage;		/* percentage of margins that contain the truth */
} Outcome;

static Outcome
repeat(const double *x, int n)
{
	Outcome		o = {0};
	double		sum = 0;
	double		sum_sq = 0;
	int			contained = 0;

	for (int i = 0; i < n; i++)
		o.truth += x[i];
	for (int i = 0; i < REPEATS; i++)
	{
		double		known;
		CallSeries	s = sample(x, n, &known);
		double		off = (known + s.total) / o.truth - 1;
		double		margin = NORMAL_975 * sqrt(s.variance) / o.truth;

		sum += off;
		sum_sq += off * off;
		o.margin += margin / REPEATS;
		contained += fabs(off) <= margin + 1e-12;
	}
	o.coverage = 100.0 * contained / REPEATS;
	o.bias = sum / REPEATS;
	o.spread = sqrt(fmax(sum_sq / REPEATS - o.bias * o.bias, 0));
	o.bias_error = o.spread / sqrt(REPEATS);
	return o;
}

typedef double (*Duration) (double f, int64_t i);

static double
constant(double f, int64_t i)
{
	(void) f;
	(void) i;
	return 200;
}

static double
exponential_time(double f, int64_t i)
{
	(void) f;
	(void) i;
	return -200 * log(uniform());
}

static double
bimodal(double f, int64_t i)
{
	(void) f;
	(void) i;
	return uniform() < 0.1 ? 2000 : 20;
}

static double
rarely_slow(double f, int64_t i)
{
	(void) f;
	(void) i;
	return uniform() < 0.01 ? 5000 : 50;
}

static double
lognormal(double f, int64_t i)
{
	(void) f;
	(void) i;
	return 100 * exp(normal());
}

static double
heavy_tail(double f, int64_t i)
{
	(void) f;
	(void) i;
	return 20 * exp(2 * normal());
}

static double
every_other(double f, int64_t i)
{
	(void) f;
	return i % 2 == 0 ? 100 : 300;
}

static double
every_64th(double f, int64_t i)
{
	(void) f;
	return i % 64 == 0 ? 5000 : 100;
}

static double
slower(double f, int64_t i)
{
	(void) i;
	return 100 + 900 * f;
}

static double
faster(double f, int64_t i)
{
	(void) i;
	return 1000 - 900 * f;
}

static double
rarely_long(double f, int64_t i)
{
	(void) f;
	(void) i;
	return uniform() < 0.001 ? 50000 : 100;
}

static double
often_long(double f, int64_t i)
{
	(void) f;
	(void) i;
	return uniform() < 0.01 ? 20000 : 100;
}

typedef struct Population
{
	const char *name;
	Duration	duration;
	int			n;
	double		coverage_min;	/* accepted range of the coverage, in percent */
	double		coverage_max;
	double		bias_min;		/* accepted range of the bias in percent, in addition to chance */
	double		bias_max;
} Population;

/*
 * Margins are made for a coverage of 95 %.  Where the central limit theorem applies, this test
 * accepts a coverage of 90 to 99 %.  The theorem does not apply if a few long calls take most of
 * the time and the sample has hardly any of them.  Then the estimate is usually too low, and its
 * margin too narrow.
 *
 * Times of calls that get slower are overestimated by 0.4 %, because each stratum ends with a timed
 * call.
 */
static const Population populations[] = {
	{"all the same", constant, 20000, 100, 100, 0, 0},
	{"all the same", constant, 200, 100, 100, 0, 0},
	{"exponential", exponential_time, 100, 90, 99, 0, 0},
	{"exponential", exponential_time, 300, 90, 99, 0, 0},
	{"exponential", exponential_time, 2000, 90, 99, 0, 0},
	{"exponential", exponential_time, 20000, 90, 99, 0, 0},
	{"exponential", exponential_time, 100000, 90, 99, 0, 0},
	{"one in ten takes 100 times as long", bimodal, 300, 90, 99, 0, 0},
	{"one in ten takes 100 times as long", bimodal, 2000, 90, 99, 0, 0},
	{"one in ten takes 100 times as long", bimodal, 20000, 90, 99, 0, 0},
	{"lognormal", lognormal, 20000, 90, 99, 0, 0},
	{"lognormal", lognormal, 100000, 90, 99, 0, 0},
	{"two by turns", every_other, 100, 90, 99, 0, 0},
	{"two by turns", every_other, 2000, 90, 99, 0, 0},
	{"two by turns", every_other, 20000, 90, 99, 0, 0},
	{"slower and slower", slower, 100, 90, 99, -0.5, 0.5},
	{"slower and slower", slower, 300, 90, 99, -0.5, 0.5},
	{"slower and slower", slower, 2000, 90, 99, -0.5, 0.5},
	{"slower and slower", slower, 20000, 90, 99, -0.5, 0.5},
	{"faster and faster", faster, 300, 90, 99, -0.5, 0.5},
	{"faster and faster", faster, 20000, 90, 99, -0.5, 0.5},

	/*
	 * 3 slow calls are timed if there are 2000 calls, 15 if there are 100000
	 */
	{"one in 100 takes 100 times as long", rarely_slow, 2000, 50, 80, 0, 0},
	{"one in 100 takes 100 times as long", rarely_slow, 20000, 85, 99, 0, 0},
	{"one in 100 takes 100 times as long", rarely_slow, 100000, 90, 99, 0, 0},

	/*
	 * slow calls are as far apart as timed calls are on average; the estimate has no bias because
	 * the gaps are random
	 */
	{"one in 64 takes 50 times as long", every_64th, 2000, 50, 80, 0, 0},
	{"one in 64 takes 50 times as long", every_64th, 20000, 88, 99, 0, 0},
	{"one in 64 takes 50 times as long", every_64th, 100000, 90, 99, 0, 0},

	/* the sample has few of the longest calls */
	{"heavy tail", heavy_tail, 2000, 60, 90, -20, 0},
	{"heavy tail", heavy_tail, 20000, 50, 90, -20, 0},
	{"heavy tail", heavy_tail, 100000, 30, 80, -20, 0},

	/*
	 * in a query, clocktiming would notice these calls as long gaps between timed calls
	 */
	{"rarely long", rarely_long, 20000, 30, 55, 0, 0},
	{"rarely long", rarely_long, 100000, 65, 90, 0, 0},
	{"often long", often_long, 2000, 45, 70, 0, 0},
	{"often long", often_long, 100000, 90, 99, 0, 0},
};

static void
test_populations(void)
{
	for (int i = 0; i < N_QUANTILES; i++)
		exponential[i] = (float) -log(1 - (i + 0.5) / N_QUANTILES);
	random_state = 12345;
	for (int i = 0; i < LENGTH(populations); i++)
	{
		const Population *p = &populations[i];
		double	   *x = malloc(sizeof(double) * p->n);
		double		chance;
		Outcome		o;

		for (int j = 0; j < p->n; j++)
			x[j] = p->duration((double) j / p->n, j);
		o = repeat(x, p->n);
		/* four standard errors, which chance exceeds in one of 30,000 cases */
		chance = 100 * 4 * o.bias_error + 1e-9;
		ok(100 * o.bias >= p->bias_min - chance && 100 * o.bias <= p->bias_max + chance,
		   "%s, %d calls: bias %+.2f %% (+- %.2f)", p->name, p->n, 100 * o.bias, chance / 2);
		ok(o.coverage >= p->coverage_min && o.coverage <= p->coverage_max,
		   "margins of %.2f %% on average: %.1f of 100 contain the truth", 100 * o.margin, o.coverage);
		free(x);
	}
}

/* ---------------------------------------------------------------------
 * Regression: the time of a call depends on the work in the nodes below.
 */

/*
 * Time in ns of a unit of each kind of work in the nodes below.  A call without work in these nodes
 * takes 50 ns.
 */
static const double price[N_BELOW] = {700, 100, 30};

static double
priced(const CallsBelow *below)
{
	double		ns = 50;

	for (int i = 0; i < N_BELOW; i++)
		ns += price[i] * (double) below->n[i];
	return ns;
}

static CallsBelow
some_below(void)
{
	CallsBelow	b = {{below(4) == 0, below(3), below(2) * below(10)}};

	return b;
}

/*
 * Times one in 64 of n calls, whose children do random work.  Then adds an untimed call whose
 * children do the work "last".  Returns the estimated total divided by the true total.
 */
static double
regressed(int n, double noise, const CallsBelow *last, CallSeries *s)
{
	static const CallStratum none;
	CallsBelow	all = *last;
	double		truth = 0;

	memset(s, 0, sizeof(*s));
	for (int i = 0; i < n; i++)
	{
		CallsBelow	b = some_below();
		double		ns = priced(&b) + noise * (uniform() - 0.5);

		truth += ns;
		for (int j = 0; j < N_BELOW; j++)
			all.n[j] += b.n[j];
		if (below(64) == 0)
			call_stratum_add(&s->now, ns, &b);
	}
	truth += priced(last);
	s->now.calls = n + 1;
	call_series_end(s);
	call_series_regress(s, &none, &all);
	return s->total / truth;
}

static void
test_below(void)
{
	static const CallsBelow much = {{50000, 40000, 300000}};
	CallsBelow	b = {{0}};
	CallsBelow	all = {{0}};
	CallStratum known = {0};
	CallSeries	s;
	CallSeries	other;
	double		sum = 0;
	double		sum_sq = 0;
	int			contained = 0;

	random_state = 777;
	ok(near(regressed(20000, 0, &nothing, &s), 1, 1e-9), "times that are a linear function of the work below: the estimate is exact");
	ok(NORMAL_975 * sqrt(s.variance) < 1e-6 * s.total, "the margin of an exact estimate is nearly 0: %g", sqrt(s.variance));
	ok(near(regressed(20000, 0, &much, &s), 1, 1e-9), "an untimed last call with much work below: the estimate is exact");
	ok(s.variance > 0 && NORMAL_975 * sqrt(s.variance) < 0.5 * s.total,
	   "the margin with such a last call is at most half of the total: %g of %g", NORMAL_975 * sqrt(s.variance), s.total);

	for (int i = 0; i < REPEATS; i++)
	{
		double		ratio = regressed(4000, 200, &nothing, &s);

		sum += ratio;
		sum_sq += ratio * ratio;
		contained += fabs(s.total / ratio - s.total) <= NORMAL_975 * sqrt(s.variance);
	}
	ok(fabs(sum / REPEATS - 1) < 4 * sqrt((sum_sq / REPEATS - pow(sum / REPEATS, 2)) / REPEATS) +
	   2e-4,
	   "times with noise: the estimate is %.5f of the truth on average", sum / REPEATS);
	ok(contained > 0.90 * REPEATS && contained < 0.99 * REPEATS, "times with noise: %.1f of 100 margins contain the truth", 100.0 * contained / REPEATS);

	/*
	 * By chance, calls with more work below take less time: the slope of the regression is
	 * negative.
	 */
	memset(&s, 0, sizeof(s));
	for (int i = 0; i < 100; i++)
	{
		b.n[BELOW_LATER] = i % 10;
		call_stratum_add(&s.now, 100 - 3 * (i % 10), &b);
	}
	s.now.calls = 1000;
	call_series_end(&s);
	all.n[BELOW_LATER] = 100000;
	call_series_regress(&s, &known, &all);
	ok(near(s.total, 1000 * 86.5, 1e-12), "a negative slope is not used: %g", s.total);

	/* Two kinds of work always have the same amount. */
	memset(&s, 0, sizeof(s));
	for (int i = 0; i < 100; i++)
	{
		b.n[BELOW_FIRST] = b.n[BELOW_LATER] = i % 10;
		call_stratum_add(&s.now, 100 + 80 * (i % 10), &b);
	}
	s.now.calls = 1000;
	{
		double		slopes[N_BELOW];

		call_series_slopes(&s, &known, slopes);
		ok(near(slopes[BELOW_FIRST] + slopes[BELOW_LATER], 80, 1e-9) && slopes[BELOW_REMOVED] == 0,
		   "two equal kinds of work: slopes are known before the end: %g, %g", slopes[BELOW_FIRST], slopes[BELOW_LATER]);
	}
	call_series_end(&s);
	all.n[BELOW_FIRST] = all.n[BELOW_LATER] = 14500;
	call_series_regress(&s, &known, &all);
	ok(near(s.total, 1000 * 100 + 80 * 14500, 1e-12), "two equal kinds of work: the work counts only once: %.17g", s.total);

	/* All calls have the same work below. */
	memset(&s, 0, sizeof(s));
	b.n[BELOW_FIRST] = 0;
	b.n[BELOW_LATER] = 1;
	for (int i = 0; i < 100; i++)
		call_stratum_add(&s.now, 100, &b);
	s.now.calls = 1000;
	call_series_end(&s);
	all.n[BELOW_FIRST] = 0;
	all.n[BELOW_LATER] = 1500;
	call_series_regress(&s, &known, &all);
	ok(near(s.total, 100000 + 25000, 1e-12) && near(s.variance, 25000.0 * 25000 / 4, 1e-9),
	   "constant work below: its price is between 0 and the time of a call: %g", s.total);

	/*
	 * Only the first calls, all of which are timed, have different work below.
	 */
	memset(&s, 0, sizeof(s));
	for (int i = 0; i < 100; i++)
		call_stratum_add(&s.now, 100, &b);
	for (int i = 0; i < 32; i++)
	{
		b.n[BELOW_LATER] = i % 4;
		call_stratum_add(&known, 60 + 40 * (i % 4), &b);
	}
	s.now.calls = 1000;
	call_series_end(&s);
	all.n[BELOW_FIRST] = 0;
	all.n[BELOW_LATER] = 1500;
	call_series_regress(&s, &known, &all);
	ok(near(s.total, 100000 + 40 * 500, 1e-12), "if only the first calls vary, the slope is theirs: %.17g", s.total);

	/*
	 * A single call has much work below, and it is also the first call of a loop.
	 */
	memset(&s, 0, sizeof(s));
	memset(&known, 0, sizeof(known));
	memset(&b, 0, sizeof(b));
	for (int i = 0; i < 100; i++)
		call_stratum_add(&s.now, 100, &b);
	for (int i = 0; i < 32; i++)
	{
		b.n[BELOW_FIRST] = i == 0;
		b.n[BELOW_LATER] = i == 0 ? 650 : 0;
		call_stratum_add(&known, i == 0 ? 65100 : 100, &b);
	}
	s.now.calls = 1000;
	call_series_end(&s);
	all.n[BELOW_FIRST] = 0;
	all.n[BELOW_LATER] = 1300;
	call_series_regress(&s, &known, &all);
	ok(near(s.total, 1000 * 100 + 1300 * 100, 1e-12), "the time is attributed to the many calls below, not to the first call of the loop: %.17g", s.total);

	/*
	 * The first calls of loops have the same regression as the other calls, but a different
	 * constant.
	 */
	memset(&s, 0, sizeof(s));
	memset(&other, 0, sizeof(other));
	for (int i = 0; i < 100; i++)
	{
		b.n[BELOW_LATER] = i % 10;
		call_stratum_add(&s.now, 100 + 80 * (i % 10), &b);
		call_stratum_add(&other.now, 500 + 80 * (i % 10), &b);
	}
	s.now.calls = 1000;
	other.now.calls = 200;
	call_series_end(&s);
	call_series_end(&other);
	call_series_join(&s, &other);
	all.n[BELOW_LATER] = 7000;
	call_series_regress(&s, &known, &all);
	ok(s.calls == 1200 && s.timed == 200 &&
	   near(s.total, 1000 * 100 + 200 * 500 + 80 * 7000, 1e-12),
	   "first calls of loops have the same slope, but another constant: %.17g", s.total);
}

/*
 * Tests that draw_gap() gives each call the same probability of being timed, independent of its
 * position.
 */
static void
test_chances(void)
{
	static const int gaps[] = {2, 3, 8, 64};

	for (int i = 0; i < LENGTH(gaps); i++)
	{
		double		sum = 0;
		int			n = 400000;

		for (int j = 0; j < n; j++)
			sum += (double) draw_gap(gaps[i]) + 1;
		/*
		 * The 256 quantiles lack the tail of the distribution, which is 0.14 % of its mean.
		 */
		ok(near(sum / n, gaps[i], 0.01), "one in %d is one in %.3f", gaps[i], sum / n);
	}
}

/* ---------------------------------------------------------------------
 * Plans.
 */

static const CallCost no_cost = {0};
static const CallCost some_cost = {
	.inside_ns = 11, .timed_ns = 37, .counted_ns = 1.25, .outside_ns = 12,
	.whole_ns = 23, .server_ns = 52
};

/* Returns the margin of a node's time that is due to the uncertain cost of timing its own calls. */
static double
inside_margin(const NodeEstimate *node, const NodeRecord *record)
{
	return COST_UNCERTAINTY * record->calls *
		(node->kind == NODE_WHOLE ? some_cost.whole_ns : some_cost.inside_ns);
}

/*
 * Returns a plan.  Its arrays have exactly the required size, so that ASan detects accesses beyond
 * them.
 */
static PlanEstimate
new_plan(int nnodes, int nworkers, const CallCost *cost)
{
	PlanEstimate plan = {.nnodes = nnodes, .nworkers = nworkers, .cost = *cost, .outside_ns = NAN};

	plan.nodes = calloc(nnodes, sizeof(NodeEstimate));
	for (int i = 0; i < nnodes; i++)
	{
		plan.nodes[i].parent = i - 1;
		plan.nodes[i].leader.loops = 1;
		plan.nodes[i].leader.calls = 1;
		plan.nodes[i].leader.timed = 1;
		if (nworkers > 0)
			plan.nodes[i].workers = calloc(nworkers, sizeof(NodeRecord));
	}
	return plan;
}

static void
free_plan(PlanEstimate *plan)
{
	for (int i = 0; i < plan->nnodes; i++)
		free(plan->nodes[i].workers);
	free(plan->nodes);
}

/*
 * Makes a random tree.  The root is the first node.  Other parents may come after their children.
 */
static void
grow(PlanEstimate *plan, bool deep)
{
	int		   *order = malloc(sizeof(int) * plan->nnodes);

	for (int i = 0; i < plan->nnodes; i++)
		order[i] = i;
	for (int i = plan->nnodes - 1; i > 1; i--)
	{
		int			j = 1 + below(i);
		int			swap = order[i];

		order[i] = order[j];
		order[j] = swap;
	}
	plan->nodes[0].parent = -1;
	for (int i = 1; i < plan->nnodes; i++)
		plan->nodes[order[i]].parent = order[deep ? i - 1 : below(i)];
	free(order);
}

static double
own_cost(const PlanEstimate *plan, int i, const NodeRecord *r)
{
	switch (plan->nodes[i].kind)
	{
		case NODE_SAMPLED:
		case NODE_PART:
			return r->timed * plan->cost.timed_ns + (r->calls - r->timed) * plan->cost.counted_ns;
		case NODE_WHOLE:
			return r->timed * plan->cost.server_ns;
		case NODE_UNTIMED:
			break;
	}
	return 0;
}

static bool
is_below(const PlanEstimate *plan, int i, int ancestor)
{
	for (i = plan->nodes[i].parent; i >= 0; i = plan->nodes[i].parent)
	{
		if (i == ancestor)
			return true;
	}
	return false;
}

/*
 * Tests plan_estimate() with measured times that are true times plus the cost of timing.  The
 * estimates must be the true times.
 */
static void
test_truth(void)
{
	bool		totals = true;
	bool		selfs = true;
	bool		runs = true;
	bool		errors = true;
	bool		counts = true;
	bool		firsts = true;

	for (int round = 0; round < 2000; round++)
	{
		int			n = 1 + below(20);
		PlanEstimate plan = new_plan(n, 0, &some_cost);
		double		total[20] = {0};
		double		self[20];
		double		overhead = 0;
		double		outside = 1000 * uniform();

		grow(&plan, round % 8 == 0);
		for (int i = 0; i < n; i++)
		{
			NodeEstimate *node = &plan.nodes[i];
			int			kind = i == 0 ? 0 : below(10);

			node->kind = kind == 9 ? NODE_UNTIMED : kind == 8 ? NODE_WHOLE : NODE_SAMPLED;
			memset(&node->leader, 0, sizeof(NodeRecord));
			if (node->kind == NODE_UNTIMED)
				continue;
			node->leader.loops = 1 + below(5);
			node->leader.rows = below(10000);
			node->leader.calls = node->leader.loops + node->leader.rows;
			node->leader.timed = 1 + below((int) node->leader.calls);
			if (node->kind == NODE_WHOLE)
				node->leader.calls = node->leader.timed = node->leader.loops;
			node->leader.variance = 1000 * uniform();
		}
		/* Some nodes and all nodes below them are not executed. */
		for (int i = 1; i < n; i++)
		{
			if (below(10) > 0)
				continue;
			for (int j = 1; j < n; j++)
			{
				if (j == i || is_below(&plan, j, i))
					memset(&plan.nodes[j].leader, 0, sizeof(NodeRecord));
			}
		}
		for (int i = 0; i < n; i++)
		{
			double		ns = plan.nodes[i].leader.loops > 0 ? 1e5 * uniform() : 0;

			total[i] += ns;
			for (int a = plan.nodes[i].parent; a >= 0; a = plan.nodes[a].parent)
				total[a] += ns;
		}
		for (int i = 0; i < n; i++)
		{
			NodeEstimate *node = &plan.nodes[i];

			if (node->leader.loops <= 0)
				total[i] = 0;
			node->leader.total_ns = total[i] + node->leader.calls *
				(node->kind == NODE_WHOLE ? some_cost.whole_ns : some_cost.inside_ns);
			for (int j = 0; j < n; j++)
			{
				if (is_below(&plan, j, i))
					node->leader.total_ns += own_cost(&plan, j, &plan.nodes[j].leader);
			}
			if (node->leader.loops <= 0)
				node->leader.total_ns = 0;
			node->leader.first_ns = uniform() * node->leader.total_ns;
			overhead += own_cost(&plan, i, &node->leader);
		}
		for (int i = 0; i < n; i++)
		{
			self[i] = total[i];
			for (int j = 0; j < n; j++)
			{
				if (plan.nodes[j].parent == i && plan.nodes[j].kind != NODE_UNTIMED)
					self[i] -= total[j];
			}
		}
		plan.run_ns = total[0] + outside + overhead;
		plan.outside_ns = outside;
		plan.outside_variance = 100;
		plan_estimate(&plan);

		runs &= near(plan.overhead_ns, overhead, 1e-10) &&
			near(plan.root_estimate_ns, plan.run_ns, 1e-10) &&
			near(plan.whole_ns, total[0] + outside, 1e-10) && near(plan.outside_ns, outside, 1e-6);
		for (int i = 0; i < n; i++)
		{
			NodeEstimate *node = &plan.nodes[i];
			double		inside = inside_margin(node, &node->leader);
			double		cost = 0;
			double		variance = pow(NORMAL_975, 2) * node->leader.variance;
			double		self_variance = variance;
			double		self_cost = 0;

			for (int j = 0; j < n; j++)
			{
				double		own = COST_UNCERTAINTY * own_cost(&plan, j, &plan.nodes[j].leader);

				if (is_below(&plan, j, i) && node->leader.loops > 0)
					cost += own;
				if (plan.nodes[j].parent == i && plan.nodes[j].kind != NODE_UNTIMED)
				{
					self_cost += own;
					self_variance += pow(NORMAL_975, 2) * plan.nodes[j].leader.variance +
						pow(inside_margin(&plan.nodes[j], &plan.nodes[j].leader), 2);
				}
			}
			if (i == 0)
			{
				/*
				 * Variance of the root's measured time.  That of its estimate is smaller, because
				 * the root's time and the time outside of all nodes are made to add up to the time
				 * of the run.
				 */
				double		prior = node->leader.variance + (inside * inside + cost * cost) /
					pow(NORMAL_975, 2);
				double		less = variance -
					fmin(variance, pow(NORMAL_975, 2) * prior * 100 / (prior + 100));

				variance -= less;
				self_variance -= less;
				inside = COST_UNCERTAINTY * own_cost(&plan, 0, &node->leader);
				cost = COST_UNCERTAINTY * overhead;
			}
			else
				variance += inside * inside;
			self_variance += inside * inside;
			/*
			 * The true times fulfil all conditions, so they are not adjusted.
			 */
			totals &= near(node->total_ns, total[i], 1e-8) && fabs(node->adjusted_ns) < 1e-3;
			firsts &= near(node->first_ns, fmin(fmax(node->leader.first_ns - node->leader.loops *
													 (node->kind == NODE_WHOLE ?
													  some_cost.whole_ns : some_cost.inside_ns), 0),
												node->total_ns), 1e-9);
			if (node->kind != NODE_UNTIMED)
			{
				selfs &= near(node->self_ns, self[i], 1e-7);
				double		most = plan.run_ns * fmax(node->processes, 1);

				errors &= near(node->total_margin_ns, fmin(sqrt(variance + cost * cost), most),
							   1e-9);
				errors &= near(node->self_margin_ns,
							   fmin(sqrt(self_variance + self_cost * self_cost), most), 1e-9);
			}
			counts &= node->processes == (node->leader.loops > 0) &&
				node->calls == node->leader.calls &&
				node->timed == node->leader.timed && node->rows == node->leader.rows &&
				node->loops == node->leader.loops;
		}
		free_plan(&plan);
	}
	ok(totals, "2000 random plans: totals are the times without the cost of timing");
	ok(selfs, "random plans: self times");
	ok(runs, "random plans: overhead, estimate of the run, its time without timing, time outside of nodes");
	ok(errors, "random plans: margins");
	ok(counts, "random plans: counts");
	ok(firsts, "random plans: first calls, without the cost of a reading each, and at most the total");
}

/*
 * Makes a plan with a CTE of two nodes, which two scans below the root read.  80 of the 100 calls
 * of the CTE's root are made by the scans; the other 20 follow after the run.
 */
static PlanEstimate
shared_plan(const CallCost *cost, bool times)
{
	/*
	 * Nodes: 0 Append, 1 and 2 scans, 3 root of the CTE, 4 its child. 5 and 6 are the parts of node
	 * 3's time that belong to the scans 1 and 2.
	 */
	PlanEstimate plan = new_plan(7, 0, cost);
	static const int parents[] = {-1, 0, 0, 1, 3, 1, 2};
	static const double totals[] = {70000, 15000, 45000, 60000, 20000, 10000, 40000};
	static const int calls[] = {101, 31, 71, 100, 300, 30, 50};
	static const int loops[] = {1, 1, 1, 10, 10, 5, 1};

	plan.nnodes = 5;
	plan.nparts = 2;
	plan.outside_ns = 30000;
	plan.run_ns = 100000;
	for (int i = 0; i < 7; i++)
	{
		NodeEstimate *node = &plan.nodes[i];
		NodeRecord *r = &node->leader;

		node->parent = parents[i];
		node->is_shared = i == 3;
		node->kind = i < 5 ? NODE_SAMPLED : NODE_PART;
		node->whole = 3;
		*r = (NodeRecord){.calls = calls[i], .timed = calls[i], .loops = loops[i], .variance = 1};
		if (i < 5)
			r->total_ns = totals[i] + calls[i] * cost->inside_ns;
		else
			r->part_ns = times ? totals[i] : NAN;
	}
	return plan;
}

static void
test_shared(void)
{
	PlanEstimate plan = shared_plan(&no_cost, true);
	double		self = 0;

	plan_estimate(&plan);
	for (int i = 0; i < 5; i++)
		self += plan.nodes[i].self_ns;
	ok(near(plan.nodes[1].self_ns, 5000, 1e-9) && near(plan.nodes[2].self_ns, 5000, 1e-9),
	   "shared CTE: each scan's self time excludes its part of the CTE: %.1f, %.1f", plan.nodes[1].self_ns, plan.nodes[2].self_ns);
	ok(near(plan.nodes[3].total_ns, 60000, 1e-9) && near(plan.nodes[3].self_ns, 40000, 1e-9), "shared CTE: total and self time of the CTE's root");
	ok(near(self, 80000, 1e-9) && near(plan.outside_ns, 20000, 1e-9),
	   "shared CTE: self times and the time outside of nodes add up to the run: %.1f, %.1f", self, plan.outside_ns);
	ok(near(plan.nodes[0].self_ns, 10000, 1e-9), "shared CTE: self time of the node above the scans");
	free_plan(&plan);

	/*
	 * The times of the parts are unknown.  The CTE has 10 loops.  The first calls of these loops
	 * take 50000 ns of the CTE's 60000 ns.
	 */
	plan = shared_plan(&no_cost, false);
	plan.nodes[3].leader.first_ns = 50000;
	plan.as_it_is = true;
	plan_estimate(&plan);
	ok(near(plan.nodes[5].total_ns, 25000 + 10000 * 25 / 90.0, 1e-9) &&
	   near(plan.nodes[6].total_ns, 5000 + 10000 * 49 / 90.0, 1e-9),
	   "unknown parts: first calls and other calls divide the CTE's time separately: %.1f, %.1f", plan.nodes[5].total_ns, plan.nodes[6].total_ns);
	free_plan(&plan);

	/*
	 * Timing 400 calls in the CTE has a cost.  It is divided between the scans in the proportion of
	 * their parts of the CTE's time.
	 */
	plan = shared_plan(&some_cost, true);
	for (int i = 0; i < 7; i++)
		plan.nodes[i].leader.total_ns += i == 3 ? 300 * 37 : 0;
	for (int i = 5; i < 7; i++)
		plan.nodes[i].leader.part_ns *= plan.nodes[3].leader.total_ns / 60000;
	plan_estimate(&plan);
	ok(near(plan.nodes[3].below_ns, 300 * 37, 1e-9), "cost of timing below the CTE's root");
	ok(near(plan.nodes[1].below_ns, plan.nodes[5].cost_ns + plan.nodes[5].below_ns, 1e-9) &&
	   near(plan.nodes[5].below_ns, 300 * 37 * 10 / 60.0, 0.02),
	   "cost of timing below a scan is that of its part: %.1f", plan.nodes[1].below_ns);
	ok(near(plan.overhead_ns, (101 + 31 + 71 + 100 + 300) * 37, 1e-12), "the overhead counts each timed call once, not again for the parts");
	free_plan(&plan);

	/* One scan takes less time than its part of the CTE. */
	plan = shared_plan(&no_cost, true);
	plan.nodes[1].leader.total_ns = 4000;
	plan_estimate(&plan);
	self = 0;
	for (int i = 0; i < 5; i++)
		self += plan.nodes[i].self_ns;
	ok(near(plan.nodes[1].total_ns, plan.nodes[5].total_ns, 1e-9) && plan.nodes[1].self_ns < 1e-6 &&
	   near(plan.nodes[5].total_ns + plan.nodes[6].total_ns, plan.nodes[3].total_ns * 5 / 6, 0.2),
	   "reconciled: no part takes longer than its scan: %.1f", plan.nodes[5].total_ns);
	ok(near(self + plan.outside_ns, 100000, 1e-9), "reconciled: self times and the time outside of nodes add up to the run");
	free_plan(&plan);

	/*
	 * The CTE seems to take longer than the run.  This happens if a wait was subtracted from the
	 * run, but not from the node.
	 */
	plan = shared_plan(&no_cost, true);
	plan.nodes[3].leader.total_ns = 150000;
	plan.nodes[4].leader.total_ns = 140000;
	plan_estimate(&plan);
	ok(near(plan.nodes[3].total_ns, 100000, 1e-9) && near(plan.nodes[4].total_ns, 100000, 1e-9) &&
	   plan.nodes[4].share_percent <= 100, "no share exceeds 100 %%: %.1f", plan.nodes[4].share_percent);
	free_plan(&plan);
}

/* Tests a Parallel Append of scans each of which only one process executes. */
static void
test_whole_scans(void)
{
	/* Nodes: 0 Gather, 1 Append, 2 and 3 Scan */
	PlanEstimate plan = new_plan(4, 2, &no_cost);
	double		percent = 0;

	plan.nodes[0].gathers = true;
	plan.nodes[3].parent = 1;
	plan.nodes[0].leader.total_ns = 100000;
	plan.nodes[1].leader.total_ns = 3000;
	for (int i = 2; i < 4; i++)
	{
		plan.nodes[i].leader = (NodeRecord) {.loops = 0};
		plan.nodes[i].workers[i - 2] = (NodeRecord)
		{.loops = 1,.calls = 9,.timed = 9,.total_ns = 90000};
		plan.nodes[1].workers[i - 2] = (NodeRecord)
		{.loops = 1,.calls = 9,.timed = 9,.total_ns = 93000};
	}
	plan.run_ns = 100000;
	plan.slept_ns = 97000;
	plan_estimate(&plan);
	for (int i = 0; i < 4; i++)
		percent += plan.nodes[i].share_percent;
	ok(plan.nodes[2].processes == 3 && plan.nodes[3].processes == 3, "whole scans: their means are over all processes");
	ok(near(percent, 100, 1e-6), "whole scans: shares add up to 100 %%: %.3f", percent);
	free_plan(&plan);
}

/* Tests a plan with workers: an Aggregate above Gather, and below it a join with an InitPlan. */
static void
test_workers(void)
{
	/* Nodes: 0 Aggregate, 1 Gather, 2 Nested Loop, 3 Scan, 4 Hash */
	PlanEstimate plan = new_plan(5, 2, &some_cost);
	static const int parents[] = {-1, 0, 1, 2, 2};
	double		total[3][5] = {
		{100000, 90000, 30000, 20000, 5000},	/* leader; the next rows are workers */
		{0, 0, 80000, 60000, 4000},
		{0, 0, 70000, 65000, 1000},
	};
	double		overhead = 0;
	double		percent = 0;

	for (int i = 0; i < 5; i++)
	{
		plan.nodes[i].parent = parents[i];
		plan.nodes[i].gathers = i == 1;
		plan.nodes[i].kind = i == 4 ? NODE_WHOLE : NODE_SAMPLED;
	}
	for (int p = 0; p < 3; p++)
	{
		for (int i = p == 0 ? 0 : 2; i < 5; i++)
		{
			NodeRecord *r = p == 0 ? &plan.nodes[i].leader : &plan.nodes[i].workers[p - 1];

			r->loops = 1;
			r->calls = i == 4 ? 1 : 100 * (i + 1) + p;
			r->timed = i == 4 ? 1 : 10 + p;
			r->rows = r->calls - 1;
			r->variance = 100 + 10 * i + p;
			r->total_ns = total[p][i] + r->calls *
				(i == 4 ? some_cost.whole_ns : some_cost.inside_ns);
			r->first_ns = r->total_ns / 2;
		}
		for (int i = p == 0 ? 0 : 2; i < 5; i++)
		{
			const NodeRecord *r = p == 0 ? &plan.nodes[i].leader : &plan.nodes[i].workers[p - 1];

			for (int a = parents[i]; a >= (p == 0 ? 0 : 2); a = parents[a])
				(p == 0 ? &plan.nodes[a].leader : &plan.nodes[a].workers[p - 1])->total_ns +=
					own_cost(&plan, i, r);
			if (p == 0)
				overhead += own_cost(&plan, i, r);
		}
	}
	plan.run_ns = 105000 + overhead;
	plan.slept_ns = 40000;
	plan_estimate(&plan);
	for (int i = 0; i < 5; i++)
		percent += plan.nodes[i].share_percent;
	ok(near(plan.overhead_ns, overhead, 1e-12), "Gather: the overhead includes only the leader's cost of timing");
	ok(near(plan.nodes[0].total_ns, 100000, 1e-9) && near(plan.nodes[1].total_ns, 90000, 1e-9), "Gather: totals of Gather and of the node above");
	ok(near(plan.nodes[2].total_ns, 180000, 1e-9) && near(plan.nodes[3].total_ns, 145000, 1e-9) &&
	   near(plan.nodes[4].total_ns, 10000, 1e-9), "Gather: totals of the nodes below are sums over all processes");
	ok(near(plan.nodes[2].leader_ns, 30000, 1e-9), "Gather: the leader's part of a total");
	ok(near(plan.nodes[0].self_ns, 10000, 1e-9) && near(plan.nodes[1].self_ns, 20000, 1e-9) &&
	   near(plan.nodes[2].self_ns, 25000, 1e-9), "Gather: its self time excludes the leader's work below and its wait: %.3f", plan.nodes[1].self_ns);
	ok(near(plan.nodes[1].waited_ns, 40000, 1e-9) && near(plan.base_ns, 95000, 1e-6) &&
	   near(percent, 100.0 * 90 / 95, 1e-6), "Gather: shares exclude the wait: their sum is %.3f", percent);
	ok(plan.nodes[1].processes == 1 && plan.nodes[2].processes == 3, "Gather: numbers of processes");
	ok(plan.nodes[3].calls == 1203 && plan.nodes[3].timed == 33 && plan.nodes[3].rows == 1200 &&
	   plan.nodes[3].loops == 3, "counts");
	ok(near(plan.nodes[2].total_margin_ns,
			sqrt(pow(NORMAL_975, 2) * 363 + pow(903 * 5.5, 2) +
				 pow(0.5 * (33 * 37 + 1170 * 1.25 + 3 * 52), 2)), 1e-9),
	   "Gather: the margin has the sum of the uncertain costs of timing of all processes: %.9f", plan.nodes[2].total_margin_ns);
	ok(near(plan.nodes[1].self_margin_ns,
			sqrt(pow(NORMAL_975, 2) * (110 + 120) + pow(200 * 5.5, 2) + pow(300 * 5.5, 2) +
				 pow(0.5 * (10 * 37 + 290 * 1.25), 2)), 1e-9),
	   "Gather: its self time's margin has only the leader's part: %.9f", plan.nodes[1].self_margin_ns);
	ok(!isnan(plan.outside_ns) && near(plan.outside_ns, 5000, 1e-6), "Gather: the rest of the run is outside of all nodes");
	free_plan(&plan);

	/* A parent that comes after its child in the array, as for an InitPlan */
	plan = new_plan(4, 0, &no_cost);
	plan.nodes[1].parent = 3;
	plan.nodes[2].parent = 0;
	plan.nodes[3].parent = 2;
	for (int i = 0; i < 4; i++)
		plan.nodes[i].leader.total_ns = (double[]) {100, 40, 90, 70}[i];
	plan.run_ns = 100;
	plan.slept_ns = 50;
	plan_estimate(&plan);
	ok(plan.nodes[0].self_ns == 10 && plan.nodes[2].self_ns == 20 && plan.nodes[3].self_ns == 30 &&
	   plan.nodes[1].self_ns == 40, "an InitPlan's time is part of the time of the node that needed it");
	free_plan(&plan);
}

/* ---------------------------------------------------------------------
 * Reconciling: times that contradict each other are changed until certain conditions hold, for
 * example that no node takes less time than its children together.
 */

#define MAX_SMALL	6

/*
 * Finds the smallest change of the times t, whose variances are v, with which all conditions hold,
 * by brute force.  For each subset of the conditions, finds the nearest times for which these
 * conditions are equalities.  Of these solutions, stores the nearest that fulfils all in "best".
 * If the time outside of all nodes was sampled, it is the element n of t, v and best.
 */
static void
nearest(const PlanEstimate *plan, const double *t, const double *v, double *best)
{
	int			n = plan->nnodes;
	bool		sampled = !isnan(plan->outside_ns);
	double		rows[MAX_SMALL + 2][MAX_SMALL + 1] = {{0}};
	double		limits[MAX_SMALL + 2] = {0};
	double		least = INFINITY;
	int			nrows = n + 1 + sampled;

	/*
	 * A condition is: row * x >= limit.  If the time outside was sampled, the last condition is an
	 * equation.
	 */
	for (int i = 0; i < n; i++)
	{
		rows[i][i] = 1;
		if (i > 0)
			rows[plan->nodes[i].parent][i] = -1;
	}
	if (sampled)
	{
		rows[n][n] = 1;
		rows[n + 1][0] = rows[n + 1][n] = 1;
		limits[n + 1] = plan->run_ns;
	}
	else
	{
		rows[n][0] = -1;
		limits[n] = -plan->run_ns;
	}
	for (int set = 0; set < 1 << nrows; set++)
	{
		double		m[MAX_SMALL + 2][MAX_SMALL + 3];
		int			which[MAX_SMALL + 2];
		double		x[MAX_SMALL + 1];
		double		cost = 0;
		int			k = 0;
		bool		good = true;

		if (sampled && (set >> (n + 1)) == 0)
			continue;
		for (int i = 0; i < nrows; i++)
		{
			if (set >> i & 1)
				which[k++] = i;
		}
		for (int i = 0; i < k; i++)
		{
			for (int j = 0; j < k; j++)
			{
				m[i][j] = 0;
				for (int l = 0; l < n + sampled; l++)
					m[i][j] += rows[which[i]][l] * rows[which[j]][l] * v[l];
			}
			m[i][k] = limits[which[i]];
			for (int l = 0; l < n + sampled; l++)
				m[i][k] -= rows[which[i]][l] * t[l];
		}
		/*
		 * Gauss-Jordan elimination.  Skips subsets without a unique solution.
		 */
		for (int i = 0; i < k && good; i++)
		{
			int			pivot = i;

			for (int j = i; j < k; j++)
			{
				if (fabs(m[j][i]) > fabs(m[pivot][i]))
					pivot = j;
			}
			if (fabs(m[pivot][i]) < 1e-9)
				good = false;
			for (int l = 0; l <= k && good; l++)
			{
				double		swap = m[i][l];

				m[i][l] = m[pivot][l];
				m[pivot][l] = swap;
			}
			for (int j = 0; j < k && good; j++)
			{
				double		factor = m[j][i] / m[i][i];

				if (j == i)
					continue;
				for (int l = i; l <= k; l++)
					m[j][l] -= factor * m[i][l];
			}
		}
		if (!good)
			continue;
		for (int l = 0; l < n + sampled; l++)
		{
			x[l] = t[l];
			for (int i = 0; i < k; i++)
				x[l] += v[l] * rows[which[i]][l] * m[i][k] / m[i][i];
			cost += (x[l] - t[l]) * (x[l] - t[l]) / v[l];
		}
		for (int i = 0; i < nrows; i++)
		{
			double		left = -limits[i];

			for (int l = 0; l < n + sampled; l++)
				left += rows[i][l] * x[l];
			good &= left > -1e-7;
		}
		if (good && cost < least)
		{
			least = cost;
			memcpy(best, x, sizeof(double) * (n + sampled));
		}
	}
}

/*
 * Returns whether a plan's times fulfil all conditions.  The plan must have neither untimed nodes
 * nor Gather.
 */
static bool
holds(const PlanEstimate *plan, double tolerance)
{
	for (int i = 0; i < plan->nnodes; i++)
	{
		double		left = plan->nodes[i].total_ns;

		for (int j = 0; j < plan->nnodes; j++)
		{
			if (plan->nodes[j].parent == i && plan->nodes[j].kind != NODE_UNTIMED)
				left -= plan->nodes[j].total_ns;
		}
		if (!(left >= -tolerance))
			return false;
	}
	return fabs(plan->nodes[0].total_ns + plan->outside_ns - plan->whole_ns) <= tolerance &&
		plan->outside_ns >= 0;
}

static void
test_one_condition(void)
{
	PlanEstimate plan = new_plan(4, 0, &no_cost);

	/* Node 3 is below node 2; nodes 1 and 2 are below node 0. */
	plan.nodes[2].parent = 0;
	plan.nodes[3].parent = 2;
	for (int i = 0; i < 4; i++)
	{
		plan.nodes[i].leader.total_ns = (double[]) {1000, 300, 200, 260}[i];
		plan.nodes[i].leader.variance = (double[]) {5, 7, 9, 3}[i];
	}
	plan.run_ns = 1500;
	plan_estimate(&plan);
	ok(plan.nodes[0].total_ns == 1000 && plan.nodes[1].total_ns == 300, "times that violate no condition are not changed");
	ok(near(plan.nodes[2].total_ns, 245, 1e-12) && near(plan.nodes[3].total_ns, 245, 1e-12),
	   "a node that is faster than its child: both change in proportion to their variances: %.9f, %.9f", plan.nodes[2].total_ns, plan.nodes[3].total_ns);
	ok(near(plan.nodes[2].adjusted_ns, 45, 1e-12) && near(plan.nodes[3].adjusted_ns, -15, 1e-12),
	   "adjusted_ns has the changes");
	ok(near(plan.nodes[2].total_margin_ns, 45, 1e-12) &&
	   near(plan.nodes[3].total_margin_ns, 15, 1e-12) &&
	   near(plan.nodes[2].self_margin_ns, 60, 1e-12) && plan.nodes[0].self_margin_ns < 20,
	   "margins are at least as large as a large change: %g", plan.nodes[2].self_margin_ns);
	ok(plan.nodes[2].self_ns == 0 && near(plan.nodes[0].self_ns, 455, 1e-9), "self times");
	ok(near(plan.outside_ns, 500, 1e-12), "the rest of the run is outside of all nodes");
	free_plan(&plan);

	/* Times that contradict each other, without reconciliation */
	plan = new_plan(2, 0, &no_cost);
	plan.nodes[0].leader.total_ns = 100;
	plan.nodes[1].leader.total_ns = 130;
	plan.nodes[0].leader.variance = plan.nodes[1].leader.variance = 1;
	plan.run_ns = 50;
	plan.as_it_is = true;
	plan_estimate(&plan);
	ok(plan.nodes[0].total_ns == 100 && plan.nodes[1].total_ns == 130 &&
	   plan.nodes[0].adjusted_ns == 0 &&
	   plan.nodes[1].adjusted_ns == 0 && plan.nodes[0].self_ns == 0 && plan.nodes[1].self_ns == 130,
	   	"as_it_is: contradicting times are not changed");
	free_plan(&plan);

	/*
	 * The root's time and the time outside of all nodes must add up to the time of the run.
	 */
	for (int i = 0; i < 4; i++)
	{
		double		run = (double[]) {220, 120, 100, 20}[i];
		double		root = (double[]) {165, 90, 75, 15}[i];

		plan = new_plan(1, 0, &no_cost);
		plan.nodes[0].leader.total_ns = 150;
		plan.nodes[0].leader.variance = 3;
		plan.outside_ns = 50;
		plan.outside_variance = 1;
		plan.run_ns = run;
		plan_estimate(&plan);
		/*
		 * The root gets 3/4 of the missing time, but the time outside must not become negative.
		 */
		root = 150 + 0.75 * (run - 200);
		root = root > run ? run : root;
		ok(near(plan.nodes[0].total_ns, root, 1e-12) && near(plan.outside_ns, run - root, 1e-9) &&
		   plan.root_estimate_ns == 200, "a run of %g: %.9f in the root, %.9f outside", run, plan.nodes[0].total_ns, plan.outside_ns);
		free_plan(&plan);
	}
	for (int i = 0; i < 3; i++)
	{
		double		run = (double[]) {120, 0, -5}[i];

		plan = new_plan(1, 0, &no_cost);
		plan.nodes[0].leader.total_ns = 150;
		plan.nodes[0].leader.variance = i == 1 ? 0 : 3;
		plan.run_ns = run;
		plan_estimate(&plan);
		ok(plan.nodes[0].total_ns == fmax(run, 0) && plan.outside_ns == 0 &&
		   plan.whole_ns == fmax(run, 0) &&
		   plan.root_estimate_ns == 150, "the root does not take longer than its run of %g", run);
		free_plan(&plan);
	}
}

static void
test_nearest(void)
{
	double		worst = 0;
	bool		all_hold = true;
	int			violated = 0;

	for (int round = 0; round < 3000; round++)
	{
		int			n = 1 + below(MAX_SMALL);
		bool		sampled = below(2);
		PlanEstimate plan = new_plan(n, 0, &no_cost);
		double		t[MAX_SMALL + 1];
		double		v[MAX_SMALL + 1];
		double		best[MAX_SMALL + 1];
		double		off = 0;

		grow(&plan, round % 3 == 0);
		for (int i = 0; i <= n; i++)
		{
			t[i] = 100 * uniform();
			v[i] = pow(10, 4 * uniform());
		}
		for (int i = 0; i < n; i++)
		{
			plan.nodes[i].leader.total_ns = t[i];
			plan.nodes[i].leader.variance = v[i];
		}
		plan.run_ns = 200 * uniform();
		if (sampled)
			plan.outside_ns = t[n];
		plan.outside_variance = v[n];
		nearest(&plan, t, v, best);
		plan_estimate(&plan);
		all_hold &= holds(&plan, 1e-9);
		for (int i = 0; i < n; i++)
		{
			off = fmax(off, fabs(plan.nodes[i].total_ns - best[i]));
			violated += fabs(best[i] - t[i]) > 1e-6;
		}
		worst = fmax(worst, off);
		free_plan(&plan);
	}
	ok(violated > 3000, "3000 small plans: %d totals violate a condition before", violated);
	ok(all_hold, "3000 small plans: all conditions hold after reconciliation");
	ok(worst < 1e-3, "3000 small plans: the change is the smallest in terms of variances, off by %g at most", worst);
}

/* Tests contradictions that require changes of many nodes. */
static void
test_far(void)
{
	static const int depths[] = {2, 3, 10, 100, 2000};
	PlanEstimate plan;

	/*
	 * Each node's measured time is longer than that of its parent.  After reconciliation, all nodes
	 * must have the mean time.
	 */
	for (int d = 0; d < LENGTH(depths); d++)
	{
		int			n = depths[d];
		double		worst = 0;

		plan = new_plan(n, 0, &no_cost);
		for (int i = 0; i < n; i++)
		{
			plan.nodes[i].leader.total_ns = 1000 + i;
			plan.nodes[i].leader.variance = 100;
		}
		plan.run_ns = 10000;
		plan_estimate(&plan);
		for (int i = 0; i < n; i++)
			worst = fmax(worst, fabs(plan.nodes[i].total_ns - (1000 + (n - 1) / 2.0)));
		ok(worst < 1e-6, "a chain of %d nodes: all have the mean, %g off", n, worst);
		free_plan(&plan);
	}

	/* An uncertain root that takes less time than its child */
	plan = new_plan(2, 0, &no_cost);
	plan.nodes[0].leader.total_ns = 90;
	plan.nodes[0].leader.variance = 1e6;
	plan.nodes[1].leader.total_ns = 95;
	plan.nodes[1].leader.variance = 1e-6;
	plan.run_ns = 80;
	plan_estimate(&plan);
	ok(near(plan.nodes[0].total_ns, 80, 1e-12) && near(plan.nodes[1].total_ns, 80, 1e-12),
	   "no child takes longer than the run: %.9f", plan.nodes[1].total_ns);
	free_plan(&plan);

	/*
	 * The times contradict each other.  None of them has a variance, but some must be changed.
	 */
	plan = new_plan(4, 0, &no_cost);
	plan.nodes[2].parent = 0;
	for (int i = 0; i < 4; i++)
		plan.nodes[i].leader.total_ns = (double[]) {200, 150, 100, 30}[i];
	plan.nodes[3].parent = 1;
	plan.run_ns = 150;
	plan_estimate(&plan);
	ok(holds(&plan, 1e-9), "no variances: all conditions hold");
	ok(near(plan.nodes[0].total_ns, 150, 1e-12) && near(plan.nodes[1].total_ns, 90, 1e-12) &&
	   near(plan.nodes[2].total_ns, 60, 1e-12) && near(plan.nodes[3].total_ns, 30, 1e-12),
	   "children divide their parent's time: %.9f, %.9f", plan.nodes[1].total_ns, plan.nodes[2].total_ns);
	free_plan(&plan);

	/* Exact times are not changed if changing the uncertain ones suffices. */
	plan = new_plan(3, 0, &no_cost);
	plan.nodes[2].parent = 0;
	for (int i = 0; i < 3; i++)
		plan.nodes[i].leader.total_ns = (double[]) {100, 80, 50}[i];
	plan.nodes[2].leader.variance = 9;
	plan.run_ns = 100;
	plan_estimate(&plan);
	ok(near(plan.nodes[0].total_ns, 100, 1e-12) && near(plan.nodes[1].total_ns, 80, 1e-12) &&
	   near(plan.nodes[2].total_ns, 20, 1e-12), "only the uncertain time is changed: %.9f", plan.nodes[2].total_ns);
	free_plan(&plan);

	/*
	 * Changing only the uncertain time would make it negative.  So exact times are changed, too.
	 */
	plan = new_plan(3, 0, &no_cost);
	plan.nodes[2].parent = 0;
	for (int i = 0; i < 3; i++)
		plan.nodes[i].leader.total_ns = (double[]) {100, 130, 5}[i];
	plan.nodes[0].leader.variance = 1;
	plan.nodes[1].leader.variance = 2;
	plan.nodes[2].leader.variance = 1e4;
	plan.run_ns = 1000;
	plan_estimate(&plan);
	ok(near(plan.nodes[0].total_ns, 110, 1e-12) && near(plan.nodes[1].total_ns, 110, 1e-12) &&
	   plan.nodes[2].total_ns == 0, "no time becomes negative: %.9f, %.9f, %.9f", plan.nodes[0].total_ns,
	   plan.nodes[1].total_ns, plan.nodes[2].total_ns);
	free_plan(&plan);
}

/* ---------------------------------------------------------------------
 * Time during which other processes had the processor.
 */
static void
test_others(void)
{
	CpuUsage	before = {.cpu_ns = 1e9, .delay_ns = -1};
	CpuUsage	after = before;
	CpuUsage	unknown = {.delay_ns = -1};

	ok(preempted_ns(&unknown, &unknown, 1e9) == 0, "no figures of the system: no preempted time");
	after.cpu_ns += 4e8;
	ok(preempted_ns(&before, &after, 1e9) == 0, "off the CPU without a context switch: no preempted time");
	after.preemptions = 30;
	ok(near(preempted_ns(&before, &after, 1e9), 6e8, 1e-9), "only preemptions: all time off the CPU is preempted");
	after.waits = 10;
	ok(near(preempted_ns(&before, &after, 1e9), 4.5e8, 1e-9), "no delay by the scheduler: preemptions' share of all switches counts");
	after.preemptions = 0;
	ok(preempted_ns(&before, &after, 1e9) == 0, "only waits: no preempted time");
	before.delay_ns = after.delay_ns = 1e6;
	after.delay_ns += 2e8;
	ok(near(preempted_ns(&before, &after, 1e9), 2e8, 1e-9), "a delay by the scheduler: the delay is preempted");
	after.delay_ns += 9e8;
	ok(near(preempted_ns(&before, &after, 1e9), 6e8, 1e-9), "the preempted time is at most the time off the CPU");
	after.cpu_ns = before.cpu_ns + 2e9;
	ok(preempted_ns(&before, &after, 1e9) == 0, "more CPU time than elapsed time: no preempted time");
	before = cpu_usage_before();
	after = cpu_usage_after();
	ok(after.cpu_ns >= before.cpu_ns && after.preemptions >= before.preemptions &&
	   after.delay_ns >= before.delay_ns,
	   "the system's figures do not decrease");
}

/*
 * Tests the margin of a share.  It has two causes: sampling, and the uncertainty of the query's
 * whole time, from which the cost of timing was subtracted.
 */
static void
test_share(void)
{
	static const struct
	{
		double		self;		/* self time in percent of the whole */
		double		sampling;	/* self time's margin in percent of the whole */
		double		margin;		/* expected margin of the share in percent */
	}			cases[] = {
		/*
		 * the whole time was measured, so the margin is that of the self time
		 */
		{50, 5, 5}, {100, 5, 5}, {10, 2, 2}, {0.5, 0.2, 0.2},
		{50, 51, 51},
	};
	static const CallCost no_cost;
	CallCost	counting = {.counted_ns = 20, .timed_ns = 20};

	for (int i = 0; i < LENGTH(cases); i++)
	{
		PlanEstimate plan = new_plan(2, 0, &no_cost);
		const NodeEstimate *root = &plan.nodes[0];

		for (int j = 0; j < 2; j++)
		{
			plan.nodes[j].parent = j - 1;
			plan.nodes[j].leader.calls = plan.nodes[j].leader.timed = 10;
			plan.nodes[j].leader.loops = 1;
		}
		plan.run_ns = 1e6;
		plan.nodes[0].leader.total_ns = 1e6;
		plan.nodes[1].leader.total_ns = 1e4 * (100 - cases[i].self);
		plan.nodes[0].leader.variance = pow(1e4 * cases[i].sampling / NORMAL_975, 2);
		plan.as_it_is = true;
		plan_estimate(&plan);
		ok(near(root->share_percent, cases[i].self, 1e-9) &&
		   near(root->share_margin_percent, cases[i].margin, 1e-9),
		   "self time %g %% of the whole: %g +/- %g, expected %g", cases[i].self, root->share_percent,
		   root->share_margin_percent, cases[i].margin);
		free_plan(&plan);
	}

	/*
	 * In a run of 120 us, 1000 calls were timed at a cost of 20 ns each.  So the query takes 100
	 * us.  This time's margin is half of the cost of timing, 10 us.  The root takes half of the 100
	 * us.  In the second round, the caller states 200 us as the query's time.
	 */
	for (int given = 0; given < 2; given++)
	{
		PlanEstimate plan = new_plan(1, 0, &counting);
		const NodeEstimate *root = &plan.nodes[0];

		plan.nodes[0].parent = -1;
		plan.nodes[0].leader.calls = plan.nodes[0].leader.timed = 1000;
		plan.nodes[0].leader.loops = 1;
		plan.nodes[0].leader.total_ns = 50e3;
		plan.run_ns = 120e3;
		plan.outside_ns = 50e3;
		plan.outside_variance = 1;
		plan.as_it_is = given;
		plan.whole_ns = given ? 200e3 : 0;
		plan_estimate(&plan);
		ok(near(root->share_percent, given ? 25 : 50, 1e-9) &&
		   near(root->share_margin_percent, given ? 1.25 : hypot(10, 5), 1e-9),
		   "a share of an uncertain whole: %g +/- %g", root->share_percent, root->share_margin_percent);
		free_plan(&plan);
	}
}

static void
test_anything(void)
{
	bool		finite = true;
	bool		not_negative = true;
	bool		within = true;
	bool		conditions = true;

	for (int round = 0; round < 5000; round++)
	{
		int			n = round == 0 ? 2000 : 1 + below(40);
		bool		plain = below(2);	/* has neither workers nor untimed nodes */
		int			nworkers = plain ? 0 : below(4);
		PlanEstimate plan = new_plan(n, nworkers, below(4) == 0 ? &no_cost : &some_cost);
		double		self = 0;
		double		largest = 0;
		double		tolerance;

		grow(&plan, round % 5 == 0);
		for (int i = 0; i < n; i++)
		{
			NodeEstimate *node = &plan.nodes[i];

			if (!plain)
			{
				node->gathers = below(10) == 0;
				node->kind = below(10) == 0 ? NODE_UNTIMED : below(5) == 0 ? NODE_WHOLE :
					NODE_SAMPLED;
			}
			for (int p = -1; p < nworkers; p++)
			{
				NodeRecord *r = p < 0 ? &node->leader : &node->workers[p];

				memset(r, 0, sizeof(NodeRecord));
				if (node->kind == NODE_UNTIMED || (!plain && below(5) == 0))
					continue;
				r->loops = 1 + below(3);
				r->calls = (int64_t) pow(10, 12 * uniform());
				r->timed = below(2) ? r->calls : (int64_t) ((double) r->calls * uniform());
				r->rows = (double) r->calls;
				r->total_ns = below(10) == 0 ? 0 : pow(10, 15 * uniform());
				r->first_ns = r->total_ns * uniform();
				largest = fmax(largest, r->total_ns);
				r->variance = below(3) == 0 ? 0 : pow(r->total_ns * uniform(), 2);
			}
		}
		plan.run_ns = below(20) == 0 ? 0 : pow(10, 15 * uniform());
		if (below(2))
			plan.outside_ns = plan.run_ns * uniform();
		plan.outside_variance = below(3) == 0 ? 0 : pow(plan.run_ns * uniform(), 2);
		plan.as_it_is = below(10) == 0;
		tolerance = 1e-12 * fmax(plan.run_ns, largest);
		plan_estimate(&plan);

		for (int i = 0; i < n; i++)
		{
			NodeEstimate *node = &plan.nodes[i];

			finite &= isfinite(node->total_ns) && isfinite(node->self_ns) &&
				isfinite(node->total_margin_ns) &&
				isfinite(node->self_margin_ns) && isfinite(node->first_ns) &&
					isfinite(node->adjusted_ns) &&
				isfinite(node->leader_ns);
			not_negative &= node->total_ns >= 0 && node->self_ns >= 0 &&
				node->total_margin_ns >= 0 &&
				node->self_margin_ns >= 0 && node->first_ns >= 0;
			self += node->self_ns;
		}
		finite &= isfinite(plan.overhead_ns) && isfinite(plan.root_estimate_ns) &&
			isfinite(plan.whole_ns);
		if (!plan.as_it_is)
		{
			conditions &= plan.outside_ns >= 0 &&
				plan.nodes[0].total_ns <= plan.whole_ns + tolerance;
			if (plain)
			{
				conditions &= holds(&plan, tolerance);
				within &= fabs(self - plan.nodes[0].total_ns) <= n * tolerance;
			}
		}
		free_plan(&plan);
	}
	ok(finite, "5000 random plans: all figures are finite");
	ok(not_negative, "5000 random plans: no figure is negative");
	ok(conditions, "5000 random plans: no node takes less than its children, nor the root more than the run");
	ok(within, "5000 random plans: self times add up to the root's total");
}

int
main(void)
{
	test_strata();
	test_gaps();
	test_populations();
	test_below();
	test_chances();
	test_truth();
	test_shared();
	test_workers();
	test_whole_scans();
	test_one_condition();
	test_nearest();
	test_far();
	test_anything();
	test_others();
	test_share();
	return done();
}
