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

#include "plan/explain/explain_output.h"
#include "plan/explain/observed_run.h"
#include "plan/explain/plan_shape.h"
#include "plan/explain/server_instr.h"
#include "plan/explain/wait_names.h"

/* A node's marker is this number plus a random one plus its place. */
#define MARKER_BASE		INT64CONST(1000000000000000)

/* Minimum waits of a node that EXPLAIN prints, in percent of its self time. */
#define MUCH_WAIT		5

/*
 * Minimum time that is printed if no node's time includes it, in percent of all times.  Time
 * waiting for a CPU is printed from SOME_MISSING on, and time outside of the nodes from
 * MUCH_MISSING on; or from SOME_MISSING on if the root's time is shorter than the run by
 * MUCH_MISSING, so that the output states the whole reason.
 */
#define MUCH_MISSING	5
#define SOME_MISSING	1

/* Minimum wait in an event that is printed, in percent of the node's self time. */
#define LEAST_WAIT		1

static Markers no_markers = {0};

static void
set_markers(const Observation *o, const Markers *markers)
{
	for (int i = 0; i < o->nnodes; i++)
		instr_wal_records(o->nodes[i].probed.node->instrument) =
			markers->base == 0 ? 0 : markers->base + i;
}

Markers
explain_set_markers(const Observation *o)
{
	Markers		markers = {.n = o->nnodes};

	markers.base = MARKER_BASE + (int64) pg_prng_uint64_range(&pg_global_prng_state, 0,
															  MARKER_BASE / 2) * 2;
	set_markers(o, &markers);
	return markers;
}

static bool
starts_with(const char *line, const char *start)
{
	return strncmp(line, start, strlen(start)) == 0;
}

/* Returns the place of the node whose marker is in this line; -1 if none. */
static int
marked_node(const char *line, const Markers *markers)
{
	int64		number;

	line += strspn(line, " ");
	if (!starts_with(line, "WAL: records=") && !starts_with(line, "\"WAL Records\": "))
		return -1;
	number = strtoll(line + strcspn(line, "0123456789"), NULL, 10) - markers->base;
	return number >= 0 && number < markers->n ? (int) number : -1;
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
read_nodes(const Observation *o, PlanNodeInfo *nodes, const Markers *markers)
{
	ExplainState *es = new_explain_state(EXPLAIN_FORMAT_TEXT);
	const char *own = NULL;
	const char *text;
	char	   *line;

	ExplainPrintPlan(es, o->desc);
	text = es->str->data;

	for (bool first = true; (line = explain_next_line(&text)) != NULL; first = false)
	{
		int			place = marked_node(line, markers);

		if (place >= 0 && own != NULL)
			nodes[place].line = short_line(own, nodes[place].depth);
		if (place >= 0)
			own = NULL;
		else if (own == NULL && (first || starts_with(line + strspn(line, " "), "->  ")))
			own = line;
	}
}

PlanNodeInfo *
explain_nodes(const Observation *o)
{
	Markers		markers = explain_set_markers(o);
	PlanNodeInfo *nodes = palloc0(sizeof(PlanNodeInfo) * o->nnodes);

	for (int i = 0; i < o->nnodes; i++)
	{
		const PlanState *node = o->nodes[i].probed.node;
		int			parent = o->nodes[i].parent;

		CHECK_FOR_INTERRUPTS();
		nodes[i].depth = parent < 0 ? 0 : nodes[parent].depth + 1;
		nodes[i].type = plan_shape(node)->name;
		nodes[i].relation = get_rel_name(explain_relation(node->plan,
														  o->desc->plannedstmt->rtable));
	}
	read_nodes(o, nodes, &markers);
	set_markers(o, &no_markers);
	return nodes;
}

static void
add(StringInfo list, const char *separator, const char *text)
{
	appendStringInfo(list, "%s%s", list->len > 0 ? separator : "", text);
}

char *
explain_note(const NodeEstimate *node)
{
	StringInfoData note;

	initStringInfo(&note);
	if (node->kind == NODE_HIDDEN)
		add(&note, ", ", "its time is part of the node above");
	if (node->has_unobserved)
		add(&note, ", ", "workers not timed");
	if (node->processes > 1)
		add(&note, ", ", psprintf("sum of %d processes", node->processes));
	return note.len > 0 ? note.data : NULL;
}

static double
percent(double part, double whole)
{
	return whole > 0 ? part / whole * 100 : 0;
}

char *
explain_wait_list(const NodeWait *waits, int n, double self_ns)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < n; i++)
	{
		double		share = percent(waits[i].ns, self_ns);
		const char *type = wait_event_type(waits[i].event);
		const char *name = wait_event_name(waits[i].event);

		if (share >= LEAST_WAIT && type != NULL)
			add(&text, ", ", psprintf("%s%s%s %.0f %%", type, name != NULL ? ":" : "",
									  name != NULL ? name : "", share));
	}
	return text.len > 0 ? text.data : NULL;
}

