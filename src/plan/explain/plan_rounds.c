/*
 * Executes a query repeatedly, in order to measure small differences between levels of
 * instrumentation (modes).
 *
 * A difference of some percent is smaller than the changes of the machine's speed from second to
 * second.  So the modes take turns, in an order that changes, and differences are formed within
 * rounds.  Disturbances only slow executions down.  So the time of a mode is the mean of its
 * fastest executions (FASTEST_SHARE); the median of all rounds is the typical difference.
 *
 * Two errors do not average out.  The addresses of memory may make all executions of a mode slower
 * than those of another one, so each execution uses other addresses (call_at_random_place()).  And
 * malloc() may return memory to the kernel after each execution, which then causes page faults in
 * the next one, so a block at the end of the heap is kept (warm_up()).
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "executor/instrument.h"
#include "executor/spi.h"
#include "tcop/dest.h"
#include "utils/memutils.h"

#include "compat.h"
#include "core/reference.h"
#include "core/stats.h"
#include "plan/explain/plan_guard.h"
#include "plan/explain/plan_rounds.h"
#include "server/progress.h"

/*
 * A round executes the query in each mode: with each level of instrumentation.  Rounds end when the
 * margin of the timing overhead is at most this share of the overhead.
 */
#define GOOD_MARGIN		0.02

/*
 * Smallest number of rounds, and smallest share of the requested duration, before margins are
 * checked.  Noise of successive rounds is correlated, so early margins are too small.
 */
#define MIN_ROUNDS		10
#define MIN_SHARE		0.5
#define CALM_ROUNDS		20		/* rounds that must fit into the duration;
								 * blocks are shortened accordingly */
#define MOST_EXECUTIONS	100000	/* largest number of executions of a mode */
#define CONFIDENCE		0.95

/* A mode's time is the mean of its fastest executions: of this share, but at least FASTEST_MIN. */
#define FASTEST_SHARE	0.02
#define FASTEST_MIN		5

/*
 * Rounds go on while the mean of the fastest SETTLED_SHARE of a mode's executions is above
 * SETTLED_RATIO times the mode's time.
 */
#define SETTLED_SHARE	0.1
#define SETTLED_RATIO	1.01

/*
 * Each execution uses other memory addresses.  Up to N_PADS memory contexts are allocated before
 * those of the executor, at random distances of up to PAD_STEPS * PAD_STEP bytes.  The stack is
 * moved by up to STACK_STEPS * STACK_STEP bytes.
 */
#define N_PADS			32
#define PAD_STEPS		1024
#define PAD_STEP		64
#define STACK_STEPS		256
#define STACK_STEP		16

/*
 * Size in bytes of a block that is kept at the heap's end, so that malloc() does not return memory
 * to the kernel after each execution.  Too large for free chunks, too small for mmap().
 */
#define HEAP_KEEPER_SIZE (120 * 1024)

#if PG_VERSION_NUM >= 180000
#define BUFFERS_OFF ", BUFFERS OFF"
#else
#define BUFFERS_OFF ""
#endif

const RunMode run_modes[N_RUN_MODES] = {
	[MODE_PLAIN] = {"plain", 0, ""},
	[MODE_ROWS] = {"timing off", INSTRUMENT_ROWS,
	"EXPLAIN (ANALYZE, TIMING OFF" BUFFERS_OFF ") "},
	[MODE_TIMING] = {"timing on", INSTRUMENT_TIMER,
	"EXPLAIN (ANALYZE" BUFFERS_OFF ") "},
	[MODE_TIMING_BUFFERS] = {"timing on, buffers",
		INSTRUMENT_TIMER | INSTRUMENT_BUFFERS,
	"EXPLAIN (ANALYZE, BUFFERS) "},
	[MODE_ROWS_BUFFERS] = {"timing off, buffers",
		INSTRUMENT_ROWS | INSTRUMENT_BUFFERS,
	"EXPLAIN (ANALYZE, TIMING OFF, BUFFERS) "},
};

typedef struct Execution
{
	const PlanQuery *query;
	const RunMode *mode;
	bool		by_statement;
	double	   *node_calls;		/* set to the number of node calls; or NULL */
	MemoryContext heap_keeper;	/* gets a block at the heap's end; or NULL */
	double		ms;
} Execution;

