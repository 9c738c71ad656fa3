/*-------------------------------------------------------------------------
 *
 * run_series.h
 *	  The mean of several runs of one plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_RUN_SERIES_H
#define CLOCKTIMING_RUN_SERIES_H

#include "core/plan_estimate.h"

#define MAX_RUNS	1000

typedef struct RunSeries
{
	int			runs;			/* added so far */
	int			nids;			/* plan_node_ids are below */
	struct NodeSeries *nodes;	/* by plan_node_id */
	double		run_ns;			/* sums */
	double		root_estimate_ns;
	double		whole_ns;
	double		overhead_ns;
	double		preempted_ns;
} RunSeries;

/* Adds a run's estimates.  The first allocates in CurrentMemoryContext. */
extern void run_series_add(RunSeries *series, const PlanEstimate *plan);

/*
 * Puts the means of all runs in place of the last one's estimates.  A node that
 * a run did not have, or did not execute, took no time in it.
 *
 * A mean's margin has two parts, whose squares are added up.  What differs from
 * run to run is the larger of what the runs' spread says, Student's t times
 * the standard error, and of what the runs' own margins say of it, which gets
 * smaller by the square root of their number.  What calls cost by calibration
 * is off by as much in all runs.
 */
extern void run_series_put(const RunSeries *series, PlanEstimate *plan);

#endif							/* CLOCKTIMING_RUN_SERIES_H */