char *
explain_waits(const NodeEstimate *node)
{
	return explain_wait_list(node->waits, node->nwaits, node->times.self_ns);
}

#define MS(ns)		((ns) / 1e6)

/* Writes a time, unless it is unknown. */
static void
put_ms(ExplainState *es, const char *name, double ns)
{
	if (!isnan(ns))
		ExplainPropertyFloat(name, "ms", MS(ns), 3, es);
}

/* Writes a node's times and margins: in text as one line, else as a property each. */
static void
put_times(ExplainState *es, const NodeEstimate *node)
{
	const NodeTimes *times = &node->times;
	bool		with_percent = !isnan(node->share_percent);
	char	   *note = explain_note(node);

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		StringInfoData line;

		initStringInfo(&line);
		if (isnan(times->self_ns))
		{
			ExplainPropertyText("Clock", "not timed", es);
			return;
		}
		if (isnan(node->self_margin_ns))
			appendStringInfo(&line, "total %.3f ms, self %.3f ms", MS(times->total_ns), MS(times->self_ns));
		else
			appendStringInfo(&line, "total %.3f +/- %.3f ms, self %.3f +/- %.3f ms",
							 MS(times->total_ns), MS(node->total_margin_ns),
							 MS(times->self_ns), MS(node->self_margin_ns));
		if (with_percent && isnan(node->share_margin_percent))
			appendStringInfo(&line, " (%.1f %%)", node->share_percent);
		else if (with_percent)
			appendStringInfo(&line, " (%.1f +/- %.1f %%)", node->share_percent,
							 node->share_margin_percent);
		if (!isnan(node->total_stddev_ns))
			appendStringInfo(&line, ", total's standard deviation %.3f ms", MS(node->total_stddev_ns));
		if (times->wait_ns > 0)
			appendStringInfo(&line, ", waits %.3f ms", MS(times->wait_ns));
		if (times->cpu_wait_ns > 0)
			appendStringInfo(&line, ", waiting for a CPU %.3f ms", MS(times->cpu_wait_ns));
		if (note != NULL)
			add(&line, "; ", note);
		ExplainPropertyText("Clock", line.data, es);
		return;
	}
	put_ms(es, "Clock Total Time", times->total_ns);
	put_ms(es, "Clock Total Margin", node->total_margin_ns);
	put_ms(es, "Clock Total Standard Deviation", node->total_stddev_ns);
	put_ms(es, "Clock Self Time", times->self_ns);
	put_ms(es, "Clock Self Margin", node->self_margin_ns);
	if (with_percent)
		ExplainPropertyFloat("Clock Self Percent", NULL, node->share_percent, 1, es);
	if (!isnan(node->share_margin_percent))
		ExplainPropertyFloat("Clock Self Percent Margin", NULL, node->share_margin_percent, 1, es);
	put_ms(es, "Clock CPU Time", times->cpu_ns);
	put_ms(es, "Clock Wait Time", times->wait_ns);
	put_ms(es, "Clock CPU Wait Time", times->cpu_wait_ns);
	if (note != NULL)
		ExplainPropertyText("Clock Note", note, es);
}

void
explain_put_node(ExplainState *es, const NodeEstimate *node, bool with_times)
{
	const char *waits = percent(node->times.wait_ns, node->times.self_ns) >= MUCH_WAIT ?
		explain_waits(node) : NULL;

	if (node->loops <= 0)
		return;
	if (with_times)
		put_times(es, node);
	if (waits != NULL)
		ExplainPropertyText("Waits", waits, es);
}

/* Returns whether the container's CPU limit explains half of the time waiting for a CPU. */
static bool
is_throttled(const PlanEstimate *plan)
{
	return percent(plan->throttled_ns, plan->cpu_wait_ns) >= 50;
}

char *
explain_run(const PlanEstimate *plan, const char *separator)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "%.1f ms", MS(plan->run_ns));
	if (percent(plan->cpu_wait_ns, plan->share_ns + plan->cpu_wait_ns) >= MUCH_MISSING)
		appendStringInfo(&text, ",%swaited %.1f ms for a CPU%s%s%s", separator,
						 MS(plan->cpu_wait_ns), is_throttled(plan) ? ":" : ",", separator,
						 is_throttled(plan) ? "the container's limit" :
						 "which other processes used");
	return text.data;
}

/*
 * Writes the times that are in no node's time: why the root's time is shorter than the execution
 * time.
 */
