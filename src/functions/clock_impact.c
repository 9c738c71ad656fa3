/*
 * clock_impact(): cost of timing for the work that this server did.
 *
 * The server counts most operations that it could time.  Timing an operation takes two readings of
 * the clock.  If the statistics count something else, such as blocks, they bound the number of
 * operations.  The work is that since the last reset, or between two snapshots of the statistics.
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "pgstat.h"
#include "utils/guc.h"

#include "clock/reading_cost.h"
#include "clock/subtransaction.h"
#include "compat.h"
#include "explain/plan_rounds.h"
#include "functions/row.h"
#include "functions/server_statistics.h"

PG_FUNCTION_INFO_V1(internal_clock_impact);

/* Durations of measuring a clock's readings and a plan, in seconds. */
#define READING_DURATION_S	0.15
#define CALLS_DURATION_S	0.45

/* Range of the time between two snapshots, in seconds. */
#define MIN_SECONDS			0.1
#define MAX_SECONDS			86400.0

/*
 * Maximum number of blocks per timed operation, where the server counts blocks:
 * MAX_IO_COMBINE_LIMIT, MAX_BUFFERS_TO_EXTEND_BY and WRITEBACK_MAX_PENDING_FLUSHES.
 */
#define BLOCKS_OF_READ		(PG_VERSION_NUM / 10000 == 17 ? 32 : 1)
#define BLOCKS_OF_EXTENSION (PG_VERSION_NUM / 10000 < 18 ? 64 : 1)
#define BLOCKS_OF_WRITEBACK 256

/* Typical cost of timing one operation, in ns. */
typedef struct TimingCost
{
	const char *clock;			/* name of the clock */
	Estimate	reading;
	Estimate	operation;		/* NAN: that of its readings */
} TimingCost;

/* Direction of the possible error of a number of operations. */
typedef enum CountBound
{
	EXACT,
	AT_MOST,
	AT_LEAST,
	ESTIMATE
} CountBound;

/* Work of one kind.  NAN means unknown. */
typedef struct Work
{
	const char *setting;		/* that times it */
	const char *name;
	const char *statistics;		/* source of the figures */
	double		operations;
	double		operations_per_s;
	double		least_operations_per_s;
	double		period_s;
	double		readings;		/* per operation */
	double		least_readings;
	CountBound	bound;
	const char *reason;			/* why something is unknown */
} Work;

/* Work done in a period: operations, or blocks of which some may be done at a time. */
static Work
counted(const char *setting, const char *name, const Statistics *all, const char *statistics,
		const Counts *counts, int i, int max_blocks)
{
	Work		work = {
		.setting = setting, .name = name, .statistics = statistics,
		.operations = counts->total[i], .period_s = counts->period_s,
		.operations_per_s = counts->per_s[i], .least_operations_per_s = counts->per_s[i],
		.readings = 2, .least_readings = 2.0 / max_blocks,
		.bound = max_blocks > 1 ? AT_MOST : EXACT
	};

	if (isnan(work.operations_per_s))
		work.reason = psprintf(all->observed ? "%s was reset meanwhile" :
							   "%s does not say how much was done since when", statistics);
	else if (max_blocks > 1)
		work.reason = psprintf("blocks are counted, of which up to %d may be done, and timed, at once",
							   max_blocks);
	return work;
}

/* Sets the bound, and its reason unless there is a reason already. */
static void
set_bound(Work *work, CountBound bound, const char *reason)
{
	work->bound = bound;
	if (work->reason == NULL)
		work->reason = reason;
}

