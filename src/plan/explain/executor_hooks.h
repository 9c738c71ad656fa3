/*
 * Executor hooks.  They decide which executions are observed.
 *
 * An execution is observed for one of three reasons: an EXPLAIN statement has the option
 * CLOCK_SAMPLING; or the QueryDesc requests timers (instrument_options),
 * which clocktiming.sampled_timing replaces by sampling; or the execution was drawn at random for
 * the statistics of plans, or has turned out to be long.
 */
#ifndef CLOCKTIMING_EXECUTOR_HOOKS_H
#define CLOCKTIMING_EXECUTOR_HOOKS_H

#include "lib/ilist.h"

#include "plan/explain/observed_run.h"
#include "plan/explain/running_executions.h"

/* Whether and how an execution is timed for the statistics of plans; set by draw() below. */
typedef struct ExecutionDraw
{
	double		weight;			/* represented executions; 0: not drawn */
	double		chance;			/* probability of being drawn, */
	double		whole_chance;	/* and of being drawn without timing the nodes */
	CountedStart start;
	bool		complete;		/* executed by a single ExecutorRun() */
	bool		nodes;			/* nodes are timed, not only the duration */
	double		cost_ns;		/* duration of draw() */
	uint64		class;			/* used only by the module that has draw() */
	uint64		queryid;
	uint64		planid;
	Oid			userid;
} ExecutionDraw;

/* A timed execution.  Allocated in the query's memory context. */
typedef struct TimedExecution
{
	QueryDesc  *desc;
	ObservedRun run;			/* run.observation is NULL if no nodes are
								 * timed; run.plan is NULL until the end */
	ExecutionDraw drawn;
	double		attach_ns;		/* time to set up the timing */
	bool		under_way;		/* within ExecutorRun() or ExecutorFinish() */
	bool		is_long;		/* RunningExecution.is_long */
	bool		late;			/* not drawn, but long: began to be observed
								 * while it ran */
	bool		own_instr;		/* see instr_time_query() */
	CountedStart ended;			/* if "late": end of its ExecutorRun() */
	double		run_ns;			/* duration, as the server measures it */
	uint64		stop_ns;		/* end, by system_clock_read(); 0: not ended */
	dlist_node	link;
	MemoryContextCallback at_end;
} TimedExecution;

/*
 * Callbacks of the module that times a random sample of all executions for the statistics of plans.
 * passes(), is_own() and draw() are called before an execution's first ExecutorRun(), finished()
 * after its ExecutorFinish(), and failed() during transaction abort after an error.
 */
typedef struct ExecutionSampler
{
	/*
	 * if the statement is clocktiming's own; passes() then returns false for
	 * it
	 */
	bool		(*is_own) (const QueryDesc *desc);

	/* if draw() need not be called, counts the execution and returns true */
	bool		(*passes) (const QueryDesc *desc, CountedStart *start);
	bool		(*draw) (const QueryDesc *desc, CountedStart *start, ExecutionDraw *drawn);
	void		(*finished) (TimedExecution *execution);
	void		(*failed) (TimedExecution *execution);

	/*
	 * Returns whether to observe an execution that has turned out to be long,
	 * from now on.  Then finished() is called.
	 */
	bool		(*joins) (const QueryDesc *desc);

	/*
	 * called after the ExecutorFinish() of an execution that was neither
	 * drawn nor joined, if the sampler has ticked during it.  "observed": the
	 * execution if it was observed for EXPLAIN or auto_explain; sets its
	 * "late" if it is long, so that finished() is called
	 */
	void		(*ticked) (const QueryDesc *desc, const CountedStart *start, bool is_long,
						   TimedExecution *observed);
} ExecutionSampler;

/* NULL if no such module is active. */
extern const ExecutionSampler *execution_sampler __attribute__((visibility("hidden")));

/* Called when a transaction or an aborted subtransaction ends: executions may have failed. */
extern void executor_hooks_forget(void);

/* Installs the hooks.  Also called by the module that sets execution_sampler. */
extern void executor_hooks_take(void);

extern void executor_hooks_init(void);

#endif							/* CLOCKTIMING_EXECUTOR_HOOKS_H */
