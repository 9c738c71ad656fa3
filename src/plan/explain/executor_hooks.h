/*
 * Executor hooks.  They decide which executions are observed.
 *
 * An execution is observed for one of three reasons: an EXPLAIN statement has the option
 * CLOCK_SAMPLING; or the QueryDesc requests timers (instrument_options),
 * which clocktiming.sampled_timing replaces by sampling; or the execution was drawn at random for
 * the statistics of plans.
 */
#ifndef CLOCKTIMING_EXECUTOR_HOOKS_H
#define CLOCKTIMING_EXECUTOR_HOOKS_H

#include "lib/ilist.h"

#include "plan/explain/observed_run.h"

/* State at the beginning of an execution that is counted in the statistics of plans. */
typedef struct CountedStart
{
	bool		counted;
	bool		first;			/* the first execution of the client's
								 * statement */
	uint32		ticks;			/* number of the sampler's ticks
								 * (plan_sampler.h) */
} CountedStart;

/* Whether and how an execution is timed for the statistics of plans; set by draw() below. */
typedef struct ExecutionDraw
{
	bool		is_long;		/* see was_long() below */
	double		weight;			/* represented executions; 0: not drawn */
	double		failed_weight;	/* weight if the execution fails */
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
	uint64		part_ns;		/* start of the latest ExecutorRun() or
								 * ExecutorFinish() */
	bool		under_way;		/* within ExecutorRun() or ExecutorFinish() */
	double		run_ns;			/* duration, only if no nodes are timed */
	uint64		stop_ns;		/* end, by reference_ns(); 0: not ended */
	dlist_node	link;
	MemoryContextCallback at_end;
} TimedExecution;

/* A long execution that was not drawn, between its ExecutorRun() and its ExecutorFinish(). */
typedef struct LongExecution
{
	const QueryDesc *desc;
	uint64		start_ns;		/* estimated start, by system_clock_read() */
	double		variance;		/* of start_ns, in ns^2 */
} LongExecution;

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
	 * Called after a complete ExecutorRun() during which the sampler has
	 * ticked.  was_long() returns whether it was long, for an execution that
	 * was drawn.  ran_long() is called for one that was not drawn; if it
	 * returns true, take_long() and finished_long() must be called before and
	 * after its ExecutorFinish().
	 */
	bool		(*was_long) (const QueryDesc *desc, const CountedStart *start);
	bool		(*ran_long) (const QueryDesc *desc, const CountedStart *start);
	bool		(*take_long) (const QueryDesc *desc, LongExecution *taken);
	void		(*finished_long) (const QueryDesc *desc, const LongExecution *taken);
} ExecutionSampler;

/* Number of the sampler's ticks; always 0 without a sampler. */
extern const volatile uint32 *execution_ticks;

/* NULL if no such module is active. */
extern const ExecutionSampler *execution_sampler;

/* Installs the hooks.  Also called by the module that sets execution_sampler. */
extern void executor_hooks_take(void);

extern void executor_hooks_init(void);

#endif							/* CLOCKTIMING_EXECUTOR_HOOKS_H */
