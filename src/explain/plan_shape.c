/*-------------------------------------------------------------------------
 *
 * plan_shape.c
 *	  The one table of plan node types.
 *
 * A node whose type is not here is timed as one that may do anything.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "explain/plan_shape.h"

/* Plain and hashed aggregates read all in one call. */
static InputReading
agg_inputs(const PlanState *node, const PlanState *input)
{
	(void) input;
	switch (((const Agg *) node->plan)->aggstrategy)
	{
		case AGG_PLAIN:
		case AGG_HASHED:
			return INPUT_READ_TO_END;
		case AGG_SORTED:
			return INPUT_AS_NODE;
		case AGG_MIXED:
			break;
	}
	return INPUT_MAY_STOP;
}

static InputReading
setop_inputs(const PlanState *node, const PlanState *input)
{
	(void) input;
	return ((const SetOp *) node->plan)->strategy == SETOP_HASHED ? INPUT_READ_TO_END : INPUT_MAY_STOP;
}

/* With RETURNING, whoever reads its rows may stop. */
static InputReading
modify_table_inputs(const PlanState *node, const PlanState *input)
{
	(void) input;
	return ((const ModifyTable *) node->plan)->returningLists == NIL ? INPUT_READ_TO_END : INPUT_MAY_STOP;
}

/* A run condition ends a partition, or all of them. */
static InputReading
window_agg_inputs(const PlanState *node, const PlanState *input)
{
	(void) input;
	return ((const WindowAggState *) node)->runcondition == NULL ? INPUT_AS_NODE : INPUT_MAY_STOP;
}

static InputReading
nest_loop_inputs(const PlanState *node, const PlanState *input)
{
	const JoinState *join = &((const NestLoopState *) node)->js;

	if (outerPlanState(node) == input || (!join->single_match && join->jointype != JOIN_ANTI))
		return INPUT_AS_NODE;
	return INPUT_ENDED_BY_MATCH;
}

/* Asynchronous scans are waited for. */
static bool
append_varies(const PlanState *node)
{
	return ((const AppendState *) node)->as_nasyncplans > 0;
}

static const PlanShape shapes[] = {
	/* scans and other nodes without an input */
	{.tag = T_SeqScanState},
	{.tag = T_SampleScanState},
	{.tag = T_IndexScanState},
	{.tag = T_IndexOnlyScanState},
	{.tag = T_BitmapHeapScanState},
	{.tag = T_TidScanState},
	{.tag = T_TidRangeScanState},
	{.tag = T_FunctionScanState},
	{.tag = T_ValuesScanState},
	{.tag = T_TableFuncScanState},
	{.tag = T_CteScanState},
	{.tag = T_NamedTuplestoreScanState},
	{.tag = T_WorkTableScanState},
	{.tag = T_ForeignScanState, .counts_rows = true, .calls_vary = true},
	{.tag = T_CustomScanState, .counts_rows = true, .calls_vary = true},
	{.tag = T_BitmapIndexScanState, .output = OUTPUT_WHOLE},
	{.tag = T_BitmapAndState, .output = OUTPUT_WHOLE},
	{.tag = T_BitmapOrState, .output = OUTPUT_WHOLE},

	/* nodes that read an input to its end before they return */
	{.tag = T_HashState, .output = OUTPUT_WHOLE, .inputs = INPUT_READ_TO_END},
	{.tag = T_SortState, .inputs = INPUT_READ_TO_END},

	/* nodes that read on as they are read themselves */
	{.tag = T_AppendState, .inputs = INPUT_AS_NODE, .varies = append_varies},
	{.tag = T_MergeAppendState, .inputs = INPUT_AS_NODE},
	{.tag = T_SubqueryScanState, .inputs = INPUT_AS_NODE},
	{.tag = T_ResultState, .inputs = INPUT_AS_NODE},
	{.tag = T_ProjectSetState, .inputs = INPUT_AS_NODE},
	{.tag = T_UniqueState, .inputs = INPUT_AS_NODE},
	{.tag = T_GroupState, .inputs = INPUT_AS_NODE},
	{.tag = T_LockRowsState, .inputs = INPUT_AS_NODE},
	{.tag = T_MaterialState, .inputs = INPUT_AS_NODE},
	{.tag = T_MemoizeState, .inputs = INPUT_AS_NODE},
	{.tag = T_RecursiveUnionState, .inputs = INPUT_AS_NODE, .calls_vary = true},
	{.tag = T_IncrementalSortState, .inputs = INPUT_AS_NODE, .calls_vary = true},
	{.tag = T_GatherState, .inputs = INPUT_AS_NODE, .gathers = true, .calls_vary = true},
	{.tag = T_GatherMergeState, .inputs = INPUT_AS_NODE, .gathers = true, .calls_vary = true},

	/* nodes where it depends */
	{.tag = T_AggState, .inputs_of = agg_inputs},
	{.tag = T_SetOpState, .inputs_of = setop_inputs},
	{.tag = T_ModifyTableState, .inputs_of = modify_table_inputs},
	{.tag = T_WindowAggState, .inputs_of = window_agg_inputs, .calls_vary = true},
	{.tag = T_NestLoopState, .inputs_of = nest_loop_inputs},

	/*
	 * It may stop after the first call of the outer node if there is nothing
	 * to join, but not later.
	 */
	{.tag = T_HashJoinState, .inputs = INPUT_IF_BEGUN},

	/* nodes that may stop */
	{.tag = T_MergeJoinState},
	{.tag = T_LimitState},
};

static const PlanShape unknown_shape = {.tag = T_Invalid, .calls_vary = true};

const PlanShape *
plan_shape(const PlanState *node)
{
	for (int i = 0; i < (int) lengthof(shapes); i++)
	{
		if (shapes[i].tag == nodeTag(node))
			return &shapes[i];
	}
	return &unknown_shape;
}

InputReading
plan_input_reading(const PlanState *node, const PlanState *input)
{
	const PlanShape *shape = plan_shape(node);

	return shape->inputs_of != NULL ? shape->inputs_of(node, input) : shape->inputs;
}

bool
plan_calls_vary(const PlanState *node)
{
	const PlanShape *shape = plan_shape(node);

	return shape->calls_vary || (shape->varies != NULL && shape->varies(node));
}

bool
plan_subplan_is_read_to_end(const SubPlanState *subplan)
{
	switch (subplan->subplan->subLinkType)
	{
		case EXPR_SUBLINK:
		case MULTIEXPR_SUBLINK:
		case ARRAY_SUBLINK:
		case ROWCOMPARE_SUBLINK:
			return true;
		default:
			return subplan->subplan->useHashTable;
	}
}
