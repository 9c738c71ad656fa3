/*-------------------------------------------------------------------------
 *
 * explain_output.h
 *	  Timed plans as EXPLAIN writes them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_EXPLAIN_OUTPUT_H
#define CLOCKTIMING_EXPLAIN_OUTPUT_H

#include "compat.h"
#include "core/plan_estimate.h"

/* What is known of a plan's node apart from figures. */
typedef struct PlanNodeInfo
{
	int			id;				/* plan_node_id */
	int			depth;			/* 0: the root */
	char	   *relation;		/* NULL if it scans or modifies none */
	char	   *line;			/* as EXPLAIN writes it, without figures */
	char	   *type;			/* "Node Type" of EXPLAIN (FORMAT JSON) */
} PlanNodeInfo;

/*
 * The nodes in the order in which EXPLAIN lists them.  The query has been
 * executed with row counts, so that each node has its instrumentation, and has
 * not ended.
 */
extern PlanNodeInfo *explain_nodes(QueryDesc *desc, int *n);

/* The relation that a node scans or modifies; InvalidOid if none. */
extern Oid	explain_relation(const Plan *plan, const List *rtable);

/* A timed plan, and what is said of it as a whole. */
typedef struct TimedPlan
{
	const PlanEstimate *estimate;
	const char *method;
	int			sampling;		/* 0: not by sampling */
	int			runs;			/* whose mean it is, if more than one */
	double		planning_ms;
	double		plain_ms;		/* NaN if not measured */
} TimedPlan;

/* What EXPLAIN ANALYZE would print, and the clock's figures with it. */
extern char *explain_output(QueryDesc *desc, const TimedPlan *timed,
							ExplainFormat format);

/* Parts of that: of one node, and of the whole. */
extern void explain_put_node(ExplainState *es, const NodeEstimate *node);
extern void explain_put_summary(ExplainState *es, const TimedPlan *timed);

/*
 * Where the server has no hook for that: gives each node of an executed plan a number
 * that EXPLAIN (WAL) prints, and puts what explain_put_node() writes in place of
 * these in what was printed since.  As text or JSON only.
 */
extern int64 explain_set_markers(QueryDesc *desc);
extern void explain_put_margins(ExplainState *es, int from, const TimedPlan *timed,
								int64 markers);

/*
 * What is special about a node's figures, with or without the self time being
 * unknown; NULL if nothing is.
 */
extern char *explain_note(const NodeEstimate *node, bool with_unknown);

/*
 * What makes the figures of a whole run worth less than on an idle server; NULL
 * if nothing does.
 */
extern char *explain_disturbed(const PlanEstimate *plan);

/* A copy of the next line of an output, which is passed by; NULL at the end. */
extern char *explain_next_line(const char **text);

#endif							/* CLOCKTIMING_EXPLAIN_OUTPUT_H */
