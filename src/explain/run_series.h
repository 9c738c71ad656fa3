/* Means of several runs of one plan. */
#ifndef CLOCKTIMING_RUN_SERIES_H
#define CLOCKTIMING_RUN_SERIES_H

#include "core/plan_estimate.h"

#define MAX_RUNS	1000

typedef struct RunSeries
{
	MemoryContext context;		/* context of "nodes" */
	int			runs;			/* number of runs added so far */
	int			nids;			/* largest plan_node_id + 1 */
	struct NodeSeries *nodes;	/* statistics by plan_node_id */
	double		run_ns;			/* these five: sums over runs */
	double		root_estimate_ns;
	double		whole_ns;
	double		overhead_ns;
	double		preempted_ns;
} RunSeries;

extern void run_series_add(RunSeries *series, const PlanEstimate *plan);

/*
 * Replaces the last run's estimates by the means of all runs.  If a run did not execute a node, the
 * node's time in that run counts as 0.
 *
 * The margin of a mean is the square root of random^2 + common^2.  "random" is the larger of two
 * values: Student's t times the standard error of the runs' times; and the root mean square of the
 * runs' random margins, divided by the square root of the number of runs.  "common" is the error of
 * the calibrated cost of calls, which is the same in all runs.
 */
extern void run_series_put(const RunSeries *series, PlanEstimate *plan);

#endif							/* CLOCKTIMING_RUN_SERIES_H */
