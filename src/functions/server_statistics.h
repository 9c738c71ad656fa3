/*-------------------------------------------------------------------------
 *
 * server_statistics.h
 *	  What the server has counted of the work that it could time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SERVER_STATISTICS_H
#define CLOCKTIMING_SERVER_STATISTICS_H

/* The most counters that one query asks for. */
#define MAX_COUNTERS 5

/* What some statistics have counted in a period, NAN for what is not known. */
typedef struct Counts
{
	double		total[MAX_COUNTERS];
	double		per_s[MAX_COUNTERS];
	double		period_s;
} Counts;

/* Places of counters: of the databases, ... */
enum
{
	ACTIVE_MS, BLOCKS_READ, TUPLES, DATABASE_TEMP_BLOCKS, N_OF_DATABASES
};

/* ... of statements, ... */
enum
{
	NODE_CALLS,					/* at least */
	STATEMENT_TEMP_BLOCKS,
	N_OF_STATEMENTS
};

/*
 * ... of pg_stat_io's relations (reads, writes, extends, writebacks, fsyncs), or
 * before 16 of pg_stat_bgwriter (writes by itself and the checkpointer, and by
 * backends), and of WAL (writes, fsyncs, reads from 18 on).
 */
enum
{
	N_OF_RELATIONS = PG_VERSION_NUM >= 160000 ? 5 : 2,
	N_OF_WAL = PG_VERSION_NUM >= 180000 ? 3 : 2
};

/* All that is asked for. */
typedef struct Statistics
{
	bool		observed;		/* between two snapshots, not since the reset */
	Counts		databases;		/* all together */
	Counts		relations;
	Counts		wal;
	Counts		statements;		/* all that pg_stat_statements has kept */
	const char *why_no_statements;	/* NULL: they are known */
} Statistics;

/* Since the statistics were last reset. */
extern void statistics_since_reset(Statistics *statistics);

/*
 * In so many seconds from now on, with progress reports.  Can be cancelled.  The
 * transaction's snapshots of the statistics are discarded.
 */
extern void statistics_observe(Statistics *statistics, double seconds);

#endif							/* CLOCKTIMING_SERVER_STATISTICS_H */
