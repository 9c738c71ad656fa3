/* Measures the cost of a reading in a loop.  Source NULL: the cheapest system call. */
#ifndef CLOCKTIMING_READING_COST_H
#define CLOCKTIMING_READING_COST_H

#include "clock/source.h"

typedef struct ReadingCost
{
	double		ns;				/* undisturbed */
	double		margin_ns;		/* half of its 95 % confidence interval */
	double		typical_ns;		/* median of all batches */
	double		typical_margin_ns;	/* NAN for fewer than six batches */
} ReadingCost;

/* Returns the cost of an available source, from readings in this time.  Can be cancelled. */
extern ReadingCost reading_cost(const ClockSource *source, double duration_s);

/* Writes the costs of n sources, measured in turns, by at most most_batches batches of each. */
extern void reading_costs(const ClockSource *const *sources, int n, double duration_s,
						  int most_batches, ReadingCost *costs);

typedef struct CostSeries
{
	const ClockSource *source;
	int			batch;			/* readings in some 40 us */
	double	   *ns;				/* palloc'd samples */
} CostSeries;

/*
 * Measures samples of each of n series, spread over the duration.  A sample is the median of the
 * costs of the batches in its part of the duration, at least one.  Reports progress under the
 * label.  Without a label, a sample is one batch, and at most "most" are measured, as many as the
 * duration allows; returns their number.  Can be cancelled.
 */
extern int	reading_cost_samples(CostSeries *series, int n, int most, double duration_s,
								 const char *label);

#endif							/* CLOCKTIMING_READING_COST_H */
