/*
 * PostgreSQL before 18 has no hook to add lines to a node's output.  But EXPLAIN (WAL) prints each
 * node's number of WAL records.  So this file sets that number to the node's marker, which
 * identifies the node.  Then it replaces the markers in EXPLAIN's output by the lines to add.
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "clock/platform.h"
#include "explain/explain_output.h"
#include "explain/node_timing.h"
#include "explain/plan_run.h"
#include "explain/plan_shape.h"
#include "explain/server_instr.h"

/* A node's marker is this number plus a random one plus its plan_node_id. */
#define MARKER_BASE		INT64CONST(1000000000000000)

/* Shortest wait for workers that is printed, in ns. */
#define LEAST_WAIT_NS		1e6

/* Length of a run from which its parts are printed in whole ms, in ns. */
#define WHOLE_MS_NS			1e9

/* Minimum time of rare long calls that is printed, in ns.  MUCH_PREEMPTED must hold, too. */
#define LEAST_RARE_NS	1e5

static Markers no_markers = {0};

static bool
set_marker(PlanState *node, void *context)
{
	const Markers *markers = context;

	if (node->instrument != NULL)
		instr_wal_records(node->instrument) =
			markers->base == 0 ? 0 : markers->base + node->plan->plan_node_id;
	return planstate_tree_walker(node, set_marker, context);
}

Markers
explain_set_markers(QueryDesc *desc)
{
	Markers		markers = {.nids = plan_node_ids(desc)};

	markers.base = MARKER_BASE + (int64) pg_prng_uint64_range(&pg_global_prng_state, 0,
															  MARKER_BASE / 2) * 2;
	(void) set_marker(desc->planstate, &markers);
	return markers;
}

static bool
starts_with(const char *line, const char *start)
{
	return strncmp(line, start, strlen(start)) == 0;
}

/* Returns the id of the node whose marker is in this line; -1 if none. */
static int
marked_node(const char *line, const Markers *markers)
{
	int64		number;

	line += strspn(line, " ");
	if (!starts_with(line, "WAL: records=") && !starts_with(line, "\"WAL Records\": "))
		return -1;
	number = strtoll(line + strcspn(line, "0123456789"), NULL, 10) - markers->base;
	return number >= 0 && number < markers->nids ? (int) number : -1;
}

/*
 * Returns the state of EXPLAIN (ANALYZE, WAL, COSTS OFF, TIMING OFF, SUMMARY OFF).  Foreign and
 * custom scans may use the state for an EXPLAIN of their own.  So it must be a valid combination of
 * options: WAL, TIMING and SERIALIZE require ANALYZE.
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

char *
explain_next_line(const char **text)
{
	Size		length = strcspn(*text, "\n");
	char	   *line;

	CHECK_FOR_INTERRUPTS();
	if (**text == '\0')
		return NULL;
	line = pnstrdup(*text, length);
	*text += length + ((*text)[length] == '\n');
	return line;
}

typedef struct NodeList
{
	PlanNodeInfo *nodes;
	int			n;
	PlanNodeInfo **by_id;		/* NULL: no node has this id */
	int			depth;
	const List *rtable;
} NodeList;

Oid
explain_relation(const Plan *plan, const List *rtable)
{
	Index		rti = 0;
	RangeTblEntry *rte;

	if (plan_shape_of(plan)->scans_relation)
		rti = ((const Scan *) plan)->scanrelid;
	else if (IsA(plan, ModifyTable))
		rti = ((const ModifyTable *) plan)->nominalRelation;
	if (rti == 0)
		return InvalidOid;
	rte = rt_fetch(rti, rtable);
	return rte->rtekind == RTE_RELATION ? rte->relid : InvalidOid;
}

static bool
list_node(PlanState *node, void *context)
{
	NodeList   *list = context;
	int			id = node->plan->plan_node_id;
	PlanNodeInfo *info;
	bool		result;

	CHECK_FOR_INTERRUPTS();
	/* several nodes may use one subplan, which is listed once */
	if (list->by_id[id] != NULL)
		return false;
	info = list->by_id[id] = &list->nodes[list->n++];
	info->id = id;
	info->depth = list->depth;
	info->type = plan_shape(node)->name;
	info->relation = get_rel_name(explain_relation(node->plan, list->rtable));
	list->depth++;
	result = planstate_tree_walker(node, list_node, context);
	list->depth--;
	return result;
}

