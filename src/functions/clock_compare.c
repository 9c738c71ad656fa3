/*-------------------------------------------------------------------------
 *
 * clock_compare.c
 *	  Whether clocks, or figures that somebody has, differ: clock_compare() and
 *	  the picture of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "clock/reading_cost.h"
#include "compat.h"
#include "core/comparison.h"
#include "functions/args.h"
#include "functions/row.h"
#include "functions/sample_views.h"

PG_FUNCTION_INFO_V1(clock_compare_sources);
PG_FUNCTION_INFO_V1(clock_compare_arrays);
PG_FUNCTION_INFO_V1(clock_compare_plot_sources);
PG_FUNCTION_INFO_V1(clock_compare_plot_arrays);

StaticAssertDecl(MIN_PLOT_WIDTH == COMPARE_MIN_WIDTH && MAX_PLOT_WIDTH == COMPARE_MAX_WIDTH,
				 "widths of all plots are those of compare_plot()");

#define MAX_SAMPLES		100000
#define MAX_READINGS	1000000000
#define MAX_TOTAL		INT64CONST(1000000000000)

/* Sorting more would keep a cancel waiting. */
#define MAX_VALUES		1000000

/* Decimals of nanoseconds and of percentages. */
#define DECIMALS		4

typedef struct DataSets
{
	CompareSet *sets;
	int			n;
} DataSets;

static int32
get_number(FunctionCallInfo fcinfo, int argno, const char *name,
		   int32 least, int32 most, const char *hint)
{
	int32		number;

	check_not_null(fcinfo, argno, name);
	number = PG_GETARG_INT32(argno);
	if (number < least || number > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between %d and %d", name, least, most),
				 errdetail("The number given is %d.", number),
				 errhint("%s", _(hint))));
	return number;
}

static bool
get_bool(FunctionCallInfo fcinfo, int argno, const char *name)
{
	check_not_null(fcinfo, argno, name);
	return PG_GETARG_BOOL(argno);
}

/* What is too small for a double is 0, not an error. */
static double
numeric_to_double(Datum numeric)
{
	return strtod(DatumGetCString(DirectFunctionCall1(numeric_out, numeric)), NULL);
}

/*
 * As it was given, but with a decimal at least, and none that is a zero after
 * that: 95.0, 99.5, 99.999.
 */
static char *
percent_text(Datum confidence)
{
	char	   *percent = DatumGetCString(DirectFunctionCall1(numeric_out, confidence));
	char	   *point = strchr(percent, '.');
	char	   *end = percent + strlen(percent);

	if (point == NULL)
		return psprintf("%s.0", percent);
	while (end > point + 2 && end[-1] == '0')
		*--end = '\0';
	return percent;
}

static CompareLevel
get_level(FunctionCallInfo fcinfo, int argno)
{
	Datum		confidence;
	Numeric		hundred = int64_to_numeric(100);
	CompareLevel level = {0};

	check_not_null(fcinfo, argno, "confidence");
	confidence = PG_GETARG_DATUM(argno);

	/* what is left of 100 loses its digits in floating point */
	if (!numeric_is_nan(DatumGetNumeric(confidence)) &&
		!numeric_is_inf(DatumGetNumeric(confidence)))
	{
		level.inside = numeric_to_double(confidence) / 100;
		level.outside = numeric_to_double(DirectFunctionCall2(numeric_sub,
															  NumericGetDatum(hundred),
															  confidence)) / 100;
	}
	if (!(level.inside > 0 && level.outside > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("confidence must be above 0 and below 100 percent"),
				 errdetail("The confidence given is %s.",
						   DatumGetCString(DirectFunctionCall1(numeric_out, confidence))),
				 errhint("95, the default, is customary.")));
	level.percent = percent_text(confidence);
	return level;
}

static void
get_values(FunctionCallInfo fcinfo, int argno, const char *name, CompareSet *set)
{
	ArrayType  *array;
	float8	   *values;

	check_not_null(fcinfo, argno, name);
	array = PG_GETARG_ARRAYTYPE_P(argno);
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must be a one-dimensional array", name)));
	set->name = name;
	set->n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (set->n < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must contain at least two values", name),
				 errdetail("It contains %d.", set->n)));
	if (set->n > MAX_VALUES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s must not contain more than %d values", name, MAX_VALUES),
				 errdetail("It contains %d.", set->n)));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not contain null values", name)));

	values = (float8 *) ARR_DATA_PTR(array);
	set->x = palloc(sizeof(double) * set->n);
	for (int i = 0; i < set->n; i++)
	{
		if (!isfinite(values[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must not contain NaN or infinity", name)));
		if (fabs(values[i]) >= COMPARE_LIMIT)
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("%s must contain values below %g only", name, COMPARE_LIMIT),
					 errdetail("It contains %g.", values[i])));
		set->x[i] = values[i];
	}
	compare_summary(set);
}

/* Those that are named; of all, those that can be read here. */
static List *
get_sources(FunctionCallInfo fcinfo)
{
	List	   *named;
	List	   *sources = NIL;
	ListCell   *cell;

	check_not_null(fcinfo, 0, "sources");
	named = clock_sources_of_array(PG_GETARG_ARRAYTYPE_P(0));
	foreach(cell, named)
	{
		ClockSource *source = lfirst(cell);

		if (list_length(named) == clock_source_count() && source->why_not(source) != NULL)
			continue;
		(void) clock_source_get(source->name);
		sources = lappend(sources, source);
	}
	return sources;
}

