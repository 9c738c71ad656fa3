/*
 * The table of plan node types: names, how nodes read their inputs, and whether their calls vary.
 */
#ifndef CLOCKTIMING_PLAN_SHAPE_H
#define CLOCKTIMING_PLAN_SHAPE_H

#include "nodes/execnodes.h"

/* How far a node reads an input before the input is rescanned or the query ends. */
typedef enum InputReading
{
	INPUT_MAY_STOP,				/* not known */
	INPUT_READ_TO_END,			/* each loop ends with a call without tuple */
	INPUT_IF_BEGUN,				/* to the end if the loop has a second call */
	INPUT_ENDED_BY_MATCH,		/* until a match: hardly more than one call */
	INPUT_AS_NODE				/* to the end if the node itself is */
} InputReading;

typedef enum NodeOutput
{
	OUTPUT_TUPLES,				/* one tuple per call of ExecProcNode() */
	OUTPUT_WHOLE				/* all in one call of MultiExecProcNode() */
} NodeOutput;

typedef struct PlanShape
{
	NodeTag		plan;
	const char *name;			/* Node Type in EXPLAIN (FORMAT JSON) */
	NodeOutput	output;
	InputReading inputs;
	bool		gathers;		/* its inputs are also executed in workers */
	bool		counts_rows;	/* may count rows that it does not return */
	bool		scans_relation; /* it is a Scan, with a relation or without */
	bool		end_shows;		/* its state shows the end, see
								 * plan_is_at_end() */
	bool		calls_vary;		/* few calls may take most of the time: those
								 * that begin a partition or a group, fetch
								 * many rows, or wait */
} PlanShape;

/* Returns the entry of a node's type, or one that says that nothing is known. */
extern const PlanShape *plan_shape_of(const Plan *plan);
#define plan_shape(node) plan_shape_of((node)->plan)

/* Returns how a node reads one of its inputs.  Subplans of expressions are no inputs. */
extern InputReading plan_input_reading(const PlanState *node, const PlanState *input);

extern bool plan_calls_vary(const PlanState *node);

/*
 * Returns whether a node may work for long by itself between two calls of its input, if this has
 * returned "rows" rows; for example because it writes to disk.  A Sort also does after the last.
 */
extern bool plan_works_between(const PlanState *node, double rows);

/*
 * plan_end_shows() returns whether a node's state shows that its latest call has returned no tuple,
 * and plan_is_at_end() whether that was so.  Not during a call of the node, nor after a rescan has
 * ended its loop.
 */
extern bool plan_end_shows(const PlanState *node);
extern bool plan_is_at_end(const PlanState *node);

/* Returns whether each evaluation reads the subplan to the end.  Not for CTEs. */
extern bool plan_subplan_is_read_to_end(const SubPlanState *subplan);

/*
 * Returns the number of node calls that the planner expects of a plan that is executed "loops"
 * times.  Stops counting above "most".
 */
extern double plan_expected_calls(const Plan *plan, double loops, double most);

#endif							/* CLOCKTIMING_PLAN_SHAPE_H */
