/*-------------------------------------------------------------------------
 *
 * plan_run.c
 *	  One query, executed again and again under several levels of
 *	  instrumentation, interleaved.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "commands/explain.h"
#include "common/pg_prng.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "executor/spi.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/fmgroids.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "clock/progress.h"
#include "clock/subtransaction.h"
#include "compat.h"
#include "core/reference.h"
#include "core/stats.h"
#include "explain/plan_run.h"
#include "explain/plan_shape.h"
#include "explain/server_instr.h"

/* The margin, relative to its estimate, that is good enough. */
#define GOOD_MARGIN		0.02
/*
 * No margin is believed before so many rounds, nor before this share of the
 * time allowed: a machine's mood lasts for tenths of a second, and rounds that
 * follow each other share it.
 */
#define MIN_ROUNDS		10
#define MIN_SHARE		0.5
#define MAX_ROUNDS		100000
#define CONFIDENCE		0.95

/* The fastest executions, whose mean counts: this share, but some at least. */
#define FASTEST_SHARE	0.02
#define FASTEST_MIN		5

/*
 * Where a processor is disturbed by fits, undisturbed executions take nearly
 * the same time, the others do not: while the fastest of this share are not
 * within this ratio of the fastest that count, too few undisturbed ones have
 * been seen, if any.
 */
#define SETTLED_SHARE	0.1
#define SETTLED_RATIO	1.01

/* Memory by which executions are moved about, see take_contexts(). */
#define N_PADS			32
#define PAD_STEPS		1024
#define PAD_STEP		64

/* The same for the stack: positions, and bytes between them. */
#define STACK_STEPS		256
#define STACK_STEP		16

/* More than fits into a hole, and less than malloc() takes elsewhere. */
#define HEAP_KEEPER_SIZE (120 * 1024)

#if PG_VERSION_NUM >= 180000
#define BUFFERS_OFF ", BUFFERS OFF"
#else
#define BUFFERS_OFF ""
#endif

const ExecutorMode executor_modes[N_EXECUTOR_MODES] = {
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

/*
 * Errors in the query shall point into the query, not into the statement that
 * it is an argument of.
 */
static void
query_error_callback(void *arg)
{
	const char *text = arg;
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(text);
	}
	else
		errcontext("query being measured: \"%s\"", text);
	if (geterrcode() == ERRCODE_UNDEFINED_PARAMETER)
		errhint("Put constants in place of the parameters.");
}

static object_access_hook_type previous_object_access = NULL;

/*
 * Locks of the session are neither written nor rolled back: whoever takes or
 * releases them is refused before it is executed.
 */
static void
refuse_session_locks(ObjectAccessType access, Oid class_id, Oid object_id,
					 int sub_id, void *arg)
{
	if (previous_object_access != NULL)
		previous_object_access(access, class_id, object_id, sub_id, arg);
	if (access != OAT_FUNCTION_EXECUTE || class_id != ProcedureRelationId)
		return;
	switch (object_id)
	{
		case F_PG_ADVISORY_LOCK_INT8:
		case F_PG_ADVISORY_LOCK_INT4_INT4:
		case F_PG_ADVISORY_LOCK_SHARED_INT8:
		case F_PG_ADVISORY_LOCK_SHARED_INT4_INT4:
		case F_PG_TRY_ADVISORY_LOCK_INT8:
		case F_PG_TRY_ADVISORY_LOCK_INT4_INT4:
		case F_PG_TRY_ADVISORY_LOCK_SHARED_INT8:
		case F_PG_TRY_ADVISORY_LOCK_SHARED_INT4_INT4:
		case F_PG_ADVISORY_UNLOCK_INT8:
		case F_PG_ADVISORY_UNLOCK_INT4_INT4:
		case F_PG_ADVISORY_UNLOCK_SHARED_INT8:
		case F_PG_ADVISORY_UNLOCK_SHARED_INT4_INT4:
		case F_PG_ADVISORY_UNLOCK_ALL:
			ereport(ERROR,
					(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
					 errmsg("cannot execute %s in a query that is measured",
							get_func_name(object_id)),
					 errdetail("Advisory locks of the session are not rolled back."),
					 errhint("Those of the transaction, such as by pg_advisory_xact_lock, are.")));
		default:
			break;
	}
}

/*
 * Calls work(arg) while nothing may be written.  What may write in a read-only
 * transaction (large objects, temporary tables), or only takes a transaction
 * ID, is found out after it.
 */