/* Returns a node's line without its figures, indented by two columns per level. */
static char *
short_line(const char *line, int depth)
{
	const char *end = line + strlen(line);

	line += strspn(line, " ");
	if (starts_with(line, "->  "))
		line += strlen("->  ");
	for (const char *c = end; c > line; c--)
	{
		if (starts_with(c, " (actual rows=") || starts_with(c, " (never executed)"))
		{
			end = c;
			break;
		}
	}
	return psprintf("%*s%.*s", 2 * depth, "", (int) (end - line), line);
}

/*
 * Finds each node's line in EXPLAIN's output.  The root's line is the first one.  The line of any
 * other node is the first one with an arrow after the marker of the previous node.
 */
static void
read_nodes(QueryDesc *desc, NodeList *list, const Markers *markers)
{
	ExplainState *es = new_explain_state(EXPLAIN_FORMAT_TEXT);
	const char *own = NULL;
	const char *text;
	char	   *line;

	ExplainPrintPlan(es, desc);
	text = es->str->data;

	for (bool first = true; (line = explain_next_line(&text)) != NULL; first = false)
	{
		int			id = marked_node(line, markers);
		PlanNodeInfo *info = id < 0 ? NULL : list->by_id[id];

		if (info != NULL && own != NULL)
			info->line = short_line(own, info->depth);
		if (info != NULL)
			own = NULL;
		else if (own == NULL && (first || starts_with(line + strspn(line, " "), "->  ")))
			own = line;
	}
}

PlanNodeInfo *
explain_nodes(QueryDesc *desc, int *n)
{
	Markers		markers = explain_set_markers(desc);
	NodeList	list = {.rtable = desc->plannedstmt->rtable};

	list.nodes = palloc0(sizeof(PlanNodeInfo) * markers.nids);
	list.by_id = palloc0(sizeof(PlanNodeInfo *) * markers.nids);
	(void) list_node(desc->planstate, &list);
	read_nodes(desc, &list, &markers);
	(void) set_marker(desc->planstate, &no_markers);
	*n = list.n;
	return list.nodes;
}

/* Time in ms, divided by the number of processes that executed the node. */
#define PER_PROCESS_MS(node, ns) ((ns) / Max((node)->processes, 1) / 1e6)

/* Appends text to a list, after a separator if the list is not empty. */
static void
add(StringInfo list, const char *separator, const char *text)
{
	appendStringInfo(list, "%s%s", list->len > 0 ? separator : "", text);
}

char *
explain_note(const NodeEstimate *node, bool with_processes)
{
	StringInfoData note;

	if (node->kind == NODE_UNTIMED)
		return pstrdup("not timed");
	initStringInfo(&note);
	if (node->processes > 1 && with_processes)
		add(&note, ", ", psprintf("mean of %d processes", node->processes));
	if (node->untimed_loops > 0)
		add(&note, ", ", "workers not timed");
	if (node->waited_ns >= LEAST_WAIT_NS)
		add(&note, ", ", psprintf("%.1f ms waiting for workers", node->waited_ns / 1e6));
	return note.len > 0 ? note.data : NULL;
}

