/*-------------------------------------------------------------------------
 *
 * timing_options.h
 *	  How the plan nodes of an execution are timed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_TIMING_OPTIONS_H
#define CLOCKTIMING_TIMING_OPTIONS_H

#define NODE_SAMPLING_MAX	1000000

typedef struct NodeTimingOptions
{
	int			sampling;		/* about one call in so many is timed; 1:
								 * every call; 0: none, only counted */
	int			only_node;		/* the plan_node_id of the one node to time,
								 * nothing being done to the others; -1: all */
	double		max_overhead;	/* percent of the elapsed time that counting
								 * and timing calls may add: where it would be
								 * more, calls are timed more rarely */
	bool		may_stop;		/* whoever reads its rows may leave it off, or
								 * go on later, as with a cursor */
	bool		no_workers;		/* its plan is executed without any, whatever
								 * it says */
	bool		late;			/* ExecutorRun() is under way */
} NodeTimingOptions;

#endif							/* CLOCKTIMING_TIMING_OPTIONS_H */
