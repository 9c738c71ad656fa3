/*-------------------------------------------------------------------------
 *
 * executor_hooks.h
 *	  Which of the server's executions are timed by sampling.
 *
 * The only place that takes the executor's hooks.  An execution is timed because an
 * EXPLAIN statement has the option CLOCK_SAMPLING, or because somebody asks the
 * executor for timers and clocktiming.sampled_timing has them replaced, or
 * because it was drawn for the statistics of plans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_EXECUTOR_HOOKS_H
#define CLOCKTIMING_EXECUTOR_HOOKS_H

#include "explain/timed_execution.h"

/*
 * Callbacks of the module that has a random part of all executions timed.  They are called
 * before an execution's first ExecutorRun(), after its ExecutorFinish(), and, while a
 * transaction is being aborted, after an error.
 */
typedef struct ExecutionSampler
{
	bool		(*passes) (const QueryDesc *desc);	/* it is not drawn; if so,
													 * it is counted */
	bool		(*draw) (const QueryDesc *desc, ExecutionDraw *drawn);
	double		max_overhead;	/* percent, within an execution */
	void		(*finished) (TimedExecution *execution);
	void		(*failed) (TimedExecution *execution);
} ExecutionSampler;

/* NULL: nobody. */
extern const ExecutionSampler *execution_sampler;

/* Takes the hooks, for whoever sets execution_sampler. */
extern void executor_hooks_take(void);

/* The settings, those of EXPLAIN and of parallel workers among them. */
extern void executor_hooks_init(void);

#endif							/* CLOCKTIMING_EXECUTOR_HOOKS_H */
