/*
 * Executes a query for clock_explain, as often as its method requires.
 *
 * With the method "sampling", an execution is observed as it is, so its times need no correction.
 * With "full", the server times each call, and the cost of timing is known from plain executions
 * and subtracted (full_estimate.c).  There are two plain executions, because the load of the
 * machine changes.  If their durations differ much, the longer one was disturbed, or its caches
 * were cold.
 *
 * Results must be read before ExecutorEnd(), which frees the plan's state, so the caller passes a
 * function for that.
 */
#include "postgres.h"

#include <math.h>

#include "executor/instrument.h"
#include "utils/memutils.h"

#include "core/system_state.h"
#include "plan/explain/explain_query.h"
#include "plan/explain/full_estimate.h"
#include "server/progress.h"

/*
 * Ratio of the durations of two plain runs above which the longer run is ignored; below, the
 * duration is their mean.  So a run with cold caches makes the mean at most an eighth too long;
 * with 1.5, it would be a quarter.  With 1.125, the shorter one would be used more often, which is
 * below the mean of undisturbed runs.
 */
#define DISTURBED	1.25

const char *const explain_methods[N_EXPLAIN_METHODS] = {
	[METHOD_SAMPLING] = "sampling",
	[METHOD_FULL] = "full",
};

static double
run_plain_ms(const ExplainedQuery *explained)
{
	PlanObserver nobody = {0};

	return plan_run(explained->query, &nobody);
}

static void
sampling_finished(QueryDesc *desc, void *arg)
{
	ExplainedQuery *explained = arg;
	PlanEstimate *plan = explained->run.plan;

	plan->throttled_ns = fmax(system_throttled_ns() - explained->throttled_ns, 0);
	if (explained->runs > 1)
	{
		run_series_add(&explained->series, plan);
		if (explained->series.runs < explained->runs)
			return;
		run_series_put(&explained->series, plan);
		observe_show(explained->run.observation, plan);
	}
	explained->observation = explained->run.observation;
	explained->plan = plan;
	explained->finished(desc, explained->arg);
}

/* Executes the query once, as the only run or as one of a series. */
static void
run_sampled(ExplainedQuery *explained)
{
	explained->run.options.asked = true;

	/* in a series, only the last run's estimates must outlive the run */
	explained->run.context =
		explained->series.runs + 1 < explained->runs ? NULL : CurrentMemoryContext;
	explained->run.finished = sampling_finished;
	explained->run.arg = explained;
	explained->throttled_ns = system_throttled_ns();
	observed_run(explained->query, &explained->run);
}

/* Executes the query several times.  "plan" becomes the last run's plan with means of all runs. */
static void
explain_series(ExplainedQuery *explained)
{
	double		plain_ms = 0;
	Progress	progress;

	explained->series.context = CurrentMemoryContext;
	progress_start(&progress, "clock_explain", 0);
	for (int run = 1; run <= explained->runs; run++)
	{
		double		elapsed_s = progress_elapsed_s(&progress);

		if (run > 1 && progress_due(&progress, elapsed_s))
		{
			progress.total_s = elapsed_s / (run - 1) * explained->runs;
			progress_report(&progress, elapsed_s, "%d of %d runs done", run - 1, explained->runs);
		}
		if (explained->verify)
		{
			plain_ms += run_plain_ms(explained);
			explained->plain_ms = plain_ms / run;
		}
		run_sampled(explained);
	}
}

static void
full_finished(QueryDesc *desc, void *arg, double run_ms)
{
	ExplainedQuery *explained = arg;

	explained->observation = observe_list(desc, NULL);
	explained->plan = full_estimate(explained->observation, explained->run.plan, run_ms * 1e6,
									explained->plain_ms * 1e6);
	observe_show(explained->observation, explained->plan);
	explained->finished(desc, explained->arg);
}

/* Executes the query four times: sampled, twice plain, and with the server's timers. */
static void
explain_full(ExplainedQuery *explained)
{
	PlanObserver observer = {
		.instrument_options = INSTRUMENT_TIMER,
		.after_timed = full_finished,
		.arg = explained
	};
	double		first_ms;
	double		second_ms;

	/* tells how the calls of subplans are divided, and fills caches */
	explained->run.options.asked = true;
	explained->run.context = CurrentMemoryContext;
	observed_run(explained->query, &explained->run);
	first_ms = run_plain_ms(explained);
	second_ms = run_plain_ms(explained);
	explained->plain_ms = (first_ms + second_ms) / 2;
	/* caches were cold in the first run, or one of the runs was disturbed */
	if (Max(first_ms, second_ms) > DISTURBED * Min(first_ms, second_ms))
		explained->plain_ms = Min(first_ms, second_ms);
	(void) plan_run(explained->query, &observer);
}

/* Executes the query by the method, several times for a series of runs. */
void
explain_query(ExplainedQuery *explained)
{
	/* METHOD_FULL always executes plain runs */
	bool		verify = explained->verify && explained->method != METHOD_FULL;

	if (explained->runs > 1)
	{
		explained->plain_ms = NAN;
		explain_series(explained);
		return;
	}

	/* plain runs before and after, because the load may change meanwhile */
	explained->plain_ms = verify ? run_plain_ms(explained) : NAN;
	if (explained->method == METHOD_FULL)
		explain_full(explained);
	else
		run_sampled(explained);
	if (verify)
		explained->plain_ms = fmin(explained->plain_ms, run_plain_ms(explained));
}
