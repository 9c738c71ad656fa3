/*-------------------------------------------------------------------------
 *
 * cpu_offset.c
 *	  For LD_PRELOAD: adds an offset to CLOCK_MONOTONIC on one CPU, or stops it on all CPUs.
 *
 * The environment variable CPU_OFFSET_CONTROL names the control file (see shim.h).
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <sched.h>

#include "shim.h"

enum
{
	CPU,						/* CPU whose clock has the offset */
	OFFSET,						/* its offset in ns */
	STILL,						/* not 0: the clock stands still on all CPUs */
	STILL_AT,					/* its reading in ns while it stands still */
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