static void
execution_finished(QueryDesc *desc, void *arg)
{
	const Execution *execution = arg;

	if (execution->heap_keeper != NULL)
		(void) MemoryContextAlloc(execution->heap_keeper, HEAP_KEEPER_SIZE);
	if (execution->node_calls != NULL)
		*execution->node_calls = plan_node_calls(desc);
}

static void
send_statement(void *arg)
{
	Execution  *execution = arg;
	uint64		start = reference_ns();
	char	   *statement = psprintf("%s%s", execution->mode->statement, execution->query->text);
	SPIExecuteOptions options = {.dest = None_Receiver};

	SPI_connect();
	if (SPI_execute_extended(statement, &options) < 0)
		elog(ERROR, "SPI_execute_extended failed: %s", statement);
	SPI_finish();
	execution->ms = (reference_ns() - start) / 1e6;
}

static void
execute_once(void *arg)
{
	Execution  *execution = arg;
	const PlanQuery *query = execution->query;
	PlanObserver observer = {
		.instrument_options = execution->mode->instrument_options,
		.whole = true,
		.arg = execution
	};

	if (execution->node_calls != NULL || execution->heap_keeper != NULL)
		observer.after_finish = execution_finished;
	if (execution->by_statement)
		guarded_work(query->text, query->may_write, true, query->role, send_statement, execution);
	else
		execution->ms = plan_run(query, &observer);
}

/*
 * Allocates n contexts, so that the executor's contexts have other addresses in each execution.
 * With "spread", their distances are random.  Without these contexts, each mode would always reuse
 * the contexts freed last.  Their addresses can make an execution slower by several times the cost
 * of timing, see doc/clocks.md.
 */
static void
take_contexts(MemoryContext parent, int n, bool spread)
{
	for (int i = 0; i < n; i++)
	{
		if (spread)
			(void) MemoryContextAlloc(parent, PAD_STEP *
									  (1 + pg_prng_uint64_range(&pg_global_prng_state, 0,
																PAD_STEPS - 1)));
		(void) AllocSetContextCreate(parent, "clocktiming pad", ALLOCSET_DEFAULT_SIZES);
	}
}

void
random_places_prepare(MemoryContext context)
{
	take_contexts(context, N_PADS, true);
	MemoryContextReset(context);
}

void
call_at_random_place(void (*work) (void *arg), void *arg, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	volatile char *pad = __builtin_alloca(STACK_STEP *
										  pg_prng_uint64_range(&pg_global_prng_state, 1,
															   STACK_STEPS));

	*pad = 0;
	take_contexts(context, (int) pg_prng_uint64_range(&pg_global_prng_state, 0, N_PADS), false);
	work(arg);
	MemoryContextSwitchTo(old);
	MemoryContextReset(context);
}

static int
fastest(int runs, double share)
{
	return Max((int) ceil(runs * share), Min(runs, FASTEST_MIN));
}

/* Returns the mean of the fastest executions, and sets *limit to the slowest one among them. */
static double
fastest_ms(const PlanRounds *rounds, int mode, double share, double *limit)
{
	int			runs = rounds->runs[mode];
	Size		size = sizeof(double) * runs;
	double	   *sorted;
	double		mean;

	if (runs == 0)
		return *limit = NAN;
	sorted = memcpy(palloc(size), rounds->ms[mode], size);
	mean = stats_low_mean(sorted, runs, fastest(runs, share), limit);
	pfree(sorted);
	return mean;
}

double
rounds_ms(const PlanRounds *rounds, int mode)
{
	double		limit;

	return fastest_ms(rounds, mode, FASTEST_SHARE, &limit);
}

static bool
settled(const PlanRounds *rounds, int mode)
{
	double		limit;

	return fastest_ms(rounds, mode, SETTLED_SHARE, &limit) <=
		rounds_ms(rounds, mode) * SETTLED_RATIO;
}

