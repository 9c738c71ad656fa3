/* Plan node types: names, and how they read inputs. */
#ifndef CLOCKTIMING_PLAN_SHAPE_H
#define CLOCKTIMING_PLAN_SHAPE_H

#include "nodes/execnodes.h"

/* How far a node reads an input before the input is rescanned or the query ends. */
typedef enum InputReading
{
	INPUT_MAY_STOP,				/* unknown; may stop before the end */
	INPUT_READ_TO_END,			/* to the call that returns no tuple */
	INPUT_IF_BEGUN,				/* to the end if the input is called twice */
	INPUT_ENDED_BY_MATCH,		/* until the first match, often the first call */
	INPUT_AS_NODE				/* to the end if the node is read to its end */
} InputReading;

typedef enum NodeOutput
{
	OUTPUT_TUPLES,				/* one tuple per call of ExecProcNode() */
	OUTPUT_WHOLE				/* whole result in one MultiExecProcNode()
								 * call */
} NodeOutput;

typedef struct PlanShape
{
	NodeTag		plan;			/* type of the plan node */
	const char *name;			/* Node Type in EXPLAIN (FORMAT JSON) */
	NodeOutput	output;
	InputReading inputs;		/* how it reads its inputs */
	bool		scans_relation; /* its struct is a Scan; scanrelid may be 0 */
	bool		end_shows;		/* its state shows if a loop has ended */
} PlanShape;

/* Returns the table entry of a node's type, or a default for unknown types. */
extern const PlanShape *plan_shape_of(const Plan *plan);
#define plan_shape(node) plan_shape_of((node)->plan)

/* Returns how a node reads one of its inputs.  Subplans of expressions are no inputs. */
extern InputReading plan_input_reading(const PlanState *node, const PlanState *input);

/* Returns whether a Sort of this number of rows probably uses disk. */
extern bool plan_spills(const PlanState *sort, double rows);

/*
 * plan_is_at_end() returns whether a node's latest call has returned no tuple, as shown by the
 * node's state.  It must not be called during a call of the node, nor after a rescan has ended the
 * node's loop. plan_end_shows() returns whether plan_is_at_end() supports nodes of this type.
 */
extern bool plan_end_shows(const PlanState *node);
extern bool plan_is_at_end(const PlanState *node);

/*
 * Returns the number of node calls that the planner expects of a plan that is executed "loops"
 * times.  Stops counting above "most".
 */
extern double plan_expected_calls(const Plan *plan, double loops, double most);

#endif							/* CLOCKTIMING_PLAN_SHAPE_H */
