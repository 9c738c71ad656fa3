/*
 * Executor hooks: decides which executions of the server are timed by sampling.
 *
 * The only file that installs hooks of the executor.  There are three reasons to time an execution:
 * an EXPLAIN statement has the option CLOCK_SAMPLING; the executor is asked for timers, and
 * clocktiming.sampled_timing replaces them; or the execution was drawn for the statistics of plans.
 */
#ifndef CLOCKTIMING_EXECUTOR_HOOKS_H
#define CLOCKTIMING_EXECUTOR_HOOKS_H

#include "explain/timed_execution.h"

/*
 * Callbacks of the module that times a random part of all executions.  They are called before the
 * first ExecutorRun() of an execution, after its ExecutorFinish(), and, after an error, while the
 * transaction is aborted.
 */
typedef struct ExecutionSampler
{
	bool		(*passes) (const QueryDesc *desc);	/* returns whether it is
													 * not drawn, and counts
													 * it then */
	bool		(*draw) (const QueryDesc *desc, ExecutionDraw *drawn);
	double		max_overhead;	/* percent, within an execution */
	void		(*finished) (TimedExecution *execution);
	void		(*failed) (TimedExecution *execution);
} ExecutionSampler;

/* NULL: no module. */
extern const ExecutionSampler *execution_sampler;

/* Installs the hooks.  Called by the module that sets execution_sampler. */
extern void executor_hooks_take(void);

/* Defines the settings, including those of EXPLAIN and of parallel workers. */
extern void executor_hooks_init(void);

#endif							/* CLOCKTIMING_EXECUTOR_HOOKS_H */
