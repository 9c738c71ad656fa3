/* Recognizes long executions, without reading a clock in short ones. */
#ifndef CLOCKTIMING_LONG_EXECUTIONS_H
#define CLOCKTIMING_LONG_EXECUTIONS_H

#include "explain/executor_hooks.h"

/* Duration in ns from which an execution is long. */
#define LONG_EXECUTION_NS	TICK_NS

/* Notes the beginning of an execution. */
extern void long_execution_begin(CountedStart *start);

/* Callbacks of an ExecutionSampler (explain/executor_hooks.h). */
extern bool long_execution_was(const CountedStart *start);
extern bool long_execution_ran(const QueryDesc *desc, const CountedStart *start);
extern bool long_execution_take(const QueryDesc *desc, LongExecution *taken);
extern void long_execution_finished(const QueryDesc *desc, const LongExecution *taken);

/* Called when a transaction or an aborted subtransaction ends: executions have failed. */
extern void long_execution_forget(void);

#endif							/* CLOCKTIMING_LONG_EXECUTIONS_H */
