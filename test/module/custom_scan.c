/*-------------------------------------------------------------------------
 *
 * custom_scan.c
 *	  A test extension with custom plan nodes.
 *
 * Scans of a table named custom_N have a custom node above the server's sequential scan.  The
 * custom node returns one row in N, or none if N is 0.  It adds the rows that it does not return
 * to "tuplecount" of its instrumentation, as a foreign data wrapper does with rows that it has
 * changed remotely.  If the table's name ends in _twin, the sequential scan has the custom node's
 * plan_node_id, as nodes of some extensions have.  If it ends in _batch, there are two custom nodes
 * above each other.  The upper one executes the sequential scan itself, and for each row counts
 * 10000 rows of the lower one, which is never called, as TimescaleDB's VectorAgg does.
 *
 * Below Gather, each process scans the whole table, so that the numbers of rows are the same in
 * each execution.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/instrument.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static set_rel_pathlist_hook_type previous_set_rel_pathlist = NULL;

/* Members of custom_private: N, and the kind of the table's name. */
#define PRIVATE(node, n) (list_nth_int(((CustomScan *) (node)->ss.ps.plan)->custom_private, n))
#define CHILD(node) ((PlanState *) linitial((node)->custom_ps))

/* Rows of the lower custom node for each row of the scan. */
#define BATCH_ROWS	10000

enum
{
	PLAIN, TWIN, BATCH
};

static void
custom_begin(CustomScanState *node, EState *estate, int eflags)
{
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	if (PRIVATE(node, 1) == TWIN)
		((Plan *) linitial(plan->custom_plans))->plan_node_id = plan->scan.plan.plan_node_id;
	node->custom_ps = list_make1(ExecInitNode(linitial(plan->custom_plans), estate, eflags));
}

static TupleTableSlot *
custom_next(CustomScanState *node)
{
	TupleTableSlot *to = node->ss.ss_ScanTupleSlot;
	TupleTableSlot *from;
	int			n = PRIVATE(node, 0);
	CustomScanState *lower = PRIVATE(node, 1) == BATCH ? (CustomScanState *) CHILD(node) : NULL;
	PlanState  *scan = CHILD(lower != NULL ? lower : node);

	for (int seen = 1; from = ExecProcNode(scan), !TupIsNull(from); seen++)
	{
		if (lower != NULL && lower->ss.ps.instrument != NULL)
		{
			lower->ss.ps.instrument->running = true;
			lower->ss.ps.instrument->tuplecount += BATCH_ROWS;
		}
		if (n != 0 && seen == n)
			break;
		if (node->ss.ps.instrument != NULL)
			node->ss.ps.instrument->tuplecount++;
	}
	ExecClearTuple(to);
	if (TupIsNull(from))
		return NULL;
	slot_getallattrs(from);
	memcpy(to->tts_values, from->tts_values, sizeof(Datum) * from->tts_nvalid);
	memcpy(to->tts_isnull, from->tts_isnull, sizeof(bool) * from->tts_nvalid);
	return ExecStoreVirtualTuple(to);
}

/* Returns true, because the child has already checked the conditions of the scan. */
static bool
custom_recheck(CustomScanState *node, TupleTableSlot *slot)
{
	(void) node;
	(void) slot;
	return true;
}

static TupleTableSlot *
custom_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, (ExecScanAccessMtd) custom_next,
					(ExecScanRecheckMtd) custom_recheck);
}

static void
custom_end(CustomScanState *node)
{
	ExecEndNode(CHILD(node));
}

static void
custom_rescan(CustomScanState *node)
{
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(CHILD(node), node->ss.ps.chgParam);
	ExecReScan(CHILD(node));
}

static const CustomExecMethods exec_methods = {
	.CustomName = "custom",
	.BeginCustomScan = custom_begin,
	.ExecCustomScan = custom_exec,
	.EndCustomScan = custom_end,
	.ReScanCustomScan = custom_rescan
};

static Node *
custom_state(CustomScan *plan)
{
	CustomScanState *node = (CustomScanState *) newNode(sizeof(CustomScanState), T_CustomScanState);

	(void) plan;
	node->methods = &exec_methods;
	return (Node *) node;
}

static const CustomScanMethods scan_methods = {"custom", custom_state};

static Plan *
custom_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
			List *children)
{
	CustomScan *plan = makeNode(CustomScan);

	(void) root;
	(void) clauses;
	plan->scan.plan.targetlist = tlist;
	plan->scan.scanrelid = rel->relid;
	plan->flags = path->flags;
	plan->custom_plans = children;
	plan->custom_private = path->custom_private;
	plan->custom_scan_tlist = ((Plan *) linitial(children))->targetlist;
	plan->methods = &scan_methods;
	return (Plan *) plan;
}

static const CustomPathMethods path_methods = {.CustomName = "custom", .PlanCustomPath = custom_plan};

static Path *
custom_path(PlannerInfo *root, RelOptInfo *rel, int n, int kind, int workers)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.parallel_aware = workers > 0;
	path->path.parallel_safe = rel->consider_parallel;
	path->path.parallel_workers = workers;
	path->path.rows = rel->rows;
	path->path.total_cost = 1.0 / (workers + 1);	/* so low that the planner chooses this path */
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(kind == BATCH ? custom_path(root, rel, 1, PLAIN, workers) :
									create_seqscan_path(root, rel, rel->lateral_relids, 0));
	path->custom_private = list_make2_int(n, kind);
	path->methods = &path_methods;
	return (Path *) path;
}

static void
custom_set_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	int			n;
	int			kind;
	int			workers;

	if (previous_set_rel_pathlist != NULL)
		previous_set_rel_pathlist(root, rel, rti, rte);
	if (rte->rtekind != RTE_RELATION || sscanf(get_rel_name(rte->relid), "custom_%d", &n) != 1)
		return;
	kind = strstr(get_rel_name(rte->relid), "_twin") != NULL ? TWIN :
		strstr(get_rel_name(rte->relid), "_batch") != NULL ? BATCH : PLAIN;
	add_path(rel, custom_path(root, rel, n, kind, 0));
	workers = compute_parallel_worker(rel, rel->pages, -1, max_parallel_workers_per_gather);
	if (rel->consider_parallel && workers > 0)
		add_partial_path(rel, custom_path(root, rel, n, kind, workers));
}

void
_PG_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
	previous_set_rel_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = custom_set_rel_pathlist;
}
