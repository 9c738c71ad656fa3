/* Measurements of clock_impact().  The rest of the function is in the install script. */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"

#include "clock/measure/reading_cost.h"
#include "compat.h"
#include "plan/explain/plan_rounds.h"
#include "server/row.h"
#include "server/subtransaction.h"
#include "server/wait.h"

PG_FUNCTION_INFO_V1(internal_clock_timing_costs);
PG_FUNCTION_INFO_V1(internal_clock_wait);

/* Durations of measuring a clock's readings and the calls of plan nodes, in seconds. */
#define READING_DURATION_S	0.15
#define CALLS_DURATION_S	0.45

/* Range of the time between two snapshots of the server's counters, in seconds. */
#define MIN_SECONDS			0.1
#define MAX_SECONDS			86400.0

/* Cost of counting a call of a plan node, and the additional cost of timing it. */
typedef struct CallCosts
{
	Estimate	counting;
	Estimate	timing;
} CallCosts;

static Estimate
cost_of_a_call(const PlanRounds *rounds, int mode)
{
	Estimate	overhead_ms = rounds_typical_ms(rounds, mode, mode - 1);

	if (isnan(overhead_ms.value))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the server was too busy to measure the cost of counting and timing")));
	/* noise may make the overhead negative */
	return (Estimate)
	{
		.value = Max(overhead_ms.value, 0) * 1e6 / rounds->node_calls,
			.margin = overhead_ms.margin * 1e6 / rounds->node_calls
	};
}

static void
measure_calls(void *arg)
{
	static const int modes[] = {MODE_PLAIN, MODE_ROWS, MODE_TIMING};
	PlanQuery  *query = plan_query("SELECT pg_catalog.count(*) FROM pg_catalog.generate_series(1, 1000)",
								   NULL,
								   false);
	PlanRounds *rounds = plan_rounds(query, modes, lengthof(modes), 1, CALLS_DURATION_S, false,
									 "clock_impact");
	CallCosts  *costs = arg;

	costs->counting = cost_of_a_call(rounds, 1);
	costs->timing = cost_of_a_call(rounds, 2);
}

static void
put_clock(Row *row, const ClockSource *source, const ReadingCost *cost)
{
	row_put_text(row, clock_source_reads(source));
	row_put_double(row, cost->typical_ns, ROW_EXACT);
	row_put_double(row, cost->typical_margin_ns, ROW_EXACT);
}

static void
put_estimate(Row *row, const Estimate *estimate)
{
	row_put_double(row, estimate->value, ROW_EXACT);
	row_put_double(row, estimate->margin, ROW_EXACT);
}

Datum
internal_clock_timing_costs(PG_FUNCTION_ARGS)
{
	const ClockSource *of_io = clock_source_get(clock_source_for_other_timing());
	const ClockSource *of_plans = clock_source_get(clock_source_for_explain());
	ReadingCost io = reading_cost(of_io, READING_DURATION_S);
	ReadingCost plans = of_plans == of_io ? io : reading_cost(of_plans, READING_DURATION_S);
	CallCosts	calls = {{NAN, NAN}, {NAN, NAN}};
	const char *why_not = subtransaction_attempt(measure_calls, &calls);
	Row			row = row_of_result(fcinfo);

	put_clock(&row, of_io, &io);
	put_clock(&row, of_plans, &plans);
	put_estimate(&row, &calls.counting);
	put_estimate(&row, &calls.timing);
	row_put_text(&row, why_not);
	return row_result(&row);
}

static void
report(void *arg, double elapsed_s)
{
	Wait	   *wait = arg;

	progress_report(&wait->progress, elapsed_s, "the server's work is being counted");
}

/* Waits between two snapshots of the server's counters, with progress reports. */
Datum
internal_clock_wait(PG_FUNCTION_ARGS)
{
	double		seconds = PG_GETARG_FLOAT8(0);
	Wait		wait;

	if (!(seconds >= MIN_SECONDS && seconds <= MAX_SECONDS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("seconds must be between %g and %.0f", MIN_SECONDS, MAX_SECONDS),
				 errdetail("The number given is %g.", seconds),
				 errhint("Without seconds, the statistics since their last reset are used.")));
	wait_start(&wait, "clock_impact", seconds, report, &wait);
	(void) wait_until(&wait, seconds);
	PG_RETURN_VOID();
}
