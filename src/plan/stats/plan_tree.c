/*
 * Walks Plan nodes, because PlanState nodes are missing for partitions that the execution prunes.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/explain/explain_output.h"
#include "plan/explain/plan_shape.h"
#include "plan/stats/plan_tree.h"

typedef struct TreeWalk
{
	const PlannedStmt *stmt;
	PlanTree   *tree;			/* NULL: only compute the hash */
	Bitmapset  *seen;			/* plan_ids of subplans already visited */
	int			n;
	uint64		hash;
} TreeWalk;

Oid
plan_node_index(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_IndexScan:
			return ((const IndexScan *) plan)->indexid;
		case T_IndexOnlyScan:
			return ((const IndexOnlyScan *) plan)->indexid;
		case T_BitmapIndexScan:
			return ((const BitmapIndexScan *) plan)->indexid;
		default:
			return InvalidOid;
	}
}

static uint64
name_hash(Oid relation)
{
	char	   *name = OidIsValid(relation) ? get_rel_name(relation) : NULL;
	uint64		hash;

	if (name == NULL)
		return 0;
	hash = hash_bytes_extended((const unsigned char *) name, (int) strlen(name), 0);
	pfree(name);
	return hash;
}

/*
 * Adds a node to the hash.  Its type includes the join type, strategy and command.  Hashes names
 * instead of OIDs, because temporary tables and rebuilt indexes get new OIDs.
 */
static void
add_to_hash(TreeWalk *walk, const Plan *plan, int depth)
{
	char		type[NODE_TYPE_LENGTH];
	uint64		hash;

	plan_node_type(plan, type);
	hash = hash_bytes_extended((const unsigned char *) type, (int) strlen(type), depth);
	walk->hash = hash_combine64(walk->hash, hash);
	walk->hash = hash_combine64(walk->hash, name_hash(explain_relation(plan, walk->stmt->rtable)));
	walk->hash = hash_combine64(walk->hash, name_hash(plan_node_index(plan)));
}

static void walk_node(TreeWalk *walk, const Plan *plan, int depth, int parent, bool is_subplan);

static void
walk_list(TreeWalk *walk, const List *plans, int depth, int parent)
{
	ListCell   *cell;

	foreach(cell, plans)
		walk_node(walk, lfirst(cell), depth, parent, false);
}

/* Walks the inputs of node types that have others than lefttree and righttree. */
static void
walk_special(TreeWalk *walk, const Plan *plan, int depth, int parent)
{
	switch (nodeTag(plan))
	{
		case T_Append:
			walk_list(walk, ((const Append *) plan)->appendplans, depth, parent);
			break;
		case T_MergeAppend:
			walk_list(walk, ((const MergeAppend *) plan)->mergeplans, depth, parent);
			break;
		case T_BitmapAnd:
			walk_list(walk, ((const BitmapAnd *) plan)->bitmapplans, depth, parent);
			break;
		case T_BitmapOr:
			walk_list(walk, ((const BitmapOr *) plan)->bitmapplans, depth, parent);
			break;
		case T_SubqueryScan:
			walk_node(walk, ((const SubqueryScan *) plan)->subplan, depth, parent, false);
			break;
		case T_CustomScan:
			walk_list(walk, ((const CustomScan *) plan)->custom_plans, depth, parent);
			break;
		default:
			break;
	}
}

/*
 * Visits a node, its InitPlans, then its inputs, as EXPLAIN does.  Several nodes may refer to the
 * same InitPlan, which is visited at the first of them.
 */
static void
walk_node(TreeWalk *walk, const Plan *plan, int depth, int parent, bool is_subplan)
{
	int			self;
	ListCell   *cell;

	if (plan == NULL)
		return;
	check_stack_depth();
	self = walk->n++;
	if (walk->tree == NULL)
		add_to_hash(walk, plan, depth);
	else if (self < PLAN_TREE_MAX)
	{
		walk->tree->nodes[self].plan = plan;
		walk->tree->nodes[self].parent = parent;
		walk->tree->nodes[self].is_subplan = is_subplan;
	}

	foreach(cell, plan->initPlan)
	{
		int			id = lfirst_node(SubPlan, cell)->plan_id;

		if (bms_is_member(id, walk->seen))
			continue;
		walk->seen = bms_add_member(walk->seen, id);
		walk_node(walk, list_nth(walk->stmt->subplans, id - 1), depth + 1, self, false);
	}
	walk_node(walk, plan->lefttree, depth + 1, self, false);
	walk_node(walk, plan->righttree, depth + 1, self, false);
	walk_special(walk, plan, depth + 1, self);
}

static void
walk_plan(TreeWalk *walk)
{
	walk_node(walk, walk->stmt->planTree, 0, -1, false);

	/*
	 * An outer subplan has a higher id than those nested in it.  It is
	 * visited first, and its visit includes the InitPlans and CTEs that are
	 * nested in it.
	 */
	for (int id = list_length(walk->stmt->subplans); id > 0; id--)
	{
		if (!bms_is_member(id, walk->seen))
		{
			walk->seen = bms_add_member(walk->seen, id);
			walk_node(walk, list_nth(walk->stmt->subplans, id - 1), 1, -1, true);
		}
	}
	bms_free(walk->seen);
}

