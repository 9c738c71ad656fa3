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
 * and unless it writes nothing, or allow_writes.
 */
extern PlanQuery *plan_query(const char *text, bool allow_writes);

/* The same, with values of $1, $2 and so on as text; NULL: none. */
extern PlanQuery *plan_query_params(const char *text, ArrayType *params, bool allow_writes);

/*
 * Calls work(arg) as this role, unless InvalidOid, under the restrictions that
 * the server has for functions in a materialized view's query.  An error leaves
 * it to the (sub)transaction's end to take them off.
 */
extern void plan_query_as_role(Oid role, void (*work) (void *arg), void *arg);

#endif							/* CLOCKTIMING_PLAN_SOURCE_H */
