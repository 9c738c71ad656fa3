/*
 * plan_run.c
 *	  See plan_run.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "clock/subtransaction.h"
#include "compat.h"
#include "core/reference.h"
#include "explain/plan_run.h"
#include "explain/plan_shape.h"
#include "explain/server_instr.h"

/* Work that is done for a query. */
typedef struct QueryWork
{
	bool		may_write;
	void		(*work) (void *arg);
	void	   *arg;
} QueryWork;

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
	StaticAssertStmt(F_PG_ADVISORY_UNLOCK_ALL - F_PG_ADVISORY_LOCK_INT8 == 12,
					 "the functions of these locks follow each other");

	if (previous_object_access != NULL)
		previous_object_access(access, class_id, object_id, sub_id, arg);
	if (access == OAT_FUNCTION_EXECUTE && class_id == ProcedureRelationId &&
		object_id >= F_PG_ADVISORY_LOCK_INT8 && object_id <= F_PG_ADVISORY_UNLOCK_ALL)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s in a query that is measured",
						get_func_name(object_id)),
				 errdetail("Advisory locks of the session are not rolled back."),
				 errhint("Those of the transaction, such as by pg_advisory_xact_lock, are.")));
}

/*
 * Does work while nothing may be written, unless it may.  What may write in a
 * read-only transaction (large objects, temporary tables), or only takes a
 * transaction ID, is found out after it.
 */
static void
guard_writes(void *arg)
{
	const QueryWork *work = arg;
	bool		was_read_only = XactReadOnly;
	object_access_hook_type hook = object_access_hook;
	object_access_hook_type previous = previous_object_access;
	bool		had_xid = TransactionIdIsValid(GetTopTransactionIdIfAny());
	bool		had_own_xid = TransactionIdIsValid(GetCurrentTransactionIdIfAny());

	if (work->may_write)
	{
		work->work(work->arg);
		return;
	}
	PG_TRY();
	{
		XactReadOnly = true;
		/* this may be part of a query that is measured */
		if (hook != refuse_session_locks)
		{
			previous_object_access = hook;
			object_access_hook = refuse_session_locks;
		}
		work->work(work->arg);
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

/* Does work for the query of this text, and rolls it back if "undone". */
static void
do_work(const char *text, bool undone, QueryWork *work)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = query_error_callback,
		.arg = unconstify(char *, text)
	};

	CHECK_FOR_INTERRUPTS();
	error_context_stack = &callback;
	if (undone)
		subtransaction_undone(guard_writes, work);
	else
		guard_writes(work);
	error_context_stack = callback.previous;
}

#define ALLOW_WRITES_HINT \
	"allow_writes => true executes it and rolls each execution back; sequences and effects outside of the database stay."

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
						 errhint(ALLOW_WRITES_HINT)));
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

/* A query to be planned. */
typedef struct Planning
{
	PlanQuery  *query;
	bool		allow_writes;
} Planning;

/* Functions are executed by the planner, too. */
static void
plan_it(void *arg)
{
	const Planning *planning = arg;
	PlanQuery  *result = planning->query;
	List	   *statements = pg_parse_query(result->text);
	RawStmt    *raw;
	List	   *queries;
	Query	   *query;
	PlannedStmt *plan;

	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 statements == NIL ? errmsg("there is no statement to measure") :
				 errmsg("cannot measure %d statements at once", list_length(statements)),
				 errhint("Give exactly one statement.")));
	raw = linitial_node(RawStmt, statements);
	check_statement(raw, planning->allow_writes);

	queries = pg_analyze_and_rewrite_fixedparams(raw, result->text, NULL, 0, NULL);
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

	plan = compat_plan_query(query, result->text, CURSOR_OPT_PARALLEL_OK);
	result->plan = plan;
	result->writes = plan->commandType != CMD_SELECT || plan->hasModifyingCTE ||
		plan->rowMarks != NIL;
	result->parallel = plan->parallelModeNeeded;
	result->jit = (plan->jitFlags & PGJIT_PERFORM) != 0;
	if (result->writes && !planning->allow_writes)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot measure a statement that modifies or locks data"),
				 errhint(ALLOW_WRITES_HINT)));
}

PlanQuery *
plan_query(const char *text, bool allow_writes)
{
	PlanQuery  *query = palloc0(sizeof(PlanQuery));
	Planning	planning = {query, allow_writes};
	QueryWork	work = {allow_writes, plan_it, &planning};

	query->text = text;

	do_work(text, false, &work);
	return query;
}

/*
 * A node is called once for each tuple and once more for the end of each loop,
 * but once a loop where it returns no tuples.
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

double
plan_node_calls(QueryDesc *desc)
{
	double		calls = 0;

	(void) count_node_calls(desc->planstate, &calls);
	return calls;
}

static bool
find_last_id(PlanState *node, void *context)
{
	int		   *last = context;

	*last = Max(*last, node->plan->plan_node_id);
	return planstate_tree_walker(node, find_last_id, context);
}

int
plan_node_ids(QueryDesc *desc)
{
	int			last = -1;

	(void) find_last_id(desc->planstate, &last);
	return last + 1;
}

/* An execution that is under way. */
typedef struct PlanRun
{
	const PlanQuery *query;
	const PlanObserver *observer;
	double		ms;
} PlanRun;

static void
run_it(void *arg)
{
	PlanRun    *run = arg;
	const PlanObserver *observer = run->observer;
	uint64		start;
	QueryDesc  *desc;

	PushCopiedSnapshot(GetActiveSnapshot());
	UpdateActiveSnapshotCommandId();

	start = reference_ns();
	desc = CreateQueryDesc(run->query->plan, run->query->text, GetActiveSnapshot(),
						   InvalidSnapshot, None_Receiver, NULL, NULL,
						   observer->instrument_options);
	ExecutorStart(desc, 0);
	if (desc->instrument_options != observer->instrument_options)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("another extension instruments the query, too"),
				 errdetail("What is measured would not be what it is taken for."),
				 errhint("If it is auto_explain, set auto_explain.log_analyze to off in this session.")));
	if (observer->before_run != NULL)
		observer->before_run(desc, observer->arg);
	if (!observer->whole)
		start = reference_ns();
	compat_ExecutorRun(desc);
	if (observer->after_run != NULL)
		observer->after_run(desc, observer->arg);
	ExecutorFinish(desc);

	/* a reading is a system call: none that is not needed */
	if (!observer->whole || observer->after_finish != NULL)
	{
		run->ms = (reference_ns() - start) / 1e6;
		if (observer->after_finish != NULL)
			observer->after_finish(desc, observer->arg);
		if (observer->whole)
			start = reference_ns();
	}
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	if (observer->whole)
		run->ms += (reference_ns() - start) / 1e6;
	PopActiveSnapshot();
}

double
plan_run(const PlanQuery *query, const PlanObserver *observer)
{
	PlanRun		run = {query, observer, 0};

	plan_run_work(query, run_it, &run);
	return run.ms;
}

void
plan_run_work(const PlanQuery *query, void (*work) (void *arg), void *arg)
{
	QueryWork	query_work = {query->writes, work, arg};

	do_work(query->text, true, &query_work);
}
