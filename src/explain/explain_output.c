/*-------------------------------------------------------------------------
 *
 * explain_output.c
 *	  Timed plans as EXPLAIN writes them.
 *
 * Before PostgreSQL 18 nobody else can add to what EXPLAIN prints of a node.
 * But it prints how many WAL records the node has written, if that is asked
 * for; so each node is given a number of its own there, by which it is found
 * again in the output, and which is replaced by what is to be added.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "explain/explain_output.h"
#include "explain/node_timing.h"
#include "explain/server_instr.h"

/* Each node's number is this, plus a random one, plus its plan_node_id. */
#define MARKER_BASE		INT64CONST(1000000000000000)

/*
 * Percent of the run that others had the processor, and how many times as long as
 * at best what never changes took: from these on it is said what to do.
 */
#define MUCH_PREEMPTED	10
#define MUCH_SLOWER		1.25

typedef struct Markers
{
	int64		base;
	int			n;
} Markers;

static bool
set_marker(PlanState *node, void *context)
{
	Markers    *markers = context;
	int			id = node->plan->plan_node_id;

	if (node->instrument != NULL)
		instr_set_wal_records(node->instrument, markers->base + id);
	markers->n = Max(markers->n, id + 1);
	return planstate_tree_walker(node, set_marker, context);
}

static Markers
set_markers(QueryDesc *desc)
{
	Markers		markers = {0};

	markers.base = MARKER_BASE + (int64) pg_prng_uint64_range(&pg_global_prng_state, 0,
															  MARKER_BASE / 2) * 2;
	(void) set_marker(desc->planstate, &markers);
	return markers;
}

static bool
clear_marker(PlanState *node, void *context)
{
	if (node->instrument != NULL)
		instr_set_wal_records(node->instrument, 0);
	return planstate_tree_walker(node, clear_marker, context);
}

/* The id of the node whose number is printed in this line; -1 if none is. */
static int
marked_node(const char *line, const Markers *markers)
{
	static const char *const labels[] = {"WAL: records=", "\"WAL Records\": "};

	line += strspn(line, " ");
	for (int i = 0; i < (int) lengthof(labels); i++)
	{
		Size		length = strlen(labels[i]);

		if (strncmp(line, labels[i], length) == 0)
		{
			int64		number = strtoll(line + length, NULL, 10) - markers->base;

			return number >= 0 && number < markers->n ? (int) number : -1;
		}
	}
	return -1;
}

/*
 * As of EXPLAIN (ANALYZE, WAL, COSTS OFF, TIMING OFF, SUMMARY OFF).  Foreign and
 * custom scans look at it and may pass it on, so that it must not be what no
 * statement can ask for: WAL, TIMING and SERIALIZE need ANALYZE.
 */
static ExplainState *
new_explain_state(ExplainFormat format)
{
	ExplainState *es = NewExplainState();

	es->format = format;
	es->analyze = true;
	es->wal = true;
	es->costs = false;
	return es;
}

/* The output, cut into lines. */
static List *
split_lines(char *text)
{
	List	   *lines = NIL;

	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
		lines = lappend(lines, line);
	return lines;
}

typedef struct NodeList
{
	PlanNodeInfo *nodes;
	int			n;
	int			room;
	int		   *places;			/* in nodes, and 1, by plan_node_id; 0: none */
	int			nplaces;
	int			depth;
	List	   *rtable;
} NodeList;

/* Where the place of a node is noted. */
static int *
place_of(NodeList *list, int id)
{
	if (id >= list->nplaces)
	{
		int			n = Max(2 * list->nplaces, id + 16);

		list->places = list->places == NULL ? palloc(sizeof(int) * n) :
			repalloc(list->places, sizeof(int) * n);
		memset(list->places + list->nplaces, 0, sizeof(int) * (n - list->nplaces));
		list->nplaces = n;
	}
	return &list->places[id];
}

static char *
relation_of(const Plan *plan, const List *rtable)
{
	Index		rti = 0;
	RangeTblEntry *rte;

	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
		case T_ForeignScan:
		case T_CustomScan:
			rti = ((const Scan *) plan)->scanrelid;
			break;
		case T_ModifyTable:
			rti = ((const ModifyTable *) plan)->nominalRelation;
			break;
		default:
			break;
	}
	if (rti == 0)
		return NULL;
	rte = rt_fetch(rti, rtable);
	return rte->rtekind == RTE_RELATION ? get_rel_name(rte->relid) : NULL;
}

