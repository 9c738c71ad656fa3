/*
 * States of a running execution's nodes.
 *
 * The server does not record that a node has returned its last row.  The end of a node's loop is
 * known only from the node's own state, or if the node above has read all of the node's rows.
 */
#include "postgres.h"

#include "plan/explain/plan_shape.h"
#include "plan/live/live_publish.h"

/*
 * Returns whether a node's state shows that an input has returned its last row.  The input's loop
 * must have begun.  An Append that executes another input now is done with this one.
 */
static bool
remembers_end(const PlanState *node, const PlanState *input)
{
	const AppendState *append = (const AppendState *) node;
	int			i;

	if (IsA(node, MaterialState))
		return ((const MaterialState *) node)->eof_underlying;
	if (!IsA(node, AppendState) || append->as_nasyncplans > 0)
		return false;
	i = append->as_whichplan;
	return i >= 0 && i < append->as_nplans && append->appendplans[i] != input;
}

/* Returns whether a node's latest loop, which the Instrumentation shows as begun, has ended. */
static bool
loop_is_over(const LiveExecution *live, int place)
{
	const LiveNode *n = live_node(live->image, place);
	const PlanState *node = live_state_of(live, place);
	const PlanState *above = n->parent < 0 ? NULL : live_state_of(live, n->parent);
	bool		above_ended = above != NULL &&
		live_counts(live->image, n->parent)->state == LIVE_FINISHED;

	/* one call evaluates a subplan to its end, unless it is a CTE */
	if (n->is_subplan && !n->is_cte)
		return true;
	if (live->observation != NULL && !live->at_work[place] && plan_end_shows(node) &&
		plan_is_at_end(node))
		return true;
	if (above == NULL || n->is_subplan)
		return false;
	if (remembers_end(above, node))
		return true;
	switch (plan_input_reading(above, node))
	{
		case INPUT_READ_TO_END:
			return above_ended || (plan_shape(above)->output == OUTPUT_TUPLES &&
								   instr_in_loop(above->instrument));
		case INPUT_IF_BEGUN:
		case INPUT_AS_NODE:
			return above_ended;
		default:
			return false;
	}
}

/*
 * Returns a node's state.  If a node does all its work in one call ("whole"), it has finished when
 * the call has ended.  Without an observation and without timers, nothing shows that the first call
 * of a loop is in progress.  Then the node is running if a node below is running.
 */
static LiveState
node_state(const LiveExecution *live, int place, bool below_runs)
{
	const PlanState *node = live_state_of(live, place);
	const NodeInstr *instr = node->instrument;
	bool		whole = plan_shape(node)->output == OUTPUT_WHOLE ||
		(IsA(node, ModifyTableState) && ((const ModifyTable *) node->plan)->returningLists == NIL);

	if (instr == NULL)
		return LIVE_UNKNOWN;
	if (live->at_work[place])
		return LIVE_RUNNING;
	if (instr_in_loop(instr))
		return whole ? LIVE_FINISHED : LIVE_RUNNING;
	if (below_runs && live->observation == NULL && !instr_has_timer(instr))
		return LIVE_RUNNING;
	if (live_counts(live->image, place)->loops <= 0)
		return LIVE_NOT_STARTED;
	return whole ? LIVE_FINISHED : LIVE_RESCANNING;
}

/* Returns whether MultiExecProcNode() has executed a node for the node above. */
static bool
has_given_whole(const LiveExecution *live, int place)
{
	const PlanState *node = live_state_of(live, place);

	if (IsA(node, HashState))
		return ((const HashState *) node)->hashtable != NULL;
	while (place >= 0 && !IsA(live_state_of(live, place), BitmapHeapScanState))
		place = live->nodes->nodes[place].parent;
	return place >= 0 && ((const BitmapHeapScanState *) live_state_of(live, place))->initialized;
}

/* Returns the state of a node that was not called after its stub was installed. */
static LiveState
state_before(const LiveExecution *live, int place)
{
	const ObservedNode *n = &live->nodes->nodes[place];
	const LiveNode *shown = live_node(live->image, place);
	const PlanState *node = n->probed.node;
	const PlanState *above = n->parent < 0 ? NULL : live_state_of(live, n->parent);

	if (plan_shape(node)->output == OUTPUT_WHOLE)
		return has_given_whole(live, place) ? LIVE_FINISHED : LIVE_NOT_STARTED;
	if (!n->was_called)
		return LIVE_NOT_STARTED;
	if (shown->is_subplan && !shown->is_cte && !shown->is_expression)
		return LIVE_FINISHED;	/* an InitPlan has a value after its first
								 * call */

	/* of its outer input, a hash join may hold the first row */
	if (above != NULL && IsA(above, HashJoinState) && outerPlanState(above) == node &&
		((const HashJoinState *) above)->hj_FirstOuterTupleSlot != NULL)
		return LIVE_RUNNING;
	if (above == NULL || shown->is_subplan || live->at_work[n->parent])
		return LIVE_UNKNOWN;
	switch (plan_input_reading(above, node))
	{
		case INPUT_READ_TO_END:
			return LIVE_FINISHED;
		case INPUT_IF_BEGUN:
		case INPUT_AS_NODE:
			return live_counts(live->image, n->parent)->state == LIVE_FINISHED ?
				LIVE_FINISHED : LIVE_UNKNOWN;
		default:
			return LIVE_UNKNOWN;
	}
}

/* Returns whether a node belongs to a subplan of an expression that is not being evaluated. */
static bool
is_evaluated(const LiveExecution *live, int place)
{
	while (place >= 0 && !live_node(live->image, place)->is_expression)
		place = live->nodes->nodes[place].parent;
	return place >= 0 && !live->at_work[place];
}

/* Makes two passes: from the leaves to the root, then back. */
void
live_put_states(LiveExecution *live)
{
	LiveImage  *image = live->image;
	int			n = image->header.nnodes;

	for (int i = 0; i < n; i++)
		live_counts(image, i)->state = LIVE_NOT_STARTED;
	for (int i = n - 1; i >= 0; i--)
	{
		const LiveNode *node = live_node(image, i);
		LiveCounts *counts = live_counts(image, i);

		/* a running node below has already set the state to LIVE_RUNNING */
		counts->state = node_state(live, i, counts->state == LIVE_RUNNING);
		if (counts->state != LIVE_RUNNING)
			continue;
		/* the server counts a loop after its first call */
		counts->loops += !instr_in_loop(live_state_of(live, i)->instrument);
		if (node->parent >= 0)
			live_counts(image, node->parent)->state = LIVE_RUNNING;
	}
	for (int i = 0; i < n; i++)
	{
		LiveCounts *counts = live_counts(image, i);

		if (counts->state == LIVE_RUNNING && !live->at_work[i] &&
			instr_in_loop(live_state_of(live, i)->instrument) && loop_is_over(live, i))
			counts->state = LIVE_FINISHED;
		if (counts->state == LIVE_RESCANNING && live->observation != NULL && is_evaluated(live, i))
			counts->state = LIVE_FINISHED;
		if (counts->state == LIVE_NOT_STARTED && image->header.late)
			counts->state = state_before(live, i);
	}
}
