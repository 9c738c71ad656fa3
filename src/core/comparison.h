/*
 * Compares data sets by ranks, or like FreeBSD's ministat(1) with computed quantiles.  Data are
 * finite and below COMPARE_LIMIT in absolute value.  Results are NAN if they are not defined.
 */
#ifndef CLOCKTIMING_COMPARISON_H
#define CLOCKTIMING_COMPARISON_H

#include <stdbool.h>

#include "core/rank_test.h"

#define COMPARE_LIMIT		1e150

/* Largest number of data sets in a plot, each of which has a symbol. */
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
	double		mean_rest;		/* exact mean minus "mean", by rounding */
	double		stddev;			/* divided by n - 1; 0 for equal values */
} CompareSet;

/* Sorts n >= 2 values and computes their statistics. */
extern void compare_summary(CompareSet *set);

/* Confidence of a two-sided test.  "inside" + "outside" is 1; the smaller one keeps its digits. */
typedef struct CompareLevel
{
	double		inside;			/* 0.95 for 95 % */
	double		outside;
	const char *percent;		/* text, such as "95.0" */
} CompareLevel;

typedef enum CompareMethod
{
	COMPARE_RANK,				/* Mann-Whitney test, Hodges-Lehmann shift */
	COMPARE_STUDENT,			/* t test with pooled variance */
	COMPARE_WELCH				/* t test with separate variances */
} CompareMethod;

typedef enum CompareVerdict
{
	COMPARE_DIFFERENT,
	COMPARE_NOT_PROVEN,
	COMPARE_TOO_FEW,			/* too few values for this confidence */
	COMPARE_NO_TEST				/* all values are equal */
} CompareVerdict;

typedef struct CompareTest
{
	double		difference;		/* shift, or difference of means, of b minus a */
	double		low;			/* interval of the difference, or NAN */
	double		high;
	double		margin;			/* half of the interval; 0: COMPARE_NO_TEST */
	double		percent;		/* difference in percent of a, or NAN */
	double		margin_percent; /* half of the interval of "percent" */
	double		pooled_stddev;	/* Student's test only, else NAN */
	double		df;				/* degrees of freedom; NAN for ranks */
	double		p_value;		/* two-sided; NAN for COMPARE_NO_TEST */
	CompareVerdict verdict;
} CompareTest;

/*
 * Compares two independent data sets after compare_summary().  COMPARE_RANK: see rank_test.h; sets
 * differ if p is below level->outside.  COMPARE_WELCH: degrees of freedom of Welch and
 * Satterthwaite (Welch, Biometrika 34, 1947).  For the interval of "percent", a's data are first
 * multiplied by the ratio of b's to a's location, so that the interval includes the error of a.
 */
extern CompareTest compare_test(const CompareSet *a, const CompareSet *b,
								const CompareLevel *level, CompareMethod method,
								RankPause pause);

extern const char *compare_verdict(const CompareTest *test);

/*
 * Input of compare_plot(), which draws ministat's picture line by line: names and symbols, the
 * plot, a table, and the test of each data set against the first.  Where data sets overlap, the
 * symbol is that of their numbers combined by OR.  A bar below the plot extends one standard
 * deviation to each side of the mean A, with M at the median.  With "separate", each data set's bar
 * has a line of its own.
 */
typedef struct ComparePlot
{
	const CompareSet *sets;		/* after compare_summary() */
	int			nsets;			/* 1 to COMPARE_MAX_SETS */
	const CompareLevel *level;
	CompareMethod method;
	RankPause	pause;
	int			width;			/* COMPARE_MIN_WIDTH to COMPARE_MAX_WIDTH */
	bool		separate;
	void		(*line) (void *arg, const char *line);	/* without newline */
	void	   *arg;
} ComparePlot;

extern void compare_plot(const ComparePlot *plot);

#endif							/* CLOCKTIMING_COMPARISON_H */
