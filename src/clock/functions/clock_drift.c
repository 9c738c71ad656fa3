/* clock_drift() and clock_monitor(): compare clocks with a reference over a longer time. */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"

#include "clock/functions/clock_args.h"
#include "clock/measure/drift_run.h"
#include "core/timing_counter.h"
#include "compat.h"
#include "server/args.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(clock_drift);
PG_FUNCTION_INFO_V1(clock_monitor);
PG_FUNCTION_INFO_V1(clock_monitor_named);

static void
warn_of_backward_steps(const ComparedClock *clock, double max_ns)
{
	if (clock->backward_steps > 0)
		ereport(WARNING,
				(errmsg("clock source \"%s\" went backwards", clock->source->name),
				 errdetail("Backward steps: %lld, the largest of %.0f ns.",
						   (long long) clock->backward_steps, max_ns)));
}

/* Warns of warps or lags of the clock.  The drift does not include them. */
static void
warn_of_steps(const ClockSource *source, const ClockReference *reference,
			  const JumpsCount *steps, const char *message, const char *kind)
{
	if (steps->count > 0)
		ereport(WARNING,
				(errmsg(message, source->name),
				 errdetail("%s: %lld, the largest of %.0f ns.", kind, (long long) steps->count, steps->max_ns),
				 strcmp(reference->name, REFERENCE_BY_DEFAULT) == 0 ? 0 :
				 errhint("The reference may be wrong: compare \"%s\" with %s.",
						 reference->name, REFERENCE_BY_DEFAULT)));
}

/* Returns a row: the rate of a clock against a reference, and steps, of which it also warns. */
Datum
clock_drift(PG_FUNCTION_ARGS)
{
	Row			row = row_of_result(fcinfo);
	double		duration_s = arg_duration(fcinfo, 1);
	const ClockSource *source = arg_source(fcinfo, 0);
	ClockReference reference = clock_reference_get(arg_text(fcinfo, 2, "reference"));
	Drift		drift;
	bool		is_reference;

	check_reference(&reference, source);
	drift = drift_run(source, &reference, duration_s);

	is_reference = strcmp(reference.name, REFERENCE_BY_DEFAULT) == 0 &&
		clock_source_is_reference(source);
	if (is_reference)
		drift.rate_ppm = drift.margin_ppm = NAN;

	row_put_text(&row, source->name);
	row_put_text(&row, reference.name);
	row_put_text(&row, clock_source_reads(source));
	row_put_count(&row, drift.pairs);
	row_put_count(&row, drift.rejected);
	row_put_number(&row, drift.duration_s, 3);
	row_put_number(&row, drift.rate_ppm, 4);
	/* round the margin up, so that it covers the rounding of the drift */
	row_put_number(&row, ceil(drift.margin_ppm * 1e4 + 0.5) / 1e4, 4);
	row_put_number(&row, drift.residual_max_ns, 2);
	row_put_number(&row, drift.bracket_ns, 0);
	row_put_count(&row, drift.clock.backward_steps);
	row_put_number(&row, drift.backward_max_ns, 0);
	row_put_count(&row, drift.warps.count);
	row_put_number(&row, drift.warps.max_ns, 0);
	row_put_count(&row, drift.lags.count);
	row_put_number(&row, drift.lags.max_ns, 0);

	warn_of_backward_steps(&drift.clock, drift.backward_max_ns);
	warn_of_steps(source, &reference, &drift.warps,
				  "clock source \"%s\" jumped ahead of the reference clock", "Warps");
	warn_of_steps(source, &reference, &drift.lags,
				  "clock source \"%s\" fell behind the reference clock", "Lags");
	if (is_reference)
		ereport(WARNING,
				(errmsg("could not determine the drift of clock source \"%s\"", source->name),
				 errdetail("It is the same clock as the reference, %s.", reference_name),
				 errhint("Choose a counter of the processor as the reference, such as \"%s\".", TIMING_COUNTER)));
	else if (isnan(drift.rate_ppm))
		ereport(WARNING,
				(errmsg("could not determine the drift of clock source \"%s\"", source->name),
				 errdetail("The reference \"%s\" did not advance.", reference.name)));
	return row_result(&row);
}

static void
put_advance(void *arg, const ClockAdvance *advance)
{
	FunctionCallInfo fcinfo = arg;
	Row			row = row_of_set(fcinfo);

	row_put_number(&row, advance->elapsed_s, 3);
	row_put_text(&row, advance->source->name);
	row_put_number(&row, advance->advance_ns / 1e6, 6);
	row_put_number(&row, advance->lead_ns / 1e3, 3);
	row_put_number(&row, advance->bracket_ns, 0);
	row_to_set(&row, fcinfo);
}

Datum
clock_monitor(PG_FUNCTION_ARGS)
{
	double		duration_s = arg_duration(fcinfo, 1);
	double		every_s = arg_every(fcinfo, 2, duration_s);
	ClockReference reference = clock_reference_get(arg_text(fcinfo, 3, "reference"));
	List	   *sources = arg_sources(fcinfo, 0, &reference);
	ComparedClock *clocks;

	InitMaterializedSRF(fcinfo, 0);
	clocks = monitor_run(sources, &reference, duration_s, every_s, put_advance, fcinfo);
	for (int i = 0; i < list_length(sources); i++)
		warn_of_backward_steps(&clocks[i], clocks[i].backward_max_ns);
	return (Datum) 0;
}

/* clock_monitor() with the names of clocks as one text. */
Datum
clock_monitor_named(PG_FUNCTION_ARGS)
{
	split_sources(fcinfo, 0);
	return clock_monitor(fcinfo);
}
