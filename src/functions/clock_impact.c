/*-------------------------------------------------------------------------
 *
 * clock_impact.c
 *	  What timing would cost on the work that this server has been seen to do:
 *	  clock_list_impact(), behind the views clock_impact and
 *	  clock_impact_detail.
 *
 * The server counts most of what it would time.  Each operation is timed by two
 * readings of the clock, before and after; where the statistics count
 * something else than operations (blocks, say), that bounds their number.
 *
 * The statistics are asked by SQL, since what they have and how they are stored
 * differs between versions, and since SQL checks privileges.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"

#include "clock/reading_cost.h"
#include "clock/subtransaction.h"
#include "explain/plan_run.h"
#include "functions/row.h"

PG_FUNCTION_INFO_V1(clock_list_impact);

/* Seconds for a clock's readings, and for a plan's. */
#define READING_DURATION_S	0.15
#define CALLS_DURATION_S	0.3

/* The most blocks that one read, extension or writeback can be of. */
#define MAX_BLOCKS_OF_READ	32	/* MAX_IO_COMBINE_LIMIT of 17 */
#define MAX_BLOCKS_OF_EXTENSION 64	/* MAX_BUFFERS_TO_EXTEND_BY */
#define MAX_BLOCKS_OF_WRITEBACK 256 /* WRITEBACK_MAX_PENDING_FLUSHES */

/* What it costs to time one operation. */
typedef struct TimingCost
{
	const char *clock;			/* what is read */
	ReadingCost reading;
	ReadingCost operation;		/* if it is not a number of readings */
} TimingCost;

/* Which way a number of readings may be off. */
typedef enum CountBound
{
	EXACT,
	AT_MOST,
	AT_LEAST,
	ESTIMATE
} CountBound;

/* Work of one kind, NAN for what is not known. */
typedef struct Work
{
	const char *setting;		/* by which it is timed */
	const char *name;
	const char *statistics;		/* where the figures come from */
	double		operations;
	double		operations_per_s;
	double		least_operations_per_s;
	double		period_s;
	double		readings;		/* of the clock for an operation */
	double		least_readings;
	CountBound	bound;
	const char *reason;			/* what is not known, and why */
} Work;

/* Of all databases together, a second. */
typedef struct Databases
{
	double		active_ms_per_s;
	double		blocks_read;
	double		blocks_read_per_s;
	double		tuples;
	double		tuples_per_s;
	double		temp_blocks;
	double		temp_blocks_per_s;
	double		period_s;
} Databases;

/* Of all statements that pg_stat_statements has kept. */
typedef struct Statements
{
	const char *schema;			/* of the extension */
	const char *why_not;		/* nothing is known */
	double		node_calls;		/* at least */
	double		temp_blocks;
	double		period_s;
} Statements;

/* ---------------------------------------------------------------------
 * Asking the server
 */

/*
 * Executes a query whose result is n numbers in one row; NULLs, and no row at
 * all, are NAN.
 */
