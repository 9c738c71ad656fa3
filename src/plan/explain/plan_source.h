/* Parses, checks and plans the text of a statement. */
#ifndef CLOCKTIMING_PLAN_SOURCE_H
#define CLOCKTIMING_PLAN_SOURCE_H

#include "nodes/params.h"
#include "nodes/plannodes.h"
#include "nodes/primnodes.h"
#include "utils/array.h"

typedef struct PlanQuery
{
	const char *text;			/* text of the statement */
	const char *source_text;	/* the same; for EXECUTE, text of the prepared
								 * statement */
	PlannedStmt *plan;
	ParamListInfo params;		/* of the query; NULL: none */
	IntoClause *into;			/* table for the rows; NULL: discarded */
	Oid			role;			/* executing role; InvalidOid: the caller */
	bool		may_write;		/* the caller allows the query to write */
	bool		parallel;		/* the plan may use workers */
	bool		jit;			/* JIT compiles the plan */
} PlanQuery;

/*
 * Parses, checks and plans one statement with the caller's privileges.  Accepts one statement that
 * EXPLAIN accepts, or REFRESH MATERIALIZED VIEW. Raises an error for other statements, and for
 * those that write unless allow_writes.  "params": values of $1, $2 and so on as text; NULL: none.
 */
extern PlanQuery *plan_query(const char *text, ArrayType *params, bool allow_writes);

#endif							/* CLOCKTIMING_PLAN_SOURCE_H */
