/*-------------------------------------------------------------------------
 *
 * aux_clock.c
 *	  For LD_PRELOAD: Linux's auxiliary clocks, identifiers 16 to 23.
 *
 * The environment variable AUX_CLOCK_CONTROL names the control file (see shim.h) with a word for
 * each clock: 0 if the clock is disabled, else 1 plus the error of its rate in ppm.  An enabled
 * clock is CLOCK_MONOTONIC_RAW at this rate.  As in a vDSO, clock_getres() succeeds for all clocks.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>

#include "shim.h"

#define FIRST	16
#define CLOCKS	8

static void __attribute__((constructor))
attach(void)
{
	map_control("AUX_CLOCK_CONTROL", CLOCKS);
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int64_t		ns;

	if (id < FIRST || id >= FIRST + CLOCKS)
		return real_clock_gettime(id, ts);
	if (control == NULL || control[id - FIRST] == 0)
	{
		errno = EINVAL;
		return -1;
	}
	(void) real_clock_gettime(CLOCK_MONOTONIC_RAW, ts);
	ns = ts->tv_sec * NS_PER_S + ts->tv_nsec;
	ns += ns * (control[id - FIRST] - 1) / 1000000;
	ts->tv_sec = ns / NS_PER_S;
	ts->tv_nsec = ns % NS_PER_S;
	return 0;
}

int
clock_getres(clockid_t id, struct timespec *ts)
{
	static int	(*real) (clockid_t, struct timespec *);

	if (real == NULL)
		*(void **) &real = dlsym(RTLD_NEXT, "clock_getres");
	if (id < FIRST || id >= FIRST + CLOCKS)
		return real(id, ts);
	ts->tv_sec = 0;
	ts->tv_nsec = 1;
	return 0;
}
