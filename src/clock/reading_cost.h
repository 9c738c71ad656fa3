/* The cost of a reading, in a loop of nothing else.  Source NULL: the cheapest system call. */
#ifndef CLOCKTIMING_READING_COST_H
#define CLOCKTIMING_READING_COST_H

#include "clock/source.h"

typedef struct ReadingCost
{
	double		ns;				/* where nothing disturbs it */
	double		margin_ns;		/* half of its 95 % confidence interval */
	double		typical_ns;		/* median of all batches */
	double		typical_margin_ns;	/* NAN for fewer than six batches */
} ReadingCost;

/* Returns the cost of an available source, from readings in this time.  Can be cancelled. */
extern ReadingCost reading_cost(const ClockSource *source, double duration_s);

/* The costs of n of them, side by side, by so many batches of each at most. */
extern void reading_costs(const ClockSource *const *sources, int n, double duration_s,
						  int most_batches, ReadingCost *costs);

typedef struct CostSeries
{
	const ClockSource *source;
	int			batch;			/* readings in 40 us or so */
	double	   *ns;				/* allocated by what fills them in */
} CostSeries;

/*
 * Writes samples of each of n series, spread over the duration.  A sample is the median of the
 * costs of the batches in its part of the duration, at least one.  Reports progress under that
 * label.  Can be cancelled.
 */
extern void reading_cost_samples(CostSeries *series, int n, int samples,
								 double duration_s, const char *label);

#endif							/* CLOCKTIMING_READING_COST_H */
