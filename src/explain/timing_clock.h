/* The clock that times calls. */
#ifndef CLOCKTIMING_TIMING_CLOCK_H
#define CLOCKTIMING_TIMING_CLOCK_H

#include "core/reading_fence.h"
#include "core/system_clock.h"
#include "core/timing_counter.h"

/* Whether calls are timed by the CPU's counter.  Otherwise a tick is 1 ns of the system clock. */
extern bool timing_by_counter;

/*
 * timing_clock_choose() chooses the cheapest clock that is reliable.  "recent": a choice that is
 * less than 10 s old remains valid.  Between timing_clock_hold() and timing_clock_release(), which
 * can be nested, the clock is not changed.
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
 * Returns the time in ticks after all earlier instructions have completed.  Without a fence,
 * out-of-order execution could begin a call during a wait for memory, and the wait would be part of
 * some intervals but not of others.  Reading the system clock includes a fence.
 */
static inline uint64
fenced_ticks(void)
{
	if (likely(timing_by_counter))
		reading_fence();
	return now_ticks();
}

#endif							/* CLOCKTIMING_TIMING_CLOCK_H */