/* Returns the work on relations that track_io_timing times. */
static int
work_on_relations(Work *works, const Statistics *all)
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

	for (int i = 0; i < (int) lengthof(kinds); i++)
		works[i] = counted(setting, kinds[i].name, all, "pg_stat_io", &all->relations, i,
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

	/* only reads and writes; extensions are not counted apart */
	works[0] = counted(setting, "relation reads", all, "pg_stat_database",
					   &all->databases, BLOCKS_READ, 1);
	works[0].least_operations_per_s = 0;
	if (!pgstat_track_counts)
		works[0].reason = "track_counts is off";
	set_bound(&works[0], AT_MOST,
			  "blks_read contains blocks that tables were extended by, which is not timed before PostgreSQL 16");

	works[1] = counted(setting, "relation writes", all, "pg_stat_bgwriter", &all->relations, 0, 1);
	works[1].operations += all->relations.total[1];
	works[1].operations_per_s += all->relations.per_s[1];
	set_bound(&works[1], AT_MOST,
			  "buffers_backend contains blocks that tables were extended by, which is not timed before PostgreSQL 16");
	return 2;
#endif
}

/*
 * track_io_timing times blocks of temporary files.  The server counts the final sizes of the
 * files, so each of their blocks was written at least once; pg_stat_statements counts reads and
 * writes.
 */
static Work
work_on_temporary_files(const Statistics *all)
{
	static const char *const setting = "track_io_timing";
	static const char *const name = "temporary files";
	double		by_databases = all->databases.per_s[DATABASE_TEMP_BLOCKS];
	double		by_statements = all->statements.per_s[STATEMENT_TEMP_BLOCKS];
	Work		work;

	if (!isnan(by_statements) && !(by_statements < by_databases))
	{
		work = counted(setting, name, all, "pg_stat_statements",
					   &all->statements, STATEMENT_TEMP_BLOCKS, 1);
		work.reason = "only statements that pg_stat_statements has kept are counted";
	}
	else
		work = counted(setting, name, all, "pg_stat_database",
					   &all->databases, DATABASE_TEMP_BLOCKS, 1);
	set_bound(&work, AT_LEAST,
			  "the sizes of files are counted, and not how often a block was written and read");
	return work;
}

static int
work_on_wal(Work *works, const Statistics *all)
{
	static const char *const names[] = {"WAL writes", "WAL fsyncs", "WAL reads"};

	for (int i = 0; i < N_OF_WAL; i++)
		works[i] = counted("track_wal_io_timing", names[i], all,
						   PG_VERSION_NUM >= 180000 ? "pg_stat_io" : "pg_stat_wal", &all->wal, i, 1);
	return N_OF_WAL;
}

/* Returns the number of a setting of auto_explain; "otherwise" if auto_explain is not loaded. */
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
 * Estimates the calls of plan nodes, which the server does not count, by the rows that scans found.
 * Scans discard some of these rows, and nodes above the scans return rows, too.
 */
static Work
work_of_plans(const char *setting, const Statistics *all)
{
	double		sample_rate = auto_explain_number("auto_explain.sample_rate", 1);
	double		by_scans = all->databases.per_s[TUPLES];
	double		by_statements = all->statements.per_s[NODE_CALLS];
	const char *why_no_statements = all->why_no_statements != NULL ? all->why_no_statements :
		isnan(by_statements) ? "pg_stat_statements was reset just now" : NULL;
	Work		work = counted(setting, "calls of plan nodes", all, "pg_stat_database",
							   &all->databases, TUPLES, 1);

	work.least_operations_per_s = by_statements;
	work.bound = ESTIMATE;
	if (!isnan(by_statements) && !(by_statements <= by_scans))
	{
		work.statistics = "pg_stat_statements";
		work.operations = all->statements.total[NODE_CALLS];
		work.operations_per_s = by_statements;
		work.period_s = all->statements.period_s;
		work.bound = AT_LEAST;
		work.reason = "they are not counted; there are as many at least as statements returned rows, and one a statement";
	}
	else if (isnan(by_scans))
		work.reason = psprintf("%s, and %s", pgstat_track_counts ? work.reason : "track_counts is off",
							   why_no_statements);
	else
	{
		work.reason = "they are not counted; as many are assumed as scans found rows";
		if (why_no_statements != NULL)
			work.reason = psprintf("%s; what there are at least is not known, because %s",
								   work.reason, why_no_statements);
	}
	if (sample_rate != 1)
		work.reason = psprintf("%s; auto_explain.sample_rate is %g", work.reason, sample_rate);
	work.operations_per_s *= sample_rate;
	work.least_operations_per_s *= sample_rate;
	return work;
}