static void
ask(const char *query, double *figures, int n)
{
	SPI_connect();
	if (SPI_execute(query, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute failed: %s", query);
	for (int i = 0; i < n; i++)
	{
		bool		isnull = true;
		Datum		value = 0;

		if (SPI_processed > 0)
			value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
								  i + 1, &isnull);
		figures[i] = isnull ? get_float8_nan() : DatumGetFloat8(value);
	}
	SPI_finish();
}

/*
 * A database whose statistics were never reset has them since all statistics
 * were last discarded, at initdb or after a crash.  That also reset what belongs
 * to no database, at which time is known unless somebody has reset these as
 * well, since then.
 */
static Databases
ask_databases(void)
{
	double		figures[8];
	Databases	databases;

	ask("SELECT sum(d.active_time / p.s), sum(d.blks_read)::float8, sum(d.blks_read / p.s), "
		"       sum(d.tup_returned)::float8, sum(d.tup_returned / p.s), "
		"       sum(d.temp_bytes / b.size)::float8, sum(d.temp_bytes / b.size / p.s)::float8, max(p.s) "
		"FROM pg_stat_database AS d, "
		"     (SELECT least(b.stats_reset, w.stats_reset, a.stats_reset) AS discarded "
		"      FROM pg_stat_bgwriter AS b, pg_stat_wal AS w, pg_stat_archiver AS a) AS f, "
		"     (SELECT current_setting('block_size')::int8 AS size) AS b, "
		"     LATERAL (SELECT nullif(extract(epoch FROM clock_timestamp() - "
		"                                    coalesce(d.stats_reset, f.discarded))::float8, 0) AS s) AS p",
		figures, lengthof(figures));
	databases.active_ms_per_s = figures[0];
	databases.blocks_read = figures[1];
	databases.blocks_read_per_s = figures[2];
	databases.tuples = figures[3];
	databases.tuples_per_s = figures[4];
	databases.temp_blocks = figures[5];
	databases.temp_blocks_per_s = figures[6];
	databases.period_s = figures[7];

	/* rows and blocks of tables are counted by what this setting turns off */
	if (!pgstat_track_counts)
	{
		databases.blocks_read = databases.blocks_read_per_s = get_float8_nan();
		databases.tuples = databases.tuples_per_s = get_float8_nan();
	}
	return databases;
}

/*
 * Each of these statements calls its topmost node, or the one below it, once a
 * row and once more for the end; what is below those is not known.  Others
 * (COPY, say) count rows for which no node was called.
 */
static void
ask_statements_in(void *arg)
{
	Statements *statements = arg;
	double		figures[3];

	ask(psprintf("SELECT sum(s.calls + s.rows) FILTER (WHERE s.toplevel AND s.query ~* "
				 "           '^\\s*(select|with|insert|update|delete|merge|values|table)\\y')::float8, "
				 "       sum(s.temp_blks_read + s.temp_blks_written)::float8, "
				 "       (SELECT extract(epoch FROM clock_timestamp() - i.stats_reset)::float8 "
				 "        FROM %s.pg_stat_statements_info AS i) "
				 "FROM %s.pg_stat_statements AS s",
				 statements->schema, statements->schema),
		figures, lengthof(figures));
	statements->node_calls = isnan(figures[0]) ? 0 : figures[0];
	statements->temp_blocks = isnan(figures[1]) ? 0 : figures[1];
	statements->period_s = figures[2];
}

static Statements
ask_statements(void)
{
	Statements	statements = {
		.node_calls = get_float8_nan(), .temp_blocks = get_float8_nan(), .period_s = get_float8_nan()
	};
	const char *message;

	SPI_connect();
	if (SPI_execute("SELECT quote_ident(n.nspname) FROM pg_extension AS e "
					"JOIN pg_namespace AS n ON n.oid = e.extnamespace "
					"WHERE e.extname = 'pg_stat_statements'", true, 1) == SPI_OK_SELECT &&
		SPI_processed > 0)
	{
		char	   *name = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
		char	   *copy = SPI_palloc(strlen(name) + 1);

		statements.schema = strcpy(copy, name);
	}
	SPI_finish();
	if (statements.schema == NULL)
	{
		statements.why_not = "pg_stat_statements is not installed in this database";
		return statements;
	}

	/* it may not be preloaded, too old, or not for this user */
	message = subtransaction_attempt(ask_statements_in, &statements);
	if (message != NULL)
		statements.why_not = psprintf("pg_stat_statements cannot be read: %s", message);
	return statements;
}

/* ---------------------------------------------------------------------
 * What work there was
 */

/* Work of which so much was done in a period. */
static Work
counted(const char *setting, const char *name, const char *statistics,
		double operations, double period_s)
{
	Work		work = {
		.setting = setting, .name = name, .statistics = statistics,
		.operations = operations, .period_s = period_s,
		.readings = 2, .least_readings = 2, .bound = EXACT
	};

	work.operations_per_s = work.least_operations_per_s =
		period_s > 0 ? operations / period_s : get_float8_nan();
	if (isnan(work.operations_per_s))
		work.reason = psprintf("%s does not say how much was done since when", statistics);
	return work;
}

#if PG_VERSION_NUM >= 160000
/* The same, if the statistics count blocks of which some are done at a time. */
static Work
counted_in_blocks(const char *setting, const char *name, const char *statistics,
				  double blocks, double period_s, int max_blocks)
{
	Work		work = counted(setting, name, statistics, blocks, period_s);

	work.bound = AT_MOST;
	work.least_readings = 2.0 / max_blocks;
	if (work.reason == NULL)
		work.reason = psprintf("blocks are counted, of which up to %d may be done, and timed, at once",
							   max_blocks);
	return work;
}

/* What track_io_timing times of relations, as pg_stat_io counts it. */
static int
work_on_relations(Work *works, const Databases *databases)
{
	static const char *const setting = "track_io_timing";
	static const char *const io = "pg_stat_io";
	double		f[6];
	int			n = 0;

	(void) databases;
	ask("SELECT sum(reads)::float8, sum(writes)::float8, sum(extends)::float8, sum(writebacks)::float8, "
		"       sum(fsyncs)::float8, extract(epoch FROM clock_timestamp() - min(stats_reset))::float8 "
		"FROM pg_stat_io WHERE object <> 'wal'", f, lengthof(f));

#if PG_VERSION_NUM >= 180000
	works[n] = counted(setting, "relation reads", io, f[0], f[5]);
	if (strcmp(GetConfigOption("io_method", false, false), "sync") != 0)
	{
		works[n].bound = AT_MOST;
		works[n].readings = 4;
		if (works[n].reason == NULL)
			works[n].reason = "a read that is waited for is timed twice: as it is started, and while it is waited for";
	}
	n++;
#elif PG_VERSION_NUM >= 170000
	works[n++] = counted_in_blocks(setting, "relation reads", io, f[0], f[5], MAX_BLOCKS_OF_READ);
#else
	works[n++] = counted(setting, "relation reads", io, f[0], f[5]);
#endif
	works[n++] = counted(setting, "relation writes", io, f[1], f[5]);
#if PG_VERSION_NUM >= 180000
	works[n++] = counted(setting, "relation extends", io, f[2], f[5]);
#else
	works[n++] = counted_in_blocks(setting, "relation extends", io, f[2], f[5], MAX_BLOCKS_OF_EXTENSION);
#endif
	works[n++] = counted_in_blocks(setting, "relation writebacks", io, f[3], f[5], MAX_BLOCKS_OF_WRITEBACK);
	works[n++] = counted(setting, "relation fsyncs", io, f[4], f[5]);
	return n;
}
#else
/*
 * Before 16 only reads and writes are timed, and counted together with
 * extensions, which are not.
 */
static int
work_on_relations(Work *works, const Databases *databases)
{
	static const char *const setting = "track_io_timing";
	double		f[3];
	int			n = 0;

	works[n] = counted(setting, "relation reads", "pg_stat_database",
					   databases->blocks_read, databases->period_s);
	works[n].operations_per_s = databases->blocks_read_per_s;
	works[n].least_operations_per_s = 0;
	works[n].bound = AT_MOST;
	if (isnan(databases->blocks_read))
		works[n].reason = "track_counts is off";
	else if (works[n].reason == NULL)
		works[n].reason = "blks_read contains blocks that tables were extended by, which is not timed before PostgreSQL 16";
	n++;

	ask("SELECT (buffers_checkpoint + buffers_clean)::float8, buffers_backend::float8, "
		"       extract(epoch FROM clock_timestamp() - stats_reset)::float8 FROM pg_stat_bgwriter",
		f, lengthof(f));
	works[n] = counted(setting, "relation writes", "pg_stat_bgwriter", f[0] + f[1], f[2]);
	works[n].least_operations_per_s = f[0] / f[2];
	works[n].bound = AT_MOST;
	if (works[n].reason == NULL)
		works[n].reason = "buffers_backend contains blocks that tables were extended by, which is not timed before PostgreSQL 16";
	n++;
	return n;
}
#endif

/*
 * Blocks of temporary files are timed by track_io_timing.  The server counts how
 * large the files were in the end, so each of their blocks was written once at
 * least; pg_stat_statements has the reads and writes themselves.
 */
static Work
work_on_temporary_files(const Databases *databases, const Statements *statements)
{
	static const char *const setting = "track_io_timing";
	double		by_statements = statements->temp_blocks / statements->period_s;
	Work		work;

	if (statements->period_s > 0 && !(by_statements < databases->temp_blocks_per_s))
	{
		work = counted(setting, "temporary files", "pg_stat_statements",
					   statements->temp_blocks, statements->period_s);
		work.reason = "only statements that pg_stat_statements has kept are counted";
	}
	else
	{
		work = counted(setting, "temporary files", "pg_stat_database",
					   databases->temp_blocks, databases->period_s);
		work.operations_per_s = work.least_operations_per_s = databases->temp_blocks_per_s;
		if (work.reason == NULL)
			work.reason = "the sizes of files are counted, and not how often a block was written and read";
	}
	work.bound = AT_LEAST;
	return work;
}

static int
work_on_wal(Work *works)
{
	static const char *const setting = "track_wal_io_timing";
#if PG_VERSION_NUM >= 180000
	static const char *const statistics = "pg_stat_io";
#else
	static const char *const statistics = "pg_stat_wal";
#endif
	double		f[4];
	int			n = 0;

#if PG_VERSION_NUM >= 180000
	ask("SELECT sum(writes)::float8, sum(fsyncs)::float8, extract(epoch FROM clock_timestamp() - min(stats_reset))::float8, "
		"       sum(reads)::float8 FROM pg_stat_io WHERE object = 'wal'", f, lengthof(f));
#else
	ask("SELECT wal_write::float8, wal_sync::float8, extract(epoch FROM clock_timestamp() - stats_reset)::float8, "
		"       NULL FROM pg_stat_wal", f, lengthof(f));
#endif
	works[n++] = counted(setting, "WAL writes", statistics, f[0], f[2]);
	works[n++] = counted(setting, "WAL fsyncs", statistics, f[1], f[2]);
#if PG_VERSION_NUM >= 180000
	works[n++] = counted(setting, "WAL reads", statistics, f[3], f[2]);
#endif
	return n;
}

/* The number that a setting of auto_explain is, if that is loaded. */
static double
auto_explain_number(const char *name, double otherwise)
{
	const char *value = GetConfigOption(name, true, false);

	return value == NULL ? otherwise : strtod(value, NULL);
}

static bool
is_on(const char *setting)
{
	const char *value = GetConfigOption(setting, true, false);

	return value != NULL && strcmp(value, "on") == 0;
}

/*
 * Executions of plan nodes are not counted.  Rows that scans have found are:
 * some are thrown away before the node returns them, and nodes above the scans
 * return rows, too.
 */
static Work
work_of_plans(const Databases *databases, const Statements *statements)
{
	double		sample_rate = auto_explain_number("auto_explain.sample_rate", 1);
	double		by_statements = statements->node_calls / statements->period_s;
	Work		work = counted("auto_explain.log_timing", "calls of plan nodes", "pg_stat_database",
							   databases->tuples, databases->period_s);

	work.operations_per_s = databases->tuples_per_s;
	work.least_operations_per_s = statements->period_s > 0 ? by_statements : get_float8_nan();
	work.bound = ESTIMATE;
	work.reason = "they are not counted; as many are assumed as scans found rows";
	if (statements->period_s > 0 && !(by_statements <= databases->tuples_per_s))
	{
		work.statistics = "pg_stat_statements";
		work.operations = statements->node_calls;
		work.operations_per_s = by_statements;
		work.period_s = statements->period_s;
		work.bound = AT_LEAST;
		work.reason = "they are not counted; there are as many at least as statements returned rows, and one a statement";
	}
	else if (isnan(databases->tuples))
		work.reason = psprintf("track_counts is off, and %s", statements->why_not ?
							   statements->why_not : "pg_stat_statements was reset just now");
	else if (statements->why_not != NULL)
		work.reason = psprintf("%s; what there are at least is not known, because %s",
							   work.reason, statements->why_not);
	if (sample_rate != 1)
		work.reason = psprintf("%s; auto_explain.sample_rate is %g", work.reason, sample_rate);
	work.operations_per_s *= sample_rate;
	work.least_operations_per_s *= sample_rate;
	return work;
}

/* ---------------------------------------------------------------------
 * What it costs
 */

/* What timing adds to the call of a plan node. */
static void
measure_calls(void *arg)
{
	static const int modes[] = {MODE_ROWS, MODE_TIMING};
	ExecutorOptions options = {
		.modes = modes, .nmodes = lengthof(modes), .duration_s = CALLS_DURATION_S,
		.target = 1, .base = 0,
		.label = "clock_impact"
	};
	ExecutorQuery *query = executor_prepare("SELECT pg_catalog.count(*) FROM pg_catalog.generate_series(1, 1000)",
											false);
	ExecutorRuns *runs = executor_measure(query, &options);
	Estimate	overhead_ms = executor_overhead_ms(runs, 1, 0);
	ReadingCost *cost = arg;

	cost->ns = overhead_ms.value * 1e6 / runs->node_calls;
	cost->error_ns = overhead_ms.error * 1e6 / runs->node_calls;
}

static TimingCost
cost_of(const ClockSource *source)
{
	TimingCost	cost;

	cost.clock = source->reads(source);
	cost.reading = reading_cost(source, READING_DURATION_S);
	cost.operation.ns = cost.operation.error_ns = get_float8_nan();
	return cost;
}

/* Whether what a setting asks for is being done now, in this session. */
static bool
in_effect(const char *setting)
{
	if (strcmp(setting, "auto_explain.log_timing") == 0)
		return is_on(setting) && is_on("auto_explain.log_analyze") &&
			auto_explain_number("auto_explain.log_min_duration", -1) >= 0;
	return is_on(setting);
}

static void
put_work(FunctionCallInfo fcinfo, const Work *work, const TimingCost *cost,
		 double active_ms_per_s)
{
	static const char *const bounds[] = {
		[EXACT] = NULL,[AT_MOST] = "at most",[AT_LEAST] = "at least",[ESTIMATE] = "estimate"
	};
	bool		known = !isnan(work->operations_per_s);
	ReadingCost operation = cost->operation;
	ReadingCost least = cost->operation;
	double		ms_per_s;
	Row			row = row_of_set(fcinfo);

	if (isnan(operation.ns))
	{
		operation.ns = work->readings * cost->reading.ns;
		operation.error_ns = work->readings * cost->reading.error_ns;
		least.ns = work->least_readings * cost->reading.ns;
	}
	ms_per_s = work->operations_per_s * operation.ns / 1e6;

	row_put_text(&row, work->setting);
	row_put_text(&row, GetConfigOption(work->setting, true, false));
	row_put_bool(&row, in_effect(work->setting));
	row_put_text(&row, work->name);
	row_put_number(&row, ms_per_s, 6);
	row_put_number(&row, work->operations_per_s * operation.error_ns / 1e6, 6);
	row_put_number(&row, work->least_operations_per_s * least.ns / 1e6, 6);

	/* no work, no doubt */
	row_put_text(&row, !known || work->operations == 0 ? NULL : bounds[work->bound]);
	row_put_number(&row, ms_per_s / 10, 4);
	row_put_number(&row, active_ms_per_s > 0 ? ms_per_s / active_ms_per_s * 100 : get_float8_nan(), 4);
	if (isnan(work->operations))
		row_put_null(&row);
	else
		row_put_count(&row, (int64) work->operations);
	row_put_number(&row, work->operations_per_s, 3);
	row_put_number(&row, work->readings, 2);
	row_put_number(&row, operation.ns, 2);
	row_put_number(&row, operation.error_ns, 2);
	row_put_number(&row, cost->reading.ns, 2);
	row_put_number(&row, cost->reading.error_ns, 2);
	row_put_text(&row, cost->clock);
	row_put_text(&row, work->statistics);
	row_put_number(&row, work->period_s, 3);
	row_put_text(&row, known && work->operations == 0 ? NULL : work->reason);
	row_to_set(&row, fcinfo);
}

Datum
clock_list_impact(PG_FUNCTION_ARGS)
{
	const ClockSource *of_io = clock_source_get(clock_source_for_other_timing());
	const ClockSource *of_plans = clock_source_get(clock_source_for_explain());
	Work		works[16];
	int			n = 0;
	int			nest_level;
	Databases	databases;
	Statements	statements;
	TimingCost	io;
	TimingCost	plans;
	const char *why_not;

	InitMaterializedSRF(fcinfo, 0);

	/* names and operators are to be the system's */
	nest_level = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp",
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	databases = ask_databases();
	statements = ask_statements();
	n += work_on_relations(works + n, &databases);
	works[n++] = work_on_temporary_files(&databases, &statements);
	n += work_on_wal(works + n);
	works[n++] = work_of_plans(&databases, &statements);
	AtEOXact_GUC(true, nest_level);
	Assert(n <= (int) lengthof(works));

	io = cost_of(of_io);
	plans = of_plans == of_io ? io : cost_of(of_plans);
	why_not = subtransaction_attempt(measure_calls, &plans.operation);
	if (why_not != NULL)
		works[n - 1].reason = psprintf("%s; a call is assumed to cost two readings, because %s",
									   works[n - 1].reason, why_not);
	for (int i = 0; i < n; i++)
		put_work(fcinfo, &works[i], i == n - 1 ? &plans : &io, databases.active_ms_per_s);
	return (Datum) 0;
}
