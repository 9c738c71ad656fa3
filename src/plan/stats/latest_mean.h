/* A running mean of the latest values, in which older ones have less and less weight. */
#ifndef CLOCKTIMING_LATEST_MEAN_H
#define CLOCKTIMING_LATEST_MEAN_H

#define REMEMBERED		8		/* length of a running mean, in executions */

typedef struct LatestMean
{
	float		n;				/* number of values, at most REMEMBERED */
	float		mean;
} LatestMean;

static inline void
remember(LatestMean *latest, double value)
{
	latest->n = Min(latest->n + 1, REMEMBERED);
	latest->mean += ((float) value - latest->mean) / latest->n;
}

#endif							/* CLOCKTIMING_LATEST_MEAN_H */