static bool
list_node(PlanState *node, void *context)
{
	NodeList   *list = context;
	int		   *place = place_of(list, node->plan->plan_node_id);
	PlanNodeInfo *info;
	bool		result;

	CHECK_FOR_INTERRUPTS();
	/* a subplan may be referred to more than once */
	if (*place != 0)
		return false;
	if (list->n == list->room)
	{
		list->room *= 2;
		list->nodes = repalloc(list->nodes, sizeof(PlanNodeInfo) * list->room);
	}
	info = &list->nodes[list->n++];
	*place = list->n;
	memset(info, 0, sizeof(PlanNodeInfo));
	info->id = node->plan->plan_node_id;
	info->depth = list->depth;
	info->relation = relation_of(node->plan, list->rtable);
	list->depth++;
	result = planstate_tree_walker(node, list_node, context);
	list->depth--;
	return result;
}

static PlanNodeInfo *
find_info(const NodeList *list, int id)
{
	int			place = id >= 0 && id < list->nplaces ? list->places[id] : 0;

	return place == 0 ? NULL : &list->nodes[place - 1];
}

/* A node's line without the figures that it ends with. */
static char *
without_figures(const char *line)
{
	static const char *const figures[] = {" (actual rows=", " (never executed)"};
	const char *end = line + strlen(line);

	for (const char *c = end; c > line; c--)
	{
		for (int i = 0; i < (int) lengthof(figures); i++)
		{
			if (strncmp(c, figures[i], strlen(figures[i])) == 0)
				return pnstrdup(line, c - line);
		}
	}
	return pstrdup(line);
}

/*
 * Of the lines that belong to a node, the first that begins with an arrow is
 * its own; the root's has none.
 */
static void
read_lines(NodeList *list, List *lines, const Markers *markers)
{
	const char *own = NULL;
	bool		first = true;
	ListCell   *cell;

	foreach(cell, lines)
	{
		const char *line = lfirst(cell);
		int			id = marked_node(line, markers);
		PlanNodeInfo *info = find_info(list, id);

		CHECK_FOR_INTERRUPTS();
		if (info != NULL)
		{
			info->line = own == NULL ? NULL : without_figures(own);
			own = NULL;
		}
		else if (own == NULL &&
				 (first || strncmp(line + strspn(line, " "), "->  ", 4) == 0))
			own = line;
		first = false;
	}
}

/* A key that comes before the number of the node that it is of. */
static void
read_types(NodeList *list, List *lines, const Markers *markers)
{
	static const char key[] = "\"Node Type\": \"";
	const char *type = NULL;
	ListCell   *cell;

	foreach(cell, lines)
	{
		const char *line = lfirst(cell);
		const char *start = line + strspn(line, " ");
		int			id = marked_node(line, markers);
		PlanNodeInfo *info = find_info(list, id);

		CHECK_FOR_INTERRUPTS();
		if (strncmp(start, key, strlen(key)) == 0)
			type = start + strlen(key);
		else if (info != NULL && type != NULL)
			info->type = pnstrdup(type, strcspn(type, "\""));
	}
}

static NodeList
list_nodes(QueryDesc *desc)
{
	NodeList	list = {.room = 16, .rtable = desc->plannedstmt->rtable};

	list.nodes = palloc(sizeof(PlanNodeInfo) * list.room);
	(void) list_node(desc->planstate, &list);
	return list;
}

PlanNodeInfo *
explain_list_nodes(QueryDesc *desc, int *n)
{
	NodeList	list = list_nodes(desc);

	*n = list.n;
	return list.nodes;
}

PlanNodeInfo *
explain_nodes(QueryDesc *desc, int *n)
{
	NodeList	list = list_nodes(desc);
	Markers		markers = set_markers(desc);
	ExplainState *es = new_explain_state(EXPLAIN_FORMAT_TEXT);

	ExplainPrintPlan(es, desc);
	read_lines(&list, split_lines(es->str->data), &markers);

	es = new_explain_state(EXPLAIN_FORMAT_JSON);
	ExplainBeginOutput(es);
	ExplainPrintPlan(es, desc);
	read_types(&list, split_lines(es->str->data), &markers);

	(void) clear_marker(desc->planstate, NULL);
	*n = list.n;
	return list.nodes;
}

/* Where a node's children may have run in workers, too, it is that of one. */
static double
per_process_ms(const NodeEstimate *node, double ns)
{
	return ns / Max(node->processes, 1) / 1e6;
}

static void
add_mark(StringInfo mark, const char *text)
{
	appendStringInfo(mark, "%s%s", mark->len > 0 ? ", " : "", text);
}

