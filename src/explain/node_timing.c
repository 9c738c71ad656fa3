/* Times the plan nodes of one execution by a sample of their calls. */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "explain/call_calibration.h"
#include "explain/call_samples.h"
#include "explain/node_timing.h"
#include "explain/parallel_timing.h"
#include "explain/plan_attach.h"
#include "explain/plan_record.h"
#include "explain/timing_clock.h"
#include "explain/trigger_timing.h"

void
node_timing_calibrate(void)
{
	double		ticks_per_ns;

	call_samples_prepare();
	timing_clock_choose(true);
	(void) call_cost(false, &ticks_per_ns);
}

void
node_timing_prepare(const NodeTimingOptions *options)
{
	double		ticks_per_ns;

	call_samples_prepare();
	timing_clock_choose(false);
	(void) call_cost(options->sampling == 1, &ticks_per_ns);
}

QueryTiming *
node_timing_attach(QueryDesc *desc, const NodeTimingOptions *options)
{
	QueryTiming *query;
	const CallCost *cost;
	double		ticks_per_ns;

	call_samples_prepare();
	timing_clock_choose(true);
	query = plan_attach(desc, options);
	cost = call_cost(options->sampling == 1, &ticks_per_ns);
	query_set_cost(query, cost, ticks_per_ns);
	if (!query->late)
		triggers_attach(query);
	query->root->is_root = query->root->kind == NODE_SAMPLED;
	parallel_timing_share(query);
	if (query->watcher != NULL)
		query->watcher->attached(query);
	return query;
}

void
node_timing_start(QueryTiming *query)
{
	query_timing_start(query);
}

void
node_timing_ran(QueryTiming *query)
{
	query_timing_ran(query);
	record_show_counts(query);
	parallel_timing_told(query);
}

void
node_timing_resume(QueryTiming *query, bool again)
{
	query_timing_resume(query, again);
}

void
node_timing_stop(QueryTiming *query)
{
	query_timing_stop(query);
}

/* A NodeRecorder: makes a node's estimate, including what workers have reported. */
static void
record_at_end(NodeTiming *t, NodeEstimate *estimate, void *arg)
{
	(void) arg;
	record_estimate(t, parallel_timing_workers(t->query), parallel_timing_records(t->query),
					estimate);
}

static void
check_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

PlanEstimate *
node_timing_record(QueryTiming *query, int nworkers, NodeRecorder recorder, void *arg)
{
	PlanEstimate *plan = palloc0(sizeof(PlanEstimate));

	plan->nnodes = query->nplaces;
	plan->nworkers = nworkers;
	plan->nparts = query->nparts;
	plan->nodes = palloc0(sizeof(NodeEstimate) * (plan->nnodes + plan->nparts));
	plan->nids = query->nnodes;
	plan->places = palloc(sizeof(int) * plan->nids);
	plan->cost = query->cost;
	plan->clock = timing_clock_name();
	plan->run_ns = query_run_ns(query);
	plan->preempted_ns = Min(query->preempted_ns, plan->run_ns);
	plan->besides_ns = (double) query->asked_ticks * query_ns_per_tick(query);
	for (int i = 0; i < query->nnodes; i++)
	{
		NodeTiming *t = query->nodes[i];

		plan->places[i] = t == NULL ? -1 : t->place;
		if (t != NULL)
			recorder(t, &plan->nodes[t->place], arg);
	}
	record_parts(query, parallel_timing_records(query), plan);
	record_outside(query, plan);
	triggers_add_costs(query, plan);
	plan->check = check_for_interrupts;
	plan_estimate(plan);
	return plan;
}

PlanEstimate *
node_timing_detach(QueryTiming *query)
{
	PlanEstimate *plan = NULL;

	triggers_show(query);
	if (query->root->kind != NODE_SAMPLED || query->root->begun)
		plan = node_timing_record(query, parallel_timing_workers(query), record_at_end, NULL);
	parallel_timing_release(query);
	return plan;
}

int
node_estimate_place(const PlanEstimate *plan, int id)
{
	return id >= 0 && id < plan->nids ? plan->places[id] : -1;
}

NodeEstimate *
node_timing_estimate(const PlanEstimate *plan, PlanState *node)
{
	int			place = node_estimate_place(plan, node->plan->plan_node_id);

	return place < 0 ? NULL : &plan->nodes[place];
}

static bool
show_node(PlanState *node, void *context)
{
	const PlanEstimate *plan = context;
	const NodeEstimate *estimate = node_timing_estimate(plan, node);

	if (estimate != NULL && node->instrument != NULL && estimate->kind != NODE_UNTIMED)
	{
		/* assumes that loops that were not timed are like the others */
		double		factor = estimate->loops <= 0 ? 1 :
			(estimate->loops + estimate->untimed_loops) / estimate->loops;

		(void) instr_end(node->instrument);
		instr_show(node->instrument, estimate->rows + estimate->untimed_rows,
				   estimate->loops + estimate->untimed_loops,
				   estimate->first_ns * factor, estimate->total_ns * factor);
	}
	return planstate_tree_walker(node, show_node, context);
}

void
node_timing_show(QueryDesc *desc, const PlanEstimate *plan)
{
	(void) show_node(desc->planstate, unconstify(PlanEstimate *, plan));
}