void
explain_put_node(ExplainState *es, const NodeEstimate *node)
{
	double		total_ms = PER_PROCESS_MS(node, node->total_ns);
	double		total_margin_ms = PER_PROCESS_MS(node, node->total_margin_ns);
	double		self_ms = PER_PROCESS_MS(node, node->self_ns);
	double		self_margin_ms = PER_PROCESS_MS(node, node->self_margin_ns);
	bool		with_percent = !isnan(node->share_percent);
	bool text = es->format == EXPLAIN_FORMAT_TEXT;
	char	   *note = explain_note(node, true);

	if (node->loops <= 0 && node->kind != NODE_UNTIMED)
		return;
	if (text)
	{
		StringInfoData line;

		initStringInfo(&line);
		if (node->kind != NODE_UNTIMED)
		{
			appendStringInfo(&line, "total %.3f +/- %.3f ms, self %.3f +/- %.3f ms",
							 total_ms, total_margin_ms, self_ms, self_margin_ms);
			if (with_percent)
				appendStringInfo(&line, " (%.1f +/- %.1f %%)", node->share_percent,
								 node->share_margin_percent);
			if (!isnan(node->total_stddev_ns))
				appendStringInfo(&line, ", total's standard deviation %.3f ms",
								 PER_PROCESS_MS(node, node->total_stddev_ns));
			appendStringInfo(&line, ", " INT64_FORMAT " of " INT64_FORMAT " calls timed",
							 node->timed, node->calls);
		}
		if (note != NULL)
			add(&line, "; ", note);
		ExplainPropertyText("Clock", line.data, es);
		return;
	}
	if (node->kind != NODE_UNTIMED)
	{
		ExplainPropertyFloat("Clock Total Time", "ms", total_ms, 3, es);
		ExplainPropertyFloat("Clock Total Margin", "ms", total_margin_ms, 3, es);
		if (!isnan(node->total_stddev_ns))
			ExplainPropertyFloat("Clock Total Standard Deviation", "ms",
								 PER_PROCESS_MS(node, node->total_stddev_ns), 3, es);
		ExplainPropertyFloat("Clock Self Time", "ms", self_ms, 3, es);
		ExplainPropertyFloat("Clock Self Margin", "ms", self_margin_ms, 3, es);
		if (with_percent)
		{
			ExplainPropertyFloat("Clock Self Percent", NULL, node->share_percent, 1, es);
			ExplainPropertyFloat("Clock Self Percent Margin", NULL, node->share_margin_percent, 1, es);
		}
		ExplainPropertyInteger("Clock Calls", NULL, node->calls, es);
		ExplainPropertyInteger("Clock Timed Calls", NULL, node->timed, es);
	}
	if (note != NULL)
		ExplainPropertyText("Clock Note", note, es);
}

static double
percent_of_run(const PlanEstimate *plan, double ns)
{
	return plan->run_ns > 0 ? ns / plan->run_ns * 100 : 0;
}

