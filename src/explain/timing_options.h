/* Options for timing the plan nodes of an execution. */
#ifndef CLOCKTIMING_TIMING_OPTIONS_H
#define CLOCKTIMING_TIMING_OPTIONS_H

#define NODE_SAMPLING_MAX	1000000

typedef struct NodeTimingOptions
{
	int			sampling;		/* one call in this many is timed, about; 1:
								 * every call; 0: calls are only counted */
	int			only_node;		/* plan_node_id of the only node; -1: all */
	double		max_overhead;	/* limit of the time that counting and timing
								 * may add, in percent of the elapsed time;
								 * calls are timed more rarely to keep it */
	bool		may_stop;		/* the reader may pause, or skip rows */
	bool		no_workers;		/* no worker is started for a Gather */
	bool		late;			/* attached while ExecutorRun() is active */
} NodeTimingOptions;

#endif							/* CLOCKTIMING_TIMING_OPTIONS_H */
