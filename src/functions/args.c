/*
 * args.c
 *	  See args.h.
 *
 * Ranges are written so that NaN is outside of them.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "compat.h"
#include "functions/args.h"

/* Bounds of a run: shorter is one block anyway, longer is a typing error. */
#define MIN_DURATION_S	1e-6
#define MAX_DURATION_S	86400.0

/* The shortest interval: in shorter ones too much is at their ends. */
#define MIN_EVERY_S		0.001

#define MIN_RATE		0.001
#define MAX_RATE		1e6

void
check_not_null(FunctionCallInfo fcinfo, int argno, const char *name)
{
	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

void
check_duration(double duration_s)
{
	if (!(duration_s >= MIN_DURATION_S && duration_s <= MAX_DURATION_S))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("duration must be between 0.000001 and 86400 seconds"),
				 errdetail("The duration given is %g seconds.", duration_s),
				 errhint("A few seconds are enough for most purposes.")));
}

void
check_every(double every_s, double duration_s)
{
	if (!(every_s >= MIN_EVERY_S && every_s <= duration_s))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("every must be between %g seconds and the duration", MIN_EVERY_S),
				 errdetail("The interval given is %g seconds, the duration %g seconds.",
						   every_s, duration_s),
				 errhint("1 second, the default, is enough for most purposes.")));
}

void
check_reference(const ClockReference *reference, const ClockSource *source)
{
	if (strcmp(reference->name, source->name) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("clock source \"%s\" cannot be its own reference", source->name),
				 errhint("%s, the default, is the kernel's steadiest clock.", REFERENCE_BY_DEFAULT)));
}

void
check_plot_width(int64 width)
{
	if (width < MIN_PLOT_WIDTH || width > MAX_PLOT_WIDTH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("width must be between %d and %d", MIN_PLOT_WIDTH, MAX_PLOT_WIDTH),
				 errdetail("The number given is %lld.", (long long) width),
				 errhint("74, the default, fits a terminal.")));
}

char *
arg_text(FunctionCallInfo fcinfo, int argno, const char *name)
{
	check_not_null(fcinfo, argno, name);
	return text_to_cstring(PG_GETARG_TEXT_PP(argno));
}

const ClockSource *
arg_source(FunctionCallInfo fcinfo, int argno)
{
	return clock_source_get(arg_text(fcinfo, argno, "source"));
}

static double
arg_double(FunctionCallInfo fcinfo, int argno, const char *name)
{
	check_not_null(fcinfo, argno, name);
	return PG_GETARG_FLOAT8(argno);
}

double
arg_duration(FunctionCallInfo fcinfo, int argno)
{
	double		duration_s = arg_double(fcinfo, argno, "duration");

	check_duration(duration_s);
	return duration_s;
}

double
arg_every(FunctionCallInfo fcinfo, int argno, double duration_s)
{
	double		every_s = arg_double(fcinfo, argno, "every");

	check_every(every_s, duration_s);
	return every_s;
}

double
arg_rate(FunctionCallInfo fcinfo, int argno)
{
	double		rate = arg_double(fcinfo, argno, "rate");

	if (!(rate >= MIN_RATE && rate <= MAX_RATE))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rate must be between 0.001 and 1000000 a second"),
				 errdetail("The rate given is %g a second.", rate),
				 errhint("200 a second take about one percent of a CPU; without a rate, the clock is read all the time.")));
	return rate;
}

double
arg_cutoff(FunctionCallInfo fcinfo, int argno)
{
	double		cutoff = arg_double(fcinfo, argno, "cutoff");

	if (!(cutoff >= 0 && cutoff <= 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cutoff must be between 0 and 100 percent"),
				 errdetail("The cutoff given is %g.", cutoff),
				 errhint("Durations are listed until this share of all is reached; 99.99 is the default.")));
	return cutoff;
}

/* What has to be set, as ALTER SYSTEM takes it: each library is a literal of its own. */
static const char *
libraries_to_set(void)
{
	char	   *others = pstrdup(shared_preload_libraries_string == NULL ? "" : shared_preload_libraries_string);
	List	   *names = NIL;
	ListCell   *cell;
	StringInfoData list;

	initStringInfo(&list);
	if (!SplitDirectoriesString(others, ',', &names))
		names = NIL;
	foreach(cell, names)
		appendStringInfo(&list, "%s, ", quote_literal_cstr(lfirst(cell)));
	appendStringInfoString(&list, "'clocktiming'");
	return list.data;
}

void
require_preloaded(bool ready)
{
	if (ready)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("clocktiming must be loaded via shared_preload_libraries"),
			 errhint("Execute ALTER SYSTEM SET shared_preload_libraries = %s, and restart the server.", libraries_to_set())));
}