char *
explain_run(const PlanEstimate *plan, const char *separator, bool only_disturbed)
{
	/* printed values are multiples of this, so that the parts add up */
	double		unit_ns = plan->run_ns >= WHOLE_MS_NS ? 1e6 : 1e5;
	int			decimals = plan->run_ns >= WHOLE_MS_NS ? 0 : 1;
	double		run_ns = rint(plan->run_ns / unit_ns) * unit_ns;
	double		mean_ns = plan->overhead_ns;	/* mean executing time of processes */
	double		own_ns = 0;		/* wait for the plan's own processes */
	double		others_ns;		/* wait for other processes */
	double		waited_ns = 0;	/* wait for workers */
	double		executing_ns;	/* includes timing_ns */
	double		timing_ns = 0;	/* 0 if not printed */
	int			processes = 0;
	int			cpus = platform_cpus_allowed();
	bool		crowded;		/* more processes than CPUs */
	bool		unequal;
	bool		disturbed = percent_of_run(plan, plan->preempted_ns) >= MUCH_PREEMPTED;
	bool		rare = plan->rare_ns >= LEAST_RARE_NS &&
		percent_of_run(plan, plan->rare_ns) >= MUCH_PREEMPTED;
	StringInfoData text;

	if (only_disturbed && !disturbed && !rare)
		return NULL;
	for (int i = 0; i < plan->nnodes; i++)
	{
		waited_ns += plan->nodes[i].waited_ns;
		if (plan->nodes[i].kind != NODE_UNTIMED)
			mean_ns += plan->nodes[i].self_ns / Max(plan->nodes[i].processes, 1);
		processes = Max(processes, plan->nodes[i].processes);
	}
	mean_ns = rint(mean_ns / unit_ns) * unit_ns;
	waited_ns = rint(waited_ns / unit_ns) * unit_ns;
	executing_ns = Max(run_ns - rint(plan->preempted_ns / unit_ns) * unit_ns - waited_ns, 0);
	if (!only_disturbed)		/* otherwise, the line "Time" states it */
		timing_ns = Min(rint(plan->overhead_ns / unit_ns) * unit_ns, executing_ns);
	unequal = percent_of_run(plan, fabs(executing_ns - mean_ns)) >= MUCH_PREEMPTED;
	crowded = processes > cpus && cpus > 0;
	if (crowded)
	{
		if (!unequal)
			executing_ns = mean_ns;
		/* assumes that the processes never slept, and shared the CPUs equally */
		own_ns = rint(executing_ns * (processes - cpus) / cpus / unit_ns) * unit_ns;
	}
	others_ns = run_ns - executing_ns - waited_ns - own_ns;
	if (own_ns > 0 && percent_of_run(plan, others_ns) < MUCH_PREEMPTED)
	{
		own_ns += others_ns;
		others_ns = 0;
	}
	initStringInfo(&text);
	appendStringInfo(&text, "%.*f ms", decimals, run_ns / 1e6);
	if (disturbed)
	{
		appendStringInfo(&text, ":%s%.*f ms executing", separator, decimals,
						 (executing_ns - timing_ns) / 1e6);
		if (crowded && !unequal)
			appendStringInfo(&text, " (mean of %d processes)", processes);
		else if (processes > 1)
			appendStringInfoString(&text, " (leader)");
		if (timing_ns > 0)
			appendStringInfo(&text, ",%s%.*f ms timing", separator, decimals, timing_ns / 1e6);
		if (own_ns > 0)
			appendStringInfo(&text, ",%sabout %.*f ms waiting: %d processes on %d CPUs", separator,
							 decimals, own_ns / 1e6, processes, cpus);
		if (own_ns > others_ns)
			appendStringInfo(&text, "%s(max_parallel_workers_per_gather = %d may be as fast)",
							 separator, cpus - 1);
		if (others_ns > 0)
			appendStringInfo(&text, ",%s%s%.*f ms waiting: CPUs used by other processes", separator,
							 own_ns > 0 ? "about " : "", decimals, others_ns / 1e6);
		if (waited_ns > 0)
			appendStringInfo(&text, ",%s%.*f ms waiting for workers",
							 separator, decimals, waited_ns / 1e6);
		if (processes > 1 && unequal)
			appendStringInfo(&text, ";%sself times add up to %.*f ms (mean of processes)",
							 separator, decimals, (mean_ns - plan->overhead_ns) / 1e6);
	}
	if (rare)
		appendStringInfo(&text, ";%s%.1f ms of the run in a few long calls, or in gaps between timed calls",
						 separator, plan->rare_ns / 1e6);
	return text.data;
}

/*
 * Writes the summary as text.  Plan viewers (pev2, Pg::Explain) only know a few labels at the
 * beginning of a line.  They append other lines to the node or trigger before.  So the first line
 * begins with "Time", a label that they know.
 */
static void
put_summary_text(ExplainState *es, const TimedPlan *timed)
{
	const PlanEstimate *plan = timed->estimate;
	const char *disturbed = explain_run(plan, " ", true);
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "%s, %s", plan->clock, timed->method);
	if (timed->sampling > 0)
		appendStringInfo(&text, " %d", timed->sampling);
	if (timed->runs > 1)
		appendStringInfo(&text, ", runs %d", timed->runs);
	appendStringInfo(&text, ", timing took %.3f ms", plan->overhead_ns / 1e6);
	if (plan->preempted_ns > 0.01 * plan->run_ns)
		appendStringInfo(&text, ", %.3f ms waiting for a CPU", plan->preempted_ns / 1e6);
	ExplainPropertyText("Time", text.data, es);

	if (disturbed != NULL)
		ExplainPropertyText("Clock Disturbed", psprintf("%s; shares exclude waits", disturbed), es);
}

