/*
 * Describes the plan of an execution: for each node, its names, its parent, the planner's
 * estimates, and what live_progress.c must know of it.  All of this is constant, so it is written
 * once.  A node's names are in the same slot as the node.
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/proc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "plan/explain/explain_output.h"
#include "plan/explain/plan_shape.h"
#include "plan/live/live_plan.h"
#include "plan/stats/plan_store.h"
#include "plan/stats/plan_tree.h"

/* Copies a name to the chunk, shortened if it does not fit.  Returns its offset; 0: no name. */
static int16
add_name(LiveChunk *chunk, int *used, const char *name)
{
	int			offset = Max(*used, 1);
	int			most = LIVE_NAMES - offset - 1;
	int			length;

	if (name == NULL || most <= 0)
		return 0;
	length = (int) strlen(name);
	if (length > most)
		length = pg_mbcliplen(name, length, most);
	memcpy(&chunk->names[offset], name, length);
	chunk->names[offset + length] = '\0';
	*used = offset + length + 1;
	return (int16) offset;
}

/*
 * Returns the cost of the sorts that an Agg node makes for DISTINCT and ORDER BY within aggregates.
 * The planner's costs do not include it.  The formula is cost_sort()'s, for groups of equal size.
 */
static double
sorting_cost(const PlanState *node)
{
	double		cost = 0;
	ListCell   *cell;

	foreach(cell, IsA(node, AggState) ? ((const AggState *) node)->aggs : NIL)
	{
		const Aggref *aggregate = lfirst_node(Aggref, cell);
		double		rows = outerPlanState(node)->plan->plan_rows;

		if ((aggregate->aggdistinct != NIL || aggregate->aggorder != NIL) &&
			!compat_presorted(aggregate))
			cost += 2 * cpu_operator_cost * rows * log2(Max(rows / node->plan->plan_rows, 2));
	}
	return cost;
}

/* Returns whether an expression of a node evaluates a subplan only once. */
static bool
is_hashed(const PlanState *above, const PlanState *subplan)
{
	ListCell   *cell;

	foreach(cell, above->subPlan)
	{
		const SubPlanState *state = lfirst_node(SubPlanState, cell);

		if (state->planstate == subplan)
			return state->subplan->useHashTable;
	}
	return false;
}

/* Returns the place of the plan of a CTE that a node reads, or -1. */
static int
source_of(const PlanState *node, const Observation *o, int n)
{
	for (int i = 0; i < n && IsA(node, CteScanState); i++)
	{
		if (o->nodes[i].probed.node == ((const CteScanState *) node)->cteplanstate)
			return i;
	}
	return -1;
}

/*
 * Fills in the nodes of an image.  An ancestor precedes the nodes below it, so its depth is known.
 */
static void
describe_nodes(const QueryDesc *desc, const Observation *o, LiveImage *image)
{
	int			used = 0;

	for (int place = 0; place < image->header.nnodes; place++)
	{
		const ObservedNode *found = &o->nodes[place];
		const PlanState *state = found->probed.node;
		const Plan *plan = state->plan;
		LiveChunk  *chunk = &image->chunks[place / LIVE_CHUNK];
		LiveNode   *n = live_node(image, place);
		LiveCounts *counts = live_counts(image, place);
		char		type[NODE_TYPE_LENGTH];

		CHECK_FOR_INTERRUPTS();
		if (place % LIVE_CHUNK == 0)
			used = 0;
		plan_node_type(plan, type);
		n->id = (int16) plan->plan_node_id;
		n->parent = (int16) found->parent;
		n->depth = (int16) (found->parent < 0 ? 0 : live_node(image, found->parent)->depth + 1);
		n->tag = (int16) nodeTag(plan);
		n->type = add_name(chunk, &used, type);
		n->relation = add_name(chunk, &used,
							   get_rel_name(explain_relation(plan, desc->plannedstmt->rtable)));
		n->index = add_name(chunk, &used, get_rel_name(plan_node_index(plan)));
		n->is_subplan = found->is_init_plan || found->is_expression;
		n->is_cte = found->is_cte;
		n->is_expression = found->is_expression;
		n->is_hashed = found->is_expression && found->parent >= 0 &&
			is_hashed(o->nodes[found->parent].probed.node, state);
		n->has_condition = plan->qual != NIL;
		n->source = (int16) source_of(state, o, place);
		n->spills = IsA(plan, Sort) ? plan_spills(state, plan->plan_rows) :
			IsA(plan, Agg) && (((const AggState *) state)->hash_planned_partitions > 0 ||
							   ((const AggState *) state)->hash_ever_spilled);
		n->width = plan->plan_width;
		n->rows = (float) plan->plan_rows;
		n->startup_cost = (float) plan->startup_cost;
		n->total_cost = (float) plan->total_cost;
		n->sorting_cost = (float) sorting_cost(state);
		counts->scanned = counts->first_scanned = NAN;
		live_forget_times(counts);
	}
}

/*
 * Allocates an image and fills in all but the counters.  A random number identifies the execution
 * to readers, because another execution may soon use the same slots.
 */
LiveImage *
live_describe(const QueryDesc *desc, int level, TimestampTz started_at, const Observation *nodes)
{
	const char *text = desc->sourceText;
	int			nshown = nodes->nnodes > LIVE_NODES ? 0 : nodes->nnodes;
	LiveImage  *image = palloc0(live_image_size(nshown));
	LiveHeader *header = &image->header;

	header->pid = MyProcPid;
	header->procno = (int) (MyProc - ProcGlobal->allProcs);
	header->leader_pid = IsParallelWorker() && MyProc->lockGroupLeader != NULL ?
		MyProc->lockGroupLeader->pid : 0;
	header->text_hash = hash_bytes((const unsigned char *) text, (int) strlen(text));
	header->number = pg_prng_uint32(&pg_global_prng_state);
	header->level = level;
	header->dbid = MyDatabaseId;
	header->userid = GetUserId();
	header->queryid = (int64) desc->plannedstmt->queryId;
	header->plan.dbid = MyDatabaseId;
	header->plan.userid = header->userid;
	header->plan.queryid = header->queryid != 0 ? (uint64) header->queryid : header->text_hash;
	/* an execution with timers may take much longer */
	header->plan.planid = plan_store_planid(desc->plannedstmt);
	if (observation_of(desc) == NULL && (desc->instrument_options & INSTRUMENT_TIMER) != 0)
		header->plan.planid ^= 1;
	header->started_at = started_at;
	header->since = header->as_of = GetCurrentTimestamp();
	header->innermost = -1;
	header->nnodes = nshown;
	describe_nodes(desc, nodes, image);
	return image;
}
