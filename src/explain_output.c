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
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "explain_output.h"
#include "node_timing.h"

/* Each node's number is this, plus a random one, plus its plan_node_id. */
#define MARKER_BASE		INT64CONST(1000000000000000)

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
		INSTR_COMMON(node->instrument)->walusage.wal_records = markers->base + id;
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
		INSTR_COMMON(node->instrument)->walusage.wal_records = 0;
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

static ExplainState *
new_explain_state(ExplainFormat format, bool analyze)
{
	ExplainState *es = NewExplainState();

	es->format = format;
	es->analyze = analyze;
	es->wal = true;
	es->costs = false;
	return es;
}

/* The output, cut into lines, and its plan's markers. */
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
	int			depth;
	List	   *rtable;
} NodeList;

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
	PlanNodeInfo *info;
	bool		result;

	/* a subplan may be referred to more than once */
	for (int i = 0; i < list->n; i++)
	{
		if (list->nodes[i].id == node->plan->plan_node_id)
			return false;
	}
	if (list->n == list->room)
	{
		list->room *= 2;
		list->nodes = repalloc(list->nodes, sizeof(PlanNodeInfo) * list->room);
	}
	info = &list->nodes[list->n++];
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
find_info(NodeList *list, int id)
{
	for (int i = 0; i < list->n; i++)
	{
		if (list->nodes[i].id == id)
			return &list->nodes[i];
	}
	return NULL;
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

		if (info != NULL)
		{
			info->line = own == NULL ? NULL : pstrdup(own);
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

		if (strncmp(start, key, strlen(key)) == 0)
			type = start + strlen(key);
		else if (info != NULL && type != NULL)
			info->type = pnstrdup(type, strcspn(type, "\""));
	}
}

PlanNodeInfo *
explain_nodes(QueryDesc *desc, int *n)
{
	NodeList	list = {0};
	Markers		markers = set_markers(desc);
	ExplainState *es = new_explain_state(EXPLAIN_FORMAT_TEXT, false);

	list.room = 16;
	list.nodes = palloc(sizeof(PlanNodeInfo) * list.room);
	list.rtable = desc->plannedstmt->rtable;
	(void) list_node(desc->planstate, &list);

	ExplainPrintPlan(es, desc);
	read_lines(&list, split_lines(es->str->data), &markers);

	es = new_explain_state(EXPLAIN_FORMAT_JSON, false);
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

char *
explain_mark(const NodeEstimate *node)
{
	StringInfoData mark;

	if (node->kind == NODE_UNTIMED)
		return pstrdup("not timed");
	initStringInfo(&mark);
	if (node->processes > 1)
		appendStringInfo(&mark, "mean of %d processes", node->processes);
	if (node->untimed_loops > 0)
		appendStringInfo(&mark, "%sworkers not timed", mark.len > 0 ? ", " : "");
	if (node->loops > 0 && fabs(node->adjusted_ns) > node->total_error_ns &&
		fabs(node->adjusted_ns) >= 500)
		appendStringInfo(&mark, "%sreconciled by %+.3f ms", mark.len > 0 ? ", " : "",
						 per_process_ms(node, node->adjusted_ns));
	return mark.len > 0 ? mark.data : NULL;
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
	char	   *mark = explain_mark(node);

	if (node->loops <= 0 && node->kind != NODE_UNTIMED)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		StringInfoData text;

		initStringInfo(&text);
		if (node->kind != NODE_UNTIMED)
		{
			appendStringInfo(&text, "total %.3f +/- %.3f ms, self %.3f +/- %.3f ms",
							 total_ms, total_error_ms, self_ms, self_error_ms);
			if (whole_ms > 0)
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
		if (whole_ms > 0)
			ExplainPropertyFloat("Clock Self Percent", NULL, self_ms / whole_ms * 100, 1, es);
		ExplainPropertyInteger("Clock Calls", NULL, node->calls, es);
		ExplainPropertyInteger("Clock Timed Calls", NULL, node->timed, es);
	}
	if (mark != NULL)
		ExplainPropertyText("Clock Mark", mark, es);
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
	if (!isnan(timed->plain_ms))
		ExplainPropertyFloat("Plain Execution Time", "ms", timed->plain_ms, 3, es);
	ExplainCloseGroup("Clock", "Clock", true, es);
}

/* What explain_put_node() writes, so far indented, as part of a longer output. */
static char *
node_output(const TimedPlan *timed, int id, ExplainFormat format, int indent)
{
	ExplainState *es = new_explain_state(format, true);

	es->indent = indent;
	/* something has been written before */
	es->grouping_stack = list_make1_int(1);
	for (int i = 0; i < timed->estimate->nnodes; i++)
	{
		if (timed->estimate->nodes[i].id == id)
			explain_put_node(es, timed, &timed->estimate->nodes[i]);
	}
	return es->str->data;
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

		text	  +=length + (text[length] == '\n');

		if (id < 0)
		{
			appendStringInfo(&result, "%s\n", line);
			continue;
		}
		if (format == EXPLAIN_FORMAT_TEXT)
		{
			appendStringInfoString(&result, node_output(timed, id, format, indent / 2));
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
		appendStringInfoString(&result, node_output(timed, id, format, indent / 2));
		appendStringInfoString(&result, line[strlen(line) - 1] == ',' ? ",\n" : "\n");
	}
	return result.data;
}

char *
explain_output(QueryDesc *desc, const TimedPlan *timed, ExplainFormat format)
{
	ExplainState *es = new_explain_state(format, true);
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
