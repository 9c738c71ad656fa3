/*
 * execute: SQL functions that execute a statement once, for several benchmarks.
 *
 * bench_execute() executes a statement with given instrument_options and discards its rows.
 * bench_apart() executes a statement that calls bench_execute() or clock_explain(), with stack and
 * memory contexts at random addresses.  This averages out the effect of addresses on the times.
 * bench_keep_heap() makes malloc() keep its memory.
 *
 * bench/Bench.pm builds this library.  It compiles the extension's files that execute plans into
 * the library, because libraries that the server loads cannot be linked with each other.
 */
#include "postgres.h"

#include <malloc.h>
#include <sys/resource.h>

#include "executor/instrument.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "core/reference.h"
#include "plan/explain/plan_rounds.h"
#include "plan/explain/server_instr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_execute);
PG_FUNCTION_INFO_V1(bench_apart);
PG_FUNCTION_INFO_V1(bench_keep_heap);

/* Results of an execution in addition to its time. */
typedef struct Figures
{
	double		calls;			/* calls of all nodes; 0 without instrumentation */
	double		root_ms;		/* time by the root's timer; 0 without timers */
} Figures;

static void
take_figures(QueryDesc *desc, void *arg)
{
	Figures    *figures = arg;

	figures->calls = plan_node_calls(desc);
	if (desc->instrument_options & INSTRUMENT_TIMER)
		figures->root_ms = instr_end(desc->planstate->instrument).total_ns / 1e6;
}

static int
instrument_options(const char *mode)
{
	for (int i = 0; i < N_RUN_MODES; i++)
		if (strcmp(mode, run_modes[i].name) == 0)
			return run_modes[i].instrument_options;
	elog(ERROR, "no such mode: %s", mode);
}

/* Returns the CPU time of this process in ms. */
static double
cpu_ms(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
		(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

/*
 * bench_execute(statement, mode, allow_writes) executes a statement and returns run_ms, root_ms,
 * calls and cpu_ms.  "mode" is a mode of clock_query_overhead(), or "whole": a plain execution
 * whose run_ms includes ExecutorStart() and ExecutorEnd(), like EXPLAIN's "Execution Time".
 * cpu_ms includes these two functions in all modes.
 */
Datum
bench_execute(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *mode = text_to_cstring(PG_GETARG_TEXT_PP(1));
	bool		whole = strcmp(mode, "whole") == 0;
	Figures		figures = {0, 0};
	PlanObserver observer = {
		.instrument_options = whole ? 0 : instrument_options(mode),
		.whole = whole,
		.arg = &figures
	};
	TupleDesc	tupdesc;
	Datum		values[4];
	bool		nulls[4] = {false};
	PlanQuery  *query = plan_query(statement, NULL, PG_GETARG_BOOL(2));
	double		start_ms = cpu_ms();

	if (observer.instrument_options != 0)
		observer.after_finish = take_figures;
	values[0] = Float8GetDatum(plan_run(query, &observer));
	values[3] = Float8GetDatum(cpu_ms() - start_ms);
	values[1] = Float8GetDatum(figures.root_ms);
	nulls[1] = (observer.instrument_options & INSTRUMENT_TIMER) == 0;
	values[2] = Float8GetDatum(figures.calls);
	nulls[2] = observer.instrument_options == 0;
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls)));
}

typedef struct Statement
{
	const char *statement;
	MemoryContext context;		/* memory context of "value" */
	char	   *value;			/* first column of the only row */
	double		ms;
	long		faults;			/* page faults */
} Statement;

static void
execute_statement(void *arg)
{
	Statement  *statement = arg;
	struct rusage before;
	struct rusage after;
	uint64		start;
	char	   *value;

	SPI_connect();
	getrusage(RUSAGE_SELF, &before);
	start = reference_ns();
	if (SPI_execute(statement->statement, false, 0) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "statement did not return exactly one row: %s", statement->statement);
	value = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	statement->ms = (reference_ns() - start) / 1e6;
	getrusage(RUSAGE_SELF, &after);
	statement->faults = after.ru_minflt - before.ru_minflt;
	statement->value = MemoryContextStrdup(statement->context, value == NULL ? "null" : value);
	SPI_finish();
}

/*
 * bench_apart(statement, move) executes a statement that returns one JSON value.  Returns a JSON
 * object with this value, the statement's time in ms (call_ms), and the number of its page faults.
 * If "move" is true, executes it with stack and memory contexts at random addresses.
 */
Datum
bench_apart(PG_FUNCTION_ARGS)
{
	static bool prepared = false;
	Statement	statement = {
		.statement = text_to_cstring(PG_GETARG_TEXT_PP(0)), .context = CurrentMemoryContext
	};
	bool		move = PG_GETARG_BOOL(1);
	MemoryContext places = AllocSetContextCreate(CurrentMemoryContext, "bench places", ALLOCSET_DEFAULT_SIZES);

	if (move && !prepared)
		random_places_prepare(places);
	prepared |= move;
	if (move)
		call_at_random_place(execute_statement, &statement, places);
	else
		execute_statement(&statement);
	MemoryContextDelete(places);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("{\"call_ms\": %.6f, \"faults\": %ld, \"value\": %s}",
											  statement.ms, statement.faults, statement.value)));
}

/*
 * Prevents malloc() from returning memory to the system and from using mmap().  So the process has
 * all memory it needs after a session's first executions, and later ones have no page faults.
 */
Datum
bench_keep_heap(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
#ifdef M_TRIM_THRESHOLD
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TOP_PAD, 16 << 20);
#endif
	PG_RETURN_VOID();
}
