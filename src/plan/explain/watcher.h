/* Callbacks of the module that publishes running executions. */
#ifndef CLOCKTIMING_WATCHER_H
#define CLOCKTIMING_WATCHER_H

#include "plan/explain/long_statements.h"

/*
 * passes() returns true if enter() need not be called before the ExecutorRun() of an execution,
 * which is then on the stack of running_executions.h.  If it turns out to be long, the module calls
 * enter() by itself, and sets RunningExecution.entered, so that leave() is called.
 *
 * enter() is called before each ExecutorRun(), and before ExecutorFinish() of statements that may
 * have fired triggers.  leave() is called afterwards, also after an error, with the value that
 * enter() has returned.  "complete": ExecutorRun() has returned the last row.
 */
typedef struct ExecutionWatcher
{
	bool		(*passes) (const QueryDesc *desc);
	int			(*enter) (QueryDesc *desc);
	void		(*leave) (QueryDesc *desc, int entered, bool failed, bool complete);
} ExecutionWatcher;

/*
 * passes() need not be called for statements that the planner expects to cost less than
 * watched_cost, if they write nothing, have no parallel workers, and are not among these
 * statements.  The pointer is NULL if there are none.
 */
extern double watched_cost __attribute__((visibility("hidden")));
extern const LongStatements *watched_statements __attribute__((visibility("hidden")));

/* NULL if no module publishes executions. */
extern const ExecutionWatcher *execution_watcher __attribute__((visibility("hidden")));

#endif							/* CLOCKTIMING_WATCHER_H */
