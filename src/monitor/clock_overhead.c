/*
 * Overhead of EXPLAIN ANALYZE: clock_executor_overhead(), clock_executor_overhead_runs() and
 * clock_query_overhead().
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "clock/measure/reading_cost.h"
#include "compat.h"
#include "core/stats.h"
#include "plan/explain/plan_rounds.h"
#include "server/args.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(clock_executor_overhead);
PG_FUNCTION_INFO_V1(clock_executor_overhead_runs);
PG_FUNCTION_INFO_V1(clock_query_overhead);

/* Maximum number of rows: more would need more than 1 GB of memory. */
#define MAX_ROWS			10000000

/* Bytes per row of generate_series in a tuplestore, just after the tuplestore's array has grown. */
#define BYTES_PER_ROW		112

/* Rows that a block of executions reads.  A block takes about 20 ms, several time slices. */
#define BLOCK_ROWS			500000

/* Share of the duration that is spent on measuring the cost of a reading. */
#define CLOCK_SHARE			0.1

#define WORKLOAD_TABLE		"clock_overhead_rows"

static void
run_utility(const char *statement)
{
	SPI_connect();
	if (SPI_execute(statement, false, 0) < 0)
		elog(ERROR, "SPI_execute failed: %s", statement);
	SPI_finish();
}

static int64
get_rows(FunctionCallInfo fcinfo)
{
	int64		rows;

	check_not_null(fcinfo, 0, "rows");
	rows = PG_GETARG_INT64(0);
	if (rows < 1 || rows > MAX_ROWS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rows must be between 1 and %d", MAX_ROWS),
				 errdetail("The number given is %lld.", (long long) rows),
				 errhint("1000, the default, are enough for most purposes.")));
	return rows;
}

static const char *const workloads[] = {"generate_series", "table"};
static const char *const paths[] = {"executor", "statement"};

/* A workload, and the results of its executions. */
typedef struct ExecutorTest
{
	int64		rows;
	int			workload;
	ReadingCost reading;
	PlanQuery  *query;
	PlanRounds *rounds;
} ExecutorTest;

/*
 * Executes the workload at each level of instrumentation (mode).  Measures the cost of reading
 * "clock" during reading_share of the duration.  An error aborts the (sub)transaction, which
 * removes the table and resets work_mem.
 */
static ExecutorTest
run_executor(FunctionCallInfo fcinfo, const int *modes, int nmodes, bool by_statement,
			 const ClockSource *clock, double reading_share, const char *label)
{
	ExecutorTest run = {
		.rows = get_rows(fcinfo),
		.workload = arg_choice(fcinfo, 1, "workload", workloads, lengthof(workloads),
							   "Workloads are generate_series and table."),
	};
	double		duration_s = arg_duration(fcinfo, 2);
	int			nest_level = NewGUCNestLevel();
	int			needed_kb = (int) (run.rows * BYTES_PER_ROW / 1024) + 1024;
	char	   *from = psprintf("pg_catalog.generate_series(1, " INT64_FORMAT ")", run.rows);

	/* the rows must fit into work_mem, so that no file is written */
	if (needed_kb > work_mem)
		(void) set_config_option("work_mem", psprintf("%d", needed_kb),
								 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
								 true, 0, false);
	if (run.workload > 0)
	{
		if (XactReadOnly)
			ereport(ERROR,
					(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
					 errmsg("workload table needs a temporary table, which a read-only transaction cannot create"),
					 errhint("Use workload => 'generate_series', also on a standby.")));
		run_utility(psprintf("CREATE TEMPORARY TABLE " WORKLOAD_TABLE " AS SELECT i FROM %s AS i", from));
		from = "pg_temp." WORKLOAD_TABLE;
	}
	run.query = plan_query(psprintf("SELECT pg_catalog.count(*) FROM %s", from), NULL, false);
	if (reading_share > 0)
		run.reading = reading_cost(clock, duration_s * reading_share);
	run.rounds = plan_rounds(run.query, modes, nmodes, (int) Max(BLOCK_ROWS / run.rows, 1),
							 duration_s * (1 - reading_share), by_statement, label);
	if (run.workload > 0)
		run_utility("DROP TABLE pg_temp." WORKLOAD_TABLE);
	AtEOXact_GUC(true, nest_level);
	if (run.rounds->rounds == 0)
		plan_rounds_warn(run.rounds->executions, run.rounds->elapsed_s, nmodes, duration_s,
						 1 / (1 - reading_share));
	return run;
}

