/* clock_compare(): compares clocks, samples or numbers. */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include "clock/functions/clock_args.h"
#include "clock/measure/reading_cost.h"
#include "clock/measure/sample_value.h"
#include "clock/sampling/comparison.h"
#include "compat.h"
#include "server/args.h"
#include "server/row.h"

/* Samples per source.  By default, sources share 10 ms, so most samples are undisturbed. */
#define SAMPLES			100

/* Maximum length of an array, because sorting its values cannot be cancelled. */
#define MAX_VALUES		1000000

/* Decimals of figures in ns and in percent. */
#define DECIMALS		4

/*
 * Smallest difference between the costs of two clocks that matters, in ns per
 * reading.  EXPLAIN ANALYZE reads the clock twice per row of a node, so 5 ns are
 * 10 ms per million rows.  Without timing, a node takes 10 to 100 ms for them.
 */
#define MATTERING_NS	5

/* Number of result columns from difference to difference_margin_percent.  Costs also have "matters". */
#define TESTED_COLUMNS	8

typedef enum DataKind
{
	DATA_SOURCES,
	DATA_FIGURES,
	DATA_SAMPLES
} DataKind;

typedef struct DataSets
{
	CompareSet *sets;
	int			n;
} DataSets;

static ConfidenceLevel
get_level(FunctionCallInfo fcinfo)
{
	check_not_null(fcinfo, 3, "confidence");
	return arg_confidence(fcinfo, 3);
}

/* Returns an array argument, and allocates set->x for its values. */
static ArrayType *
get_array(FunctionCallInfo fcinfo, int argno, const char *name, CompareSet *set)
{
	ArrayType  *array;

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
	set->x = palloc(sizeof(double) * set->n);
	return array;
}

static void
get_figures(FunctionCallInfo fcinfo, int argno, const char *name, CompareSet *set)
{
	float8	   *values = (float8 *) ARR_DATA_PTR(get_array(fcinfo, argno, name, set));

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

/* Gets the cost of a reading from each sample of an array.  All must be samples of one clock. */
static void
get_samples(FunctionCallInfo fcinfo, int argno, const char *name, CompareSet *set)
{
	ArrayType  *array = get_array(fcinfo, argno, name, set);
	ArrayIterator iterator = array_create_iterator(array, 0, NULL);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "clock_compare",
												  ALLOCSET_DEFAULT_SIZES);
	char	   *source = NULL;
	char	   *clock = NULL;
	Datum		datum;
	bool		isnull;

	for (int i = 0; array_iterate(iterator, &datum, &isnull); i++)
	{
		MemoryContext before = MemoryContextSwitchTo(context);
		ClockSample *sample = sample_from_datum(datum);

		MemoryContextSwitchTo(before);
		if (i == 0)
		{
			source = pstrdup(sample->source);
			clock = pstrdup(sample->clock);
		}
		if (strcmp(sample->source, source) != 0 || strcmp(sample->clock, clock) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must contain samples of one clock only", name),
					 errdetail("Sample 1 is of %s (%s), sample %d of %s (%s).",
							   source, clock, i + 1, sample->source, sample->clock)));
		if (isnan(sample->cost_ns))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must contain samples with a known cost of a reading", name),
					 errdetail("The cost_ns of sample %d, of %s, is not known.", i + 1, sample->source),
					 errhint("See cost_ns of clock_summary().")));
		if (fabs(sample->cost_ns) >= COMPARE_LIMIT)
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("%s must contain costs below %g only", name, COMPARE_LIMIT),
					 errdetail("The cost_ns of sample %d is %g.", i + 1, sample->cost_ns)));
		set->x[i] = sample->cost_ns;
		MemoryContextReset(context);
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextDelete(context);
	array_free_iterator(iterator);
	compare_summary(set);
}

/* Returns SAMPLES costs of a reading for each clock in argument 0, measured in turn. */
static DataSets
measure_sources(FunctionCallInfo fcinfo, int max_sources)
{
	List	   *sources = arg_sources(fcinfo, 0, NULL);
	double		duration_s = arg_duration(fcinfo, 1);
	DataSets	data;
	CostSeries *series;

	data.n = list_length(sources);
	if (data.n > max_sources)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a plot can show at most %d clock sources", max_sources),
				 errdetail("There are %d.", data.n),
				 errhint("Without plot_width there is no such limit.")));
	data.sets = palloc0(sizeof(CompareSet) * data.n);
	series = palloc0(sizeof(CostSeries) * data.n);
	for (int i = 0; i < data.n; i++)
		series[i].source = list_nth(sources, i);
	reading_cost_samples(series, data.n, SAMPLES, duration_s, "clock_compare");
	for (int i = 0; i < data.n; i++)
	{
		data.sets[i].name = series[i].source->name;
		data.sets[i].n = SAMPLES;
		data.sets[i].x = series[i].ns;
		compare_summary(&data.sets[i]);
	}
	return data;
}

static void
put_figures(Row *row, const double *values, int n, bool as_float)
{
	for (int i = 0; i < n; i++)
	{
		if (as_float)
			row_put_double(row, values[i], ROW_EXACT);
		else
			row_put_number(row, values[i], DECIMALS);
	}
}

