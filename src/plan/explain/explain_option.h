/* EXPLAIN's option CLOCK_SAMPLING; the setting clocktiming.show_margins. */
#ifndef CLOCKTIMING_EXPLAIN_OPTION_H
#define CLOCKTIMING_EXPLAIN_OPTION_H

#include "plan/explain/explain_output.h"
#include "plan/explain/observed_run.h"

/* State of the EXPLAIN statement that is being executed. */
typedef struct ExplainAtWork
{
	const char *text;			/* text of the statement */
	MemoryContext context;		/* context in which EXPLAIN executes its plans */
	ExplainState *es;			/* NULL: not yet known */
	QueryDesc  *desc;			/* plan being executed and printed, or NULL */
	ObservedRun *run;			/* observation of "desc" after its end; or
								 * NULL */
	uint64		start_ns;		/* time at ExecutorStart() of the plan, */
	uint64		stop_ns;		/* and after its ExecutorFinish() */
	bool		option;			/* CLOCK_SAMPLING was given */
	Markers		markers;		/* before 18: numbers that mark the nodes */
	int			marked_from;	/* position in the output from which markers
								 * are replaced by margins */
} ExplainAtWork;

extern ExplainAtWork *explain_at_work;

/*
 * explain_option_starts() is called before the first ExecutorRun() of the explained plan.
 * "sampled" is true if sampling replaces timers that other extensions request.
 * explain_option_finished() is called after ExecutorFinish() of a timed plan, and
 * explain_option_ends() before ExecutorEnd().
 */
#if PG_VERSION_NUM >= 180000
extern void explain_option_starts(bool sampled);
#define explain_option_finished() ((void) 0)
#else
#define explain_option_starts(sampled) ((void) 0)
extern void explain_option_finished(void);
#endif
extern void explain_option_ends(void);

/*
 * Defines the setting and the option, and installs EXPLAIN's hooks. need_hooks() must install the
 * executor hooks, which call the functions above.
 */
extern void explain_option_init(void (*need_hooks) (void));

#endif							/* CLOCKTIMING_EXPLAIN_OPTION_H */