static DataSets
measure_sources(List *sources, int samples, int readings)
{
	DataSets	data;
	CostSeries *series;

	data.n = list_length(sources);
	data.sets = palloc0(sizeof(CompareSet) * data.n);
	series = palloc0(sizeof(CostSeries) * data.n);
	for (int i = 0; i < data.n; i++)
		series[i].source = list_nth(sources, i);
	(void) reading_cost_series(series, data.n, readings, samples, samples, 0, "clock_compare");
	for (int i = 0; i < data.n; i++)
	{
		data.sets[i].name = series[i].source->name;
		data.sets[i].n = samples;
		data.sets[i].x = series[i].ns;
		compare_summary(&data.sets[i]);
	}
	return data;
}

static DataSets
measure_by_arguments(FunctionCallInfo fcinfo, int max_sources)
{
	List	   *sources = get_sources(fcinfo);
	int			samples = get_number(fcinfo, 1, "samples", 2, MAX_SAMPLES,
									 "12, the default, are enough for most purposes.");
	int			readings = get_number(fcinfo, 2, "readings", 1, MAX_READINGS,
									  "10000, the default, are enough for most purposes.");
	int64		total = (int64) samples * readings * list_length(sources);

	if (list_length(sources) > max_sources)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a plot can show at most %d clock sources", max_sources),
				 errdetail("There are %d.", list_length(sources)),
				 errhint("clock_compare() has no such limit.")));
	if (total > MAX_TOTAL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sources, samples and readings must not multiply to more than %lld readings",
						(long long) MAX_TOTAL),
				 errdetail("They multiply to %lld.", (long long) total)));
	return measure_sources(sources, samples, readings);
}

static void
put_figures(Row *row, const double *values, int n, bool as_float)
{
	for (int i = 0; i < n; i++)
	{
		if (!as_float)
			row_put_number(row, values[i], DECIMALS);
		else if (isnan(values[i]))
			row_put_null(row);
		else
			row_put(row, Float8GetDatum(values[i]));
	}
}

/* Two arrays, or what arguments 0 to 2 ask for. */
static DataSets
get_data(FunctionCallInfo fcinfo, bool arrays, int max_sources)
{
	DataSets	data = {NULL, 2};

	if (!arrays)
		return measure_by_arguments(fcinfo, max_sources);
	data.sets = palloc0(sizeof(CompareSet) * data.n);
	get_values(fcinfo, 0, "a", &data.sets[0]);
	get_values(fcinfo, 1, "b", &data.sets[1]);
	return data;
}

/* A row a data set, each but the first compared with the first. */
static Datum
compare(FunctionCallInfo fcinfo, bool arrays)
{
	int			argno = arrays ? 2 : 3;
	CompareLevel level = get_level(fcinfo, argno);
	bool		welch = get_bool(fcinfo, argno + 1, "welch");
	DataSets	data = get_data(fcinfo, arrays, clock_source_count());
	Row			row;

	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	for (int i = 0; i < data.n; i++)
	{
		const CompareSet *set = &data.sets[i];
		const double figures[] = {set->min, set->max, set->median, set->mean, set->stddev};

		row_put_text(&row, set->name);
		row_put(&row, Int32GetDatum(set->n));
		put_figures(&row, figures, lengthof(figures), arrays);
		if (i > 0)
		{
			CompareTest test = compare_test(&data.sets[0], set, &level, welch);
			const double tested[] = {test.difference, test.margin, test.percent,
			test.margin_percent, test.pooled_stddev};
			int			size = compare_verdict(NULL, 0, &test, &level, false) + 1;
			char	   *verdict = palloc(size);

			compare_verdict(verdict, size, &test, &level, false);
			put_figures(&row, tested, lengthof(tested), arrays);
			put_figures(&row, &test.p_value, 1, true);
			row_put_text(&row, verdict);
		}
		while (row.natts < row.tupdesc->natts)
			row_put_null(&row);
		row_to_set(&row, fcinfo);
	}
	return (Datum) 0;
}

static void
put_line(void *arg, const char *line)
{
	put_text_line((FunctionCallInfo) arg, line);
}

static Datum
plot(FunctionCallInfo fcinfo, bool arrays)
{
	int			argno = arrays ? 2 : 3;
	CompareLevel level = get_level(fcinfo, argno);
	ComparePlot plot = {.level = &level, .line = put_line, .arg = fcinfo};
	DataSets	data;

	check_not_null(fcinfo, argno + 1, "width");
	plot.width = PG_GETARG_INT32(argno + 1);
	check_plot_width(plot.width);
	plot.welch = get_bool(fcinfo, argno + 2, "welch");
	plot.separate = get_bool(fcinfo, argno + 3, "separate");
	data = get_data(fcinfo, arrays, COMPARE_MAX_SETS);
	plot.sets = data.sets;
	plot.nsets = data.n;
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	compare_plot(&plot);
	return (Datum) 0;
}

Datum
clock_compare_sources(PG_FUNCTION_ARGS)
{
	return compare(fcinfo, false);
}

Datum
clock_compare_arrays(PG_FUNCTION_ARGS)
{
	return compare(fcinfo, true);
}

Datum
clock_compare_plot_sources(PG_FUNCTION_ARGS)
{
	return plot(fcinfo, false);
}

Datum
clock_compare_plot_arrays(PG_FUNCTION_ARGS)
{
	return plot(fcinfo, true);
}
