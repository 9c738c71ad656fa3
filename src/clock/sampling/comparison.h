/*
 * Compares data sets by ranks or by Student's t test, and plots them like FreeBSD's ministat(1).
 * Data are finite and below COMPARE_LIMIT in absolute value.  Undefined results are NAN.
 */
#ifndef CLOCKTIMING_COMPARISON_H
#define CLOCKTIMING_COMPARISON_H

#include <stdbool.h>

#include "clock/sampling/rank_test.h"
#include "core/stats.h"

/* Limit of the absolute value of data: the sum of the squares of 10^6 values fits into a double. */
#define COMPARE_LIMIT		1e150

/* Limits of a plot: number of data sets, each of which has a symbol; width in characters. */
#define COMPARE_MAX_SETS	7
#define COMPARE_MIN_WIDTH	60
#define COMPARE_MAX_WIDTH	1000

typedef struct CompareSet
{
	const char *name;
	double	   *x;				/* ascending after compare_summary() */
	int			n;

	/* set by compare_summary() */
	double		min;
	double		max;
	double		median;
	double		mean;
	double		mean_rest;		/* rounding error: exact mean minus "mean" */
	double		stddev;			/* with n - 1 in the denominator */
} CompareSet;

/* Sorts n >= 2 values and computes their statistics. */
extern void compare_summary(CompareSet *set);

typedef enum CompareMethod
{
	COMPARE_RANK,				/* Mann-Whitney test, Hodges-Lehmann shift */
	COMPARE_STUDENT,			/* t test with pooled variance */
	COMPARE_WELCH				/* t test with separate variances */
} CompareMethod;

typedef enum CompareVerdict
{
	COMPARE_DIFFERENT,			/* a difference is proven */
	COMPARE_NOT_PROVEN,
	COMPARE_TOO_FEW,			/* too few values for this confidence */
	COMPARE_NO_TEST				/* the values do not vary */
} CompareVerdict;

/* Result of comparing data set b with a.  The intervals are confidence intervals. */
typedef struct CompareTest
{
	double		difference;		/* b's mean minus a's; for ranks, the shift */
	double		low;			/* interval of the difference, or NAN */
	double		high;
	double		margin;			/* half of interval; 0 for COMPARE_NO_TEST */
	double		percent;		/* difference in percent of a's mean or median */
	double		margin_percent; /* half of the interval of "percent" */
	double		pooled_stddev;	/* of Student's test; else NAN */
	double		df;				/* degrees of freedom; NAN for ranks */
	double		p_value;		/* two-sided; NAN for COMPARE_NO_TEST */
	CompareVerdict verdict;
} CompareTest;

/*
 * Compares two independent data sets, for which compare_summary() has been called.  By COMPARE_RANK
 * (see rank_test.h) the sets differ if the p-value is below level->outside.  The divisor of
 * "percent", a's mean or median, has an error, too, which margin_percent contains.
 */
extern CompareTest compare_test(const CompareSet *a, const CompareSet *b,
								const ConfidenceLevel *level, CompareMethod method,
								RankPause pause);

/*
 * Returns "lower" or "higher" if a difference is proven, else other words.  Returns "differs" if the
 * difference is 0, although it is proven, because many values are equal.
 */
extern const char *compare_verdict(const CompareTest *test, const char *lower, const char *higher);

/*
 * Input of compare_plot(), which draws ministat's picture line by line: names and symbols, the
 * plot, a table, and the test of each data set against the first.  Data sets are numbered from 1.
 * Where data sets overlap, the OR of their numbers selects the symbol.  Bars below the plot extend
 * by one standard deviation to both sides of A, the mean.  M is the median.
 */
typedef struct ComparePlot
{
	const CompareSet *sets;		/* after compare_summary() */
	int			nsets;			/* 1 to COMPARE_MAX_SETS */
	const ConfidenceLevel *level;
	CompareMethod method;
	RankPause	pause;
	int			width;			/* COMPARE_MIN_WIDTH to COMPARE_MAX_WIDTH */
	bool		separate;		/* each data set's bar has its own line */
	void		(*line) (void *arg, const char *line);	/* prints a line */
	void	   *arg;
} ComparePlot;

extern void compare_plot(const ComparePlot *plot);

#endif							/* CLOCKTIMING_COMPARISON_H */