static int
arg_plot_width(FunctionCallInfo fcinfo, int argno)
{
	int			width = PG_GETARG_INT32(argno);

	if (width < COMPARE_MIN_WIDTH || width > COMPARE_MAX_WIDTH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("plot_width must be between %d and %d", COMPARE_MIN_WIDTH, COMPARE_MAX_WIDTH),
				 errdetail("The number given is %d.", width),
				 errhint("74 fits a terminal.")));
	return width;
}

/* Gets the data sets of arguments 0 and 1: two arrays, or sources and a duration. */
static DataSets
get_data(FunctionCallInfo fcinfo, DataKind kind, int max_sources)
{
	static const char *const names[] = {"a", "b"};
	DataSets	data = {NULL, 2};

	if (kind == DATA_SOURCES)
		return measure_sources(fcinfo, max_sources);
	data.sets = palloc0(sizeof(CompareSet) * data.n);
	for (int i = 0; i < data.n; i++)
	{
		if (kind == DATA_FIGURES)
			get_figures(fcinfo, i, names[i], &data.sets[i]);
		else
			get_samples(fcinfo, i, names[i], &data.sets[i]);
	}
	return data;
}

static void
pause_test(void)
{
	CHECK_FOR_INTERRUPTS();
}

static void
append_line(void *arg, const char *line)
{
	StringInfo text = arg;

	appendStringInfo(text, text->len > 0 ? "\n%s" : "%s", line);
}

static char *
plot_text(const DataSets *data, CompareMethod method, const ConfidenceLevel *level, int width,
		  bool separate)
{
	StringInfoData text;
	ComparePlot plot = {
		.sets = data->sets, .nsets = data->n, .level = level, .method = method, .pause = pause_test,
		.width = width, .separate = separate, .line = append_line, .arg = &text
	};

	if (width == 0)
		return NULL;
	initStringInfo(&text);
	compare_plot(&plot);
	return text.data;
}

/* Adds the result columns from difference_ns to pooled_stddev_ns. */
static void
put_compared(Row *row, const CompareSet *set, const CompareTest *test, bool as_float)
{
	const double figures[] = {set->min, set->max, set->mean, set->stddev};

	if (test != NULL)
	{
		const double tested[] = {test->difference, test->margin, test->percent};
		const double more[] = {test->low, test->high, test->margin_percent};

		put_figures(row, tested, lengthof(tested), as_float);
		if (as_float)
			row_put_text(row, compare_verdict(test, "lower", "higher"));
		else
		{
			row_put_text(row, compare_verdict(test, "faster", "slower"));
			if (test->verdict == COMPARE_DIFFERENT)
				row_put_bool(row, fabs(test->difference) >= MATTERING_NS);
			else
				row_put_null(row);
		}
		put_figures(row, &test->p_value, 1, true);
		put_figures(row, more, lengthof(more), as_float);
	}
	else
		row_put_nulls(row, as_float ? TESTED_COLUMNS : TESTED_COLUMNS + 1);
	put_figures(row, figures, lengthof(figures), as_float);
	if (test != NULL)
		put_figures(row, &test->pooled_stddev, 1, as_float);
	else
		row_put_null(row);
}

static const char *const methods[] = {
	[COMPARE_RANK] = "rank",
	[COMPARE_STUDENT] = "student",
	[COMPARE_WELCH] = "welch",
};

/* Returns a row per data set.  Row 1 has the plot; later rows compare their sets with set 1. */
static Datum
compare(FunctionCallInfo fcinfo, DataKind kind)
{
	bool		as_float = kind == DATA_FIGURES;
	CompareMethod method = arg_choice(fcinfo, 2, "method", methods, lengthof(methods),
									  "Methods are rank, student and welch.");
	ConfidenceLevel level = get_level(fcinfo);
	int			width = PG_ARGISNULL(4) ? 0 : arg_plot_width(fcinfo, 4);
	bool		separate = !PG_ARGISNULL(5) && PG_GETARG_BOOL(5);
	DataSets	data = get_data(fcinfo, kind, width == 0 ? clock_source_count() : COMPARE_MAX_SETS);
	char	   *plot;
	Row			row;

	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	plot = plot_text(&data, method, &level, width, separate);
	for (int i = 0; i < data.n; i++)
	{
		const CompareSet *set = &data.sets[i];
		CompareTest test;

		if (i > 0)
			test = compare_test(&data.sets[0], set, &level, method, pause_test);
		row_put_text(&row, set->name);
		row_put(&row, Int32GetDatum(set->n));
		put_figures(&row, &set->median, 1, as_float);
		put_compared(&row, set, i > 0 ? &test : NULL, as_float);
		row_put_text(&row, i > 0 ? NULL : plot);
		row_to_set(&row, fcinfo);
	}
	return (Datum) 0;
}

#define DEFINE_FUNCTION(suffix, kind) \
PG_FUNCTION_INFO_V1(clock_compare_##suffix); \
Datum \
clock_compare_##suffix(PG_FUNCTION_ARGS) \
{ \
	return compare(fcinfo, kind); \
}

DEFINE_FUNCTION(sources, DATA_SOURCES)
DEFINE_FUNCTION(arrays, DATA_FIGURES)
DEFINE_FUNCTION(samples, DATA_SAMPLES)