Estimate
rounds_overhead_ms(const PlanRounds *rounds, int mode, int base)
{
	int			n = Min(rounds->runs[mode], rounds->runs[base]);
	double	   *work;
	double		mode_limit;
	double		base_limit;
	Estimate	result = {NAN, NAN};

	if (n == 0)
		return result;
	work = palloc(sizeof(double) * n);
	result.value = fastest_ms(rounds, mode, FASTEST_SHARE, &mode_limit) -
		fastest_ms(rounds, base, FASTEST_SHARE, &base_limit);
	result.margin = stats_low_mean_half_width(rounds->ms[mode], mode_limit,
											  rounds->ms[base], base_limit,
											  n, fastest(n, FASTEST_SHARE),
											  CONFIDENCE, work);
	pfree(work);
	return result;
}

Estimate
rounds_typical_ms(const PlanRounds *rounds, int mode, int base)
{
	int			n = Min(rounds->runs[mode], rounds->runs[base]) / rounds->block;
	double	   *differences = palloc(sizeof(double) * (n + 1));
	Estimate	result;

	for (int i = 0; i < n; i++)
	{
		int			first = i * rounds->block;

		differences[i] = stats_mean(&rounds->ms[mode][first], rounds->block) -
			stats_mean(&rounds->ms[base][first], rounds->block);
	}
	result.value = stats_typical(differences, n, &result.margin);
	pfree(differences);
	return result;
}

/* Returns whether the margins are small enough, and reports progress. */
static bool
good_enough(const PlanRounds *rounds, double elapsed_s, Progress *progress)
{
	int			target = rounds->target;
	Estimate	overhead = rounds_overhead_ms(rounds, target, target - 1);
	Estimate	typical = rounds_typical_ms(rounds, target, target - 1);

	if (progress_due(progress, elapsed_s))
		progress_report(progress, elapsed_s,
						"%d rounds, timing overhead %.4f ms, margin %.4f ms",
						rounds->rounds, overhead.value, overhead.margin);
	return elapsed_s >= MIN_SHARE * progress->total_s &&
		overhead.margin <= GOOD_MARGIN * overhead.value &&
		typical.margin <= GOOD_MARGIN * typical.value &&
		settled(rounds, target) && settled(rounds, target - 1);
}

/* Executes a block of each mode.  Returns false if the duration ended before the round was done. */
static bool
execute_round(PlanRounds *rounds, Execution *execution, MemoryContext context, uint64 end_ns)
{
	int			round = rounds->rounds;
	int			nmodes = rounds->nmodes;
	bool		backwards = (round / nmodes) % 2 == 1;

	/* rounds begin with each mode in turn, then again in reverse order */
	for (int turn = 0; turn < nmodes; turn++)
	{
		int			place = (round + (backwards ? nmodes - turn : turn)) % nmodes;

		/* in the first round, the warm-up's time may be the first result */
		while (rounds->runs[place] < (round + 1) * rounds->block)
		{
			if (reference_ns() >= end_ns)
				return false;
			execution->mode = &run_modes[rounds->modes[place]];
			execution->node_calls = rounds->node_calls == 0 && !execution->by_statement &&
				execution->mode->instrument_options != 0 ? &rounds->node_calls : NULL;
			call_at_random_place(execute_once, execution, context);
			rounds->ms[place][rounds->runs[place]++] = execution->ms;
			rounds->executions++;
		}
	}
	rounds->rounds++;
	return true;
}

/*
 * Executes the query twice without using the times, to fill caches, set hint bits and compile code.
 * The first execution also makes malloc() use the heap, not mmap(), in later executions.  The
 * second one is in the last mode, and determines the number of executions in a block.  It also
 * allocates memory at the heap's end, which stays allocated and so prevents page faults, see
 * doc/clocks.md.
 *
 * If the duration hardly suffices for two rounds, there is only one warm-up, and its time is used.
 */
static void
warm_up(PlanRounds *rounds, Execution *execution, MemoryContext context,
		MemoryContext heap_keeper, double duration_s)
{
	random_places_prepare(context);
	call_at_random_place(execute_once, execution, context);
	rounds->executions++;
	if ((2 + 2 * rounds->nmodes) * execution->ms > duration_s * 1e3)
	{
		rounds->ms[0][0] = execution->ms;
		rounds->runs[0] = rounds->block = 1;
		return;
	}
	execution->heap_keeper = heap_keeper;
	execution->mode = &run_modes[rounds->modes[rounds->nmodes - 1]];
	call_at_random_place(execute_once, execution, context);
	execution->heap_keeper = NULL;
	rounds->executions++;
	rounds->block = Max(1, Min(rounds->block,
							   duration_s * 1e3 / (CALM_ROUNDS * rounds->nmodes * execution->ms)));
}

