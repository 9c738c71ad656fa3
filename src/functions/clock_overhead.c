/*-------------------------------------------------------------------------
 *
 * clock_overhead.c
 *	  What EXPLAIN ANALYZE really costs: clock_executor_overhead(),
 *	  clock_executor_overhead_runs() and clock_query_overhead().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"

#include "clock/reading_cost.h"
#include "compat.h"
#include "core/stats.h"
#include "explain/plan_run.h"
#include "functions/args.h"
#include "functions/row.h"

PG_FUNCTION_INFO_V1(clock_executor_overhead);
PG_FUNCTION_INFO_V1(clock_executor_overhead_runs);
PG_FUNCTION_INFO_V1(clock_query_overhead);

/* More rows would need more than 1 GB to be kept in memory. */
#define MAX_ROWS			10000000

/* What a tuplestore needs for a row of generate_series, growth included. */
#define BYTES_PER_ROW		112

/* The share of the time that reading the clock back to back may take. */
#define CLOCK_SHARE			0.1

#define WORKLOAD_TABLE		"clock_overhead_rows"

/* The standard query over so many rows. */
typedef struct Workload
{
	int64		rows;
	bool		table;			/* over a temporary table */
	ExecutorQuery *query;
	int			nest_level;
} Workload;

static void
run_utility(const char *statement)
{
	SPI_connect();
	if (SPI_execute(statement, false, 0) < 0)
		elog(ERROR, "SPI_execute failed: %s", statement);
	SPI_finish();
}

/*
 * Sets up what the query needs.  An error that comes before end_workload()
 * ends the (sub)transaction, and with it the table and the settings.
 */
static Workload
begin_workload(int64 rows, const char *name)
{
	Workload	workload;
	int			needed_kb;

	if (rows < 1 || rows > MAX_ROWS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rows must be between 1 and %d", MAX_ROWS),
				 errdetail("The number given is " INT64_FORMAT ".", rows),
				 errhint("1000, the default, are enough for most purposes.")));
	workload.rows = rows;
	if (pg_strcasecmp(name, "table") == 0)
		workload.table = true;
	else if (pg_strcasecmp(name, "generate_series") == 0)
		workload.table = false;
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown workload \"%s\"", name),
				 errhint("Workloads are generate_series and table.")));

	/* a function's rows are kept in work_mem: reading files is not the point */
	workload.nest_level = NewGUCNestLevel();
	needed_kb = (int) (rows * BYTES_PER_ROW / 1024) + 1024;
	if (needed_kb > work_mem)
		(void) set_config_option("work_mem", psprintf("%d", needed_kb),
								 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
								 true, 0, false);
	if (workload.table)
	{
		run_utility(psprintf("CREATE TEMPORARY TABLE " WORKLOAD_TABLE
							 " AS SELECT i FROM pg_catalog.generate_series(1, " INT64_FORMAT ") AS i",
							 rows));
		workload.query = executor_prepare("SELECT pg_catalog.count(*) FROM pg_temp." WORKLOAD_TABLE,
										  false);
	}
	else
		workload.query = executor_prepare(psprintf("SELECT pg_catalog.count(*) FROM pg_catalog.generate_series(1, " INT64_FORMAT ")",
												   rows), false);
	return workload;
}

static void
end_workload(Workload *workload)
{
	if (workload->table)
		run_utility("DROP TABLE pg_temp." WORKLOAD_TABLE);
	AtEOXact_GUC(true, workload->nest_level);
}

static double
get_duration(FunctionCallInfo fcinfo, int argno)
{
	double		duration_s;

	check_not_null(fcinfo, argno, "duration");
	duration_s = PG_GETARG_FLOAT8(argno);
	check_duration(duration_s);
	return duration_s;
}

static int64
get_rows(FunctionCallInfo fcinfo, int argno)
{
	check_not_null(fcinfo, argno, "rows");
	return PG_GETARG_INT64(argno);
}

static char *
get_text(FunctionCallInfo fcinfo, int argno, const char *name)
{
	check_not_null(fcinfo, argno, name);
	return text_to_cstring(PG_GETARG_TEXT_PP(argno));
}

static double *
copy_of(const double *x, int n)
{
	double	   *copy = palloc(sizeof(double) * n);

	memcpy(copy, x, sizeof(double) * n);
	return copy;
}

static double
median_ms(const ExecutorRuns *runs, int mode)
{
	/* which sorts */
	return stats_median(copy_of(runs->ms[mode], runs->rounds), runs->rounds);
}

