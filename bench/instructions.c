/*
 * instructions: SQL function that executes a statement under Callgrind, for bench/instructions,
 * which also builds this file.
 *
 * Callgrind counts only the instructions of ExecutorRun().  The library is linked with the
 * extension's object files, so that it executes the same machine code.
 */
#include "postgres.h"

#include <unistd.h>

#include <valgrind/callgrind.h>

#include "executor/instrument.h"
#include "fmgr.h"
#include "utils/builtins.h"

#include "plan/explain/observation.h"
#include "plan/sampler/plan_sampler.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_instructions);

/* How a statement is executed. */
typedef struct ExecutionMode
{
	const char *name;
	int			instrument_options;
	bool		stubs;			/* nodes have clocktiming's stubs */
	bool		sampler;		/* pretends that the sampler runs */
} ExecutionMode;

static const ExecutionMode modes[] = {
	{"plain", 0, false},
	{"sampler", 0, false, true},
	{"stubs", INSTRUMENT_ROWS, true},
	{"timing-off", INSTRUMENT_ROWS, false},
	{"timing-on", INSTRUMENT_TIMER | INSTRUMENT_ROWS, false}
};

typedef struct Execution
{
	const ExecutionMode *mode;
	bool		measured;		/* false: the execution only fills caches */
} Execution;

/*
 * Installs the stubs.  Does not let the sampler look at the execution: in single-user mode there is
 * no sampler, and the looks of a timeout would change the number of instructions.
 */
static void
before_run(QueryDesc *desc, void *arg)
{
	Execution  *execution = arg;
	ObserveOptions options = {.no_workers = true};

	if (execution->mode->stubs && observe_attach(desc, &options) == NULL)
		elog(ERROR, "could not install stubs");
	if (execution->measured)
		CALLGRIND_START_INSTRUMENTATION;
}

static void
after_run(QueryDesc *desc, void *arg)
{
	Execution  *execution = arg;

	(void) desc;
	if (execution->measured)
		CALLGRIND_STOP_INSTRUMENTATION;
}

/* bench_instructions(statement, mode, measured) executes the statement once, and returns true. */
Datum
bench_instructions(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Execution	execution = {.measured = PG_GETARG_BOOL(2)};
	PlanObserver observer = {
		.before_run = before_run, .after_run = after_run, .arg = &execution
	};

	for (int i = 0; i < (int) lengthof(modes); i++)
		if (strcmp(modes[i].name, name) == 0)
			execution.mode = &modes[i];
	if (execution.mode == NULL)
		elog(ERROR, "no such mode: %s", name);
	/* in single-user mode there is none, and executions would prepare to do without */
	if (execution.mode->sampler)
	{
		plan_sampler_attach();
		pg_atomic_write_u32(&plan_sampler_shared->worker_pid, (uint32) getpid());
		plan_sampler_shared->ticks.ticking = 1;
	}
	observer.instrument_options = execution.mode->instrument_options;
	(void) plan_run(plan_query(statement, NULL, false), &observer);
	PG_RETURN_BOOL(true);
}
