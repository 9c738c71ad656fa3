/* The clock that times calls. */
#ifndef CLOCKTIMING_TIMING_CLOCK_H
#define CLOCKTIMING_TIMING_CLOCK_H

#include "core/reading_fence.h"
#include "core/system_clock.h"
#include "core/timing_counter.h"

/*
 * true: readings are of the processor's counter; false: of the system's clock, with a tick of 1 ns.
 */
extern bool timing_by_counter;

/*
 * timing_clock_choose() chooses the cheapest clock that can be trusted.  "recent": a choice of the
 * last 10 s stays valid.  From timing_clock_hold() to timing_clock_release() the clock is not
 * changed; calls of both can be nested.
 */
extern void timing_clock_choose(bool recent);
extern void timing_clock_hold(void);
extern void timing_clock_release(void);

extern const char *timing_clock_name(void);

static inline uint64
now_ticks(void)
{
#ifdef CLOCKTIMING_HAVE_COUNTER
	if (likely(timing_by_counter))
		return timing_counter_read();
#endif
	return system_clock_read();
}

/*
 * Returns the time in ticks after all earlier instructions have ended.  Otherwise a processor would
 * begin a call while it waits for memory, and the wait would be part of some intervals and not of
 * others.  The system's clock is read in the same way.
 */
static inline uint64
fenced_ticks(void)
{
	if (likely(timing_by_counter))
		reading_fence();
	return now_ticks();
}

#endif							/* CLOCKTIMING_TIMING_CLOCK_H */
