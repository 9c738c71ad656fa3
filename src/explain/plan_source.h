/*-------------------------------------------------------------------------
 *
 * plan_source.h
 *	  From a statement's text to a plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLAN_SOURCE_H
#define CLOCKTIMING_PLAN_SOURCE_H

#include "nodes/params.h"
#include "nodes/plannodes.h"
#include "nodes/primnodes.h"
#include "utils/array.h"

typedef struct PlanQuery
{
	const char *text;
	const char *source_text;	/* of what the plan is of: a prepared
								 * statement's own text */
	PlannedStmt *plan;
	ParamListInfo params;		/* values of its parameters; NULL: none */
	IntoClause *into;			/* the table that the rows make; NULL: they
								 * are thrown away */
	Oid			role;			/* who executes a materialized view's query;
								 * InvalidOid: the caller */
	bool		writes;			/* data, and may do so */
	bool		parallel;		/* the plan may use workers */
	bool		jit;			/* the plan is compiled */
} PlanQuery;

/*
 * Parses, checks and plans one statement, with the caller's privileges.  ERROR
 * unless it is exactly one that EXPLAIN takes, or REFRESH MATERIALIZED VIEW;
 * and unless it writes nothing, or allow_writes.  "values" are those of $1, $2
 * and so on as text; NULL: none.
 */
extern PlanQuery *plan_query(const char *text, ArrayType *values, bool allow_writes);

#endif							/* CLOCKTIMING_PLAN_SOURCE_H */
