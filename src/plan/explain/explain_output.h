/* Writes timed plans in EXPLAIN's format. */
#ifndef CLOCKTIMING_EXPLAIN_OUTPUT_H
#define CLOCKTIMING_EXPLAIN_OUTPUT_H

#include "compat.h"
#include "plan/explain/observation.h"

typedef struct PlanNodeInfo
{
	int			depth;			/* 0: the root */
	char	   *relation;		/* name; NULL if it scans or modifies none */
	char	   *line;			/* its line in EXPLAIN, without costs and
								 * counts */
	const char *type;			/* "Node Type" of EXPLAIN (FORMAT JSON) */
} PlanNodeInfo;

/* Returns the nodes by place, after a run with row counts but before ExecutorEnd(). */
extern PlanNodeInfo *explain_nodes(const Observation *observation);

/* Returns the relation that a node scans or modifies; InvalidOid if none. */
extern Oid	explain_relation(const Plan *plan, const List *rtable);

/* A timed plan and its summary. */
typedef struct TimedPlan
{
	const Observation *observation;
	const PlanEstimate *estimate;
	const char *method;			/* sampling or full */
	bool		with_times;		/* print the times and margins of nodes */
	int			runs;			/* number of runs that are averaged */
	double		planning_ms;
	double		plain_ms;		/* duration of a plain run; NaN: unknown */
	double		start_ns;		/* part of the execution time before and
								 * between the parts of the run */
} TimedPlan;

/* Returns the output of EXPLAIN ANALYZE with the lines of clocktiming. */
extern char *explain_output(const TimedPlan *timed, ExplainFormat format);

/*
 * Write the lines that clocktiming adds to a node, or to the summary of EXPLAIN's output.  A
 * node has a line with its waits if they are 5 % or more of its time, and with_times, one with
 * its times.
 */
extern void explain_put_node(ExplainState *es, const NodeEstimate *node, bool with_times);
extern void explain_put_summary(ExplainState *es, const TimedPlan *timed);

/*
 * Markers are numbers that identify nodes in EXPLAIN's output.  They do not need the hook for
 * nodes, which PostgreSQL 18 introduced.  explain_set_markers() sets each node's number of WAL
 * records, which EXPLAIN (WAL) prints, to the node's marker.  explain_put_margins() replaces the
 * markers in the output, from "from" on, by the lines of explain_put_node().  Text and JSON only.
 */
typedef struct Markers
{
	int64		base;			/* marker of place 0; 0: no markers */
	int			n;				/* number of nodes */
} Markers;

extern Markers explain_set_markers(const Observation *observation);
extern void explain_put_margins(ExplainState *es, int from, const TimedPlan *timed,
								const Markers *markers);

/* Returns a note about a node's figures, or NULL. */
extern char *explain_note(const NodeEstimate *node);

/*
 * Returns the duration of the run as text.  If the query waited for a CPU for 5 % of its time or
 * more, appends this time and the reason, each after the separator.
 */
extern char *explain_run(const PlanEstimate *plan, const char *separator);

/*
 * Return wait events as text, each with its percentage of the self time; NULL if there is none of
 * 1 % or more.  explain_waits() returns those of a node.  The longest is the first one.
 */
extern char *explain_wait_list(const NodeWait *waits, int n, double self_ns);
extern char *explain_waits(const NodeEstimate *node);

/* Returns a copy of the next line and advances *text; NULL at the end. */
extern char *explain_next_line(const char **text);

#endif							/* CLOCKTIMING_EXPLAIN_OUTPUT_H */
