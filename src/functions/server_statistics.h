/* The server's statistics of work that it can time. */
#ifndef CLOCKTIMING_SERVER_STATISTICS_H
#define CLOCKTIMING_SERVER_STATISTICS_H

/* Maximum number of counters of a query. */
#define MAX_COUNTERS 5

/* Counts in a period; NAN: not known. */
typedef struct Counts
{
	double		total[MAX_COUNTERS];
	double		per_s[MAX_COUNTERS];
	double		period_s;
} Counts;

/* Indexes of counters: of databases, */
enum
{
	ACTIVE_MS, BLOCKS_READ, TUPLES, DATABASE_TEMP_BLOCKS, N_OF_DATABASES
};

/* of statements, */
enum
{
	NODE_CALLS,					/* lower bound */
	STATEMENT_TEMP_BLOCKS,
	N_OF_STATEMENTS
};

/*
 * of pg_stat_io's relations (reads, writes, extends, writebacks, fsyncs), or before 16 of
 * pg_stat_bgwriter (writes by itself and the checkpointer, and by backends), and of WAL (writes,
 * fsyncs, reads from 18 on).
 */
enum
{
	N_OF_RELATIONS = PG_VERSION_NUM >= 160000 ? 5 : 2,
	N_OF_WAL = PG_VERSION_NUM >= 180000 ? 3 : 2
};

typedef struct Statistics
{
	bool		observed;		/* between two snapshots */
	Counts		databases;		/* all databases */
	Counts		relations;
	Counts		wal;
	Counts		statements;		/* all of pg_stat_statements */
	const char *why_no_statements;	/* NULL: known */
} Statistics;

/* Reads the statistics since the last reset. */
extern void statistics_since_reset(Statistics *statistics);

/*
 * Reads the statistics of the next "seconds" seconds, with progress reports.  Can be cancelled.
 * Clears the transaction's snapshots of the statistics.
 */
extern void statistics_observe(Statistics *statistics, double seconds);

#endif							/* CLOCKTIMING_SERVER_STATISTICS_H */
