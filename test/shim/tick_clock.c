/*-------------------------------------------------------------------------
 *
 * tick_clock.c
 *	  For LD_PRELOAD: makes a process miss ticks of CLOCK_MONOTONIC_COARSE.
 *
 * The clock advances by ticks.  If a process loses the CPU during a whole tick, it sees the clock
 * advance by two ticks at once.  This library simulates such losses in the first ticks of each
 * period of 32 ticks: a reading in a tick with an odd number sleeps until the next tick.
 *
 * The environment variable TICK_CLOCK_CONTROL names the control file (see shim.h).  Its word
 * MISSING is the number of these first ticks.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "shim.h"

#define PERIOD	32				/* number of ticks after which the pattern repeats */

enum
{
	PID,						/* process that misses ticks */
	STEP,						/* length of a tick in ns */
	MISSING,					/* number of first ticks of each PERIOD with this fault */
	WORDS
};

static void __attribute__((constructor))
attach(void)
{
	map_control("TICK_CLOCK_CONTROL", WORDS);
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int64_t		step;
	int64_t		now;

	if (id != CLOCK_MONOTONIC_COARSE || control == NULL || control[PID] != getpid())
		return real_clock_gettime(id, ts);
	step = control[STEP];
	now = true_time();
	while (now / step % 2 == 1 && now / step % PERIOD < control[MISSING])
	{
		struct timespec nap = from_ns(step - now % step);

		(void) nanosleep(&nap, NULL);
		now = true_time();
	}
	now -= now % step;
	*ts = from_ns(now);
	return 0;
}
