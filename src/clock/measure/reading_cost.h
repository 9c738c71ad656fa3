/* Measures the cost of a reading, in a loop; for source NULL, that of a cheap system call. */
#ifndef CLOCKTIMING_READING_COST_H
#define CLOCKTIMING_READING_COST_H

#include "clock/measure/source.h"

typedef struct ReadingCost
{
	double		ns;				/* cost of an undisturbed reading */
	double		margin_ns;		/* half of its 95 % confidence interval */
	double		typical_ns;		/* median of all batches */
	double		typical_margin_ns;	/* NAN for fewer than six batches */
} ReadingCost;

/* Measures the cost of an available source for duration_s seconds.  Can be cancelled. */
extern ReadingCost reading_cost(const ClockSource *source, double duration_s);

/* Measures n sources in turns, by at most most_batches batches each, and writes their costs. */
extern void reading_costs(const ClockSource *const *sources, int n, double duration_s,
						  int most_batches, ReadingCost *costs);

typedef struct CostSeries
{
	const ClockSource *source;
	int			batch;			/* number of readings in about 40 us */
	double	   *ns;				/* palloc'd samples: costs of a reading */
} CostSeries;

/*
 * Measures n series in turns, in batches of readings.  With a label, divides the duration into
 * "most" parts, and reports progress.  Each part yields one sample per series: the median of one or
 * more batches.  Without a label, each sample is a single batch.  The measurement then ends after
 * "most" samples, or after the duration if there are at least ten.  Returns the number of samples
 * of each series.  Can be cancelled.
 */
extern int	reading_cost_samples(CostSeries *series, int n, int most, double duration_s,
								 const char *label);

#endif							/* CLOCKTIMING_READING_COST_H */
