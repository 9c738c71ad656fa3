/*
 * Executes a query that is measured, without lasting effects.
 *
 * A measured query is executed several times, so its writes must not remain.  By default, it may
 * not write at all: the transaction is read-only meanwhile, and what this does not prevent, such as
 * writes of temporary tables and large objects, is found by the transaction ID that it assigns.  If
 * the caller has allowed writes, they are rolled back with a subtransaction.  Session-level
 * advisory locks survive a rollback, so the functions for them are rejected.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/explain/plan_guard.h"
#include "server/subtransaction.h"

typedef struct QueryWork
{
	bool		may_write;
	Oid			role;
	void		(*work) (void *arg);
	void	   *arg;
} QueryWork;

void
error_in_text(void *text)
{
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(text);
	}
}

/* The text of the query, for error messages. */
typedef struct QueryText
{
	char	   *text;
	bool		is_guarded;		/* only the guard makes the transaction
								 * read-only */
	bool		is_standby;
} QueryText;

/* Whether refuse_session_locks() raises the current error, which has a hint of its own. */
static bool session_lock_refused = false;

static void
query_error_callback(void *arg)
{
	const QueryText *query = arg;

	if (geterrposition() > 0)
		error_in_text(query->text);
	else
		errcontext("query being measured: \"%s\"", query->text);
	if (geterrcode() == ERRCODE_UNDEFINED_PARAMETER)
		errhint("Give the parameters' values, for example params => '{42,abc}'.");
	if (geterrcode() == ERRCODE_READ_ONLY_SQL_TRANSACTION && !session_lock_refused)
	{
		if (query->is_standby)
			errhint("This server is a standby. Execute the statement on the primary server.");
		else if (query->is_guarded)
			errhint(ALLOW_WRITES_HINT);
	}
}

static object_access_hook_type previous_object_access = NULL;

/*
 * Object access hook while a query that must not write is measured.  Rejects calls of functions for
 * session-level advisory locks, because a rollback does not release these locks.
 */
static void
refuse_session_locks(ObjectAccessType access, Oid class_id, Oid object_id,
					 int sub_id, void *arg)
{
	StaticAssertStmt(F_PG_ADVISORY_UNLOCK_ALL - F_PG_ADVISORY_LOCK_INT8 == 12,
					 "the functions of these locks follow each other");

	if (previous_object_access != NULL)
		previous_object_access(access, class_id, object_id, sub_id, arg);
	session_lock_refused = access == OAT_FUNCTION_EXECUTE && class_id == ProcedureRelationId &&
		object_id >= F_PG_ADVISORY_LOCK_INT8 && object_id <= F_PG_ADVISORY_UNLOCK_ALL;
	if (session_lock_refused)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s in a query that is measured",
						get_func_name(object_id)),
				 errdetail("Session-level advisory locks are not rolled back."),
				 errhint("Use transaction-level locks, such as pg_advisory_xact_lock(), which are rolled back.")));
}

void
work_as_role(Oid role, void (*work) (void *arg), void *arg)
{
	Oid			user;
	int			context;
	int			nest_level;

	if (!OidIsValid(role))
	{
		work(arg);
		return;
	}
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(role, context | SECURITY_RESTRICTED_OPERATION);
	nest_level = NewGUCNestLevel();
	compat_RestrictSearchPath();
	work(arg);
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, context);
}

/*
 * Calls work() in a read-only transaction unless it may write.  A read-only transaction can still
 * write large objects and temporary tables.  Such a write assigns a transaction ID.  So an error is
 * raised if work() has assigned one.
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
		work_as_role(work->role, work->work, work->arg);
		return;
	}
	PG_TRY();
	{
		XactReadOnly = true;
		/* unless an outer query, measured as well, has installed the hook */
		if (hook != refuse_session_locks)
		{
			previous_object_access = hook;
			object_access_hook = refuse_session_locks;
		}
		work_as_role(work->role, work->work, work->arg);
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
				 errdetail("A function in the query has written data or requested a transaction ID.")));
}

/*
 * Calls work() with the guard against writes, in a subtransaction that is rolled back if "undone".
 * The error context adds hints to errors of the query.
 */
void
guarded_work(const char *text, bool may_write, bool undone, Oid role,
			 void (*work) (void *arg), void *arg)
{
	QueryWork	query_work = {may_write, role, work, arg};
	QueryText	query = {
		.text = unconstify(char *, text),
		.is_guarded = !may_write && !XactReadOnly,
		.is_standby = RecoveryInProgress()
	};
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = query_error_callback,
		.arg = &query
	};

	session_lock_refused = false;

	CHECK_FOR_INTERRUPTS();
	error_context_stack = &callback;
	if (undone)
		subtransaction_undone(guard_writes, &query_work);
	else
		guard_writes(&query_work);
	error_context_stack = callback.previous;
}
