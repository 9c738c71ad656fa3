/* Executes a query repeatedly, alternating between several levels of instrumentation. */
#ifndef CLOCKTIMING_PLAN_ROUNDS_H
#define CLOCKTIMING_PLAN_ROUNDS_H

#include "plan/explain/plan_run.h"

/* A level of instrumentation, and the EXPLAIN statement that uses it. */
typedef struct RunMode
{
	const char *name;
	int			instrument_options; /* as for CreateQueryDesc() */
	const char *statement;		/* text before the query; may be empty */
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

/* The levels of EXPLAIN ANALYZE and EXPLAIN (ANALYZE, TIMING OFF) on this server. */
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
	int			target;			/* index of the first mode with timers */
	int			rounds;			/* complete rounds, with a block of each mode */
	int			block;			/* number of executions of a mode in a round */
	int			runs[N_RUN_MODES];	/* number of executions of each mode, by
									 * its index in modes; only those of
									 * complete rounds, or of an incomplete
									 * first round */
	double	  **ms;				/* [index in modes][execution] */
	double		node_calls;		/* calls of nodes per execution; 0: unknown */
	int			executions;		/* number of all executions, with warm-ups */
	double		elapsed_s;		/* duration of all executions */
} PlanRounds;

/*
 * Executes the query in turn in each mode, "block" times in succession, and discards its output.
 * Stops when the duration is used up, or when the timing overhead is known to 2 %.  The timing
 * overhead is that of the first mode with timers over the mode before it.
 *
 * Blocks are shorter if the duration does not suffice for twenty rounds.  No execution begins after
 * the end of the duration, so the first round may be incomplete and lack modes.  With by_statement,
 * the query is also parsed and planned each time.
 */
extern PlanRounds *plan_rounds(const PlanQuery *query, const int *modes, int nmodes,
							   int block, double duration_s, bool by_statement,
							   const char *label);

/* Warns that the duration is too short; recommends "needed" times the duration of two rounds. */
extern void plan_rounds_warn(int executions, double elapsed_s, int nmodes,
							 double duration_s, double needed);

/*
 * Calls work(arg) with stack and memory contexts at random addresses. random_places_prepare() must
 * be called once before.
 */
extern void random_places_prepare(MemoryContext context);
extern void call_at_random_place(void (*work) (void *arg), void *arg, MemoryContext context);

/* An estimate and half of the width of its 95 % confidence interval. */
typedef struct Estimate
{
	double		value;
	double		margin;			/* NaN after a single round */
} Estimate;

/*
 * Returns the duration of an execution in one mode, in ms; NaN without executions in this mode.  It
 * is the mean of the fastest 2 % of the executions, but at least of five, because disturbances only
 * slow executions down.
 */
extern double rounds_ms(const PlanRounds *rounds, int mode);

/* Returns the difference of rounds_ms() between two modes; NaN unless both have executions. */
extern Estimate rounds_overhead_ms(const PlanRounds *rounds, int mode, int base);

/*
 * Returns the typical overhead of a mode over the mode "base", per execution: the median over
 * rounds of the difference between the mean durations of the two modes' blocks.  NaN if no round
 * has both blocks; the margin is NaN for fewer than six rounds.
 */
extern Estimate rounds_typical_ms(const PlanRounds *rounds, int mode, int base);

#endif							/* CLOCKTIMING_PLAN_ROUNDS_H */