static void
without_writing(void (*work) (void *arg), void *arg)
{
	bool		was_read_only = XactReadOnly;
	object_access_hook_type hook = object_access_hook;
	object_access_hook_type previous = previous_object_access;
	bool		had_xid = TransactionIdIsValid(GetTopTransactionIdIfAny());
	bool		had_own_xid = TransactionIdIsValid(GetCurrentTransactionIdIfAny());

	PG_TRY();
	{
		XactReadOnly = true;
		/* this may be part of a query that is measured */
		if (hook != refuse_session_locks)
		{
			previous_object_access = hook;
			object_access_hook = refuse_session_locks;
		}
		work(arg);
	}
	PG_FINALLY();
	{
		XactReadOnly = was_read_only;
		object_access_hook = hook;
		previous_object_access = previous;
	}
	PG_END_TRY();
	if ((!had_xid && TransactionIdIsValid(GetTopTransactionIdIfAny())) ||
		(!had_own_xid && TransactionIdIsValid(GetCurrentTransactionIdIfAny())))
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot measure a query that writes"),
				 errdetail("A function in it has written something, or has asked for a transaction ID.")));
}

/* Refuses all but what can be executed again and again without harm. */
static void
check_statement(RawStmt *raw, bool allow_writes)
{
	const char *kind = CreateCommandName(raw->stmt);

	switch (nodeTag(raw->stmt))
	{
		case T_SelectStmt:
			return;
		case T_InsertStmt:
		case T_UpdateStmt:
		case T_DeleteStmt:
		case T_MergeStmt:
			if (!allow_writes)
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot measure a statement that modifies data: %s", kind),
						 errhint("allow_writes => true executes it and rolls each execution back; sequences and effects outside of the database stay.")));
			return;
		case T_ExplainStmt:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot measure EXPLAIN itself"),
					 errhint("Give the statement without EXPLAIN.")));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot measure utility statements: %s", kind),
					 errhint("SELECT, VALUES, TABLE and WITH can be measured, and with allow_writes => true also INSERT, UPDATE, DELETE and MERGE.")));
	}
}

/* The plan of a statement that has been checked. */
static PlannedStmt *
plan_statement(RawStmt *raw, const char *text)
{
	List	   *queries = pg_analyze_and_rewrite_fixedparams(raw, text, NULL, 0, NULL);
	Query	   *query;

	if (list_length(queries) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot measure a statement that rules turn into %d statements",
						list_length(queries))));
	query = linitial_node(Query, queries);

	/* SELECT ... INTO is parsed as a SELECT */
	if (query->commandType == CMD_UTILITY)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot measure utility statements: %s",
						CreateCommandName(query->utilityStmt)),
				 errhint("Leave INTO out.")));
	return compat_plan_query(query, text, CURSOR_OPT_PARALLEL_OK);
}

/* A statement to be planned. */
typedef struct Planning
{
	RawStmt    *raw;
	const char *text;
	PlannedStmt *plan;
} Planning;

static void
plan_it(void *arg)
{
	Planning   *planning = arg;

	planning->plan = plan_statement(planning->raw, planning->text);
}

ExecutorQuery *
executor_prepare(const char *text, bool allow_writes)
{
	Planning	planning = {0};
	ExecutorQuery *result = palloc0(sizeof(ExecutorQuery));
	ErrorContextCallback callback;
	List	   *statements;

	callback.callback = query_error_callback;
	callback.arg = unconstify(char *, text);
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	statements = pg_parse_query(text);
	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 statements == NIL ? errmsg("there is no statement to measure") :
				 errmsg("cannot measure %d statements at once", list_length(statements)),
				 errhint("Give exactly one statement.")));
	planning.raw = linitial_node(RawStmt, statements);
	planning.text = text;

	check_statement(planning.raw, allow_writes);

	/* functions are executed by the planner, too */
	if (allow_writes)
		plan_it(&planning);
	else
		without_writing(plan_it, &planning);
	result->text = text;

	result->plan = planning.plan;
	result->writes = result->plan->commandType != CMD_SELECT ||
		result->plan->hasModifyingCTE || result->plan->rowMarks != NIL;
	if (result->writes && !allow_writes)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot measure a statement that modifies or locks data"),
				 errhint("allow_writes => true executes it and rolls each execution back; sequences and effects outside of the database stay.")));
	result->parallel = result->plan->parallelModeNeeded;
	result->jit = (result->plan->jitFlags & PGJIT_PERFORM) != 0;

	error_context_stack = callback.previous;
	return result;
}

/*
 * Adds up how often nodes were called: once for each tuple and once more for
 * the end of each loop, but once a loop where the node returns no tuples.
 */
