/* Recognizes long executions, without reading a clock in short ones. */
#ifndef CLOCKTIMING_LONG_EXECUTIONS_H
#define CLOCKTIMING_LONG_EXECUTIONS_H

#include "plan/explain/executor_hooks.h"

/* Duration in ns from which an execution is long. */
#define LONG_EXECUTION_NS	TICK_NS

/* Notes the beginning of an execution. */
extern void long_execution_begin(CountedStart *start);

/*
 * Return whether an execution during which the sampler has ticked was long.  The second notes that
 * it was.  "lead_ns": usual time from the start of a client's statement to that of its execution.
 */
extern bool long_execution_was(const CountedStart *start, double lead_ns);
extern bool long_execution_ran(const QueryDesc *desc, const CountedStart *start, double lead_ns);

/* Callback of an ExecutionSampler (plan/explain/executor_hooks.h). */
extern bool long_execution_take(const QueryDesc *desc, LongExecution *taken);

/* Adds a long execution to the statistics when it has finished.  Returns its duration in ns. */
extern double long_execution_add(const QueryDesc *desc, const LongExecution *taken);

/* Called when a transaction or an aborted subtransaction ends: executions have failed. */
extern void long_execution_forget(void);

#endif							/* CLOCKTIMING_LONG_EXECUTIONS_H */