/* Cost of counting a call of a plan node, and the additional cost of timing it. */
typedef struct CallCosts
{
	Estimate	counting;
	Estimate	timing;
} CallCosts;

static Estimate
cost_of_a_call(const PlanRounds *rounds, int mode)
{
	Estimate	overhead_ms = rounds_typical_ms(rounds, mode, mode - 1);

	if (isnan(overhead_ms.value))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the server was too busy to measure it")));
	/* noise may make it negative */
	return (Estimate)
	{
		.value = Max(overhead_ms.value, 0) * 1e6 / rounds->node_calls,
			.margin = overhead_ms.margin * 1e6 / rounds->node_calls
	};
}

static void
measure_calls(void *arg)
{
	static const int modes[] = {MODE_PLAIN, MODE_ROWS, MODE_TIMING};
	PlanQuery  *query = plan_query("SELECT pg_catalog.count(*) FROM pg_catalog.generate_series(1, 1000)",
									NULL,
								   false);
	PlanRounds *rounds = plan_rounds(query, modes, lengthof(modes), 1, CALLS_DURATION_S, false,
									 "clock_impact");
	CallCosts  *costs = arg;

	costs->counting = cost_of_a_call(rounds, 1);
	costs->timing = cost_of_a_call(rounds, 2);
}

static TimingCost
cost_of(const ClockSource *source)
{
	ReadingCost reading = reading_cost(source, READING_DURATION_S);

	return (TimingCost)
	{
		source->reads(source),
		{
			reading.typical_ns, reading.typical_margin_ns
		},
		{
			NAN, NAN
		}
	};
}

static bool
in_effect(const char *setting)
{
	if (strncmp(setting, "auto_explain.", strlen("auto_explain.")) == 0 &&
		!(is_on("auto_explain.log_analyze") &&
		  auto_explain_number("auto_explain.log_min_duration", -1) >= 0))
		return false;
	return is_on(setting);
}

static void
put_work(FunctionCallInfo fcinfo, const Work *work, const TimingCost *cost,
		 const Statistics *all)
{
	static const char *const bounds[] = {
		[EXACT] = NULL,[AT_MOST] = "at most",[AT_LEAST] = "at least",[ESTIMATE] = "estimate"
	};
	bool		known = !isnan(work->operations_per_s);
	double		active_ms_per_s = all->databases.per_s[ACTIVE_MS];
	Estimate	operation = cost->operation;
	Estimate	least = cost->operation;
	double		cpu_percent;
	Row			row = row_of_set(fcinfo);

	if (isnan(operation.value))
	{
		operation.value = work->readings * cost->reading.value;
		operation.margin = work->readings * cost->reading.margin;
		least.value = work->least_readings * cost->reading.value;
	}
	/* nanoseconds per second, in percent */
	cpu_percent = work->operations_per_s * operation.value / 1e7;

	row_put_text(&row, work->setting);
	row_put_text(&row, GetConfigOption(work->setting, true, false));
	row_put_bool(&row, in_effect(work->setting));
	row_put_text(&row, work->name);
	row_put_numbers(&row, 4, cpu_percent, work->operations_per_s * operation.margin / 1e7,
					work->least_operations_per_s * least.value / 1e7);

	/* without work, nothing is uncertain */
	row_put_text(&row, !known || work->operations == 0 ? NULL : bounds[work->bound]);
	if (isnan(work->operations))
		row_put_null(&row);
	else
		row_put_count(&row, (int64) work->operations);
	row_put_number(&row, work->operations_per_s, 3);
	row_put_numbers(&row, 2, operation.value, operation.margin, cost->reading.value);
	row_put_number(&row, work->period_s, 3);
	row_put_text(&row, all->observed ? "observed" : "since the last reset");
	row_put_numbers(&row, 2, work->readings, cost->reading.margin);
	row_put_text(&row, cost->clock);
	row_put_number(&row, active_ms_per_s > 0 ? cpu_percent * 10 / active_ms_per_s * 100 : NAN, 4);
	row_put_text(&row, work->statistics);
	row_put_text(&row, known && work->operations == 0 ? NULL : work->reason);
	row_to_set(&row, fcinfo);
}

