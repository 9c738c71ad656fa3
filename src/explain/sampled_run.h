/* Executes a plan once and times its nodes by sampling. */
#ifndef CLOCKTIMING_SAMPLED_RUN_H
#define CLOCKTIMING_SAMPLED_RUN_H

#include "explain/node_timing.h"
#include "explain/plan_run.h"

#define SAMPLING_DEFAULT		64
#define MAX_OVERHEAD_DEFAULT	1.0

/* Return the value of this name, or raise an error if it is not valid for NodeTimingOptions. */
extern int	sampling_check(const char *name, int64 sampling);
extern double max_overhead_check(const char *name, double percent);

typedef struct SampledRun
{
	NodeTimingOptions options;
	MemoryContext context;		/* for "plan"; NULL: the query's own */
	void		(*finished) (QueryDesc *desc, void *arg);	/* called with the plan,
															 * before ExecutorEnd();
															 * may be NULL */
	void	   *arg;

	QueryTiming *timing;		/* state during the execution */
	PlanEstimate *plan;			/* result after ExecutorFinish(); the server's
								 * instrumentation contains it, too.  NULL:
								 * see node_timing_detach() */
} SampledRun;

/* Executes the plan.  Raises an error if another extension prevents the timing. */
extern void sampled_run(const PlanQuery *query, SampledRun *run);

/* Callbacks of its observer, for other ways to execute a plan; arg is the SampledRun. */
extern void sampled_before_run(QueryDesc *desc, void *arg);
extern void sampled_after_run(QueryDesc *desc, void *arg);
extern void sampled_after_finish(QueryDesc *desc, void *arg);

#endif							/* CLOCKTIMING_SAMPLED_RUN_H */
