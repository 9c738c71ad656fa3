/* Callbacks of the module that publishes running executions. */
#ifndef CLOCKTIMING_WATCHER_H
#define CLOCKTIMING_WATCHER_H

#include "executor/execdesc.h"

/*
 * enter() is called before each ExecutorRun(), and before ExecutorFinish() of statements that may
 * have fired triggers.  leave() is called afterwards, also after an error, with the value that
 * enter() has returned.  "complete": ExecutorRun() has returned the last row.
 */
typedef struct ExecutionWatcher
{
	int			(*enter) (QueryDesc *desc);
	void		(*leave) (QueryDesc *desc, int entered, bool failed, bool complete);
} ExecutionWatcher;

/* NULL if no module publishes executions. */
extern const ExecutionWatcher *execution_watcher;

#endif							/* CLOCKTIMING_WATCHER_H */
