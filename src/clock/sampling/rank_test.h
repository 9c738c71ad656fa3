/*
 * Compares two data sets by ranks, as R's wilcox.test(b, a, conf.int = TRUE): the test of Wilcoxon,
 * Mann and Whitney, and the estimate of the shift by Hodges and Lehmann.  Data are finite, in
 * ascending order, and below 1e150 in absolute value.  Two sets of 10^6 values take a few seconds.
 */
#ifndef CLOCKTIMING_RANK_TEST_H
#define CLOCKTIMING_RANK_TEST_H

#include <stdbool.h>
#include <stdint.h>

/* If both sets have fewer values than this, and all values are distinct, results are exact. */
#define RANK_EXACT_BELOW	50

/* Callback after every few milliseconds of work; may leave by longjmp(); may be NULL. */
typedef void (*RankPause) (void);

typedef struct RankSets
{
	const double *a;
	int			a_n;
	double		a_factor;		/* a's values are multiplied by this factor */
	const double *b;
	int			b_n;
	RankPause	pause;
} RankSets;

/* Returns the k-th smallest difference, also with ties; NAN unless 1 <= k <= a_n * b_n. */
extern double rank_difference(const RankSets *sets, int64_t k);

/* Returns the median of all differences (Hodges and Lehmann, Ann. Math. Stat. 34, 1963). */
extern double rank_shift(const RankSets *sets);

/*
 * Result of the test of the hypothesis that neither set tends to be above the other (Mann and
 * Whitney, Ann. Math. Stat. 18, 1947).  The confidence interval of the shift reaches from the k-th
 * smallest to the k-th largest difference.  For few distinct values (RANK_EXACT_BELOW), p-value and
 * interval are exact: the interval excludes 0 if and only if p_value < 1 - confidence level.
 * Otherwise they are normal approximations, corrected for continuity and for ties.  For k, only
 * ties within a set count, because nearly any shift removes ties between the sets.
 */
typedef struct RankTest
{
	double		p_value;		/* two-sided; NAN if all values are equal */
	int64_t		k;				/* 0 if the values are too few */
} RankTest;

/* "inside" is the confidence level, such as 0.95; "outside" is 1 - inside.  Ignores a_factor. */
extern RankTest rank_test(const RankSets *sets, double inside, double outside);

#endif							/* CLOCKTIMING_RANK_TEST_H */
