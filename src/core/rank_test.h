/*
 * The shift between two data sets by ranks: the test of Wilcoxon, Mann and Whitney, and the
 * estimate of Hodges and Lehmann, as R's wilcox.test(b, a, conf.int = TRUE).  Data are finite, in
 * ascending order, and below 1e150 in absolute value.  The differences b[j] - a[i] of all pairs are
 * never stored: 10^6 values each have 10^12.
 */
#ifndef CLOCKTIMING_RANK_TEST_H
#define CLOCKTIMING_RANK_TEST_H

#include <stdbool.h>
#include <stdint.h>

/* Number of values per set below which results are exact, if all values are distinct. */
#define RANK_EXACT_BELOW	50

/* Callback after every few milliseconds of work; may leave by longjmp(); may be NULL. */
typedef void (*RankPause) (void);

typedef struct RankSets
{
	const double *a;
	int			a_n;
	double		a_factor;		/* factor by which a's values are multiplied */
	const double *b;
	int			b_n;
	RankPause	pause;
} RankSets;

/* Returns the k-th smallest difference, also with ties; NAN unless 1 <= k <= a_n * b_n. */
extern double rank_difference(const RankSets *sets, int64_t k);

/* Returns the median of all differences (Hodges and Lehmann, Ann. Math. Stat. 34, 1963). */
extern double rank_shift(const RankSets *sets);

/*
 * p_value is the two-sided p-value of the hypothesis that neither set tends to be above the other
 * (Mann and Whitney, Ann. Math. Stat. 18, 1947); NAN if all values are equal.  The confidence
 * interval of the shift reaches from the k-th smallest to the k-th largest difference; k is 0 if
 * the values are too few.  For few values without ties, both are exact, and the interval excludes
 * 0 exactly if p is below "outside".  Otherwise they are normal approximations, corrected for
 * continuity and for ties.  The correction of k counts only ties within a set, because nearly any
 * shift has no ties between sets.
 */
typedef struct RankTest
{
	double		p_value;
	int64_t		k;
} RankTest;

/* "inside" and "outside" are as in CompareLevel; a_factor is ignored. */
extern RankTest rank_test(const RankSets *sets, double inside, double outside);

#endif							/* CLOCKTIMING_RANK_TEST_H */