/*
 * Executes rounds until the duration is used up or the result is precise enough.  Does not begin a
 * round that would not end in time, judged by the one before.  Results of an incomplete round are
 * discarded, except for the first one, so that each mode has equally many.
 */
PlanRounds *
plan_rounds(const PlanQuery *query, const int *modes, int nmodes, int block, double duration_s,
			bool by_statement, const char *label)
{
	PlanRounds *rounds = palloc0(sizeof(PlanRounds));
	int			capacity = 64;
	int			next_check = MIN_ROUNDS;
	double		round_s = 0;
	Execution	execution =
	{.query = query, .mode = &run_modes[modes[0]], .by_statement = by_statement};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "clocktiming execution",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext heap_keeper = AllocSetContextCreate(CurrentMemoryContext, "clocktiming heap keeper",
													  ALLOCSET_SMALL_SIZES);
	Progress	progress;

	rounds->modes = modes;
	rounds->nmodes = nmodes;
	rounds->block = Min(block, MOST_EXECUTIONS / CALM_ROUNDS);
	while ((run_modes[modes[rounds->target]].instrument_options & INSTRUMENT_TIMER) == 0)
		rounds->target++;
	rounds->ms = palloc(sizeof(double *) * nmodes);
	for (int i = 0; i < nmodes; i++)
		rounds->ms[i] = palloc(sizeof(double) * capacity);
	progress_start(&progress, label, duration_s);
	if (duration_s > 0)
		warm_up(rounds, &execution, context, heap_keeper, duration_s);

	for (;;)
	{
		double		before_s = progress_elapsed_s(&progress);
		double		elapsed_s;

		if ((rounds->rounds + 1) * rounds->block > capacity)
		{
			capacity = 2 * capacity + rounds->block;
			for (int i = 0; i < nmodes; i++)
				rounds->ms[i] = repalloc(rounds->ms[i], sizeof(double) * capacity);
		}

		/* only the first round may remain incomplete */
		if (rounds->rounds > 0 && before_s + round_s > duration_s)
			break;
		if (!execute_round(rounds, &execution, context,
						   progress.start_ns + (uint64) (Max(duration_s, 0) * 1e9)))
			break;
		elapsed_s = progress_elapsed_s(&progress);
		round_s = elapsed_s - before_s;
		if (elapsed_s >= duration_s || rounds->runs[0] >= MOST_EXECUTIONS)
			break;

		/* not after each round, because the check takes time */
		if (rounds->rounds >= next_check)
		{
			if (good_enough(rounds, elapsed_s, &progress))
				break;
			next_check = rounds->rounds + rounds->rounds / 20 + 1;
		}
		else if (rounds->rounds < MIN_ROUNDS && progress_due(&progress, elapsed_s))
			progress_report(&progress, elapsed_s, "%d rounds", rounds->rounds);
	}
	rounds->elapsed_s = progress_elapsed_s(&progress);
	for (int i = 0; i < nmodes && rounds->rounds > 0; i++)
		rounds->runs[i] = rounds->rounds * rounds->block;
	MemoryContextDelete(heap_keeper);
	MemoryContextDelete(context);
	return rounds;
}

void
plan_rounds_warn(int executions, double elapsed_s, int nmodes, double duration_s, double needed)
{
	double		execution_s = executions > 0 ? elapsed_s / executions : 0;
	double		two_rounds_s = 2 * nmodes * execution_s * needed;

	/* the hint adds a fifth, and rounds up to two digits */
	double		digit = pow(10, floor(log10(Max(two_rounds_s, 1e-6))) - 1);

	ereport(WARNING,
			(errmsg_plural("the duration was used up after %d execution of the query",
						   "the duration was used up after %d executions of the query",
						   executions, executions),
			 errdetail("The duration was %g s; an execution took %.3g s.", duration_s, execution_s),
			 errhint("Two rounds of all modes need a duration of about %g s.",
					 ceil(1.2 * two_rounds_s / digit) * digit)));
}
