/*-------------------------------------------------------------------------
 *
 * cpu_offset.c
 *	  For LD_PRELOAD: a CLOCK_MONOTONIC with an offset on one CPU.
 *
 * Words of the control file, CPU_OFFSET_CONTROL (see shim.h): the CPU; the offset in nanoseconds;
 * whether the clock stands still on all CPUs; the reading that it then repeats.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <sched.h>

#include "shim.h"

enum
{
	CPU,
	OFFSET,
	STILL,
	STILL_AT,
	WORDS
};

static void __attribute__((constructor))
attach(void)
{
	map_control("CPU_OFFSET_CONTROL", WORDS);
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int			result = real_clock_gettime(id, ts);

	if (id != CLOCK_MONOTONIC || result != 0 || control == NULL)
		return result;
	if (control[STILL])
		*ts = from_ns(control[STILL_AT]);
	else if (control[OFFSET] != 0 && sched_getcpu() == control[CPU])
		*ts = from_ns(to_ns(ts) + control[OFFSET]);
	return result;
}
