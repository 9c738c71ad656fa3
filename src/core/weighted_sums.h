/*-------------------------------------------------------------------------
 *
 * weighted_sums.h
 *	  Totals and means of values of which a random part is known, each by its
 *	  own chance, as sums that can be added and subtracted.
 *
 * A value that was seen with the chance p has the weight w = 1/p.  Sums of the
 * values seen until now less those until then are the sums of the values seen
 * between: that is how two states of a statistic are compared.
 *
 * Nothing here allocates.  What is not known comes out as NAN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_WEIGHTED_SUMS_H
#define CLOCKTIMING_WEIGHTED_SUMS_H

/* Only numbers of type double: it is stored, and handed to SQL as an array. */
typedef struct WeightedSums
{
	double		n;				/* values seen */
	double		w;				/* sums over them of w, w^2, w x, ... */
	double		w2;
	double		wx;
	double		wxx;
	double		w2x;
	double		w2xx;
	double		wv;				/* w times the variance of x by itself */
} WeightedSums;

#define WEIGHTED_SUMS_MEMBERS	8

/*
 * Adds a value of weight w >= 1, which is itself an estimate with that variance;
 * 0: it is exact.
 */
extern void weighted_add(WeightedSums *sums, double w, double x, double variance);

/* Takes off what had been added when the sums were "before". */
extern void weighted_subtract(WeightedSums *sums, const WeightedSums *before);

/*
 * How many values there were, seen or not, is the sum of w (Horvitz and Thompson,
 * JASA 47, 1952, where each is seen independently of the others), and their total is
 * the sum of w x.  The margins are half of a 95 % confidence interval, the variances
 * being the sums of w (w - 1) and of w (w - 1) x^2 + w v (Saerndal, Swensson and
 * Wretman, Model Assisted Survey Sampling, 1992, results 2.8.1 and 4.3.1).  0 where
 * all are seen, and exact.
 */
extern double weighted_count_margin(const WeightedSums *sums);
extern double weighted_total_margin(const WeightedSums *sums);

/*
 * The mean, sum of w x over the sum of w (Hajek's estimator; ibid., section 5.7), NAN
 * for n = 0; and its standard error as an estimate of the mean that such values would
 * have in the long run: the root of the sum of w^2 (x - mean)^2, over the sum of w,
 * times n / (n - 1).  How values vary contains already how far each is off by itself.
 * NAN for n < 2.
 */
extern double weighted_mean(const WeightedSums *sums);
extern double weighted_mean_stderr(const WeightedSums *sums);

/*
 * How many values of equal weight would tell as much (Kish, Survey Sampling, 1965,
 * section 11.7), less 1.
 */
extern double weighted_df(const WeightedSums *sums);

/* Half of the mean's 95 % confidence interval, by Student's t; NAN for n < 2. */
extern double weighted_mean_margin(const WeightedSums *sums);

/* Whether the means of two kinds of values differ. */
typedef struct WeightedTest
{
	double		difference;		/* b's mean less a's */
	double		margin;			/* half of its confidence interval */
	double		p_value;		/* two-sided */
} WeightedTest;

/*
 * Welch's test (Biometrika 34, 1947) of independent sums: margin and p_value are NAN
 * if either has n < 2, or if neither varies.  0 < confidence < 1.
 */
extern WeightedTest weighted_test(const WeightedSums *a, const WeightedSums *b,
								  double confidence);

#endif							/* CLOCKTIMING_WEIGHTED_SUMS_H */
