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

#include "executor/spi.h"
#include "funcapi.h"
#include "pgstat.h"
#include "utils/guc.h"

#include "clock/reading_cost.h"
#include "clock/subtransaction.h"
#include "explain/plan_rounds.h"
#include "functions/row.h"

PG_FUNCTION_INFO_V1(clock_list_impact);

/* Seconds for a clock's readings, and for a plan's. */
#define READING_DURATION_S	0.15
#define CALLS_DURATION_S	0.3

/*
 * The most blocks that are done and timed as one operation, where blocks are
 * counted: MAX_IO_COMBINE_LIMIT, MAX_BUFFERS_TO_EXTEND_BY and
 * WRITEBACK_MAX_PENDING_FLUSHES.
 */
#define BLOCKS_OF_READ		(PG_VERSION_NUM / 10000 == 17 ? 32 : 1)
#define BLOCKS_OF_EXTENSION (PG_VERSION_NUM / 10000 < 18 ? 64 : 1)
#define BLOCKS_OF_WRITEBACK 256

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

/* Of all databases together, in the order in which it is asked for. */
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

/* Of all statements that pg_stat_statements has kept; the figures likewise. */
typedef struct Statements
{
	double		node_calls;		/* at least */
	double		temp_blocks;
	double		period_s;
	const char *schema;			/* of the extension */
	const char *why_not;		/* nothing is known */
} Statements;

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
		figures[i] = isnull ? NAN : DatumGetFloat8(value);
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
		(double *) &databases, sizeof(Databases) / sizeof(double));

	/* rows and blocks of tables are counted by what this setting turns off */
	if (!pgstat_track_counts)
	{
		databases.blocks_read = databases.blocks_read_per_s = NAN;
		databases.tuples = databases.tuples_per_s = NAN;
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

	ask(psprintf("SELECT coalesce(sum(s.calls + s.rows) FILTER (WHERE s.toplevel AND s.query ~* "
				 "           '^\\s*(select|with|insert|update|delete|merge|values|table)\\y'), 0)::float8, "
				 "       coalesce(sum(s.temp_blks_read + s.temp_blks_written), 0)::float8, "
				 "       (SELECT extract(epoch FROM clock_timestamp() - i.stats_reset)::float8 "
				 "        FROM %s.pg_stat_statements_info AS i) "
				 "FROM %s.pg_stat_statements AS s",
				 statements->schema, statements->schema),
		&statements->node_calls, 3);
}

