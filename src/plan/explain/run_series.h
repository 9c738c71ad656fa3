/* Means of several runs of one plan. */
#ifndef CLOCKTIMING_RUN_SERIES_H
#define CLOCKTIMING_RUN_SERIES_H

#include "plan/estimate/plan_estimate.h"

/* Largest number of runs.  A larger one is probably a typing error. */
#define MAX_RUNS	1000

typedef struct RunSeries
{
	MemoryContext context;		/* context of the nodes */
	int			runs;			/* number of runs added so far */
	int			nnodes;			/* number of nodes in the first run */
	struct NodeSeries *nodes;	/* their statistics, by place */
	struct NodeSeries *outside; /* statistics of the time outside of nodes */
	double		run_ns;			/* these: sums over runs */
	double		share_ns;
	double		cpu_wait_ns;
	double		samples;
	double		sampler_cpu_ns;
	double		throttled_ns;
} RunSeries;

extern void run_series_add(RunSeries *series, const PlanEstimate *plan);

/*
 * Replaces the last run's estimates by the means of all runs.  If a run did not execute a node, the
 * node's time in that run counts as 0.  Numbers of samples and the sampler's CPU time are sums.
 * Margins contain how much the runs differ.
 */
extern void run_series_put(const RunSeries *series, PlanEstimate *plan);

#endif							/* CLOCKTIMING_RUN_SERIES_H */
