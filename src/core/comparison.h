/*-------------------------------------------------------------------------
 *
 * comparison.h
 *	  Whether data sets differ: by ranks, or as ministat(1) of FreeBSD says it,
 *	  with quantiles that are computed instead of looked up.
 *
 * Data are finite numbers of any unit, below COMPARE_LIMIT in absolute value,
 * and results are in that unit.  What is not defined comes out as NAN.  Nothing
 * here allocates.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_COMPARISON_H
#define CLOCKTIMING_COMPARISON_H

#include <stdbool.h>

#include "core/rank_test.h"

#define COMPARE_LIMIT		1e150

/* What a plot can show: so many data sets have a symbol. */
#define COMPARE_MAX_SETS	7
#define COMPARE_MIN_WIDTH	60
#define COMPARE_MAX_WIDTH	1000

/* A data set. */
typedef struct CompareSet
{
	const char *name;
	double	   *x;				/* ascending after compare_summary() */
	int			n;

	/* what compare_summary() fills in */
	double		min;
	double		max;
	double		median;
	double		mean;
	double		mean_rest;		/* what rounding took off it, which is not
								 * little beside the difference of two means
								 * far from 0 */
	double		stddev;			/* n - 1 in the denominator; 0 exactly if all
								 * are equal */
} CompareSet;

/* Sums up n >= 2 values, and sorts them. */
extern void compare_summary(CompareSet *set);

/*
 * A level of confidence of a two-sided test.  "inside" and "outside" add up to
 * 1, and both are given lest the smaller one lose digits.
 */
typedef struct CompareLevel
{
	double		inside;			/* 0.95 for 95 % */
	double		outside;
	const char *percent;		/* as to be shown: "95.0" */
} CompareLevel;

typedef enum CompareMethod
{
	COMPARE_RANK,				/* Wilcoxon, Mann and Whitney; Hodges and
								 * Lehmann */
	COMPARE_STUDENT,			/* t test with pooled variance */
	COMPARE_WELCH				/* t test without */
} CompareMethod;

typedef enum CompareVerdict
{
	COMPARE_DIFFERENT,
	COMPARE_NOT_PROVEN,
	COMPARE_TOO_FEW,			/* ranks of so few values cannot give that
								 * confidence */
	COMPARE_NO_TEST				/* nothing varies, so that there is nothing to
								 * judge a difference by */
} CompareVerdict;

typedef struct CompareTest
{
	double		difference;		/* of b less a: the shift, or that of means */
	double		low;			/* its confidence interval; NAN for
								 * COMPARE_TOO_FEW */
	double		high;
	double		margin;			/* half of that interval's width; 0 for
								 * COMPARE_NO_TEST */
	double		percent;		/* the difference in percent of a's median, or
								 * mean; NAN if that is 0, or so small that it
								 * is beyond any number */
	double		margin_percent; /* half of its confidence interval, likewise */
	double		pooled_stddev;	/* NAN but for Student's test */
	double		df;				/* degrees of freedom; NAN for ranks */
	double		p_value;		/* two-sided; NAN for COMPARE_NO_TEST */
	CompareVerdict verdict;
} CompareTest;

/*
 * Tests two independent data sets, summed up before.
 *
 * By ranks: see rank_test.h.  Sets differ where p is below what the confidence
 * leaves.  The interval excludes 0 then, unless there are ties between sets, of
 * which it can have 0 for an end.
 *
 * Student's t test; or Welch's, which does not take both variances for the same,
 * with the degrees of freedom of Welch and Satterthwaite (Welch, Biometrika 34,
 * 1947).
 *
 * The interval of the difference in percent of a's median or mean is that of b's
 * over a's, to first order, as a's is not known exactly either: the same as
 * above, of data of which a's have been multiplied by that ratio.
 *
 * "pause" is for large sets, as in rank_test.h.
 */
extern CompareTest compare_test(const CompareSet *a, const CompareSet *b,
								const CompareLevel *level, CompareMethod method,
								RankPause pause);

/* The verdict in words. */
extern const char *compare_verdict(const CompareTest *test);

/*
 * The picture that ministat draws, line by line: the data sets' names and
 * symbols, the plot, a table, and the test of each against the first.  A value
 * is one symbol, and they are piled up where several fall into a column; where
 * data sets meet, it is the symbol whose number is theirs combined by OR.
 * Beneath, a bar reaches from the mean minus the standard deviation to the mean
 * plus it, with M at the median and, above it, A at the mean (average); it is a
 * line a data set if "separate".
 */
typedef struct ComparePlot
{
	const CompareSet *sets;		/* summed up */
	int			nsets;			/* 1 to COMPARE_MAX_SETS */
	const CompareLevel *level;
	CompareMethod method;
	RankPause	pause;
	int			width;			/* of the widest line, COMPARE_MIN_WIDTH to
								 * COMPARE_MAX_WIDTH */
	bool		separate;
	void		(*line) (void *arg, const char *line);	/* without newline */
	void	   *arg;
} ComparePlot;

extern void compare_plot(const ComparePlot *plot);

#endif							/* CLOCKTIMING_COMPARISON_H */
