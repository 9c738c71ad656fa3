/*-------------------------------------------------------------------------
 *
 * tick_clock.c
 *	  For LD_PRELOAD: a CLOCK_MONOTONIC_COARSE whose reader misses ticks.
 *
 * It simulates a process that repeatedly loses the CPU at a timer interrupt and gets it back at the
 * next but one.  During the first ticks of 32, a reading in an odd tick sleeps until the next one.
 *
 * Words of the control file, TICK_CLOCK_CONTROL (see shim.h): the pid of the process; by how many
 * nanoseconds the clock advances at a time; the number of such ticks among 32.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "shim.h"

#define PERIOD	32

enum
{
	PID,
	STEP,
	MISSING,
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