Datum
clock_executor_overhead(PG_FUNCTION_ARGS)
{
	static const int modes[] = {MODE_PLAIN, MODE_DEFAULT_ROWS, MODE_DEFAULT_TIMING};
	enum
	{
		PLAIN, COUNTING, ANALYZE
	};
	int64		rows = get_rows(fcinfo, 0);
	char	   *name = get_text(fcinfo, 1, "workload");
	double		duration_s = get_duration(fcinfo, 2);
	const ClockSource *clock = clock_source_get("instr_time");
	ReadingCost reading;
	ExecutorOptions options = {
		.modes = modes, .nmodes = lengthof(modes),
		.duration_s = duration_s * (1 - CLOCK_SHARE),
		.target = ANALYZE, .base = COUNTING,
		.label = "clock_executor_overhead"
	};
	Workload	workload = begin_workload(rows, name);
	ExecutorRuns *runs;
	Estimate	counting;
	Estimate	timing;
	Estimate	sum;
	double		ns = 1e6 / (double) rows;
	double		plain_ms;
	Row			row;

	reading = reading_cost(clock, duration_s * CLOCK_SHARE);
	runs = executor_measure(workload.query, &options);
	end_workload(&workload);

	counting = executor_overhead_ms(runs, COUNTING, PLAIN);
	timing = executor_overhead_ms(runs, ANALYZE, COUNTING);
	sum = executor_overhead_ms(runs, ANALYZE, PLAIN);
	plain_ms = executor_ms(runs, PLAIN);

	row = row_of_result(fcinfo);
	row_put_count(&row, rows);
	row_put_text(&row, workload.table ? "table" : "generate_series");
	row_put_count(&row, runs->rounds);
	row_put_number(&row, plain_ms, 4);
	row_put_number(&row, executor_ms(runs, ANALYZE), 4);
	row_put_number(&row, counting.value * ns, 2);
	row_put_number(&row, counting.error * ns, 2);
	row_put_number(&row, timing.value * ns, 2);
	row_put_number(&row, timing.error * ns, 2);
	row_put_number(&row, sum.value * ns, 2);
	row_put_number(&row, sum.error * ns, 2);
	row_put_number(&row, sum.value / plain_ms * 100, 1);
	row_put_text(&row, clock->reads(clock));
	row_put_number(&row, reading.ns, 2);
	row_put_number(&row, reading.error_ns, 2);
	row_put_number(&row, 2 * reading.ns, 2);
	row_put_number(&row, timing.value * ns / (2 * reading.ns), 2);
	row_put_bool(&row, workload.query->parallel);
	row_put_bool(&row, workload.query->jit);
	return row_result(&row);
}

/* What all rows of one mode begin with. */
static void
put_mode(Row *row, const ExecutorRuns *runs, int mode, const char *clock)
{
	const double *ms = runs->ms[mode];
	int			n = runs->rounds;

	row_put_text(row, executor_modes[runs->modes[mode]].name);
	row_put_text(row, clock);
	row_put_count(row, n);
	row_put_number(row, stats_min(ms, n), 4);
	row_put_number(row, median_ms(runs, mode), 4);
	row_put_number(row, stats_mean(ms, n), 4);
	row_put_number(row, stats_stddev(ms, n), 4);
}

/* Nothing, for the mode that the others are compared to. */
static Estimate
overhead_or_nothing(const ExecutorRuns *runs, int mode)
{
	Estimate	nothing = {get_float8_nan(), get_float8_nan()};

	return mode == 0 ? nothing : executor_overhead_ms(runs, mode, 0);
}

static const int all_modes[] = {
	MODE_PLAIN, MODE_ROWS, MODE_TIMING, MODE_TIMING_BUFFERS
};