static Statements
ask_statements(void)
{
	Statements	statements = {NAN, NAN, NAN, NULL, NULL};
	MemoryContext caller = CurrentMemoryContext;
	const char *message;

	SPI_connect();
	if (SPI_execute("SELECT quote_ident(n.nspname) FROM pg_extension AS e "
					"JOIN pg_namespace AS n ON n.oid = e.extnamespace "
					"WHERE e.extname = 'pg_stat_statements'", true, 1) == SPI_OK_SELECT &&
		SPI_processed > 0)
		statements.schema = MemoryContextStrdup(caller, SPI_getvalue(SPI_tuptable->vals[0],
																	 SPI_tuptable->tupdesc, 1));
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

/*
 * Work of which so much was done in a period: operations, or blocks of which so
 * many may be done at a time.
 */
static Work
counted(const char *setting, const char *name, const char *statistics,
		double operations, double period_s, int max_blocks)
{
	Work		work = {
		.setting = setting, .name = name, .statistics = statistics,
		.operations = operations, .period_s = period_s,
		.readings = 2, .least_readings = 2.0 / max_blocks,
		.bound = max_blocks > 1 ? AT_MOST : EXACT
	};

	work.operations_per_s = work.least_operations_per_s = period_s > 0 ? operations / period_s : NAN;
	if (isnan(work.operations_per_s))
		work.reason = psprintf("%s does not say how much was done since when", statistics);
	else if (max_blocks > 1)
		work.reason = psprintf("blocks are counted, of which up to %d may be done, and timed, at once",
							   max_blocks);
	return work;
}

/* That work's figure is a bound, and why, unless something else is not known. */
static void
set_bound(Work *work, CountBound bound, const char *reason)
{
	work->bound = bound;
	if (work->reason == NULL)
		work->reason = reason;
}

/* What track_io_timing times of relations. */
static int
work_on_relations(Work *works, const Databases *databases)
{
	static const char *const setting = "track_io_timing";
#if PG_VERSION_NUM >= 160000
	static const struct
	{
		const char *name;
		int			max_blocks;
	}			kinds[] = {
		{"relation reads", BLOCKS_OF_READ},
		{"relation writes", 1},
		{"relation extends", BLOCKS_OF_EXTENSION},
		{"relation writebacks", BLOCKS_OF_WRITEBACK},
		{"relation fsyncs", 1},
	};
	double		f[lengthof(kinds) + 1];

	(void) databases;
	ask("SELECT sum(reads)::float8, sum(writes)::float8, sum(extends)::float8, sum(writebacks)::float8, "
		"       sum(fsyncs)::float8, extract(epoch FROM clock_timestamp() - min(stats_reset))::float8 "
		"FROM pg_stat_io WHERE object <> 'wal'", f, lengthof(f));
	for (int i = 0; i < (int) lengthof(kinds); i++)
		works[i] = counted(setting, kinds[i].name, "pg_stat_io", f[i], f[lengthof(kinds)],
						   kinds[i].max_blocks);
#if PG_VERSION_NUM >= 180000
	if (strcmp(GetConfigOption("io_method", false, false), "sync") != 0)
	{
		works[0].readings = 4;
		set_bound(&works[0], AT_MOST,
				  "a read that is waited for is timed twice: as it is started, and while it is waited for");
	}
#endif
	return lengthof(kinds);
#else

	/*
	 * only reads and writes, and counted together with extensions, which are
	 * not
	 */
	double		f[3];

	works[0] = counted(setting, "relation reads", "pg_stat_database",
					   databases->blocks_read, databases->period_s, 1);
	works[0].operations_per_s = databases->blocks_read_per_s;
	works[0].least_operations_per_s = 0;
	if (isnan(databases->blocks_read))
		works[0].reason = "track_counts is off";
	set_bound(&works[0], AT_MOST,
			  "blks_read contains blocks that tables were extended by, which is not timed before PostgreSQL 16");

	ask("SELECT (buffers_checkpoint + buffers_clean)::float8, buffers_backend::float8, "
		"       extract(epoch FROM clock_timestamp() - stats_reset)::float8 FROM pg_stat_bgwriter",
		f, lengthof(f));
	works[1] = counted(setting, "relation writes", "pg_stat_bgwriter", f[0] + f[1], f[2], 1);
	works[1].least_operations_per_s = f[0] / f[2];
	set_bound(&works[1], AT_MOST,
			  "buffers_backend contains blocks that tables were extended by, which is not timed before PostgreSQL 16");
	return 2;
#endif
}

/*
 * Blocks of temporary files are timed by track_io_timing.  The server counts how
 * large the files were in the end, so each of their blocks was written once at
 * least; pg_stat_statements has the reads and writes themselves.
 */
static Work
work_on_temporary_files(const Databases *databases, const Statements *statements)
{
	static const char *const setting = "track_io_timing";
	static const char *const name = "temporary files";
	double		by_statements = statements->temp_blocks / statements->period_s;
	Work		work;

	if (statements->period_s > 0 && !(by_statements < databases->temp_blocks_per_s))
	{
		work = counted(setting, name, "pg_stat_statements",
					   statements->temp_blocks, statements->period_s, 1);
		work.reason = "only statements that pg_stat_statements has kept are counted";
	}
	else
	{
		work = counted(setting, name, "pg_stat_database",
					   databases->temp_blocks, databases->period_s, 1);
		work.operations_per_s = work.least_operations_per_s = databases->temp_blocks_per_s;
	}
	set_bound(&work, AT_LEAST,
			  "the sizes of files are counted, and not how often a block was written and read");
	return work;
}

static int
work_on_wal(Work *works)
{
	static const char *const names[] = {"WAL writes", "WAL fsyncs", "WAL reads"};
	double		f[lengthof(names) + 1];
#if PG_VERSION_NUM >= 180000
	static const char *const statistics = "pg_stat_io";
	int			n = lengthof(names);

	ask("SELECT extract(epoch FROM clock_timestamp() - min(stats_reset))::float8, sum(writes)::float8, sum(fsyncs)::float8, "
		"       sum(reads)::float8 FROM pg_stat_io WHERE object = 'wal'", f, n + 1);
#else
	static const char *const statistics = "pg_stat_wal";
	int			n = 2;

	ask("SELECT extract(epoch FROM clock_timestamp() - stats_reset)::float8, wal_write::float8, wal_sync::float8 "
		"FROM pg_stat_wal", f, n + 1);
#endif
	for (int i = 0; i < n; i++)
		works[i] = counted("track_wal_io_timing", names[i], statistics, f[i + 1], f[0], 1);
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
							   databases->tuples, databases->period_s, 1);

	work.operations_per_s = databases->tuples_per_s;
	work.least_operations_per_s = statements->period_s > 0 ? by_statements : NAN;
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

/* What timing adds to the call of a plan node. */
static void
measure_calls(void *arg)
{
	static const int modes[] = {MODE_ROWS, MODE_TIMING};
	PlanQuery  *query = plan_query("SELECT pg_catalog.count(*) FROM pg_catalog.generate_series(1, 1000)",
								   false);
	PlanRounds *rounds = plan_rounds(query, modes, lengthof(modes), CALLS_DURATION_S, false,
									 "clock_impact");
	Estimate	overhead_ms = rounds_overhead_ms(rounds, 1, 0);
	ReadingCost *cost = arg;

	cost->ns = overhead_ms.value * 1e6 / rounds->node_calls;
	cost->margin_ns = overhead_ms.margin * 1e6 / rounds->node_calls;
}

static TimingCost
cost_of(const ClockSource *source)
{
	TimingCost	cost = {source->reads(source), reading_cost(source, READING_DURATION_S), {NAN, NAN}};

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
		operation.margin_ns = work->readings * cost->reading.margin_ns;
		least.ns = work->least_readings * cost->reading.ns;
	}
	ms_per_s = work->operations_per_s * operation.ns / 1e6;

	row_put_text(&row, work->setting);
	row_put_text(&row, GetConfigOption(work->setting, true, false));
	row_put_bool(&row, in_effect(work->setting));
	row_put_text(&row, work->name);
	row_put_numbers(&row, 6, ms_per_s, work->operations_per_s * operation.margin_ns / 1e6,
					work->least_operations_per_s * least.ns / 1e6);

	/* no work, no doubt */
	row_put_text(&row, !known || work->operations == 0 ? NULL : bounds[work->bound]);
	row_put_numbers(&row, 4, ms_per_s / 10,
					active_ms_per_s > 0 ? ms_per_s / active_ms_per_s * 100 : NAN);
	if (isnan(work->operations))
		row_put_null(&row);
	else
		row_put_count(&row, (int64) work->operations);
	row_put_number(&row, work->operations_per_s, 3);
	row_put_numbers(&row, 2, work->readings, operation.ns, operation.margin_ns,
					cost->reading.ns, cost->reading.margin_ns);
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
