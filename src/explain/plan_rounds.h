/*-------------------------------------------------------------------------
 *
 * plan_rounds.h
 *	  One query, executed again and again under several levels of
 *	  instrumentation, interleaved.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLAN_ROUNDS_H
#define CLOCKTIMING_PLAN_ROUNDS_H

#include "explain/plan_run.h"

/* A level of instrumentation: that of the EXPLAIN statement in "statement". */
typedef struct RunMode
{
	const char *name;
	int			instrument_options; /* as for CreateQueryDesc() */
	const char *statement;		/* what comes before the query; "" if nothing */
} RunMode;

enum
{
	MODE_PLAIN,
	MODE_ROWS,					/* TIMING OFF */
	MODE_TIMING,
	MODE_TIMING_BUFFERS,
	MODE_ROWS_BUFFERS,
	N_RUN_MODES
};

extern const RunMode run_modes[N_RUN_MODES];

/* What EXPLAIN ANALYZE is on this server, and with TIMING OFF. */
#if PG_VERSION_NUM >= 180000
#define MODE_DEFAULT_TIMING		MODE_TIMING_BUFFERS
#define MODE_DEFAULT_ROWS		MODE_ROWS_BUFFERS
#else
#define MODE_DEFAULT_TIMING		MODE_TIMING
#define MODE_DEFAULT_ROWS		MODE_ROWS
#endif

typedef struct PlanRounds
{
	int			nmodes;
	const int  *modes;
	int			target;			/* place of the first mode with timers */
	int			rounds;			/* in which each mode was executed, in a block */
	int			block;			/* executions of a mode in a round */
	int			runs[N_RUN_MODES];	/* by place in modes: executions that
									 * count, a block a round; without a
									 * complete round those of the incomplete
									 * one */
	double	  **ms;				/* [mode's place in modes][run] */
	double		node_calls;		/* executions of plan nodes in one execution,
								 * if one of the modes counts them, else 0 */
	int			executions;		/* with those that do not count */
	double		elapsed_s;		/* that all of them took */
} PlanRounds;

/*
 * Executes the query in every mode by turns, "block" times in succession, the
 * output thrown away, until the margins of timing's undisturbed and typical
 * overhead are below 2 % of it and undisturbed executions have been seen, or
 * the time is used up.  Blocks are shorter where there would be no time for
 * twenty rounds.  Two executions before that do not
 * count, unless they are long beside the duration.  No execution begins after
 * that, so that the only round may lack modes.  The overhead is that of the
 * first mode with timers over the mode before it.  With by_statement, the query
 * is parsed, planned and executed each time.
 */
extern PlanRounds *plan_rounds(const PlanQuery *query, const int *modes, int nmodes,
							   int block, double duration_s, bool by_statement,
							   const char *label);

/*
 * WARNING that there was no time for one round: so many executions took so
 * long, when this duration was allowed; "needed" is how many such durations
 * the caller has to divide up.
 */
extern void plan_rounds_warn(int executions, double elapsed_s, int nmodes,
							 double duration_s, double needed);

/*
 * Calls work(arg) in a context, which is reset afterwards, with the stack and
 * further contexts in a random place; random_places_prepare() is to be called
 * once before.
 */
extern void random_places_prepare(MemoryContext context);
extern void call_at_random_place(void (*work) (void *arg), void *arg, MemoryContext context);

/* An estimate and half of the width of its 95 % confidence interval. */
typedef struct Estimate
{
	double		value;
	double		margin;			/* NaN for a single round */
} Estimate;

/*
 * How long an execution takes in one mode, in ms; NaN without one: the mean of its fastest
 * fiftieth, or five.  What slows an execution down, it only ever slows down:
 * the fastest are those that nothing has disturbed, and there are enough of
 * them for a mean that is surer than the minimum.
 */
extern double rounds_ms(const PlanRounds *rounds, int mode);

/*
 * How much longer it takes in one mode than in another, by these means; NaN
 * unless there was an execution in both.
 */
extern Estimate rounds_overhead_ms(const PlanRounds *rounds, int mode, int base);

/*
 * How much longer an execution typically takes: the median of the differences
 * between both modes' blocks of a round, for one execution.  NaN without a
 * block in both; the margin with fewer than six.
 */
extern Estimate rounds_typical_ms(const PlanRounds *rounds, int mode, int base);

#endif							/* CLOCKTIMING_PLAN_ROUNDS_H */
