/*-------------------------------------------------------------------------
 *
 * timed_execution.h
 *	  The executions that are timed by sampling at this moment, and the EXPLAIN
 *	  statement that is at work.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_TIMED_EXECUTION_H
#define CLOCKTIMING_TIMED_EXECUTION_H

#include "executor/execdesc.h"
#include "lib/ilist.h"

#include "compat.h"
#include "explain/sampled_run.h"

/* How an execution was drawn; filled in by the sampler. */
typedef struct ExecutionDraw
{
	double		weight;			/* number of executions that this one stands
								 * for; 0: it was not drawn */
	double		failed_weight;	/* the same if it fails */
	bool		nodes;			/* its nodes are timed; else the execution as
								 * a whole */
	double		cost_ns;		/* duration of the draw */
	uint64		class;			/* for him */
	uint64		queryid;
	uint64		planid;
	Oid			userid;
} ExecutionDraw;

/* An execution that is timed; in the query's memory. */
typedef struct TimedExecution
{
	QueryDesc  *desc;
	SampledRun	run;			/* run.timing is NULL if no nodes are timed,
								 * run.plan until it has finished */
	ExecutionDraw drawn;
	double		attach_ns;		/* that it took to have it timed */
	uint64		part_ns;		/* when the latest of these has begun */
	bool		under_way;		/* ExecutorRun() or ExecutorFinish() has not
								 * come back */
	double		run_ns;			/* duration of ExecutorRun() and
								 * ExecutorFinish(), if no nodes are timed */
	uint64		stop_ns;		/* when it was over, as reference_ns() */
	dlist_node	link;
	MemoryContextCallback at_end;
} TimedExecution;

/* An EXPLAIN statement that is at work. */
typedef struct ExplainAtWork
{
	const char *text;			/* of the statement */
	MemoryContext context;		/* in which it executes its plans */
	ExplainState *es;			/* NULL: not known */
	QueryDesc  *desc;			/* the plan that is being executed and
								 * printed, of which there may be several; or
								 * NULL */
	TimedExecution *execution;	/* if that is timed */
	struct ExplainOption *option;	/* NULL: it has no option of ours */
	int			marked_from;	/* before 18: where in the output numbers in
								 * place of margins may be printed; -1:
								 * nowhere */
	int64		markers;		/* the numbers */
} ExplainAtWork;

#endif							/* CLOCKTIMING_TIMED_EXECUTION_H */
