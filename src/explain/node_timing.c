#include "postgres.h"

#include <math.h>

#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "compat.h"
#include "explain/call_calibration.h"
#include "explain/call_samples.h"
#include "explain/node_timing.h"
#include "explain/parallel_timing.h"
#include "explain/plan_attach.h"
#include "explain/plan_record.h"
#include "explain/timing_clock.h"
#include "explain/trigger_timing.h"

int
sampling_check(const char *name, int64 sampling)
{
	if (sampling < 1 || sampling > NODE_SAMPLING_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and %d", name, NODE_SAMPLING_MAX),
				 errdetail("The number given is %lld.", (long long) sampling),
				 errhint("The value 1 times every call. The default, 64, times about one call in 64, which costs very little.")));
	return (int) sampling;
}

double
max_overhead_check(const char *name, double percent)
{
	/* written so that NaN is rejected, too */
	if (!(percent > 0 && percent <= 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be greater than 0 and at most 100 percent", name),
				 errdetail("The share given is %g percent.", percent),
				 errhint("Timing adds at most about this share of the elapsed time; 1, the default, suits most queries.")));
	return percent;
}

const CallCost *
node_timing_prepare(bool all_timed, bool recent)
{
	call_samples_prepare();
	timing_clock_choose(recent);
	return call_cost(all_timed);
}

QueryTiming *
node_timing_attach(QueryDesc *desc, const NodeTimingOptions *options)
{
	const CallCost *cost = node_timing_prepare(options->sampling == 1, true);
	QueryTiming *query = plan_attach(desc, options);

	query_set_cost(query, cost);
	if (!query->late)
		triggers_attach(query);
	query->root->is_root = query->root->kind == NODE_SAMPLED;
	parallel_timing_share(query);
	if (query->watcher != NULL)
		query->watcher->attached(query);
	return query;
}

PlanEstimate *
node_timing_record(QueryTiming *query, NodeRecorder recorder, void *arg)
{
	PlanEstimate *plan = palloc0(sizeof(PlanEstimate));
	const NodeRecord *workers = parallel_timing_records(query);

	plan->nnodes = query->nplaces;
	plan->nworkers = recorder == NULL && workers != NULL ? query->nworkers : 0;
	plan->nparts = query->nparts;
	plan->nodes = palloc0(sizeof(NodeEstimate) * (plan->nnodes + plan->nparts));
	plan->nids = query->nnodes;
	plan->places = palloc(sizeof(int) * plan->nids);
	plan->cost = query->cost;
	plan->clock = timing_clock_name();
	plan->run_ns = query_run_ns(query);
	plan->preempted_ns = Min(query->preempted_ns, plan->run_ns);
	plan->slept_ns = query->slept_ns;
	plan->besides_ns = (double) query->asked_ticks * query_ns_per_tick(query);
	for (int i = 0; i < query->nnodes; i++)
	{
		NodeTiming *t = query->nodes[i];

		plan->places[i] = t == NULL ? -1 : t->place;
		if (t != NULL && recorder != NULL)
			recorder(t, &plan->nodes[t->place], arg);
		else if (t != NULL)
			record_estimate(t, plan->nworkers, workers, &plan->nodes[t->place]);
	}
	record_parts(query, workers, plan);
	record_outside(query, plan);
	triggers_add_costs(query, plan);
	plan->check = ProcessInterrupts;
	plan_estimate(plan);
	return plan;
}

int
node_estimate_place(const PlanEstimate *plan, int id)
{
	return id >= 0 && id < plan->nids ? plan->places[id] : -1;
}

NodeEstimate *
node_estimate(const PlanEstimate *plan, int id)
{
	int			place = node_estimate_place(plan, id);

	return place < 0 ? NULL : &plan->nodes[place];
}

static bool
show_node(PlanState *node, void *context)
{
	const PlanEstimate *plan = context;
	const NodeEstimate *estimate = node_estimate(plan, node->plan->plan_node_id);

	if (estimate != NULL && node->instrument != NULL && estimate->kind != NODE_UNTIMED)
	{
		/* assumes that untimed loops took as long as timed ones */
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

void
sampled_before_run(QueryDesc *desc, void *arg)
{
	SampledRun *run = arg;

	run->plan = NULL;
	run->timing = node_timing_attach(desc, &run->options);
	query_timing_start(run->timing);
}

void
sampled_after_run(QueryDesc *desc, void *arg)
{
	QueryTiming *query = ((SampledRun *) arg)->timing;

	(void) desc;
	query_timing_ran(query);
	record_show_counts(query);
	parallel_timing_told(query);
}

void
sampled_after_finish(QueryDesc *desc, void *arg)
{
	SampledRun *run = arg;
	QueryTiming *query = run->timing;
	MemoryContext old;

	query_timing_stop(query);
	old = MemoryContextSwitchTo(run->context != NULL ? run->context : desc->estate->es_query_cxt);
	triggers_show(query);
	if (query->root->kind != NODE_SAMPLED || query->root->begun)
	{
		run->plan = node_timing_record(query, NULL, NULL);
		/* for auto_explain, which prints the plan in ExecutorEnd() */
		node_timing_show(desc, run->plan);
	}
	parallel_timing_release(query);
	MemoryContextSwitchTo(old);
	if (run->plan != NULL && run->finished != NULL)
		run->finished(desc, run->arg);
}

void
sampled_run(const PlanQuery *query, SampledRun *run)
{
	PlanObserver observer = {
		/* if only one node is timed, calls of other nodes are not counted */
		.instrument_options = run->options.only_node < 0 ? INSTRUMENT_ROWS : 0,
		.before_run = sampled_before_run,
		.after_run = sampled_after_run,
		.after_finish = sampled_after_finish,
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
