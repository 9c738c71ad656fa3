#include "postgres.h"

#include "executor/instrument.h"

#include "compat.h"
#include "explain/sampled_run.h"

int
sampling_check(const char *name, int64 sampling)
{
	if (sampling < 1 || sampling > NODE_SAMPLING_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and %d", name, NODE_SAMPLING_MAX),
				 errdetail("The number given is %lld.", (long long) sampling),
				 errhint("1 times every call; 64, the default, times about one call in 64, which costs very little.")));
	return (int) sampling;
}

double
max_overhead_check(const char *name, double percent)
{
	/* in this form NaN fails, too */
	if (!(percent > 0 && percent <= 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be greater than 0 and at most 100 percent", name),
				 errdetail("The share given is %g percent.", percent),
				 errhint("Timing adds at most about this share of the elapsed time; 1, the default, suits most queries.")));
	return percent;
}

void
sampled_before_run(QueryDesc *desc, void *arg)
{
	SampledRun *run = arg;

	run->timing = node_timing_attach(desc, &run->options);
	node_timing_start(run->timing);
}

void
sampled_after_run(QueryDesc *desc, void *arg)
{
	SampledRun *run = arg;

	(void) desc;
	node_timing_ran(run->timing);
}

void
sampled_after_finish(QueryDesc *desc, void *arg)
{
	SampledRun *run = arg;
	MemoryContext old;

	node_timing_stop(run->timing);
	old = MemoryContextSwitchTo(run->context != NULL ? run->context : desc->estate->es_query_cxt);
	run->plan = node_timing_detach(run->timing);
	/* auto_explain may print it when the execution ends */
	if (run->plan != NULL)
		node_timing_show(desc, run->plan);
	MemoryContextSwitchTo(old);
	if (run->plan != NULL && run->finished != NULL)
		run->finished(desc, run->arg);
}

void
sampled_run(const PlanQuery *query, SampledRun *run)
{
	PlanObserver observer = {
		/* with one timed node, no other node is counted */
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
				 errmsg("another extension replaces the functions of plan nodes"),
				 errdetail("None of the calls of the query's plan nodes was seen."),
				 errhint("Switch that extension off in this session, or remove it from shared_preload_libraries.")));
}
