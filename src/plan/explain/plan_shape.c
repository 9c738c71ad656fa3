/*
 * The table of plan node types.  For types that are not in the table, the worst case is assumed:
 * the node may stop reading inputs before their end.
 */
#include "postgres.h"

#include "executor/hashjoin.h"
#include "executor/nodeAgg.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

#include "plan/explain/plan_shape.h"

/* Largest memory, in bytes, that a sort needs for a row in addition to its columns. */
#define SORT_ROW_OVERHEAD	64

static const PlanShape shapes[] = {
	/* scans and other nodes without an input */
	{.plan = T_SeqScan, .name = "Seq Scan", .scans_relation = true, .end_shows = true},
	{.plan = T_SampleScan, .name = "Sample Scan", .scans_relation = true},
	{.plan = T_IndexScan, .name = "Index Scan", .scans_relation = true, .end_shows = true},
	{.plan = T_IndexOnlyScan, .name = "Index Only Scan", .scans_relation = true, .end_shows = true},
	{.plan = T_BitmapHeapScan, .name = "Bitmap Heap Scan", .scans_relation = true, .end_shows = true},
	{.plan = T_TidScan, .name = "Tid Scan", .scans_relation = true},
	{.plan = T_TidRangeScan, .name = "Tid Range Scan", .scans_relation = true},
	{.plan = T_FunctionScan, .name = "Function Scan", .end_shows = true},
	{.plan = T_ValuesScan, .name = "Values Scan", .end_shows = true},
	{.plan = T_TableFuncScan, .name = "Table Function Scan"},
	{.plan = T_CteScan, .name = "CTE Scan", .end_shows = true},
	{.plan = T_NamedTuplestoreScan, .name = "Named Tuplestore Scan"},
	{.plan = T_WorkTableScan, .name = "WorkTable Scan"},
	{.plan = T_ForeignScan, .name = "Foreign Scan", .scans_relation = true},
	{.plan = T_CustomScan, .name = "Custom Scan", .scans_relation = true},
	{.plan = T_BitmapIndexScan, .name = "Bitmap Index Scan", .output = OUTPUT_WHOLE},
	{.plan = T_BitmapAnd, .name = "BitmapAnd", .output = OUTPUT_WHOLE},
	{.plan = T_BitmapOr, .name = "BitmapOr", .output = OUTPUT_WHOLE},

	/* nodes that read an input to its end before they return */
	{.plan = T_Hash, .name = "Hash", .output = OUTPUT_WHOLE, .inputs = INPUT_READ_TO_END},
	{.plan = T_Sort, .name = "Sort", .inputs = INPUT_READ_TO_END, .end_shows = true},

	/* nodes that read an input to its end if they are read to their own end */
	{.plan = T_Append, .name = "Append", .inputs = INPUT_AS_NODE},
	{.plan = T_MergeAppend, .name = "Merge Append", .inputs = INPUT_AS_NODE},
	{.plan = T_SubqueryScan, .name = "Subquery Scan", .inputs = INPUT_AS_NODE},
	{.plan = T_Result, .name = "Result", .inputs = INPUT_AS_NODE},
	{.plan = T_ProjectSet, .name = "ProjectSet", .inputs = INPUT_AS_NODE},
	{.plan = T_Unique, .name = "Unique", .inputs = INPUT_AS_NODE},
	{.plan = T_Group, .name = "Group", .inputs = INPUT_AS_NODE},
	{.plan = T_LockRows, .name = "LockRows", .inputs = INPUT_AS_NODE},
	{.plan = T_Material, .name = "Materialize", .inputs = INPUT_AS_NODE, .end_shows = true},
	{.plan = T_Memoize, .name = "Memoize", .inputs = INPUT_AS_NODE},
	{.plan = T_RecursiveUnion, .name = "Recursive Union", .inputs = INPUT_AS_NODE},
	{.plan = T_IncrementalSort, .name = "Incremental Sort", .inputs = INPUT_AS_NODE},
	{.plan = T_Gather, .name = "Gather", .inputs = INPUT_AS_NODE},
	{.plan = T_GatherMerge, .name = "Gather Merge", .inputs = INPUT_AS_NODE},

	/* node types for which plan_input_reading() makes exceptions */
	{.plan = T_Agg, .name = "Aggregate", .inputs = INPUT_READ_TO_END},
	{.plan = T_SetOp, .name = "SetOp", .inputs = INPUT_READ_TO_END},
	{.plan = T_ModifyTable, .name = "ModifyTable", .inputs = INPUT_READ_TO_END},
	{.plan = T_WindowAgg, .name = "WindowAgg", .inputs = INPUT_AS_NODE},
	{.plan = T_NestLoop, .name = "Nested Loop", .inputs = INPUT_AS_NODE},

	/* may stop after the first outer call if the inner side is empty */
	{.plan = T_HashJoin, .name = "Hash Join", .inputs = INPUT_IF_BEGUN},

	/* nodes that may stop before the end of an input */
	{.plan = T_MergeJoin, .name = "Merge Join"},
	{.plan = T_Limit, .name = "Limit"},
};

