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
 * Returns a typical one of the values that are not certain: a mean to which large values with small
 * weights hardly contribute.  If all are certain, returns their mean; NAN if no value was seen.
 */
extern double population_typical(const PopulationSums *sums);

/*
 * Returns sums of a population of n values, for the functions of weighted_sums.h.  Their wx is the
 * estimated total.  If all seen values are certain but n is larger than their number, each of the
 * others counts as "most" / 2, where "most" is about the largest of them.
 */
extern WeightedSums population_total(const PopulationSums *sums, double n, double most);

/*
 * Returns half of a 95 % confidence interval of the total; 0 if all values were seen, NAN if a
 * single value represents others.
 */
extern double population_margin(const PopulationSums *sums, double n, double most);

/*
 * Return half of a 95 % confidence interval of the total and of the mean.  It contains an error of
 * up to "slowed" by which values become larger if they are measured.  This error is the same for
 * all values that were not seen, so it adds up.
 */
extern double population_total_margin(const PopulationSums *sums, double n, double most,
									  double slowed);
extern double population_mean_margin(const PopulationSums *sums, double n, double most,
									 double slowed);

#endif							/* CLOCKTIMING_POPULATION_SUMS_H */
