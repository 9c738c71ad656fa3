/*-------------------------------------------------------------------------
 *
 * clock_measure.c
 *	  The SQL functions that measure: clock_measure() and what returns a view
 *	  of one run at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "clock/clock_run.h"
#include "functions/args.h"
#include "functions/sample_views.h"

PG_FUNCTION_INFO_V1(clock_measure);
PG_FUNCTION_INFO_V1(clock_histogram_source);
PG_FUNCTION_INFO_V1(clock_histogram_plot_source);
PG_FUNCTION_INFO_V1(clock_durations_source);
PG_FUNCTION_INFO_V1(clock_summary_source);

/* The run that the first two arguments, source and duration, ask for. */
static ClockSample *
measure(FunctionCallInfo fcinfo, double rate)
{
	double		duration_s = arg_duration(fcinfo, 1);

	return clock_run(arg_source(fcinfo, 0), rate, duration_s);
}

Datum
clock_measure(PG_FUNCTION_ARGS)
{
	double		rate = PG_ARGISNULL(2) ? 0 : arg_rate(fcinfo, 2);

	return sample_to_datum(measure(fcinfo, rate));
}

Datum
clock_histogram_source(PG_FUNCTION_ARGS)
{
	return return_histogram(fcinfo, measure(fcinfo, 0));
}

Datum
clock_histogram_plot_source(PG_FUNCTION_ARGS)
{
	check_not_null(fcinfo, 2, "width");
	check_plot_width(PG_GETARG_INT32(2));
	return return_histogram_plot(fcinfo, measure(fcinfo, 0), PG_GETARG_INT32(2));
}

Datum
clock_durations_source(PG_FUNCTION_ARGS)
{
	double		cutoff = arg_cutoff(fcinfo, 2);

	return return_durations(fcinfo, measure(fcinfo, 0), cutoff);
}

Datum
clock_summary_source(PG_FUNCTION_ARGS)
{
	return return_summary(fcinfo, measure(fcinfo, 0));
}
