/* Comparisons such as !(x >= 0) reject NaN, too. */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "utils/fmgroids.h"

#include "clock/functions/clock_args.h"
#include "compat.h"
#include "server/args.h"

/*
 * Shortest interval of clock_timeline(), in s.  The work at the start and end of a shorter interval
 * would distort the interval's results.
 */
#define MIN_EVERY_S		0.001

/*
 * Range of rates of a throttled run, in instants a second.  An instant takes some microseconds, so
 * a higher rate cannot be reached.  A lower one would not lead to an instant within a quarter of an
 * hour.
 */
#define MIN_RATE		0.001
#define MAX_RATE		1e6

void
check_reference(const ClockReference *reference, const ClockSource *source)
{
	if (strcmp(reference->name, source->name) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("clock source \"%s\" cannot be its own reference", source->name),
				 errhint("%s, the default, is the kernel's steadiest clock.", REFERENCE_BY_DEFAULT)));
}

const ClockSource *
arg_source(FunctionCallInfo fcinfo, int argno)
{
	return clock_source_get(arg_text(fcinfo, argno, "source"));
}

/*
 * "all" may contain clocks that this machine lacks, so they are skipped.  A clock that the caller has
 * named must be readable: clock_source_get() raises an ERROR otherwise.
 */
List *
arg_sources(FunctionCallInfo fcinfo, int argno, const ClockReference *reference)
{
	List	   *named;
	List	   *sources = NIL;
	ListCell   *cell;

	check_not_null(fcinfo, argno, "sources");
	named = clock_sources_of_array(PG_GETARG_ARRAYTYPE_P(argno));
	foreach(cell, named)
	{
		ClockSource *source = lfirst(cell);

		if (list_length(named) == clock_source_count() &&
			(clock_source_why_not(source) != NULL ||
			 (reference != NULL && strcmp(source->name, reference->name) == 0)))
			continue;
		(void) clock_source_get(source->name);
		if (reference != NULL)
			check_reference(reference, source);
		sources = lappend(sources, source);
	}
	return sources;
}

void
split_sources(FunctionCallInfo fcinfo, int argno)
{
	char	   *list = arg_text(fcinfo, argno, "sources");
	FmgrInfo	array_input;

	/* array_in() trims the names, and accepts quotes and braces within braces */
	if (list[strspn(list, " \t\n")] != '{')
		list = psprintf("{%s}", list);
	fmgr_info(F_ARRAY_IN, &array_input);
	fcinfo->args[argno].value = InputFunctionCall(&array_input, list, TEXTOID, -1);
}

double
arg_every(FunctionCallInfo fcinfo, int argno, double duration_s)
{
	double		every_s = arg_double(fcinfo, argno, "every");

	if (!(every_s >= MIN_EVERY_S && every_s <= duration_s))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("every must be between %g seconds and the duration", MIN_EVERY_S),
				 errdetail("The interval given is %g seconds, the duration %g seconds.",
						   every_s, duration_s),
				 errhint("1 second, the default, is enough for most purposes.")));
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
				 errhint("A rate of 200 a second uses about one percent of a CPU; without a rate, the clock is read all the time.")));
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
				 errhint("With 99.99, durations are listed until the list covers 99.99 percent of all durations.")));
	return cutoff;
}