static void
put_estimate(Row *row, Estimate estimate, double factor, int decimals)
{
	row_put_numbers(row, decimals, estimate.value * factor, estimate.margin * factor);
}

/*
 * Measures the overhead of EXPLAIN ANALYZE by the executor's own interface, without parsing,
 * planning and output.  Returns a row, with the overhead per row of the workload.
 */
Datum
clock_executor_overhead(PG_FUNCTION_ARGS)
{
	static const int modes[] = {MODE_PLAIN, MODE_DEFAULT_ROWS, MODE_DEFAULT_TIMING};
	enum
	{
		PLAIN, COUNTING, ANALYZE
	};
	const ClockSource *clock = clock_source_get("instr_time");
	ExecutorTest run = run_executor(fcinfo, modes, lengthof(modes), false, clock, CLOCK_SHARE,
									"clock_executor_overhead");
	const PlanRounds *rounds = run.rounds;
	Estimate	counting = rounds_overhead_ms(rounds, COUNTING, PLAIN);
	Estimate	timing = rounds_overhead_ms(rounds, ANALYZE, COUNTING);
	Estimate	sum = rounds_overhead_ms(rounds, ANALYZE, PLAIN);
	Estimate	typical = rounds_typical_ms(rounds, ANALYZE, PLAIN);
	double		ns = 1e6 / (double) run.rows;
	double		plain_ms = rounds_ms(rounds, PLAIN);
	Row			row = row_of_result(fcinfo);

	row_put_count(&row, run.rows);
	row_put_text(&row, workloads[run.workload]);
	row_put_numbers(&row, 2, counting.value * ns, timing.value * ns, sum.value * ns,
					typical.value * ns);
	row_put_number(&row, sum.value / plain_ms * 100, 4);
	row_put_text(&row, clock_source_reads(clock));
	row_put_numbers(&row, 2, counting.margin * ns, timing.margin * ns, sum.margin * ns,
					typical.margin * ns);
	row_put_count(&row, rounds->rounds * rounds->block);
	row_put_numbers(&row, 4, plain_ms, rounds_ms(rounds, ANALYZE));
	row_put_numbers(&row, 2, run.reading.ns, run.reading.margin_ns, 2 * run.reading.ns,
					timing.value * ns / (2 * run.reading.ns));
	row_put_bool(&row, run.query->parallel);
	row_put_bool(&row, run.query->jit);
	return row_result(&row);
}

static const int all_modes[] = {MODE_PLAIN, MODE_ROWS, MODE_TIMING, MODE_TIMING_BUFFERS};

static double
median_ms(const PlanRounds *rounds, int mode)
{
	Size		size = sizeof(double) * rounds->runs[mode];

	/* passes a copy, because stats_median() sorts its argument */
	return stats_median(memcpy(palloc(size), rounds->ms[mode], size), rounds->runs[mode]);
}

/* Returns why a mode has no overhead, or no margin of the overhead; NULL: it has both. */
static const char *
reason_for_nulls(int mode, int runs, Estimate typical)
{
	if (runs == 0)
		return "not_executed";
	return mode > 0 && isnan(typical.margin) ? "few_rounds" : NULL;
}

/*
 * Adds a row per mode.  If rows > 0, overheads are per row.  Else only the typical overhead is
 * added, per execution and per call of a plan node.
 */
