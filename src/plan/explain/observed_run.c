/*
 * An execution that is observed from its start to its end.
 *
 * The functions observed_before_run() to observed_after_finish() are the steps of an observation.
 * plan_run() calls them for queries of clock_explain, and the executor hooks call them for all
 * other executions.  After ExecutorFinish(), the results of all processes are collected and
 * estimated, and written into the server's Instrumentation.  So EXPLAIN, auto_explain and other
 * extensions print these times as if the server had measured them.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "nodes/execnodes.h"

#include "compat.h"
#include "plan/explain/observation_record.h"
#include "plan/explain/observed_run.h"
#include "plan/explain/parallel_observation.h"

/* Adds the waits of a process to those of the nodes. */
static void
add_waits(PlanEstimate *plan, const ObservedWait *waits, int nwaits)
{
	for (int i = 0; i < nwaits; i++)
	{
		NodeEstimate *node = waits[i].place < 0 ? &plan->outside : &plan->nodes[waits[i].place];
		int			k = 0;

		while (k < node->nwaits && node->waits[k].event != waits[i].event)
			k++;
		if (k == node->nwaits)
		{
			node->nwaits++;
			node->waits = node->waits == NULL ? palloc(sizeof(NodeWait)) :
				repalloc(node->waits, sizeof(NodeWait) * node->nwaits);
			node->waits[k] = (NodeWait)
			{
				.event = waits[i].event
			};
		}
		node->waits[k].ns += waits[i].ns;
	}
}

static int
compare_waits(const void *a, const void *b)
{
	double		difference = ((const NodeWait *) b)->ns - ((const NodeWait *) a)->ns;

	return (difference > 0) - (difference < 0);
}

/* Sorts a node's waits, and scales them to its time in wait events. */
static void
finish_waits(NodeEstimate *node)
{
	double		sum = 0;

	for (int i = 0; i < node->nwaits; i++)
		sum += node->waits[i].ns;
	for (int i = 0; i < node->nwaits && sum > 0; i++)
		node->waits[i].ns *= node->times.wait_ns / sum;
	if (node->nwaits > 1)
		qsort(node->waits, node->nwaits, sizeof(NodeWait), compare_waits);
}

/*
 * Copies the wait events of the node above to a NODE_WHOLE, before finish_waits().  Samples found
 * the node above at work, and a NODE_WHOLE has an equal part of all its times.
 */
static void
share_waits(PlanEstimate *plan, NodeEstimate *node)
{
	const NodeEstimate *above = node;

	while (above->parent >= 0 && above->kind != NODE_SAMPLED)
		above = &plan->nodes[above->parent];
	if (node->kind != NODE_WHOLE || above->kind != NODE_SAMPLED || above->nwaits == 0)
		return;
	node->nwaits = above->nwaits;
	node->waits = palloc(sizeof(NodeWait) * above->nwaits);
	memcpy(node->waits, above->waits, sizeof(NodeWait) * above->nwaits);
}

/* Sets the times of a node that no observed process executed. */
static void
forget_times(NodeEstimate *node)
{
	node->times = (NodeTimes)
	{
		.self_ns = NAN, .cpu_ns = NAN, .wait_ns = NAN, .cpu_wait_ns = NAN, .total_ns = NAN
	};
	node->self_margin_ns = node->total_margin_ns = NAN;
	node->share_percent = node->share_margin_percent = NAN;
}

/*
 * Collects the records of the leader and of its workers, estimates all times in
 * CurrentMemoryContext, and adds the wait events.  May be called twice, because it leaves the
 * observation as it is.  Waits are scaled to the times of their nodes, because the table of waits
 * may lack some.
 */
static PlanEstimate *
observe_estimate(Observation *o, bool leaves_unseen)
{
	PlanEstimate *plan = palloc0(sizeof(PlanEstimate));
	int			nworkers = parallel_observation_processes(o);
	int			n = nworkers + 1;

	plan->nnodes = o->nnodes;
	plan->nodes = palloc0(sizeof(NodeEstimate) * o->nnodes);
	plan->nprocesses = n;
	plan->processes = palloc0(sizeof(ProcessRun) * n);
	plan->workers = palloc0(sizeof(int) * n);
	plan->outside_by_process = palloc0(sizeof(NodeTimes) * n);
	plan->by_timeouts = o->by_timeouts;
	plan->leaves_unseen = leaves_unseen;
	plan->check = ProcessInterrupts;
	plan->outside.id = -1;
	plan->outside.parent = -1;
	record_run(o, &plan->processes[0]);
	plan->workers[0] = -1;
	for (int i = 0; i < o->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		CHECK_FOR_INTERRUPTS();
		node->id = o->nodes[i].id;
		node->parent = o->nodes[i].parent;
		node->is_called = o->nodes[i].probed.is_called;
		node->kind = o->nodes[i].kind;
		node->records = palloc0(sizeof(NodeRecord) * n);
		node->by_process = palloc0(sizeof(NodeTimes) * n);
		record_counts(&o->nodes[i], node);
		node->has_unobserved = o->workers_hidden && instr_nworkers(o->nodes[i].probed.node) > 0;
		record_node(o, i, NULL, &node->records[0]);
	}
	add_waits(plan, o->waits, o->nwaits);
	for (int p = 1; p < n; p++)
	{
		const NodeRecord *records;
		const ObservedWait *waits;
		int			nwaits;

		plan->processes[p] = *parallel_observation_result(o, p - 1, &records, &waits, &nwaits,
														  &plan->workers[p]);
		for (int i = 0; i < o->nnodes; i++)
			plan->nodes[i].records[p] = records[i];
		add_waits(plan, waits, nwaits);
	}
	plan_estimate(plan);
	for (int i = 0; i < o->nnodes; i++)
		share_waits(plan, &plan->nodes[i]);
	for (int i = 0; i < o->nnodes; i++)
	{
		finish_waits(&plan->nodes[i]);
		if (plan->nodes[i].has_unobserved && plan->nodes[i].processes == 0)
			forget_times(&plan->nodes[i]);
	}
	finish_waits(&plan->outside);
	return plan;
}

