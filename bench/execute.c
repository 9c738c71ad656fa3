/*
 * execute: one execution of a statement, for bench/explain.
 *
 * bench_execute() plans a statement and executes it once, under a level of
 * instrumentation, the output thrown away; bench_apart() executes any
 * statement (one that calls bench_execute() or clock_explain()) at a random
 * place in memory, so that all of what is compared is treated alike;
 * bench_keep_heap() has malloc() keep what it once got.  To be loaded into a
 * server as it is, by CREATE FUNCTION ... LANGUAGE c.
 */
#include "postgres.h"

#include <malloc.h>
#include <sys/resource.h>
#include <time.h>

#include "access/xact.h"
#include "common/pg_prng.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "compat.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_execute);
PG_FUNCTION_INFO_V1(bench_apart);
PG_FUNCTION_INFO_V1(bench_keep_heap);

#define N_CONTEXTS	32
#define GAP_STEPS	1024
#define GAP_STEP	64
#define STACK_STEPS 256
#define STACK_STEP	16

typedef struct Execution
{
	double		run_ms;			/* ExecutorRun() and ExecutorFinish() */
	double		whole_ms;		/* with ExecutorStart() and ExecutorEnd() */
	double		root_ms;		/* what the root's timer says, if there is one */
	double		calls;			/* of all nodes, if rows are counted */
} Execution;

static double
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static int
instrument_options(const char *mode)
{
	if (strcmp(mode, "plain") == 0)
		return 0;
	if (strcmp(mode, "timing off") == 0)
		return INSTRUMENT_ROWS;
	if (strcmp(mode, "timing on") == 0)
		return INSTRUMENT_TIMER;
	elog(ERROR, "no such mode: %s", mode);
}

static PlannedStmt *
plan_statement(const char *text)
{
	RawStmt    *raw = linitial_node(RawStmt, pg_parse_query(text));
	List	   *queries = pg_analyze_and_rewrite_fixedparams(raw, text, NULL, 0, NULL);

	return compat_plan_query(linitial_node(Query, queries), text, CURSOR_OPT_PARALLEL_OK);
}

/* A call for each tuple and one for the end of each loop; see src/explain/plan_run.c. */
static bool
count_calls(PlanState *node, void *context)
{
	double	   *calls = context;

	if (node->instrument != NULL)
	{
		InstrEndLoop(node->instrument);
		switch (nodeTag(node))
		{
			case T_HashState:
			case T_BitmapAndState:
			case T_BitmapOrState:
			case T_BitmapIndexScanState:
				*calls += node->instrument->nloops;
				break;
			default:
				*calls += node->instrument->ntuples + node->instrument->nloops;
		}
	}
	return planstate_tree_walker(node, count_calls, context);
}

static double
total_ms(PlanState *node)
{
#if PG_VERSION_NUM >= 190000
	return INSTR_TIME_GET_MILLISEC(node->instrument->instr.total);
#else
	return node->instrument->total * 1000;
#endif
}

static Execution
execute_plan(PlannedStmt *plan, const char *text, int options)
{
	Execution	result = {0};
	QueryDesc  *desc;
	double		before;
	double		start;
	double		end;

	PushCopiedSnapshot(GetActiveSnapshot());
	UpdateActiveSnapshotCommandId();
	before = now_ms();
	desc = CreateQueryDesc(plan, text, GetActiveSnapshot(), InvalidSnapshot,
						   None_Receiver, NULL, NULL, options);
	ExecutorStart(desc, 0);
	start = now_ms();
	compat_ExecutorRun(desc);
	ExecutorFinish(desc);
	end = now_ms();
	result.run_ms = end - start;
	if (options != 0)
	{
		double		pause = now_ms();

		(void) count_calls(desc->planstate, &result.calls);
		if (options & INSTRUMENT_TIMER)
			result.root_ms = total_ms(desc->planstate);
		before += now_ms() - pause;
	}
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	result.whole_ms = now_ms() - before;
	PopActiveSnapshot();
	return result;
}

/*
 * bench_execute(statement, mode, roll_back): mode is plain, timing off or
 * timing on.
 */
Datum
bench_execute(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int			options = instrument_options(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	bool		roll_back = PG_GETARG_BOOL(2);
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	PlannedStmt *plan = plan_statement(statement);
	Execution	execution;
	TupleDesc	tupdesc;
	Datum		values[4];
	bool		nulls[4] = {false};

	if (roll_back)
	{
		/* an error ends the whole transaction, so there is nothing to catch */
		BeginInternalSubTransaction(NULL);
		MemoryContextSwitchTo(context);
	}
	execution = execute_plan(plan, statement, options);
	if (roll_back)
	{
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Float8GetDatum(execution.run_ms);
	values[1] = Float8GetDatum(execution.whole_ms);
	values[2] = Float8GetDatum(execution.root_ms);
	nulls[2] = (options & INSTRUMENT_TIMER) == 0;
	values[3] = Float8GetDatum(execution.calls);
	nulls[3] = options == 0;
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls)));
}

/* The first column of a statement's only row, from a deeper or higher stack. */
static char *
execute_statement(const char *statement, int stack_pad)
{
	volatile char *pad = __builtin_alloca(stack_pad);
	char	   *value;

	*pad = 0;
	if (SPI_execute(statement, false, 0) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "not one row: %s", statement);
	value = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	return value == NULL ? "null" : value;
}

/*
 * bench_apart(statement): the statement's only value, which is JSON, with the
 * time and the page faults that the statement has cost.  The executor gets one
 * of some thirty memory contexts that lie apart, and a random position of the
 * stack, or else the same mode would always have the same, good or bad, place
 * (see take_contexts() in src/explain/plan_run.c).
 */
Datum
bench_apart(PG_FUNCTION_ARGS)
{
	static bool prepared = false;
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	bool		move = PG_GETARG_BOOL(1);
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext contexts;
	struct rusage usage;
	double		start;
	long		faults;
	char	   *value;
	text	   *result;

	contexts = AllocSetContextCreate(caller, "bench contexts", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(contexts);
	if (move && !prepared)
	{
		/* contexts to draw from, at addresses that have nothing in common */
		for (int i = 0; i < N_CONTEXTS; i++)
		{
			(void) palloc((1 + pg_prng_uint64_range(&pg_global_prng_state, 0, GAP_STEPS - 1)) * GAP_STEP);
			(void) AllocSetContextCreate(contexts, "bench context", ALLOCSET_DEFAULT_SIZES);
		}
		MemoryContextReset(contexts);
		prepared = true;
	}
	if (move)
		for (uint64 i = pg_prng_uint64_range(&pg_global_prng_state, 0, N_CONTEXTS); i > 0; i--)
			(void) AllocSetContextCreate(contexts, "bench context", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(caller);

	SPI_connect();
	getrusage(RUSAGE_SELF, &usage);
	faults = usage.ru_minflt;
	start = now_ms();
	value = execute_statement(statement, STACK_STEP *
							  (move ? pg_prng_uint64_range(&pg_global_prng_state, 1, STACK_STEPS) : 1));
	start = now_ms() - start;
	getrusage(RUSAGE_SELF, &usage);
	MemoryContextSwitchTo(caller);
	result = cstring_to_text(psprintf("{\"call_ms\": %.6f, \"faults\": %ld, \"value\": %s}",
									  start, usage.ru_minflt - faults, value));
	SPI_finish();
	MemoryContextDelete(contexts);
	PG_RETURN_TEXT_P(result);
}

/*
 * What is freed at the end of the heap does not go back to the system, and
 * nothing is taken from elsewhere: after the first executions there are no
 * page faults any more, in none of what is compared.
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
