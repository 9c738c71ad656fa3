/* SQL queries read the statistics: SQL hides versions' differences and checks privileges. */
#include "postgres.h"

#include <math.h>

#include "executor/spi.h"
#include "pgstat.h"
#include "utils/guc.h"

#include "clock/subtransaction.h"
#include "clock/wait.h"
#include "functions/server_statistics.h"

/*
 * Executes a query that returns a row of numbers: n totals, n rates if with_rates, and the period
 * in seconds.  Sets NAN for NULLs and if there is no row.
 */
static void
ask(const char *query, Counts *counts, int n, bool with_rates)
{
	double		figures[2 * MAX_COUNTERS + 1];
	int			nfigures = (with_rates ? 2 * n : n) + 1;

	SPI_connect();
	if (SPI_execute(query, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute failed: %s", query);
	for (int i = 0; i < nfigures; i++)
	{
		bool		isnull = true;
		Datum		value = 0;

		if (SPI_processed > 0)
			value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
								  i + 1, &isnull);
		figures[i] = isnull ? NAN : DatumGetFloat8(value);
	}
	SPI_finish();

	counts->period_s = figures[nfigures - 1];
	for (int i = 0; i < n; i++)
	{
		counts->total[i] = figures[i];
		counts->per_s[i] = with_rates ? figures[n + i] :
			counts->period_s > 0 ? figures[i] / counts->period_s : NAN;
	}
}

/* Subtracts earlier counts, taken "seconds" ago. */
static void
subtract(Counts *counts, const Counts *before, double seconds)
{
	for (int i = 0; i < MAX_COUNTERS; i++)
	{
		counts->total[i] -= before->total[i];
		/* the counter was reset */
		if (counts->total[i] < 0)
			counts->total[i] = NAN;
		counts->per_s[i] = counts->total[i] / seconds;
	}
	counts->period_s = seconds;
}

/*
 * If a database's statistics were never reset, they were counted since all statistics were
 * discarded, by initdb or after a crash.  That also reset the shared statistics, whose oldest time
 * of reset is therefore used.
 */
static void
ask_databases(Counts *databases)
{
	ask("SELECT sum(d.active_time), sum(d.blks_read)::float8, sum(d.tup_returned)::float8, sum(d.temp_bytes / b.size)::float8, "
		"       sum(d.active_time / p.s), sum(d.blks_read / p.s), sum(d.tup_returned / p.s), "
		"       sum(d.temp_bytes / b.size / p.s)::float8, max(p.s) "
		"FROM pg_stat_database AS d, "
		"     (SELECT least(b.stats_reset, w.stats_reset, a.stats_reset) AS discarded "
		"      FROM pg_stat_bgwriter AS b, pg_stat_wal AS w, pg_stat_archiver AS a) AS f, "
		"     (SELECT current_setting('block_size')::int8 AS size) AS b, "
		"     LATERAL (SELECT nullif(extract(epoch FROM clock_timestamp() - "
		"                                    coalesce(d.stats_reset, f.discarded))::float8, 0) AS s) AS p",
		databases, N_OF_DATABASES, true);

	/* track_counts turns off counting rows and blocks */
	if (!pgstat_track_counts)
	{
		databases->total[BLOCKS_READ] = databases->per_s[BLOCKS_READ] = NAN;
		databases->total[TUPLES] = databases->per_s[TUPLES] = NAN;
	}
}

static void
ask_relations(Counts *relations)
{
#if PG_VERSION_NUM >= 160000
	ask("SELECT sum(reads)::float8, sum(writes)::float8, sum(extends)::float8, sum(writebacks)::float8, "
		"       sum(fsyncs)::float8, extract(epoch FROM clock_timestamp() - min(stats_reset))::float8 "
		"FROM pg_stat_io WHERE object <> 'wal'", relations, N_OF_RELATIONS, false);
#else
	ask("SELECT (buffers_checkpoint + buffers_clean)::float8, buffers_backend::float8, "
		"       extract(epoch FROM clock_timestamp() - stats_reset)::float8 FROM pg_stat_bgwriter",
		relations, N_OF_RELATIONS, false);
#endif
}

static void
ask_wal(Counts *wal)
{
#if PG_VERSION_NUM >= 180000
	ask("SELECT sum(writes)::float8, sum(fsyncs)::float8, sum(reads)::float8, "
		"       extract(epoch FROM clock_timestamp() - min(stats_reset))::float8 "
		"FROM pg_stat_io WHERE object = 'wal'", wal, N_OF_WAL, false);
#else
	ask("SELECT wal_write::float8, wal_sync::float8, "
		"       extract(epoch FROM clock_timestamp() - stats_reset)::float8 FROM pg_stat_wal",
		wal, N_OF_WAL, false);
#endif
}

typedef struct StatementsQuery
{
	const char *schema;			/* schema of pg_stat_statements */
	Counts	   *statements;
} StatementsQuery;

/*
 * Each of these statements calls its topmost node, or the one below it, once per row and once at
 * the end. Calls of other nodes are not known.  Other statements, such as COPY, count rows without
 * calling a node.
 */
static void
ask_statements_in(void *arg)
{
	StatementsQuery *query = arg;

	ask(psprintf("SELECT coalesce(sum(s.calls + s.rows) FILTER (WHERE s.toplevel AND s.query ~* "
				 "           '^\\s*(select|with|insert|update|delete|merge|values|table)\\y'), 0)::float8, "
				 "       coalesce(sum(s.temp_blks_read + s.temp_blks_written), 0)::float8, "
				 "       (SELECT extract(epoch FROM clock_timestamp() - i.stats_reset)::float8 "
				 "        FROM %s.pg_stat_statements_info AS i) "
				 "FROM %s.pg_stat_statements AS s",
				 query->schema, query->schema),
		query->statements, N_OF_STATEMENTS, false);
}

/* Returns NULL, or the reason why nothing is known. */
static const char *
ask_statements(Counts *statements)
{
	StatementsQuery query = {NULL, statements};
	MemoryContext caller = CurrentMemoryContext;
	const char *message;

	for (int i = 0; i < N_OF_STATEMENTS; i++)
		statements->total[i] = statements->per_s[i] = NAN;
	statements->period_s = NAN;
	SPI_connect();
	if (SPI_execute("SELECT quote_ident(n.nspname) FROM pg_extension AS e "
					"JOIN pg_namespace AS n ON n.oid = e.extnamespace "
					"WHERE e.extname = 'pg_stat_statements'", true, 1) == SPI_OK_SELECT &&
		SPI_processed > 0)
		query.schema = MemoryContextStrdup(caller, SPI_getvalue(SPI_tuptable->vals[0],
																SPI_tuptable->tupdesc, 1));
	SPI_finish();
	if (query.schema == NULL)
		return "pg_stat_statements is not installed in this database";

	/* it may not be preloaded, be too old, or be forbidden for this user */
	message = subtransaction_attempt(ask_statements_in, &query);
	return message == NULL ? NULL : psprintf("pg_stat_statements cannot be read: %s", message);
}

void
statistics_since_reset(Statistics *statistics)
{
	int			nest_level = NewGUCNestLevel();

	memset(statistics, 0, sizeof(*statistics));

	/* the system's names and operators, and no escapes */
	(void) set_config_option("search_path", "pg_catalog, pg_temp",
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	(void) set_config_option("standard_conforming_strings", "on",
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	ask_databases(&statistics->databases);
	ask_relations(&statistics->relations);
	ask_wal(&statistics->wal);
	statistics->why_no_statements = ask_statements(&statistics->statements);
	AtEOXact_GUC(true, nest_level);
}

static void
report(void *arg, double elapsed_s)
{
	Wait	   *wait = arg;

	progress_report(&wait->progress, elapsed_s, "the server's work is being counted");
}

/*
 * The snapshots are cleared, because the second read would return the first one's values.  This
 * backend reports its own work after the transaction, so that these queries are not counted.
 */
void
statistics_observe(Statistics *statistics, double seconds)
{
	Statistics	before;
	Wait		wait;

	pgstat_clear_snapshot();
	statistics_since_reset(&before);
	wait_start(&wait, "clock_impact", seconds, report, &wait);
	(void) wait_until(&wait, seconds);
	pgstat_clear_snapshot();
	statistics_since_reset(statistics);
	seconds = progress_elapsed_s(&wait.progress);

	statistics->observed = true;
	subtract(&statistics->databases, &before.databases, seconds);
	subtract(&statistics->relations, &before.relations, seconds);
	subtract(&statistics->wal, &before.wal, seconds);
	subtract(&statistics->statements, &before.statements, seconds);
}
