/* Writes timed plans in EXPLAIN's format. */
#ifndef CLOCKTIMING_EXPLAIN_OUTPUT_H
#define CLOCKTIMING_EXPLAIN_OUTPUT_H

#include "compat.h"
#include "core/plan_estimate.h"

/* Minimum wait, time of rare long calls, or difference that is printed, in percent of the run. */
#define MUCH_PREEMPTED	10

typedef struct PlanNodeInfo
{
	int			id;				/* plan_node_id */
	int			depth;			/* 0: the root */
	char	   *relation;		/* name; NULL if it scans or modifies none */
	char	   *line;			/* its line in EXPLAIN, without costs and counts */
	const char *type;			/* "Node Type" of EXPLAIN (FORMAT JSON) */
} PlanNodeInfo;

/* Returns the nodes in EXPLAIN's order, after a run with row counts but before ExecutorEnd(). */
extern PlanNodeInfo *explain_nodes(QueryDesc *desc, int *n);

/* Returns the relation that a node scans or modifies; InvalidOid if none. */
extern Oid	explain_relation(const Plan *plan, const List *rtable);

/* A timed plan and its summary. */
typedef struct TimedPlan
{
	const PlanEstimate *estimate;
	const char *method;			/* sampling, full or isolate */
	int			sampling;		/* sampling interval; 0: no sampling */
	int			runs;			/* number of runs that are averaged */
	double		planning_ms;
	double		plain_ms;		/* duration of a plain run; NaN: unknown */
} TimedPlan;

/* Returns the output of EXPLAIN ANALYZE with the lines of clocktiming. */
extern char *explain_output(QueryDesc *desc, const TimedPlan *timed, ExplainFormat format);

/* Write the lines that clocktiming adds to a node, or to the summary of EXPLAIN's output. */
extern void explain_put_node(ExplainState *es, const NodeEstimate *node);
extern void explain_put_summary(ExplainState *es, const TimedPlan *timed);

/*
 * Markers are numbers that identify nodes in EXPLAIN's output.  They do not need the hook for
 * nodes, which PostgreSQL 18 introduced.  explain_set_markers() sets each node's number of WAL
 * records, which EXPLAIN (WAL) prints, to the node's marker.  explain_put_margins() replaces the
 * markers in the output, from "from" on, by the lines of explain_put_node().  Text and JSON only.
 */
typedef struct Markers
{
	int64		base;			/* marker of node 0; 0: no markers */
	int			nids;			/* largest plan_node_id + 1 */
} Markers;

extern Markers explain_set_markers(QueryDesc *desc);
extern void explain_put_margins(ExplainState *es, int from, const TimedPlan *timed,
								const Markers *markers);

/* Returns a note about a node's figures, or NULL.  with_processes: with the number of processes. */
extern char *explain_note(const NodeEstimate *node, bool with_processes);

/*
 * Returns the duration of the run as text.  If the query waited long for a CPU, appends the times
 * of executing, of timing, and of each kind of wait.  If rare long calls took much time, appends
 * their time.  Puts the separator before each time.  With only_disturbed, executing includes
 * timing, and the function returns NULL if nothing is appended.
 */
extern char *explain_run(const PlanEstimate *plan, const char *separator, bool only_disturbed);

/* Returns a copy of the next line and advances *text; NULL at the end. */
extern char *explain_next_line(const char **text);

#endif							/* CLOCKTIMING_EXPLAIN_OUTPUT_H */
