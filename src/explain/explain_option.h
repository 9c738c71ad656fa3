/* EXPLAIN: options CLOCK_SAMPLING and CLOCK_MAX_OVERHEAD since 18, margins in the output. */
#ifndef CLOCKTIMING_EXPLAIN_OPTION_H
#define CLOCKTIMING_EXPLAIN_OPTION_H

#include "executor/execdesc.h"

#include "explain/timed_execution.h"

typedef struct ExplainOption
{
	const char *name;			/* name of the option that was given first */
	NodeTimingOptions options;
} ExplainOption;

extern ExplainAtWork *explain_at_work;

/*
 * Called before the first ExecutorRun() of the explained plan, after its ExecutorFinish() if the
 * plan was timed, and before its ExecutorEnd().  "sampled": sampling replaces timers that other
 * extensions ask for.
 */
extern void explain_option_starts(QueryDesc *desc, bool sampled);
extern void explain_option_finished(TimedExecution *execution);
extern void explain_option_ends(void);

/* Defines setting, option and hooks.  Calls need_hooks() when the functions above are needed. */
extern void explain_option_init(void (*need_hooks) (void));

#endif							/* CLOCKTIMING_EXPLAIN_OPTION_H */
