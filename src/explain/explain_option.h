/* EXPLAIN: options CLOCK_SAMPLING and CLOCK_MAX_OVERHEAD since 18, margins in the output. */
#ifndef CLOCKTIMING_EXPLAIN_OPTION_H
#define CLOCKTIMING_EXPLAIN_OPTION_H

#include "explain/explain_output.h"
#include "explain/node_timing.h"

typedef struct ExplainOption
{
	const char *name;			/* name of the option that was given first */
	NodeTimingOptions options;
} ExplainOption;

/* State of the EXPLAIN statement that is being executed. */
typedef struct ExplainAtWork
{
	const char *text;			/* text of the statement */
	MemoryContext context;		/* context in which EXPLAIN executes its plans */
	ExplainState *es;			/* NULL: not known */
	QueryDesc  *desc;			/* plan that is being executed and printed,
								 * one of possibly several; NULL: none */
	SampledRun *run;			/* its timing, after the execution; or NULL */
	ExplainOption *option;		/* NULL: none of clocktiming */
	Markers		markers;		/* before 18 */
	int			marked_from;	/* position in the output after which markers
								 * may be printed */
} ExplainAtWork;

extern ExplainAtWork *explain_at_work;

/*
 * Called before the first ExecutorRun() of the explained plan, after its ExecutorFinish() if the
 * plan was timed, and before its ExecutorEnd().  "sampled": sampling replaces timers that other
 * extensions ask for.
 */
#if PG_VERSION_NUM >= 180000
extern void explain_option_starts(bool sampled);
#define explain_option_finished() ((void) 0)
#else
#define explain_option_starts(sampled) ((void) 0)
extern void explain_option_finished(void);
#endif
extern void explain_option_ends(void);

/* Defines setting, option and hooks.  Calls need_hooks() when the functions above are needed. */
extern void explain_option_init(void (*need_hooks) (void));

#endif							/* CLOCKTIMING_EXPLAIN_OPTION_H */
