/*
 * Executor hooks: decides which executions of the server are timed by sampling.
 *
 * The only file that installs hooks of the executor.  There are three reasons to time an execution:
 * an EXPLAIN statement has the option CLOCK_SAMPLING; the executor is asked for timers, and
 * clocktiming.sampled_timing replaces them; or the execution was drawn for the statistics of plans.
 */
#ifndef CLOCKTIMING_EXECUTOR_HOOKS_H
#define CLOCKTIMING_EXECUTOR_HOOKS_H

#include "lib/ilist.h"

#include "explain/node_timing.h"

/* Result of the draw for the statistics of plans.  Set by the execution sampler. */
typedef struct ExecutionDraw
{
	double		weight;			/* represented executions; 0: not drawn */
	double		failed_weight;	/* the same if it fails */
	bool		nodes;			/* false: only the duration is timed */
	double		cost_ns;		/* duration of the draw */
	uint64		class;			/* private to the execution sampler */
	uint64		queryid;
	uint64		planid;
	Oid			userid;
} ExecutionDraw;

/* A timed execution.  Allocated in the query's memory context. */
typedef struct TimedExecution
{
	QueryDesc  *desc;
	SampledRun	run;			/* run.timing is NULL if no nodes are timed;
								 * run.plan is NULL until the end */
	ExecutionDraw drawn;
	double		attach_ns;		/* time to set up the timing */
	uint64		part_ns;		/* start of ExecutorRun() or -Finish() */
	bool		under_way;		/* within ExecutorRun() or ExecutorFinish() */
	double		run_ns;			/* if no nodes are timed */
	uint64		stop_ns;		/* by reference_ns(); 0: not ended */
	dlist_node	link;
	MemoryContextCallback at_end;
} TimedExecution;

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
