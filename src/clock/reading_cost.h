/*-------------------------------------------------------------------------
 *
 * reading_cost.h
 *	  What one reading of a clock costs, in a loop that does nothing else.
 *
 * A source of NULL stands for the cheapest system call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_READING_COST_H
#define CLOCKTIMING_READING_COST_H

#include "clock/source.h"

typedef struct ReadingCost
{
	double		ns;
	double		margin_ns;		/* half of its 95 % confidence interval */
} ReadingCost;

/*
 * The cost of a source that is available, from readings in so many seconds.
 * Can be cancelled.
 */
extern ReadingCost reading_cost(const ClockSource *source, double duration_s);

/* The costs of n of them, side by side, by so many batches of each at most. */
extern void reading_costs(const ClockSource *const *sources, int n, double duration_s,
						  int most_batches, ReadingCost *costs);

/* Costs of one source, each the mean of a number of readings, in ns. */
typedef struct CostSeries
{
	const ClockSource *source;
	int			batch;			/* readings in 40 us or so */
	double	   *ns;				/* allocated by reading_cost_series() */
} CostSeries;

/*
 * Fills in the costs of so many readings each, 0 meaning a batch of them: the
 * same number of costs for each of the n series, which is returned.  It is the
 * least number or what duration_s allows, but "most" at most.  Reports progress
 * unless the label is NULL.  Can be cancelled.
 */
extern int	reading_cost_series(CostSeries *series, int n, int readings, int least,
								int most, double duration_s, const char *label);

#endif							/* CLOCKTIMING_READING_COST_H */
