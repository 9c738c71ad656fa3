/*
 * Estimates the total of a population of known size from values of which each was seen with a
 * probability of its own.  A value that was seen with probability p has the weight w = 1/p.  Values
 * with weight 1 are certain.  The others also represent values that were not seen.
 */
#ifndef CLOCKTIMING_POPULATION_SUMS_H
#define CLOCKTIMING_POPULATION_SUMS_H

#include "plan/estimate/weighted_sums.h"

typedef struct PopulationSums
{
	WeightedSums seen;
	double		fourth;			/* sum of squares of the values' parts of the
								 * variance of the total */
} PopulationSums;

/* Adds a value of weight w >= 1. */
extern void population_add(PopulationSums *sums, double w, double x);

/*
 * Returns the mean of the values that are not certain, each weighted by w (w - 1), so that large
 * values with small weights hardly contribute.  If all are certain, returns their mean; NAN if no
 * value was seen.
 */
extern double population_typical(const PopulationSums *sums);

/*
 * Returns sums of a population of n values, for the functions of weighted_sums.h.  Their wx is the
 * estimated total: n m + the sum of w (x - m), where m is population_typical().  This estimator has
 * the least variance among those with the same form (Montanari, International Statistical Review
 * 55, 1987).  If all seen values are certain but n is larger than their number, each of the others
 * counts as "most" / 2, where "most" is about the largest of them.
 */
extern WeightedSums population_total(const PopulationSums *sums, double n, double most);

/*
 * Returns half of a 95 % confidence interval of the total; 0 if all values were seen, NAN if a
 * single value represents others.  The variance is the sum of w (w - 1) (x - m)^2.  The degrees of
 * freedom are Satterthwaite's (Biometrics 2, 1946) plus 1: in simulations, intervals with fewer
 * degrees are wider, but do not contain the truth more often.
 */
extern double population_margin(const PopulationSums *sums, double n, double most);

#endif							/* CLOCKTIMING_POPULATION_SUMS_H */