static bool
count_node_calls(PlanState *node, void *context)
{
	double	   *calls = context;

	if (node->instrument != NULL)
	{
		InstrCounts counts = instr_end(node->instrument);

		*calls += counts.loops;
		if (plan_shape(node)->output == OUTPUT_TUPLES)
			*calls += counts.rows;
	}
	return planstate_tree_walker(node, count_node_calls, context);
}

static void
check_instrumentation(const QueryDesc *desc, int instrument_options)
{
	if (desc->instrument_options != instrument_options)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("another extension instruments the query, too"),
				 errdetail("What is measured would not be what it is taken for."),
				 errhint("If it is auto_explain, set auto_explain.log_analyze to off in this session.")));
}

/*
 * Executes a plan once, through the executor's own interface, and returns how
 * long it took in ms.  If node_calls is not NULL, counts them, off the clock.
 * If heap_keeper is not NULL, allocates from it while the query's memory is in
 * use, see run_rounds().
 */
static double
execute_plan(PlannedStmt *plan, const char *text, int instrument_options,
			 double *node_calls, MemoryContext heap_keeper)
{
	QueryDesc  *desc;
	uint64		start;
	uint64		stop;
	double		ms = 0;

	PushCopiedSnapshot(GetActiveSnapshot());
	UpdateActiveSnapshotCommandId();

	start = reference_ns();
	desc = CreateQueryDesc(plan, text, GetActiveSnapshot(), InvalidSnapshot,
						   None_Receiver, NULL, NULL, instrument_options);
	ExecutorStart(desc, 0);
	check_instrumentation(desc, instrument_options);
	compat_ExecutorRun(desc);
	ExecutorFinish(desc);
	if (heap_keeper != NULL)
		(void) MemoryContextAlloc(heap_keeper, HEAP_KEEPER_SIZE);
	if (node_calls != NULL && instrument_options != 0)
	{
		ms = (reference_ns() - start) / 1e6;
		*node_calls = 0;
		(void) count_node_calls(desc->planstate, node_calls);
		start = reference_ns();
	}
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	stop = reference_ns();

	PopActiveSnapshot();
	return ms + (stop - start) / 1e6;
}

/*
 * The way of a statement that a user sends: parsed, planned and executed, the
 * output thrown away.
 */
static double
execute_statement(const ExecutorQuery *query, const ExecutorMode *mode)
{
	uint64		start = reference_ns();

	if (mode->instrument_options == 0)
	{
		RawStmt    *raw = linitial_node(RawStmt, pg_parse_query(query->text));

		(void) execute_plan(plan_statement(raw, query->text), query->text, 0, NULL, NULL);
	}
	else
	{
		char	   *statement = psprintf("%s%s", mode->statement, query->text);

		SPI_connect();
		if (SPI_execute(statement, false, 0) < 0)
			elog(ERROR, "SPI_execute failed: %s", statement);
		SPI_finish();
	}
	return (reference_ns() - start) / 1e6;
}

/* Executes a query, which may write only if it was allowed to. */
static void
execute_guarded(const ExecutorQuery *query, void (*work) (void *arg), void *arg)
{
	if (query->writes)
		work(arg);
	else
		without_writing(work, arg);
}

/* One execution that is timed as a whole. */
typedef struct TimedExecution
{
	const ExecutorQuery *query;
	const ExecutorMode *mode;
	bool		by_statement;
	double	   *node_calls;
	MemoryContext heap_keeper;
	double		ms;
} TimedExecution;

static void
execute_once(void *arg)
{
	TimedExecution *execution = arg;
	const ExecutorQuery *query = execution->query;

	execution->ms = execution->by_statement ? execute_statement(query, execution->mode) :
		execute_plan(query->plan, query->text, execution->mode->instrument_options,
					 execution->node_calls, execution->heap_keeper);
}

static void
execute_once_guarded(void *arg)
{
	TimedExecution *execution = arg;

	execute_guarded(execution->query, execute_once, execution);
}

/*
 * Where in memory an execution's data comes to lie can make it slower by
 * several times what timing costs (addresses that compete for the same place
 * in a cache, stores that seem to overlap loads), and by itself it would come
 * to lie at the same place each time in the same mode: a bias that no number
 * of rounds shows, since memory contexts are handed out from a list of those
 * freed last.  Drawing at random which of them the executor gets makes that
 * rarer, and drawing the position of the stack in execute() ends it (Mytkowicz
 * et al., Producing Wrong Data Without Doing Anything Obviously Wrong, ASPLOS
 * 2009).
 *
 * What is taken here is a child of the current context, and goes with it.
 */
