/* State of a timed execution, and of the EXPLAIN statement that is being executed. */
#ifndef CLOCKTIMING_TIMED_EXECUTION_H
#define CLOCKTIMING_TIMED_EXECUTION_H

#include "executor/execdesc.h"
#include "lib/ilist.h"

#include "compat.h"
#include "explain/explain_output.h"
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

typedef struct ExplainAtWork
{
	const char *text;			/* text of the statement */
	MemoryContext context;		/* context in which EXPLAIN executes its plans */
	ExplainState *es;			/* NULL: not known */
	QueryDesc  *desc;			/* plan that is being executed and printed,
								 * one of possibly several; NULL: none */
	TimedExecution *execution;	/* its execution, if timed and finished */
	struct ExplainOption *option;	/* NULL: none of clocktiming */
	int			marked_from;	/* before 18: position in the output after
								 * which markers may be printed; -1: no
								 * markers */
	Markers		markers;
} ExplainAtWork;

#endif							/* CLOCKTIMING_TIMED_EXECUTION_H */
