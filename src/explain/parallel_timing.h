/*-------------------------------------------------------------------------
 *
 * parallel_timing.h
 *	  Has parallel workers time their nodes, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PARALLEL_TIMING_H
#define CLOCKTIMING_PARALLEL_TIMING_H

#include "explain/query_timing.h"

/* Tells the workers that are to come, if the plan may have some. */
extern void parallel_timing_share(QueryTiming *query);

/* How many workers may have reported; 0 if none was told. */
extern int	parallel_timing_workers(const QueryTiming *query);

/* A node's estimate, with what workers have reported. */
extern void parallel_timing_estimate(QueryTiming *query, NodeTiming *t, NodeEstimate *estimate);

/* Gives back what sharing has taken. */
extern void parallel_timing_release(QueryTiming *query);

/* The setting and the hooks by which workers take part. */
extern void parallel_timing_init(void);

#endif							/* CLOCKTIMING_PARALLEL_TIMING_H */
