/*-------------------------------------------------------------------------
 *
 * timing_clock.h
 *	  The clock that calls are timed with.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_TIMING_CLOCK_H
#define CLOCKTIMING_TIMING_CLOCK_H

#include "core/reading_fence.h"
#include "core/system_clock.h"
#include "core/timing_counter.h"

/* Whether the processor's counter is what is read; else a tick is a nanosecond of the system's clock. */
extern bool timing_by_counter;

/*
 * Chooses the cheapest clock that can be trusted.  It stays as it is from
 * timing_clock_hold() to timing_clock_release(), which count.  "recent":
 * a choice of the last 10 s is recent enough.
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
 * After everything before has been done.  Otherwise a processor would begin a
 * call while it still waits for what came before, and that wait would fall into
 * the call's interval in some cases and not in others.  (The system's clock is
 * read in the same way.)
 */
static inline uint64
fenced_ticks(void)
{
	if (likely(timing_by_counter))
		reading_fence();
	return now_ticks();
}

#endif							/* CLOCKTIMING_TIMING_CLOCK_H */