/* The same, with what text says in another place, or without. */
static char *
mark_of(const NodeEstimate *node, bool with_unknown)
{
	StringInfoData mark;

	if (node->kind == NODE_UNTIMED)
		return pstrdup("not timed");
	initStringInfo(&mark);
	if (node->processes > 1)
		add_mark(&mark, psprintf("mean of %d processes", node->processes));
	if (node->untimed_loops > 0)
		add_mark(&mark, "workers not timed");
	if (node->loops > 0 && fabs(node->adjusted_ns) > node->total_error_ns &&
		fabs(node->adjusted_ns) >= 500)
		add_mark(&mark, psprintf("reconciled by %+.3f ms", per_process_ms(node, node->adjusted_ns)));
	if (with_unknown && node->self_unknown)
		add_mark(&mark, "self time unknown");
	return mark.len > 0 ? mark.data : NULL;
}

char *
explain_mark(const NodeEstimate *node)
{
	return mark_of(node, true);
}

void
explain_put_node(ExplainState *es, const TimedPlan *timed, const NodeEstimate *node)
{
	const PlanEstimate *plan = timed->estimate;
	double		whole_ms = plan->whole_ns / 1e6;
	double		total_ms = per_process_ms(node, node->total_ns);
	double		total_error_ms = per_process_ms(node, node->total_error_ns);
	double		self_ms = per_process_ms(node, node->self_ns);
	double		self_error_ms = per_process_ms(node, node->self_error_ns);
	char	   *mark = mark_of(node, es->format != EXPLAIN_FORMAT_TEXT);

	if (node->loops <= 0 && node->kind != NODE_UNTIMED)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		StringInfoData text;

		initStringInfo(&text);
		if (node->kind != NODE_UNTIMED)
		{
			appendStringInfo(&text, "total %.3f +/- %.3f ms, ", total_ms, total_error_ms);
			appendStringInfo(&text, node->self_unknown ? "self unknown (%.3f +/- %.3f ms)" :
							 "self %.3f +/- %.3f ms",
							 self_ms, self_error_ms);
			if (whole_ms > 0 && !node->self_unknown)
				appendStringInfo(&text, " (%.1f %%)", self_ms / whole_ms * 100);
			appendStringInfo(&text, ", " INT64_FORMAT " of " INT64_FORMAT " calls timed",
							 node->timed, node->calls);
		}
		if (mark != NULL)
			appendStringInfo(&text, "%s%s", text.len > 0 ? "; " : "", mark);
		ExplainPropertyText("Clock", text.data, es);
		return;
	}
	if (node->kind != NODE_UNTIMED)
	{
		ExplainPropertyFloat("Clock Total Time", "ms", total_ms, 3, es);
		ExplainPropertyFloat("Clock Total Margin", "ms", total_error_ms, 3, es);
		ExplainPropertyFloat("Clock Self Time", "ms", self_ms, 3, es);
		ExplainPropertyFloat("Clock Self Margin", "ms", self_error_ms, 3, es);
		if (whole_ms > 0 && !node->self_unknown)
			ExplainPropertyFloat("Clock Self Percent", NULL, self_ms / whole_ms * 100, 1, es);
		ExplainPropertyInteger("Clock Calls", NULL, node->calls, es);
		ExplainPropertyInteger("Clock Timed Calls", NULL, node->timed, es);
	}
	if (mark != NULL)
		ExplainPropertyText("Clock Mark", mark, es);
}

/* What makes the figures worth less than on a calm server, and what to do; text only. */
static void
put_disturbance(ExplainState *es, const PlanEstimate *plan)
{
	double		percent = plan->run_ns > 0 ? plan->preempted_ns / plan->run_ns * 100 : 0;
	StringInfoData text;

	initStringInfo(&text);
	if (percent >= MUCH_PREEMPTED)
		appendStringInfo(&text, "off the CPU for %.0f %% of the run", percent);
	if (plan->slower >= MUCH_SLOWER)
		appendStringInfo(&text, "%s%.1f times slower than at best", text.len > 0 ? ", " : "",
						 plan->slower);
	if (text.len == 0)
		return;
	appendStringInfoString(&text, "; run it again when the server is calmer");
	ExplainPropertyText("Clock Disturbed", text.data, es);
}