void
observe_show(const Observation *o, const PlanEstimate *plan)
{
	for (int i = 0; i < o->nnodes; i++)
	{
		const NodeEstimate *node = &plan->nodes[i];
		PlanState  *state = o->nodes[i].probed.node;

		/* EXPLAIN shows the end of a NODE_WHOLE as its first row */
		instr_show(state->instrument,
				   node->kind == NODE_WHOLE ? node->times.total_ns : node->first_ns,
				   node->times.total_ns);
		for (int p = 1; p < plan->nprocesses; p++)
		{
			if (plan->workers[p] < instr_nworkers(state))
				instr_show(&state->worker_instrument->instrument[plan->workers[p]],
						   node->kind == NODE_WHOLE ? node->by_process[p].total_ns :
						   node->records[p].first_ns, node->by_process[p].total_ns);
		}
	}
}

static void
time_triggers_of(ResultRelInfo *relation)
{
	for (int i = 0; relation->ri_TrigInstrument != NULL &&
		 i < relation->ri_TrigDesc->numtriggers; i++)
		instr_set_timer(&relation->ri_TrigInstrument[i], true);
}

/*
 * Lets the server time the triggers of all relations that the plan modifies.  The server opens some
 * relations only during the run: partitions into which rows are routed, and relations that only
 * fire AFTER triggers for rows of a partition.  It times their triggers if es_instrument requests
 * timers.  es_instrument would also make workers time nodes, so it is only set for plans without
 * workers.
 */
static void
time_triggers(const Observation *o)
{
	for (int i = 0; i < o->nnodes; i++)
	{
		ModifyTableState *state = (ModifyTableState *) o->nodes[i].probed.node;

		if (!IsA(state, ModifyTableState))
			continue;
		if (o->nworkers == 0)
			instr_set_options(state->ps.state, instr_options(state->ps.state) | INSTRUMENT_TIMER);
		for (int k = 0; k < state->mt_nrels; k++)
			time_triggers_of(&state->resultRelInfo[k]);
		if (state->rootResultRelInfo != state->resultRelInfo)
			time_triggers_of(state->rootResultRelInfo);
	}
}

void
observed_before_run(QueryDesc *desc, void *arg)
{
	ObservedRun *run = arg;

	run->plan = run->seen = NULL;
	run->observation = observe_attach(desc, &run->options);
	if (run->observation == NULL)
		return;
	if (desc->instrument_options != 0)
		time_triggers(run->observation);
	parallel_observation_share(run->observation);
	observe_begin_part(run->observation);
}

void
observed_after_run(QueryDesc *desc, void *arg)
{
	ObservedRun *run = arg;

	(void) desc;
	if (run->observation == NULL)
		return;
	observe_end_part(run->observation);
	run->observation->ran = true;
	run->observation->ran_samples = record_samples(run->observation);
	parallel_observation_told(run->observation);
}

void
observed_before_finish(QueryDesc *desc, void *arg)
{
	ObservedRun *run = arg;

	(void) desc;
	if (run->observation != NULL)
		observe_begin_part(run->observation);
}

/*
 * Estimates the times while the plan's nodes exist.  Allocates the result in the caller's context
 * or, for an execution that nobody asked for, in the query's.
 */
void
observed_after_finish(QueryDesc *desc, void *arg)
{
	ObservedRun *run = arg;
	Observation *o = run->observation;
	MemoryContext old;

	if (o == NULL)
		return;
	observe_end_part(o);
	old = MemoryContextSwitchTo(run->context != NULL ? run->context : desc->estate->es_query_cxt);
	if (o->nodes[0].kind != NODE_SAMPLED || o->nodes[0].probed.begun || o->options.late)
	{
		run->plan = observe_estimate(o, false);
		run->seen = run->plan->unseen_ns > 0 ? observe_estimate(o, true) : run->plan;
		/* for auto_explain, which prints the plan in ExecutorEnd() */
		observe_show(o, run->plan);
	}
	parallel_observation_release(o);
	MemoryContextSwitchTo(old);
	if (run->plan != NULL && run->finished != NULL)
		run->finished(desc, run->arg);
}

void
observed_run(const PlanQuery *query, ObservedRun *run)
{
	PlanObserver observer = {
		.instrument_options = INSTRUMENT_ROWS,
		.before_run = observed_before_run,
		.after_run = observed_after_run,
		.before_finish = observed_before_finish,
		.after_finish = observed_after_finish,
		.arg = run
	};

	(void) plan_run(query, &observer);
	if (run->plan == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("another extension replaces the functions that execute plan nodes"),
				 errdetail("clocktiming could not count the calls of the query's plan nodes."),
				 errhint("Switch that extension off in this session, or remove it from shared_preload_libraries.")));
}