void
explain_put_summary(ExplainState *es, const TimedPlan *timed)
{
	const PlanEstimate *plan = timed->estimate;
	bool text = es->format == EXPLAIN_FORMAT_TEXT;

	if (text)
		put_summary_text(es, timed);
	else
	{
		ExplainOpenGroup("Clock", "Clock", true, es);
		ExplainPropertyText("Source", plan->clock, es);
		ExplainPropertyText("Method", timed->method, es);
		if (timed->sampling > 0)
			ExplainPropertyInteger("Sampling", NULL, timed->sampling, es);
		if (timed->runs > 1)
			ExplainPropertyInteger("Runs", NULL, timed->runs, es);
		ExplainPropertyFloat("Timing Overhead", "ms", plan->overhead_ns / 1e6, 3, es);
		ExplainPropertyFloat("Preempted Time", "ms", plan->preempted_ns / 1e6, 3, es);
		if (plan->run_ns > 0)
			ExplainPropertyFloat("Preempted Percent", NULL, percent_of_run(plan, plan->preempted_ns), 1, es);
	}
	if (!isnan(timed->plain_ms))
		ExplainPropertyFloat("Plain Execution Time", "ms", timed->plain_ms, 3, es);
	if (!text)
		ExplainCloseGroup("Clock", "Clock", true, es);
}

/* Appends the lines of explain_put_node(), with this indentation. */
static void
append_node(StringInfo output, const TimedPlan *timed, int id, ExplainFormat format,
			int indent)
{
	const NodeEstimate *node = node_estimate(timed->estimate, id);
	ExplainState *es;

	if (node == NULL)
		return;
	es = new_explain_state(format);
	es->indent = indent;
	/* as if another key preceded, so that a comma is written first */
	es->grouping_stack = list_make1_int(1);
	explain_put_node(es, node);
	appendStringInfoString(output, es->str->data);
	pfree(es->str->data);
	pfree(es);
}

/*
 * Replaces each marker by the lines of its node.  In text, the line with the marker is replaced.
 * In JSON, all WAL keys are removed with their commas; VERBOSE prints such keys for each worker,
 * too.
 */
static char *
replace_markers(const char *text, const TimedPlan *timed, ExplainFormat format,
				const Markers *markers)
{
	StringInfoData result;
	char	   *line;

	initStringInfo(&result);
	while ((line = explain_next_line(&text)) != NULL)
	{
		int			id = marked_node(line, markers);
		int			indent = (int) strspn(line, " ");
		bool		of_wal = id >= 0 ||
			(format == EXPLAIN_FORMAT_JSON && starts_with(line + indent, "\"WAL Records\": "));

		if (!of_wal)
			appendStringInfo(&result, "%s\n", line);
		else if (format == EXPLAIN_FORMAT_TEXT)
			append_node(&result, timed, id, format, indent / 2);
		else
		{
			/* skip further keys about WAL */
			while (starts_with(text +strspn(text, " "), "\"WAL "))
				line = explain_next_line(&text);
			/* remove the comma and line feed of the previous line */
			result.len -= 2;
			result.data[result.len] = '\0';
			if (id >= 0)
				append_node(&result, timed, id, format, indent / 2);
			appendStringInfoString(&result, line[strlen(line) - 1] == ',' ? ",\n" : "\n");
		}
		pfree(line);
	}
	return result.data;
}

char *
explain_output(QueryDesc *desc, const TimedPlan *timed, ExplainFormat format)
{
	ExplainState *es = new_explain_state(format);
	Markers		markers = explain_set_markers(desc);
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
	ExplainPrintJITSummary(es, desc);

	/* before the execution time, as in EXPLAIN */
	explain_put_summary(es, timed);
	ExplainPropertyFloat("Execution Time", "ms", timed->estimate->run_ns / 1e6, 3, es);
	ExplainCloseGroup("Query", NULL, true, es);
	ExplainEndOutput(es);
	result = replace_markers(es->str->data, timed, format, &markers);
	(void) set_marker(desc->planstate, &no_markers);
	return result;
}

void
explain_put_margins(ExplainState *es, int from, const TimedPlan *timed, const Markers *markers)
{
	bool		ends_line = es->str->data[es->str->len - 1] == '\n';
	char	   *text = replace_markers(es->str->data + from, timed, es->format, markers);

	es->str->len = from;
	appendStringInfoString(es->str, text);
	if (!ends_line)
		es->str->data[--es->str->len] = '\0';
	pfree(text);
}
