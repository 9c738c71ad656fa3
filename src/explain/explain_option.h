/*-------------------------------------------------------------------------
 *
 * explain_option.h
 *	  What EXPLAIN statements have to do with sampling: the option CLOCK_SAMPLING, on
 *	  PostgreSQL 18 and later, and what is printed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_EXPLAIN_OPTION_H
#define CLOCKTIMING_EXPLAIN_OPTION_H

#include "executor/execdesc.h"

#include "explain/timed_execution.h"

/* What belongs to one EXPLAIN that has an option of ours. */
typedef struct ExplainOption
{
	const char *name;			/* of the option that was given first */
	NodeTimingOptions options;
} ExplainOption;

extern ExplainAtWork *explain_at_work;

/*
 * The execution of explain_at_work has started; has finished, and is timed; and is
 * about to end.  "sampled": others who ask for timers get estimates.
 */
extern void explain_option_started(QueryDesc *desc, bool sampled);
extern void explain_option_finished(void);
extern void explain_option_ends(void);

/*
 * The setting, the option, and the hooks of EXPLAIN.  "need_hooks" is called when the
 * functions above are to be called from now on.
 */
extern void explain_option_init(void (*need_hooks) (void));

#endif							/* CLOCKTIMING_EXPLAIN_OPTION_H */
