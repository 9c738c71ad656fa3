/*-------------------------------------------------------------------------
 *
 * count_clock.c
 *	  For LD_PRELOAD: counts the readings of CLOCK_MONOTONIC.
 *
 * Words of the control file, COUNT_CLOCK_CONTROL (see shim.h): the pid of the process whose
 * readings count, and their number.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "shim.h"

enum
{
	PID,
	READINGS,
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