static void
take_contexts(int n, bool spread)
{
	for (int i = 0; i < n; i++)
	{
		if (spread)
			(void) palloc((1 + pg_prng_uint64_range(&pg_global_prng_state, 0,
													PAD_STEPS - 1)) * PAD_STEP);
		(void) AllocSetContextCreate(CurrentMemoryContext, "clocktiming pad",
									 ALLOCSET_DEFAULT_SIZES);
	}
}

/* One execution, in a memory context of its own, at a random stack position. */
static double
execute(const ExecutorQuery *query, const ExecutorMode *mode,
		const ExecutorOptions *options, double *node_calls,
		MemoryContext heap_keeper, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	TimedExecution execution = {query, mode, options->by_statement, node_calls, heap_keeper, 0};
	volatile char *pad;

	CHECK_FOR_INTERRUPTS();
	pad = __builtin_alloca(pg_prng_uint64_range(&pg_global_prng_state,
												1, STACK_STEPS) * STACK_STEP);
	*pad = 0;
	take_contexts((int) pg_prng_uint64_range(&pg_global_prng_state, 0, N_PADS), false);
	subtransaction_undone(execute_once_guarded, &execution);
	MemoryContextSwitchTo(old);
	MemoryContextReset(context);
	return execution.ms;
}

static int
fastest(const ExecutorRuns *runs, double share)
{
	return Max((int) ceil(runs->rounds * share),
			   Min(runs->rounds, FASTEST_MIN));
}

/* The mean of the fastest, and the slowest of these. */
static double
fastest_ms(const ExecutorRuns *runs, int mode, double share, double *limit)
{
	Size		size = sizeof(double) * runs->rounds;
	double	   *sorted = palloc(size);
	double		mean;

	memcpy(sorted, runs->ms[mode], size);
	mean = stats_low_mean(sorted, runs->rounds, fastest(runs, share), limit);
	pfree(sorted);
	return mean;
}

double
executor_ms(const ExecutorRuns *runs, int mode)
{
	double		limit;

	return fastest_ms(runs, mode, FASTEST_SHARE, &limit);
}

static bool
settled(const ExecutorRuns *runs, int mode)
{
	double		limit;

	return fastest_ms(runs, mode, SETTLED_SHARE, &limit) <=
		executor_ms(runs, mode) * SETTLED_RATIO;
}

Estimate
executor_overhead_ms(const ExecutorRuns *runs, int mode, int base)
{
	double	   *work = palloc(sizeof(double) * runs->rounds);
	double		mode_limit;
	double		base_limit;
	Estimate	result;

	result.value = fastest_ms(runs, mode, FASTEST_SHARE, &mode_limit) -
		fastest_ms(runs, base, FASTEST_SHARE, &base_limit);
	result.error = stats_low_mean_half_width(runs->ms[mode], mode_limit,
											 runs->ms[base], base_limit,
											 runs->rounds,
											 fastest(runs, FASTEST_SHARE),
											 CONFIDENCE, work);
	pfree(work);
	return result;
}

/* Whether the margin is good enough, and progress from time to time. */
static bool
good_enough(const ExecutorRuns *runs, const ExecutorOptions *options,
			double elapsed_s, Progress *progress)
{
	Estimate	overhead = executor_overhead_ms(runs, options->target,
												options->base);

	if (progress_due(progress, elapsed_s))
		progress_report(progress, elapsed_s,
						"%d rounds, timing overhead %.4f ms, margin %.4f ms",
						runs->rounds, overhead.value, overhead.error);
	return elapsed_s >= MIN_SHARE * options->duration_s &&
		overhead.error <= GOOD_MARGIN * overhead.value &&
		settled(runs, options->target) && settled(runs, options->base);
}

