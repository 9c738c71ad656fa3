/*-------------------------------------------------------------------------
 *
 * count_clock.c
 *	  For LD_PRELOAD: counts how often a process reads CLOCK_MONOTONIC.
 *
 * The environment variable COUNT_CLOCK_CONTROL names the control file (see shim.h).
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "shim.h"

enum
{
	PID,						/* process whose readings are counted */
	READINGS,					/* number of its readings */
	WORDS
};

static void __attribute__((constructor))
attach(void)
{
	map_control("COUNT_CLOCK_CONTROL", WORDS);
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	if (control != NULL && id == CLOCK_MONOTONIC && control[PID] == getpid())
		control[READINGS]++;
	return real_clock_gettime(id, ts);
}
