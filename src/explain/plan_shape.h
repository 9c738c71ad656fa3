/*-------------------------------------------------------------------------
 *
 * plan_shape.h
 *	  The one table of plan node types: how a node is called, what it does to
 *	  its inputs, and whether its calls vary.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLAN_SHAPE_H
#define CLOCKTIMING_PLAN_SHAPE_H

#include "nodes/execnodes.h"

/* How far an input's tuples are read before it is rescanned, or the query ends. */
typedef enum InputReading
{
	INPUT_MAY_STOP,				/* no more is known */
	INPUT_READ_TO_END,			/* each loop ends with a call without a tuple */
	INPUT_IF_BEGUN,				/* so does each that has a second call */
	INPUT_ENDED_BY_MATCH,		/* a match ends it: hardly more than one call */
	INPUT_AS_NODE				/* to the end if the node itself is */
} InputReading;

/* How a node hands out what it makes. */
typedef enum NodeOutput
{
	OUTPUT_TUPLES,				/* a call each, by ExecProcNode() */
	OUTPUT_WHOLE				/* all by one call of MultiExecProcNode() */
} NodeOutput;

typedef struct PlanShape
{
	NodeTag		tag;			/* of its state */
	NodeTag		plan;
	const char *name;			/* EXPLAIN's, or what it begins with; NULL:
								 * made of the plan's fields */
	NodeOutput	output;
	InputReading inputs;
	bool		gathers;		/* its inputs run in workers, too */
	bool		counts_rows;	/* whoever implements it may count rows that
								 * it does not return */

	bool		calls_vary;		/* few calls may take most of the time: those
								 * that begin a partition or a group, fetch
								 * many rows, or wait for others */

	/* where the plan's fields decide, in place of the two */
	InputReading (*inputs_of) (const PlanState *node, const PlanState *input);
	bool		(*varies) (const PlanState *node);
} PlanShape;

/* That of a type that the table lacks promises nothing. */
extern const PlanShape *plan_shape(const PlanState *node);
extern const PlanShape *plan_shape_of(const Plan *plan);

/* How a node reads one of its inputs, which is not a subplan of an expression. */
extern InputReading plan_input_reading(const PlanState *node, const PlanState *input);

extern bool plan_calls_vary(const PlanState *node);

/*
 * Whether a node may work for long by itself after the last call of an input, and
 * between two calls, after so many rows: it writes to disk what memory does not hold,
 * say.
 */
extern bool plan_works_after(const PlanState *node, double rows);
extern bool plan_works_between(const PlanState *node, double rows);

/* Whether each evaluation takes all that the subplan returns; not of a CTE. */
extern bool plan_subplan_is_read_to_end(const SubPlanState *subplan);

#endif							/* CLOCKTIMING_PLAN_SHAPE_H */
