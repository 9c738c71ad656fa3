/*-------------------------------------------------------------------------
 *
 * plan_run.h
 *	  One query, executed again and again under several levels of
 *	  instrumentation, interleaved.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLAN_RUN_H
#define CLOCKTIMING_PLAN_RUN_H

#include "executor/execdesc.h"
#include "nodes/plannodes.h"

/* A level of instrumentation: that of the EXPLAIN statement in "statement". */
typedef struct ExecutorMode
{
	const char *name;
	int			instrument_options; /* as for CreateQueryDesc() */
	const char *statement;		/* what comes before the query; "" if nothing */
} ExecutorMode;

enum
{
	MODE_PLAIN,
	MODE_ROWS,					/* TIMING OFF */
	MODE_TIMING,
	MODE_TIMING_BUFFERS,
	MODE_ROWS_BUFFERS,
	N_EXECUTOR_MODES
};

extern const ExecutorMode executor_modes[N_EXECUTOR_MODES];

/* What EXPLAIN ANALYZE is on this server, and with TIMING OFF. */
#if PG_VERSION_NUM >= 180000
#define MODE_DEFAULT_TIMING		MODE_TIMING_BUFFERS
#define MODE_DEFAULT_ROWS		MODE_ROWS_BUFFERS
#else
#define MODE_DEFAULT_TIMING		MODE_TIMING
#define MODE_DEFAULT_ROWS		MODE_ROWS
#endif

typedef struct ExecutorQuery
{
	const char *text;
	PlannedStmt *plan;
	bool		writes;			/* data, and may do so */
	bool		parallel;		/* the plan may use workers */
	bool		jit;			/* the plan is compiled */
} ExecutorQuery;

/*
 * Parses, checks and plans one statement, with the caller's privileges.  ERROR
 * unless it is exactly one SELECT, VALUES, TABLE or WITH that writes nothing,
 * or, if allow_writes, an INSERT, UPDATE, DELETE or MERGE.
 */
extern ExecutorQuery *executor_prepare(const char *text, bool allow_writes);

/*
 * One execution, and somebody who looks on.  Each function may be NULL.  What
 * "finished" allocates in CurrentMemoryContext stays.
 */
typedef struct ExecutorWatch
{
	int			instrument_options;
	void		(*started) (QueryDesc *desc, void *arg);	/* before anything is
															 * executed */
	void		(*ran) (void *arg); /* after ExecutorRun() */
	void		(*ended) (void *arg);	/* after ExecutorFinish() */
	void		(*finished) (QueryDesc *desc, void *arg);	/* before ExecutorEnd() */
	void	   *arg;

	double		run_ms;			/* out: what ExecutorRun() and
								 * ExecutorFinish() took */
} ExecutorWatch;

/*
 * Executes the query once, the output thrown away; what it writes is rolled
 * back.
 */
extern void executor_watch(const ExecutorQuery *query, ExecutorWatch *watch);

typedef struct ExecutorRuns
{
	int			nmodes;
	const int  *modes;			/* the first is what the others are compared
								 * to */
	int			rounds;			/* each mode was executed once a round */
	double	  **ms;				/* [mode's place in modes][round] */
	double		node_calls;		/* executions of plan nodes in one execution,
								 * if one of the modes counts them, else 0 */
} ExecutorRuns;

typedef struct ExecutorOptions
{
	const int  *modes;
	int			nmodes;
	double		duration_s;		/* time allowed */
	int			target;			/* place in modes of the overhead that decides
								 * when to stop ... */
	int			base;			/* ... over this one */
	bool		by_statement;	/* the whole way of a statement, each time */
	const char *label;			/* for progress */
} ExecutorOptions;

/*
 * Executes the query in every mode by turns, the output thrown away, until
 * the margin of the target's overhead is below 2 % of it and undisturbed
 * executions have been seen, or the time is used up; one round at least, after
 * one that does not count.
 */
extern ExecutorRuns *executor_measure(const ExecutorQuery *query,
									  const ExecutorOptions *options);

/* An estimate and half of the width of its 95 % confidence interval. */
typedef struct Estimate
{
	double		value;
	double		error;			/* NaN for a single round */
} Estimate;

/*
 * How long an execution takes in one mode, in ms: the mean of its fastest
 * fiftieth, or five.  What slows an execution down, it only ever slows down:
 * the fastest are those that nothing has disturbed, and there are enough of
 * them for a mean that is surer than the minimum.
 */
extern double executor_ms(const ExecutorRuns *runs, int mode);

/* How much longer it takes in one mode than in another, by these means. */
extern Estimate executor_overhead_ms(const ExecutorRuns *runs, int mode, int base);

#endif							/* CLOCKTIMING_PLAN_RUN_H */
