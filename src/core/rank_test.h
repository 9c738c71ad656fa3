/*-------------------------------------------------------------------------
 *
 * rank_test.h
 *	  By how much one data set is shifted against another, by ranks: the test
 *	  of Wilcoxon, Mann and Whitney, with the estimate of Hodges and Lehmann.
 *
 * The conventions are those of R's wilcox.test(b, a, conf.int = TRUE), whose
 * interval by the normal approximation is the root of a step function, found
 * by iteration; here it is the step itself.
 *
 * Data are finite, in ascending order, and below 1e150 in absolute value, with
 * at least one value in each set.  Nothing here allocates.  The differences
 * b[j] - a[i] of all pairs are never stored: of 10^6 values each, there are
 * 10^12.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_RANK_TEST_H
#define CLOCKTIMING_RANK_TEST_H

#include <stdbool.h>
#include <stdint.h>

/* With fewer values in each of two sets, and all distinct, results are exact. */
#define RANK_EXACT_BELOW	50

/* Called after some milliseconds of work at most; may not return.  Or NULL. */
typedef void (*RankPause) (void);

typedef struct RankSets
{
	const double *a;
	int			a_n;
	double		a_factor;		/* a's values count as multiplied by this */
	const double *b;
	int			b_n;
	RankPause	pause;
} RankSets;

/*
 * The k-th smallest of all differences, 1 <= k <= a_n * b_n; for 0, or one too
 * many, NAN.  As the exact value is found, and not approximated, ties do no
 * harm.
 */
extern double rank_difference(const RankSets *sets, int64_t k);

/* The median of all differences: Hodges and Lehmann, Ann. Math. Stat. 34, 1963. */
extern double rank_shift(const RankSets *sets);

/*
 * The two-sided p-value of the hypothesis that neither set tends to be above
 * the other (Mann and Whitney, Ann. Math. Stat. 18, 1947), and the rank k of
 * the difference that is the lower end of the confidence interval of the
 * shift; the upper end is the k-th from above.  k is 0 if so few values cannot
 * give that confidence at all.
 *
 * Few values without ties: p is that of the exact distribution.  The interval
 * excludes 0 exactly where p is below "outside".
 *
 * Else: the normal approximation with a correction for continuity of 1/2.  The
 * variance in p is corrected for all ties; that in k for ties within a set, as
 * there are none between sets for nearly any shift.  p is NAN if all values are
 * the same.
 */
typedef struct RankTest
{
	double		p_value;
	int64_t		k;
} RankTest;

/* "inside" and "outside" as in CompareLevel; a_factor plays no part. */
extern RankTest rank_test(const RankSets *sets, double inside, double outside);

#endif							/* CLOCKTIMING_RANK_TEST_H */