static void
put_missing(ExplainState *es, const TimedPlan *timed)
{
	const PlanEstimate *plan = timed->estimate;
	double		run_ns = plan->run_ns + timed->start_ns;
	double		outside_ns = plan->outside.times.self_ns + timed->start_ns;
	double		missing_ns = run_ns - plan->nodes[0].times.total_ns;
	double		least = percent(missing_ns, run_ns) >= MUCH_MISSING ? SOME_MISSING : MUCH_MISSING;

	if (percent(plan->cpu_wait_ns, plan->share_ns + plan->cpu_wait_ns) >= SOME_MISSING)
		ExplainPropertyText("Waiting for a CPU",
							psprintf("%.3f ms, in no node's time%s", MS(plan->cpu_wait_ns),
									 is_throttled(plan) ? ": the container's limit" : ""), es);
	if (percent(outside_ns, plan->share_ns + timed->start_ns) >= least)
	{
		const char *waits = percent(plan->outside.times.wait_ns, outside_ns) >= MUCH_WAIT ?
			explain_wait_list(plan->outside.waits, plan->outside.nwaits, outside_ns) : NULL;

		ExplainPropertyText("Outside of the nodes",
							psprintf("%.3f ms%s%s", MS(outside_ns), waits == NULL ? "" : ", ",
									 waits == NULL ? "" : waits), es);
	}
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
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, timed->method);
	if (!isnan(plan->cpu_wait_ns))
		appendStringInfo(&text, ", %.0f samples%s", plan->samples,
						 plan->by_timeouts ? " by a timer, without a sampler" : "");
	if (timed->runs > 1)
		appendStringInfo(&text, ", runs %d", timed->runs);
	if (plan->sampler_cpu_ns > 0)
		appendStringInfo(&text, ", %.3f ms of CPU time of the sampler", MS(plan->sampler_cpu_ns));
	ExplainPropertyText("Time", text.data, es);
	put_missing(es, timed);
}

/*
 * Writes what holds for the whole plan: the method, the number of samples, the cost of the sampler,
 * and the times that belong to no node.
 */
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
		ExplainPropertyText("Method", timed->method, es);
		if (timed->runs > 1)
			ExplainPropertyInteger("Runs", NULL, timed->runs, es);
		if (!isnan(plan->cpu_wait_ns))
		{
			ExplainPropertyInteger("Samples", NULL, (int64) plan->samples, es);
			ExplainPropertyBool("By Timer", plan->by_timeouts, es);
			put_ms(es, "Sampler CPU Time", plan->sampler_cpu_ns);
		}
		put_ms(es, "Time Outside of Nodes", plan->outside.times.self_ns + timed->start_ns);
		put_ms(es, "CPU Wait Time", plan->cpu_wait_ns);
	}
	if (!isnan(timed->plain_ms))
		ExplainPropertyFloat("Plain Execution Time", "ms", timed->plain_ms, 3, es);
	if (!text)
		ExplainCloseGroup("Clock", "Clock", true, es);
}

/* Appends the lines of explain_put_node(), with this indentation. */
static void
append_node(StringInfo output, const TimedPlan *timed, int place, ExplainFormat format,
			int indent)
{
	ExplainState *es = new_explain_state(format);

	es->indent = indent;
	/* as if another key preceded, so that a comma is written first */
	es->grouping_stack = list_make1_int(1);
	explain_put_node(es, &timed->estimate->nodes[place], timed->with_times);
	appendStringInfoString(output, es->str->data);
	pfree(es->str->data);
	pfree(es);
}

/* Returns the start of the line of text whose line feed is at text[end - 1]. */
static int
line_start(const char *text, int end)
{
	end--;
	while (end > 0 && text[end - 1] != '\n')
		end--;
	return end;
}

/*
 * Appends the line that ends an array in JSON.  PostgreSQL 15 to 19 print MERGE's numbers of rows
 * within the array of several target tables, which is invalid JSON.  Moves these numbers behind the
 * array.
 */
static void
append_end_of_array(StringInfo output, const char *line)
{
	int			length = (int) strcspn(line, ",");
	int			end = output->len;
	char	   *counts;

	while (end > 0)
	{
		const char *last = output->data + line_start(output->data, end);

		if (!starts_with(last + strspn(last, " "), "\"Tuples "))
			break;
		end = (int) (last - output->data);
	}
	if (end == output->len || end < 2)
	{
		appendStringInfo(output, "%s\n", line);
		return;
	}
	counts = pnstrdup(output->data + end, output->len - end - 1);
	output->len = end - 2;		/* without the comma and line feed before the
								 * counts */
	appendStringInfo(output, "\n%.*s,\n%s%s\n", length, line, counts, line + length);
	pfree(counts);
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

		if (!of_wal && format == EXPLAIN_FORMAT_JSON && line[indent] == ']')
			append_end_of_array(&result, line);
		else if (!of_wal)
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

/*
 * Prints the plan by the server's own functions, with the estimated times in its Instrumentation,
 * and then replaces the markers by lines of clocktiming.
 */
char *
explain_output(const TimedPlan *timed, ExplainFormat format)
{
	QueryDesc  *desc = timed->observation->desc;
	ExplainState *es = new_explain_state(format);
	Markers		markers = explain_set_markers(timed->observation);
	char	   *result;

	observe_show(timed->observation, timed->estimate);
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
	set_markers(timed->observation, &no_markers);
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
