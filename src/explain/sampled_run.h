/*-------------------------------------------------------------------------
 *
 * sampled_run.h
 *	  One execution of a plan whose nodes are timed by sampling.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SAMPLED_RUN_H
#define CLOCKTIMING_SAMPLED_RUN_H

#include "explain/node_timing.h"
#include "explain/plan_run.h"

#define SAMPLING_DEFAULT		64
#define MAX_OVERHEAD_DEFAULT	1.0

/*
 * ERROR unless a value may be that field of NodeTimingOptions.  "name" is what
 * the user calls it.
 */
extern int	sampling_check(const char *name, int64 sampling);
extern double max_overhead_check(const char *name, double percent);

typedef struct SampledRun
{
	NodeTimingOptions options;
	MemoryContext context;		/* in which the plan is put; NULL: the query's
								 * own */
	void		(*finished) (QueryDesc *desc, void *arg);	/* called with the plan,
															 * before ExecutorEnd();
															 * or NULL */
	void	   *arg;

	QueryTiming *timing;		/* while the plan is being executed */
	PlanEstimate *plan;			/* after ExecutorFinish(); the server's own
								 * instrumentation has its figures.  NULL: see
								 * node_timing_detach() */
} SampledRun;

/* Executes the plan so.  Raises an error if another extension prevents it. */
extern void sampled_run(const PlanQuery *query, SampledRun *run);

/* Its observer, for whoever executes a plan otherwise; arg is the SampledRun. */
extern void sampled_before_run(QueryDesc *desc, void *arg);
extern void sampled_after_run(QueryDesc *desc, void *arg);
extern void sampled_after_finish(QueryDesc *desc, void *arg);

#endif							/* CLOCKTIMING_SAMPLED_RUN_H */