void
plan_tree(const PlannedStmt *plan, PlanTree *tree)
{
	TreeWalk	walk = {.stmt = plan, .tree = tree};

	walk_plan(&walk);
	tree->n = walk.n;
	tree->nkept = Min(walk.n, PLAN_TREE_MAX);
}

uint64
plan_tree_hash(const PlannedStmt *plan)
{
	TreeWalk	walk = {.stmt = plan};

	walk_plan(&walk);
	return walk.hash;
}

static const char *const join_names[] = {
	[JOIN_INNER] = "",
	[JOIN_LEFT] = " Left",
	[JOIN_FULL] = " Full",
	[JOIN_RIGHT] = " Right",
	[JOIN_SEMI] = " Semi",
	[JOIN_ANTI] = " Anti",
#if PG_VERSION_NUM >= 160000
	[JOIN_RIGHT_ANTI] = " Right Anti",
#endif
#if PG_VERSION_NUM >= 180000
	[JOIN_RIGHT_SEMI] = " Right Semi",
#endif
};

static const char *const command_names[] = {
	[CMD_SELECT] = "Scan",
	[CMD_INSERT] = "Insert",
	[CMD_UPDATE] = "Update",
	[CMD_DELETE] = "Delete",
	[CMD_MERGE] = "Merge",
};

static const char *const aggregate_names[] = {
	[AGG_PLAIN] = "Aggregate",
	[AGG_SORTED] = "GroupAggregate",
	[AGG_HASHED] = "HashAggregate",
	[AGG_MIXED] = "MixedAggregate",
};

static const char *const setop_names[] = {
	[SETOPCMD_INTERSECT] = " Intersect",
	[SETOPCMD_INTERSECT_ALL] = " Intersect All",
	[SETOPCMD_EXCEPT] = " Except",
	[SETOPCMD_EXCEPT_ALL] = " Except All",
};

/* Returns names[i]; "" for a value that the table lacks. */
#define NAME_OF(names, i) \
	((i) >= 0 && (i) < (int) lengthof(names) && (names)[i] != NULL ? (names)[i] : "")

static bool
is_backward(const Plan *plan)
{
	return (IsA(plan, IndexScan) &&
			ScanDirectionIsBackward(((const IndexScan *) plan)->indexorderdir)) ||
		(IsA(plan, IndexOnlyScan) &&
		 ScanDirectionIsBackward(((const IndexOnlyScan *) plan)->indexorderdir));
}

/*
 * Composes the name that EXPLAIN prints, such as "Parallel Hash Left Join".  The name is part of
 * the plan's hash, so it must not change within a major version.
 */
void
plan_node_type(const Plan *plan, char type[NODE_TYPE_LENGTH])
{
	const char *before = plan->parallel_aware ? "Parallel " : plan->async_capable ? "Async " : "";
	const char *split = "";
	const char *name = plan_shape_of(plan)->name;
	const char *after = "";
	const char *end = "";

	switch (nodeTag(plan))
	{
		case T_NestLoop:
			after = NAME_OF(join_names, ((const Join *) plan)->jointype);
			end = after[0] != '\0' ? " Join" : "";
			break;
		case T_MergeJoin:
		case T_HashJoin:
			name = IsA(plan, HashJoin) ? "Hash" : "Merge";
			after = NAME_OF(join_names, ((const Join *) plan)->jointype);
			end = " Join";
			break;
		case T_Agg:
			if (DO_AGGSPLIT_SKIPFINAL(((const Agg *) plan)->aggsplit))
				split = "Partial ";
			else if (DO_AGGSPLIT_COMBINE(((const Agg *) plan)->aggsplit))
				split = "Finalize ";
			name = NAME_OF(aggregate_names, ((const Agg *) plan)->aggstrategy);
			break;
		case T_SetOp:
			name = ((const SetOp *) plan)->strategy == SETOP_HASHED ? "HashSetOp" : "SetOp";
			after = NAME_OF(setop_names, ((const SetOp *) plan)->cmd);
			break;
		case T_ModifyTable:
			name = NAME_OF(command_names, ((const ModifyTable *) plan)->operation);
			break;
		case T_ForeignScan:
			name = "Foreign ";
			after = NAME_OF(command_names, ((const ForeignScan *) plan)->operation);
			break;
		case T_CustomScan:
			name = "Custom Scan (";
			after = ((const CustomScan *) plan)->methods->CustomName;
			end = ")";
			break;
		default:
			end = is_backward(plan) ? " Backward" : "";
			break;
	}
	if (name == NULL)
		snprintf(type, NODE_TYPE_LENGTH, "node type %d", (int) nodeTag(plan));
	else
		snprintf(type, NODE_TYPE_LENGTH, "%s%s%s%s%s", before, split, name, after, end);
}
