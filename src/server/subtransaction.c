/*
 * Calls functions in subtransactions.
 *
 * The code follows that of PL/pgSQL's exception blocks: it restores the memory context and the
 * resource owner after the subtransaction, however that has ended.  An error is copied to the
 * caller's memory context before the subtransaction is rolled back, because the rollback frees the
 * memory of the error.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/resowner.h"

#include "server/subtransaction.h"

/*
 * Calls work(arg) in a subtransaction, and commits it if "keep" is true and no error has occurred.
 * Returns the error, or NULL.
 */
static ErrorData *
run(void (*work) (void *arg), void *arg, bool keep)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		work(arg);
		if (keep)
			ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	if (!keep || error != NULL)
		RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return error;
}

char *
subtransaction_attempt(void (*work) (void *arg), void *arg)
{
	ErrorData  *error = run(work, arg, true);

	if (error == NULL)
		return NULL;

	/*
	 * the work did not cause these errors; out of memory is not among them,
	 * because only shared memory may be full
	 */
	if ((ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION &&
		 error->sqlerrcode != ERRCODE_OPERATOR_INTERVENTION) ||
		error->sqlerrcode == ERRCODE_ASSERT_FAILURE)
		ReThrowError(error);
	return error->message;
}

void
subtransaction_undone(void (*work) (void *arg), void *arg)
{
	ErrorData  *error = run(work, arg, false);

	if (error != NULL)
		ReThrowError(error);
}
