/*
 * clock_check(): checks this server's clocks, for test suites.
 *
 * Without a threshold argument, a check fails if clock_advice() warns or the figure is unknown.
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"

#include "clock/verdict/clock_criteria.h"
#include "compat.h"
#include "server/args.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(clock_check);

/* Checks with a threshold argument, in the order of the arguments. */
static const struct
{
	Check		check;
	const char *name;
}			thresholds[] =

{
	{CHECK_COST, "max_cost_ns"},
	{CHECK_SKEW, "max_skew_ns"},
	{CHECK_DRIFT, "max_drift_ppm"},
	{CHECK_GAPS, "max_lost_percent"},
};

static double
arg_threshold(FunctionCallInfo fcinfo, int argno, const char *name)
{
	double		value;

	if (PG_ARGISNULL(argno))
		return NAN;
	value = PG_GETARG_FLOAT8(argno);
	if (!(value >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be negative or NaN", name),
				 errhint("'infinity' leaves the check out: it is passed in any case.")));
	return value;
}

/*
 * Returns a row per check: whether it passed, its figure and its limit.  An infinite threshold
 * makes a check pass in any case; for the skew, it also saves the measurement.
 */
Datum
clock_check(PG_FUNCTION_ARGS)
{
	Criterion	criteria[N_CHECKS];
	double		given[N_CHECKS];
	double		duration_s = arg_duration(fcinfo, 0);
	Row			row;

	for (int i = 0; i < N_CHECKS; i++)
		given[i] = NAN;
	for (int i = 0; i < (int) lengthof(thresholds); i++)
		given[thresholds[i].check] = arg_threshold(fcinfo, 1 + i, thresholds[i].name);
	/* max_drift_ppm also limits the error of the TSC's frequency */
	given[CHECK_TSC_FREQUENCY] = given[CHECK_DRIFT];

	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	clock_criteria(clock_facts(duration_s, !isinf(given[CHECK_SKEW])), criteria);
	for (int i = 0; i < N_CHECKS; i++)
	{
		const Criterion *criterion = &criteria[i];
		double		limit = isnan(given[i]) ? criterion->limit : given[i];

		row_put_text(&row, criterion->check_name);
		/* a check with a limit fails if its figure is NAN */
		row_put_bool(&row, isinf(limit) || criterion->figure <= limit);
		row_put_number(&row, criterion->figure, 2);
		row_put_number(&row, isinf(limit) ? NAN : limit, 2);
		row_put_text(&row, criterion->unit);
		row_put_text(&row, criterion->detail);
		row_to_set(&row, fcinfo);
	}
	return (Datum) 0;
}
