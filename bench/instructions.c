/*
 * instructions: SQL function that executes a statement under Callgrind, for bench/instructions.
 *
 * Callgrind counts only the instructions of ExecutorRun().  The library is linked with the
 * extension's object files, so that it executes the same machine code.
 */
#include "postgres.h"

#include <valgrind/callgrind.h>

#include "executor/instrument.h"
#include "fmgr.h"
#include "utils/builtins.h"

#include "explain/node_timing.h"
#include "explain/timing_clock.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_instructions);

/* How a statement is executed. */
typedef struct Mode
{
	const char *name;
	int			instrument_options;
	bool		wrapped;		/* clocktiming wraps the nodes' functions */
	int			sampling;		/* 0: only counts calls; 1: times every call */
	bool		by_counter;		/* true: times by the processor's counter;
								 * false: by the system clock */
} Mode;

static const Mode modes[] = {
	{"plain", 0, false, 0, false},
	{"counted", INSTRUMENT_ROWS, true, 0, false},
	{"timing-off", INSTRUMENT_ROWS, false, 0, false},
	{"timed-counter", INSTRUMENT_ROWS, true, 1, true},
	{"timed-system", INSTRUMENT_ROWS, true, 1, false},
	{"timing-on", INSTRUMENT_TIMER | INSTRUMENT_ROWS, false, 0, false}
};

typedef struct Execution
{
	const Mode *mode;
	bool		measured;		/* false: the execution only fills caches */
	SampledRun	run;
	int64		calls;			/* calls of all nodes, if "wrapped" */
} Execution;

static void
before_run(QueryDesc *desc, void *arg)
{
	Execution  *execution = arg;

	if (execution->mode->wrapped)
		sampled_before_run(desc, &execution->run);
	if (execution->measured)
		CALLGRIND_START_INSTRUMENTATION;
}

static void
after_run(QueryDesc *desc, void *arg)
{
	Execution  *execution = arg;
	QueryTiming *query = execution->run.timing;

	if (execution->measured)
		CALLGRIND_STOP_INSTRUMENTATION;
	if (!execution->mode->wrapped)
		return;
	sampled_after_run(desc, &execution->run);
	for (int i = 0; i < query->nnodes; i++)
		execution->calls += query->nodes[i] == NULL ? 0 : query->nodes[i]->calls;
}

static void
after_finish(QueryDesc *desc, void *arg)
{
	Execution  *execution = arg;

	if (execution->mode->wrapped)
		sampled_after_finish(desc, &execution->run);
}

/*
 * bench_instructions(statement, mode, measured) executes the statement once.  Returns
 * the number of calls of plan nodes if the mode has clocktiming's wrappers, else 0.
 */
Datum
bench_instructions(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Execution	execution = {.measured = PG_GETARG_BOOL(2)};
	PlanObserver observer = {
		.before_run = before_run, .after_run = after_run, .after_finish = after_finish,
			.arg = &execution
	};

	for (int i = 0; i < (int) lengthof(modes); i++)
		if (strcmp(modes[i].name, name) == 0)
			execution.mode = &modes[i];
	if (execution.mode == NULL)
		elog(ERROR, "no such mode: %s", name);
	observer.instrument_options = execution.mode->instrument_options;
	execution.run.options = (NodeTimingOptions)
	{
		.sampling = execution.mode->sampling, .only_node = -1, .max_overhead = MAX_OVERHEAD_DEFAULT
	};

	/* Prevents clocktiming from choosing the clock itself. */
	timing_clock_hold();
	timing_by_counter = execution.mode->by_counter;
	(void) plan_run(plan_query(statement, NULL, false), &observer);
	timing_clock_release();
	PG_RETURN_INT64(execution.calls);
}