static void
run_rounds(ExecutorRuns *runs, const ExecutorQuery *query,
		   const ExecutorOptions *options, MemoryContext heap_keeper,
		   MemoryContext context)
{
	int			nmodes = options->nmodes;
	int			room = 64;
	int			next_look = MIN_ROUNDS;
	uint64		start = reference_ns();
	bool		counted = false;
	MemoryContext old = CurrentMemoryContext;
	Progress	progress;

	for (int i = 0; i < nmodes; i++)
		runs->ms[i] = palloc(sizeof(double) * room);
	progress_start(&progress, options->label, options->duration_s);

	/* contexts to draw from, at addresses that have nothing in common */
	MemoryContextSwitchTo(context);
	take_contexts(N_PADS, true);
	MemoryContextSwitchTo(old);
	MemoryContextReset(context);

	/*
	 * Executions that do not count: for caches, hint bits, code to be
	 * compiled.  What an execution frees at the end of the heap goes back to
	 * the system, and the next one pays for it with page faults, which take
	 * longer than timing does; so something is kept at the end of the heap
	 * from the second on (the first teaches malloc() to take the memory from
	 * the heap at all).
	 */
	for (int i = 0; i < 2; i++)
		(void) execute(query, &executor_modes[options->modes[0]], options, NULL,
					   i == 1 ? heap_keeper : NULL, context);

	for (;;)
	{
		int			round = runs->rounds;
		bool		backwards = (round / nmodes) % 2 == 1;
		double		elapsed_s;

		if (round == room)
		{
			room *= 2;
			for (int i = 0; i < nmodes; i++)
				runs->ms[i] = repalloc(runs->ms[i], sizeof(double) * room);
		}

		/* each mode comes first as often as any other, in both directions */
		for (int turn = 0; turn < nmodes; turn++)
		{
			int			place = (round + (backwards ? nmodes - turn : turn)) % nmodes;
			const ExecutorMode *mode = &executor_modes[options->modes[place]];
			bool		count = !counted && mode->instrument_options != 0 &&
				!options->by_statement;

			runs->ms[place][round] =
				execute(query, mode, options, count ? &runs->node_calls : NULL,
						NULL, context);
			counted |= count;
		}
		runs->rounds++;

		elapsed_s = (reference_ns() - start) / 1e9;
		if (elapsed_s >= options->duration_s || runs->rounds == MAX_ROUNDS)
			break;

		/* looking costs, too: not after each of thousands of rounds */
		if (runs->rounds >= next_look)
		{
			if (good_enough(runs, options, elapsed_s, &progress))
				break;
			next_look = runs->rounds + runs->rounds / 20 + 1;
		}
		else if (runs->rounds < MIN_ROUNDS && progress_due(&progress, elapsed_s))
			progress_report(&progress, elapsed_s, "%d rounds", runs->rounds);
	}
}

ExecutorRuns *
executor_measure(const ExecutorQuery *query, const ExecutorOptions *options)
{
	ExecutorRuns *runs = palloc0(sizeof(ExecutorRuns));
	ErrorContextCallback callback;
	MemoryContext heap_keeper;
	MemoryContext context;

	runs->modes = options->modes;
	runs->nmodes = options->nmodes;
	runs->ms = palloc(sizeof(double *) * options->nmodes);
	context = AllocSetContextCreate(CurrentMemoryContext,
									"clocktiming execution",
									ALLOCSET_DEFAULT_SIZES);
	heap_keeper = AllocSetContextCreate(CurrentMemoryContext,
										"clocktiming heap keeper",
										ALLOCSET_SMALL_SIZES);
	callback.callback = query_error_callback;
	callback.arg = unconstify(char *, query->text);
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	run_rounds(runs, query, options, heap_keeper, context);

	error_context_stack = callback.previous;
	MemoryContextDelete(heap_keeper);
	MemoryContextDelete(context);
	return runs;
}

/* One execution, and who looks on. */
typedef struct WatchedExecution
{
	const ExecutorQuery *query;
	ExecutorWatch *watch;
} WatchedExecution;

static void
watch_once(void *arg)
{
	WatchedExecution *execution = arg;
	const ExecutorQuery *query = execution->query;
	ExecutorWatch *watch = execution->watch;
	QueryDesc  *desc;
	uint64		start;

	PushCopiedSnapshot(GetActiveSnapshot());
	UpdateActiveSnapshotCommandId();
	desc = CreateQueryDesc(query->plan, query->text, GetActiveSnapshot(),
						   InvalidSnapshot, None_Receiver, NULL, NULL,
						   watch->instrument_options);
	ExecutorStart(desc, 0);
	check_instrumentation(desc, watch->instrument_options);
	if (watch->started != NULL)
		watch->started(desc, watch->arg);

	start = reference_ns();
	compat_ExecutorRun(desc);
	if (watch->ran != NULL)
		watch->ran(watch->arg);
	ExecutorFinish(desc);
	watch->run_ms = (reference_ns() - start) / 1e6;
	if (watch->ended != NULL)
		watch->ended(watch->arg);

	if (watch->finished != NULL)
		watch->finished(desc, watch->arg);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	PopActiveSnapshot();
}

static void
watch_once_guarded(void *arg)
{
	WatchedExecution *execution = arg;

	execute_guarded(execution->query, watch_once, execution);
}

void
executor_watch(const ExecutorQuery *query, ExecutorWatch *watch)
{
	WatchedExecution execution = {query, watch};
	ErrorContextCallback callback;

	CHECK_FOR_INTERRUPTS();
	callback.callback = query_error_callback;
	callback.arg = unconstify(char *, query->text);
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	subtransaction_undone(watch_once_guarded, &execution);
	error_context_stack = callback.previous;
}
