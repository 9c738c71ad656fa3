/*
 * Finds executions during which the sampler has ticked.
 *
 * An execution reads a counter at its beginning; its duration is computed at its end if the sampler
 * has ticked.  So other executions only compare two numbers.
 */
#ifndef CLOCKTIMING_TICKED_EXECUTIONS_H
#define CLOCKTIMING_TICKED_EXECUTIONS_H

#include "plan/explain/executor_hooks.h"

/* State of ticked_begin(), which is inlined because each execution calls it. */
extern uint64 ticked_wanted;	/* reading at which this process wanted ticks */
extern uint64 ticked_want_after;	/* time until it wants them again */

/* Called in the postmaster: chooses the counter. */
extern void ticked_init(void);

/* Keeps the sampler ticking. */
extern void ticked_want(uint64 counter);

/* Notes the beginning of an execution. */
static inline void
ticked_begin(CountedStart *start)
{
	start->counter = running_counter();
	if (unlikely(start->counter - ticked_wanted > ticked_want_after))
		ticked_want(start->counter);
	start->ticks = execution_ticks->n;
}

/* Returns whether the sampler has ticked since the beginning of an execution. */
static inline bool
ticked_since(const CountedStart *start)
{
	return start->ticks != execution_ticks->n;
}

/* Returns the time in ns since the beginning of an execution; 0 if the counter was set back. */
extern double ticked_elapsed_ns(const CountedStart *start);

/*
 * Returns the probability with which an execution that lasts for "ns" is measured because of a tick:
 * 0 for less than SHORTEST_NS, else that of a tick during it.
 */
extern double ticked_chance(double ns);

#endif							/* CLOCKTIMING_TICKED_EXECUTIONS_H */
