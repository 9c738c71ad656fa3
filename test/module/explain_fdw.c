/*-------------------------------------------------------------------------
 *
 * explain_fdw.c
 *	  A test extension for options of EXPLAIN.
 *
 * The foreign data wrapper option_fdw raises an error if its ExplainForeignScan is called with
 * options that no EXPLAIN statement can have.  Its tables have one integer column and three rows.
 * explain_without_statement() executes EXPLAIN as an extension may do, without ProcessUtility().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/executor.h"
#include "fmgr.h"
#include "foreign/fdwapi.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "parser/analyze.h"
#include "parser/parse_node.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(option_fdw_handler);
PG_FUNCTION_INFO_V1(explain_without_statement);

#define ROWS 3

static void
fdw_size(PlannerInfo *root, RelOptInfo *rel, Oid table)
{
	(void) root;
	(void) table;
	rel->rows = ROWS;
}

static void
fdw_paths(PlannerInfo *root, RelOptInfo *rel, Oid table)
{
	(void) table;
	add_path(rel, (Path *) create_foreignscan_path(root, rel, NULL, rel->rows,
#if PG_VERSION_NUM >= 180000
												   0,
#endif
												   0, ROWS, NIL, NULL, NULL,
#if PG_VERSION_NUM >= 170000
												   NIL,
#endif
												   NIL));
}

static ForeignScan *
fdw_plan(PlannerInfo *root, RelOptInfo *rel, Oid table, ForeignPath *path,
		   List *tlist, List *clauses, Plan *outer)
{
	(void) root;
	(void) table;
	(void) path;
	return make_foreignscan(tlist, extract_actual_clauses(clauses, false),
							rel->relid, NIL, NIL, NIL, NIL, outer);
}

static void
fdw_begin(ForeignScanState *node, int eflags)
{
	(void) eflags;
	node->fdw_state = palloc0(sizeof(int));
}

static TupleTableSlot *
fdw_iterate(ForeignScanState *node)
{
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	int		   *returned = node->fdw_state;

	ExecClearTuple(slot);
	if (*returned < ROWS)
	{
		slot->tts_values[0] = Int32GetDatum(++*returned);
		slot->tts_isnull[0] = false;
		ExecStoreVirtualTuple(slot);
	}
	return slot;
}

static void
fdw_rescan(ForeignScanState *node)
{
	*(int *) node->fdw_state = 0;
}

static void
fdw_end(ForeignScanState *node)
{
	(void) node;
}

/* Raises an error for options that ParseExplainOptionList() rejects in a statement. */
static void
fdw_show(ForeignScanState *node, ExplainState *es)
{
	bool		needs_analyze = es->wal || es->timing;

#if PG_VERSION_NUM >= 170000
	needs_analyze |= es->serialize != EXPLAIN_SERIALIZE_NONE;
#endif
#if PG_VERSION_NUM >= 190000
	needs_analyze |= es->io;
#endif
	if (needs_analyze && !es->analyze)
		elog(ERROR, "no EXPLAIN statement has these options");
	if (es->analyze && node->ss.ps.instrument == NULL)
		elog(ERROR, "not executed by EXPLAIN ANALYZE");
	ExplainPropertyText("Foreign Option", "accepted", es);
}

Datum
option_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	(void) fcinfo;
	routine->GetForeignRelSize = fdw_size;
	routine->GetForeignPaths = fdw_paths;
	routine->GetForeignPlan = fdw_plan;
	routine->BeginForeignScan = fdw_begin;
	routine->IterateForeignScan = fdw_iterate;
	routine->ReScanForeignScan = fdw_rescan;
	routine->EndForeignScan = fdw_end;
	routine->ExplainForeignScan = fdw_show;
	PG_RETURN_POINTER(routine);
}

/* Executes an EXPLAIN statement without ProcessUtility(), and discards its output. */
Datum
explain_without_statement(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	RawStmt    *raw = linitial_node(RawStmt, pg_parse_query(statement));
	Query	   *query = parse_analyze_fixedparams(raw, statement, NULL, 0, NULL);
	ParseState *pstate = make_parsestate(NULL);

	pstate->p_sourcetext = statement;
	ExplainQuery(pstate, castNode(ExplainStmt, query->utilityStmt), NULL, None_Receiver);
	PG_RETURN_VOID();
}