Datum
clock_executor_overhead_runs(PG_FUNCTION_ARGS)
{
	int64		rows = get_rows(fcinfo, 0);
	char	   *name = get_text(fcinfo, 1, "workload");
	double		duration_s = get_duration(fcinfo, 2);
	char	   *path = get_text(fcinfo, 3, "path");
	ExecutorOptions options = {
		.modes = all_modes, .nmodes = lengthof(all_modes), .duration_s = duration_s,
		.target = 2, .base = 1,
		.label = "clock_executor_overhead_runs"
	};
	double		ns = 1e6 / (double) rows;
	const char *clock = clock_of_explain();
	Workload	workload;
	ExecutorRuns *runs;
	Row			row;

	if (pg_strcasecmp(path, "statement") == 0)
		options.by_statement = true;
	else if (pg_strcasecmp(path, "executor") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown path \"%s\"", path),
				 errhint("Paths are executor and statement.")));
	workload = begin_workload(rows, name);
	runs = executor_measure(workload.query, &options);
	end_workload(&workload);

	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	for (int mode = 0; mode < runs->nmodes; mode++)
	{
		Estimate	overhead = overhead_or_nothing(runs, mode);

		put_mode(&row, runs, mode, clock);
		row_put_number(&row, overhead.value * ns, 2);
		row_put_number(&row, overhead.error * ns, 2);
		row_put_number(&row, overhead.value / executor_ms(runs, 0) * 100, 1);
		row_put_bool(&row, workload.query->parallel);
		row_put_bool(&row, workload.query->jit);
		row_to_set(&row, fcinfo);
	}
	return (Datum) 0;
}

/* Rows of a query, timed by the clock that the server times with now. */
static void
put_query_runs(FunctionCallInfo fcinfo, const ExecutorQuery *query,
			   double duration_s)
{
	ExecutorOptions options = {
		.modes = all_modes, .nmodes = lengthof(all_modes), .duration_s = duration_s,
		.target = 2, .base = 1,
		.label = "clock_query_overhead"
	};
	const char *clock = clock_of_explain();
	ExecutorRuns *runs = executor_measure(query, &options);
	double		ns = runs->node_calls > 0 ? 1e6 / runs->node_calls : get_float8_nan();
	Row			row = row_of_set(fcinfo);

	for (int mode = 0; mode < runs->nmodes; mode++)
	{
		Estimate	overhead = overhead_or_nothing(runs, mode);

		put_mode(&row, runs, mode, clock);
		row_put_number(&row, overhead.value, 4);
		row_put_number(&row, overhead.error, 4);
		row_put_number(&row, overhead.value / executor_ms(runs, 0) * 100, 1);
		row_put_count(&row, (int64) rint(runs->node_calls));
		row_put_number(&row, overhead.value * ns, 2);
		row_put_number(&row, overhead.error * ns, 2);
		row_put_bool(&row, query->parallel);
		row_put_bool(&row, query->jit);
		row_to_set(&row, fcinfo);
	}
}

/* The elements of clock_sources, each once, in their order. */
static List *
get_timing_clock_sources(ArrayType *array)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	List	   *result = NIL;

#ifndef SERVER_HAS_TIMING_CLOCK_SOURCE
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("this server cannot choose the clock that it times with"),
			 errdetail("PostgreSQL 19 and later have the setting timing_clock_source."),
			 errhint("Leave clock_sources out.")));
#endif
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, &nulls, &n);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("clock_sources must not be empty"),
				 errhint("Leave it out for the clock that is set.")));
	for (int i = 0; i < n; i++)
	{
		char	   *name;
		bool		known = false;
		ListCell   *cell;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("clock_sources must not contain null values")));
		name = TextDatumGetCString(elements[i]);
		foreach(cell, result)
			known |= strcmp(lfirst(cell), name) == 0;
		if (!known)
			result = lappend(result, name);
	}
	return result;
}

Datum
clock_query_overhead(PG_FUNCTION_ARGS)
{
	char	   *text = get_text(fcinfo, 0, "query");
	double		duration_s = get_duration(fcinfo, 1);
	List	   *clock_sources = NIL;
	ExecutorQuery *query;
	ListCell   *cell;

	check_not_null(fcinfo, 2, "allow_writes");
	if (!PG_ARGISNULL(3))
		clock_sources = get_timing_clock_sources(PG_GETARG_ARRAYTYPE_P(3));
	query = executor_prepare(text, PG_GETARG_BOOL(2));

	InitMaterializedSRF(fcinfo, 0);
	if (clock_sources == NIL)
		put_query_runs(fcinfo, query, duration_s);
	foreach(cell, clock_sources)
	{
		/* undone right after it, or with the transaction by an error */
		int			nest_level = NewGUCNestLevel();

		(void) set_config_option("timing_clock_source", lfirst(cell),
								 superuser() ? PGC_SUSET : PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
		put_query_runs(fcinfo, query, duration_s / list_length(clock_sources));
		AtEOXact_GUC(true, nest_level);
	}
	return (Datum) 0;
}
