/* clock_survey(): compares all clocks. */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "clock/functions/clock_args.h"
#include "clock/measure/survey_run.h"
#include "server/args.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(clock_survey);
PG_FUNCTION_INFO_V1(clock_survey_named);

/* Smallest jump that the survey counts as a warp, in ns; as in the program clockperf. */
#define WARP_NS			1e6

/* Returns a clock's row: its figures, or only its name and why it cannot be read. */
static void
put_clock(FunctionCallInfo fcinfo, const SurveyedClock *clock)
{
	const ClockSource *source = clock->source;
	const SamplerRun *run = &clock->run;
	Row			row = row_of_set(fcinfo);

	row_put_text(&row, source->name);
	if (clock->why_not != NULL)
		row_put_nulls(&row, row.tupdesc->natts - 2);
	else
	{
		row_put_number(&row, clock->cost.ns, 2);
		row_put_number(&row, clock->cost.margin_ns, 4);
		row_put_number(&row, clock->cost.typical_ns, 2);
		row_put_number(&row, clock->cost.typical_margin_ns, 4);
		row_put_text(&row, clock->read_by);
		row_put_numbers(&row, 2, run->resolution_ns, clock->observed_ns);
		row_put_number(&row, 1e9 / clock->observed_ns, 0);
		row_put_number(&row, run->granularity_ticks > 0 ? run->granularity_ticks : NAN, 2);
		row_put_bool(&row, clock->stalls == 0 && clock->backward_steps == 0 &&
					 run->warps.count == 0);
		row_put_counts(&row, clock->failures, run->warps.count, clock->stalls,
					   clock->backward_steps, run->gaps.count);
		row_put_text(&row, clock_source_reads(source));
		row_put_text(&row, clock->reference.name);
	}
	row_put_text(&row, clock->why_not);
	row_to_set(&row, fcinfo);
}

/* Returns a row for each clock in argument 0, in the same order. */
Datum
clock_survey(PG_FUNCTION_ARGS)
{
	List	   *sources;
	ClockReference reference;
	SurveyedClock *clocks;
	ReadingCost system_call;
	double		duration_s = arg_duration(fcinfo, 1);
	int			n;

	check_not_null(fcinfo, 0, "sources");
	sources = clock_sources_of_array(PG_GETARG_ARRAYTYPE_P(0));
	reference = clock_reference_get(arg_text(fcinfo, 2, "reference"));

	n = list_length(sources);
	clocks = palloc0(sizeof(SurveyedClock) * n);
	for (int i = 0; i < n; i++)
	{
		clocks[i].source = list_nth(sources, i);
		clocks[i].reference = reference;

		/* the reference itself is compared with the default reference */
		if (n == clock_source_count() &&
			strcmp(clocks[i].source->name, reference.name) == 0)
			clocks[i].reference = clock_reference_get(REFERENCE_BY_DEFAULT);
		check_reference(&clocks[i].reference, clocks[i].source);
	}

	InitMaterializedSRF(fcinfo, 0);
	survey_run(clocks, n, duration_s, WARP_NS, &system_call);
	for (int i = 0; i < n; i++)
		put_clock(fcinfo, &clocks[i]);
	return (Datum) 0;
}

/* clock_survey() with the names of clocks as one text. */
Datum
clock_survey_named(PG_FUNCTION_ARGS)
{
	split_sources(fcinfo, 0);
	return clock_survey(fcinfo);
}