/* Returns all timed work except that of plans: up to 16 kinds. */
static int
other_works(Work *works, const Statistics *all)
{
	int			n = work_on_relations(works, all);

	works[n++] = work_on_temporary_files(all);
	return n + work_on_wal(works + n, all);
}

/* Returns the rows of settings that time, for a known cost of a reading.  Measures nothing. */
static void
put_works_of_cost(FunctionCallInfo fcinfo, const Statistics *all, double cost_ns)
{
	TimingCost	cost = {NULL, {cost_ns, NAN}, {NAN, NAN}};
	Work		works[16];
	int			n = other_works(works, all);

	works[n++] = work_of_plans("auto_explain.log_timing", all);
	Assert(n <= (int) lengthof(works));
	for (int i = 0; i < n; i++)
		put_work(fcinfo, &works[i], &cost, all);
}

Datum
internal_clock_impact(PG_FUNCTION_ARGS)
{
	const ClockSource *of_io = clock_source_get(clock_source_for_other_timing());
	const ClockSource *of_plans = clock_source_get(clock_source_for_explain());
	Statistics	all;
	Work		works[16];
	Work		analyze;
	Work		timing;
	int			n;
	TimingCost	io;
	TimingCost	counting = {NULL, {NAN, NAN}, {NAN, NAN}};
	TimingCost	plans;
	CallCosts	calls = {{NAN, NAN}, {NAN, NAN}};
	const char *why_not;

	if (!PG_ARGISNULL(0) &&
		!(PG_GETARG_FLOAT8(0) >= MIN_SECONDS && PG_GETARG_FLOAT8(0) <= MAX_SECONDS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("seconds must be between %g and %.0f", MIN_SECONDS, MAX_SECONDS),
				 errdetail("The number given is %g.", PG_GETARG_FLOAT8(0)),
				 errhint("Without seconds, the statistics since their last reset are used.")));
	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		statistics_since_reset(&all);
	else
		statistics_observe(&all, PG_GETARG_FLOAT8(0));
	if (!PG_ARGISNULL(1))
	{
		put_works_of_cost(fcinfo, &all, PG_GETARG_FLOAT8(1));
		return (Datum) 0;
	}
	n = other_works(works, &all);
	Assert(n <= (int) lengthof(works));
	analyze = work_of_plans("auto_explain.log_analyze", &all);
	analyze.readings = analyze.least_readings = 0;
	timing = work_of_plans("auto_explain.log_timing", &all);
	timing.reason = psprintf("what timing adds to log_analyze, without which nothing is timed; %s",
							 timing.reason);

	io = cost_of(of_io);
	plans = of_plans == of_io ? io : cost_of(of_plans);
	why_not = subtransaction_attempt(measure_calls, &calls);
	if (why_not != NULL)
	{
		analyze.reason = psprintf("what counting a call costs is not known, because %s", why_not);
		timing.reason = psprintf("%s; a call is assumed to cost two readings, because %s",
								 timing.reason, why_not);
	}
	analyze.reason = psprintf("%s; writing plans to the log comes on top, and costs by far the most where each statement is logged",
							  analyze.reason);
	counting.operation = calls.counting;
	plans.operation = calls.timing;
	for (int i = 0; i < n; i++)
		put_work(fcinfo, &works[i], &io, &all);
	put_work(fcinfo, &analyze, &counting, &all);
	put_work(fcinfo, &timing, &plans, &all);
	return (Datum) 0;
}