void
explain_put_summary(ExplainState *es, const TimedPlan *timed)
{
	const PlanEstimate *plan = timed->estimate;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		StringInfoData text;

		initStringInfo(&text);
		appendStringInfo(&text, "%s, %s", plan->clock, timed->method);
		if (timed->sampling > 0)
			appendStringInfo(&text, " %d", timed->sampling);
		appendStringInfo(&text, ", timing took %.3f ms", plan->overhead_ns / 1e6);
		if (plan->preempted_ns > 0.01 * plan->run_ns)
			appendStringInfo(&text, ", others had the processor for %.3f ms",
							 plan->preempted_ns / 1e6);
		ExplainPropertyText("Clock", text.data, es);
		put_disturbance(es, plan);
		if (!isnan(timed->plain_ms))
			ExplainPropertyFloat("Plain Execution Time", "ms", timed->plain_ms, 3, es);
		return;
	}
	ExplainOpenGroup("Clock", "Clock", true, es);
	ExplainPropertyText("Source", plan->clock, es);
	ExplainPropertyText("Method", timed->method, es);
	if (timed->sampling > 0)
		ExplainPropertyInteger("Sampling", NULL, timed->sampling, es);
	ExplainPropertyFloat("Timing Overhead", "ms", plan->overhead_ns / 1e6, 3, es);
	ExplainPropertyFloat("Preempted Time", "ms", plan->preempted_ns / 1e6, 3, es);
	if (plan->run_ns > 0)
		ExplainPropertyFloat("Preempted Percent", NULL, plan->preempted_ns / plan->run_ns * 100, 1, es);
	if (!isnan(plan->slower))
		ExplainPropertyFloat("Times Slower", NULL, plan->slower, 2, es);
	if (!isnan(timed->plain_ms))
		ExplainPropertyFloat("Plain Execution Time", "ms", timed->plain_ms, 3, es);
	ExplainCloseGroup("Clock", "Clock", true, es);
}

/* Appends what explain_put_node() writes, so far indented. */
static void
append_node(StringInfo output, const TimedPlan *timed, int id, ExplainFormat format,
			int indent)
{
	int			place = node_estimate_place(timed->estimate, id);
	ExplainState *es;

	if (place < 0)
		return;
	es = new_explain_state(format);
	es->indent = indent;
	/* something has been written before */
	es->grouping_stack = list_make1_int(1);
	explain_put_node(es, timed, &timed->estimate->nodes[place]);
	appendStringInfoString(output, es->str->data);
	pfree(es->str->data);
	pfree(es);
}

/*
 * Puts each node's output in place of its number: of one line of text, or of
 * all the keys about WAL in JSON, each of which ends with what comes after it,
 * a comma as a rule.
 */
static char *
replace_markers(const char *text, const TimedPlan *timed, ExplainFormat format,
				const Markers *markers)
{
	StringInfoData result;

	initStringInfo(&result);
	while (*text != '\0')
	{
		Size		length = strcspn(text, "\n");
		char	   *line = pnstrdup(text, length);
		int			id = marked_node(line, markers);
		int			indent = (int) strspn(line, " ");

		CHECK_FOR_INTERRUPTS();
		text	  +=length + (text[length] == '\n');

		if (id < 0)
		{
			appendStringInfo(&result, "%s\n", line);
			pfree(line);
			continue;
		}
		if (format == EXPLAIN_FORMAT_TEXT)
		{
			append_node(&result, timed, id, format, indent / 2);
			continue;
		}

		/* further keys, up to one that is not about WAL */
		while (strncmp(text +strspn(text, " "), "\"WAL ", 5) == 0)
		{
			length = strcspn(text, "\n");
			line = pnstrdup(text, length);
			text	  +=length + (text[length] == '\n');
		}
		/* what was written before ends with a comma and a line feed */
		result.len -= 2;
		result.data[result.len] = '\0';
		append_node(&result, timed, id, format, indent / 2);
		appendStringInfoString(&result, line[strlen(line) - 1] == ',' ? ",\n" : "\n");
	}
	return result.data;
}

char *
explain_output(QueryDesc *desc, const TimedPlan *timed, ExplainFormat format)
{
	ExplainState *es = new_explain_state(format);
	Markers		markers = set_markers(desc);
	char	   *result;

	node_timing_show(desc, timed->estimate);
	es->costs = true;
	es->timing = true;
	es->summary = true;
	ExplainBeginOutput(es);
	ExplainOpenGroup("Query", NULL, true, es);
	ExplainPrintPlan(es, desc);
	es->wal = false;
	ExplainPropertyFloat("Planning Time", "ms", timed->planning_ms, 3, es);
	ExplainPrintTriggers(es, desc);
	if (es->costs)
		ExplainPrintJITSummary(es, desc);
	ExplainPropertyFloat("Execution Time", "ms", timed->estimate->run_ns / 1e6, 3, es);
	explain_put_summary(es, timed);
	ExplainCloseGroup("Query", NULL, true, es);
	ExplainEndOutput(es);
	result = replace_markers(es->str->data, timed, format, &markers);
	(void) clear_marker(desc->planstate, NULL);
	return result;
}