static const PlanShape unknown_shape = {.plan = T_Invalid};

const PlanShape *
plan_shape_of(const Plan *plan)
{
	for (int i = 0; i < (int) lengthof(shapes); i++)
	{
		if (shapes[i].plan == nodeTag(plan))
			return &shapes[i];
	}
	return &unknown_shape;
}

/*
 * Returns the type's entry of the table, apart from exceptions: node types whose reading depends on
 * their strategy, and the inner side of a join that needs only the first match.
 */
InputReading
plan_input_reading(const PlanState *node, const PlanState *input)
{
	const Plan *plan = node->plan;
	const JoinState *join = (const JoinState *) node;
	bool		may_stop = false;

	switch (nodeTag(plan))
	{
		case T_Agg:
			/* AGG_PLAIN and AGG_HASHED read all input in one call */
			if (((const Agg *) plan)->aggstrategy == AGG_SORTED)
				return INPUT_AS_NODE;
			may_stop = ((const Agg *) plan)->aggstrategy == AGG_MIXED;
			break;
		case T_SetOp:
			may_stop = ((const SetOp *) plan)->strategy != SETOP_HASHED;
			break;
		case T_ModifyTable:
			/* with RETURNING, the node above may stop reading */
			may_stop = ((const ModifyTable *) plan)->returningLists != NIL;
			break;
		case T_WindowAgg:
			/* a run condition may end a partition, or all of them */
			may_stop = ((const WindowAggState *) node)->runcondition != NULL;
			break;
		case T_NestLoop:
			if (outerPlanState(node) != input &&
				(join->single_match || join->jointype == JOIN_ANTI))
				return INPUT_ENDED_BY_MATCH;
			break;
		default:
			break;
	}
	return may_stop ? INPUT_MAY_STOP : plan_shape_of(plan)->inputs;
}

/* Estimates the memory, because tuplesort_get_stats() would change EXPLAIN's output. */
bool
plan_spills(const PlanState *sort, double rows)
{
	return rows * (sort->plan->plan_width + SORT_ROW_OVERHEAD) > work_mem * 1024.0;
}

bool
plan_end_shows(const PlanState *node)
{
	return plan_shape(node)->end_shows;
}

/* Scans and sorts clear their result slot when they return no tuple. */
bool
plan_is_at_end(const PlanState *node)
{
	const MaterialState *material = (const MaterialState *) node;

	switch (nodeTag(node))
	{
		case T_SortState:
			return TupIsNull(node->ps_ResultTupleSlot);
		case T_MaterialState:
			return material->eof_underlying &&
				(material->tuplestorestate == NULL || tuplestore_ateof(material->tuplestorestate));
		default:
			return TupIsNull(node->ps_ProjInfo != NULL ? node->ps_ProjInfo->pi_state.resultslot :
							 ((const ScanState *) node)->ss_ScanTupleSlot);
	}
}

static double
calls_of_list(const List *plans, double loops, double most)
{
	double		calls = 0;
	ListCell   *cell;

	foreach(cell, plans)
	{
		if (calls <= most)
			calls += plan_expected_calls(lfirst(cell), loops, most);
	}
	return calls;
}

double
plan_expected_calls(const Plan *plan, double loops, double most)
{
	double		rows = plan_shape_of(plan)->output == OUTPUT_WHOLE ? 0 : plan->plan_rows;
	double		calls = loops * (rows + 1);

	if (calls <= most && outerPlan(plan) != NULL)
		calls += plan_expected_calls(outerPlan(plan), loops, most);
	if (calls <= most && innerPlan(plan) != NULL)
		calls += plan_expected_calls(innerPlan(plan),
									 IsA(plan, NestLoop) ? loops * outerPlan(plan)->plan_rows :
									 loops, most);
	if (calls <= most && IsA(plan, Append))
		calls += calls_of_list(((const Append *) plan)->appendplans, loops, most);
	if (calls <= most && IsA(plan, MergeAppend))
		calls += calls_of_list(((const MergeAppend *) plan)->mergeplans, loops, most);
	if (calls <= most && IsA(plan, SubqueryScan))
		calls += plan_expected_calls(((const SubqueryScan *) plan)->subplan, loops, most);
	return calls;
}