static void
put_rounds(FunctionCallInfo fcinfo, const PlanQuery *query, const PlanRounds *rounds,
		   double rows)
{
	double		plain_ms = median_ms(rounds, 0);
	Row			row = row_of_set(fcinfo);

	for (int mode = 0; mode < rounds->nmodes; mode++)
	{
		const double *ms = rounds->ms[mode];
		int			n = rounds->runs[mode];
		Estimate	overhead = {NAN, NAN};
		Estimate	typical = {NAN, NAN};

		if (mode > 0)
		{
			overhead = rounds_overhead_ms(rounds, mode, 0);
			typical = rounds_typical_ms(rounds, mode, 0);
		}
		row_put_text(&row, run_modes[rounds->modes[mode]].name);
		row_put_text(&row, clock_of_explain());
		row_put_count(&row, n);
		if (n == 0)
			row_put_nulls(&row, 4);
		else
			row_put_numbers(&row, 4, stats_min(ms, n), median_ms(rounds, mode),
							stats_mean(ms, n), stats_stddev(ms, n));
		if (rows > 0)
		{
			put_estimate(&row, overhead, 1e6 / rows, 2);
			put_estimate(&row, typical, 1e6 / rows, 2);
			row_put_number(&row, overhead.value / rounds_ms(rounds, 0) * 100, 4);
		}
		else
		{
			put_estimate(&row, typical, 1, 4);
			row_put_number(&row, typical.value / plain_ms * 100, 4);

			/* node_calls is 0 if no mode that counts calls was executed */
			if (rounds->node_calls > 0)
				row_put_count(&row, (int64) rint(rounds->node_calls));
			else
				row_put_nulls(&row, 1);
			put_estimate(&row, typical, rounds->node_calls > 0 ? 1e6 / rounds->node_calls : NAN, 2);
		}
		row_put_bool(&row, query->parallel);
		row_put_bool(&row, query->jit);
		row_put_text(&row, reason_for_nulls(mode, n, typical));
		row_to_set(&row, fcinfo);
	}
}

Datum
clock_executor_overhead_runs(PG_FUNCTION_ARGS)
{
	int			path = arg_choice(fcinfo, 3, "path", paths, lengthof(paths),
								  "Paths are executor and statement.");
	ExecutorTest run = run_executor(fcinfo, all_modes, lengthof(all_modes), path > 0, NULL, 0,
									"clock_executor_overhead_runs");

	InitMaterializedSRF(fcinfo, 0);
	put_rounds(fcinfo, run.query, run.rounds, (double) run.rows);
	return (Datum) 0;
}

/* Returns the distinct elements of clock_sources, in their order. */
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
			 errmsg("the clock for timing cannot be chosen on this server"),
			 errdetail("PostgreSQL 19 and later have the setting timing_clock_source."),
			 errhint("Leave clock_sources out.")));
#endif
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &n);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("clock_sources must not be empty"),
				 errhint("Leave clock_sources out to use the current clock.")));
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("clock_sources must not contain null values")));
		CHECK_FOR_INTERRUPTS();
		result = list_append_unique(result, makeString(TextDatumGetCString(elements[i])));
	}
	return result;
}

/*
 * Executes the caller's query at each level of instrumentation, once for each clock that the server
 * can time with.  Each clock has an equal share of the duration.
 */
Datum
clock_query_overhead(PG_FUNCTION_ARGS)
{
	char	   *text = arg_text(fcinfo, 0, "query");
	double		duration_s = arg_duration(fcinfo, 1);
	List	   *clock_sources = NIL;
	PlanQuery  *query;
	ListCell   *cell;
	int			executions = 0;
	double		elapsed_s = 0;
	bool		complete = true;

	check_not_null(fcinfo, 2, "allow_writes");
	if (!PG_ARGISNULL(3))
		clock_sources = get_timing_clock_sources(PG_GETARG_ARRAYTYPE_P(3));
	query = plan_query(text, PG_ARGISNULL(4) ? NULL : PG_GETARG_ARRAYTYPE_P(4),
					   PG_GETARG_BOOL(2));

	InitMaterializedSRF(fcinfo, 0);
	if (clock_sources == NIL)	/* a NULL element leaves the setting unchanged */
		clock_sources = list_make1(NULL);
	foreach(cell, clock_sources)
	{
		/* AtEOXact_GUC() or the transaction's abort resets the setting */
		int			nest_level = NewGUCNestLevel();
		PlanRounds *rounds;

		if (lfirst(cell) != NULL)
			(void) set_config_option("timing_clock_source", strVal(lfirst(cell)),
									 superuser() ? PGC_SUSET : PGC_USERSET,
									 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
		rounds = plan_rounds(query, all_modes, lengthof(all_modes), 1,
							 Min(duration_s / list_length(clock_sources), duration_s - elapsed_s),
							 false, "clock_query_overhead");
		put_rounds(fcinfo, query, rounds, 0);
		executions += rounds->executions;
		elapsed_s += rounds->elapsed_s;
		complete &= rounds->rounds > 0;
		AtEOXact_GUC(true, nest_level);
	}
	if (!complete)
		plan_rounds_warn(executions, elapsed_s, lengthof(all_modes), duration_s,
						 list_length(clock_sources));
	return (Datum) 0;
}
