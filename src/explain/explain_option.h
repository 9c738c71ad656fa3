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
 * Called when the execution of explain_at_work has started, when a timed one has finished, and
 * before it ends.  "sampled": sampling replaces timers that other extensions ask for.
 */
extern void explain_option_started(QueryDesc *desc, bool sampled);
extern void explain_option_finished(void);
extern void explain_option_ends(void);

/* Defines setting, option and hooks.  Calls need_hooks() when the functions above are needed. */
extern void explain_option_init(void (*need_hooks) (void));

#endif							/* CLOCKTIMING_EXPLAIN_OPTION_H */
