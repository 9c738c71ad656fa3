/*-------------------------------------------------------------------------
 *
 * one_clock.c
 *	  For LD_PRELOAD: as in gVisor, several names stand for one clock, CLOCK_MONOTONIC.
 *
 * These are CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE and CLOCK_BOOTTIME, also if they are read
 * by syscall().  adjtimex() does not exist.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/timex.h>

#include "shim.h"

static clockid_t
one(clockid_t id)
{
	return id == CLOCK_MONOTONIC_RAW || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_BOOTTIME ?
		CLOCK_MONOTONIC : id;
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	return real_clock_gettime(one(id), ts);
}

long
syscall(long number, ...)
{
	static long (*real) (long, ...);
	long		a[6];
	va_list		args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (real == NULL)
		*(void **) &real = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_clock_gettime)
		a[0] = one((clockid_t) a[0]);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int
adjtimex(struct timex *timex)
{
	(void) timex;
	errno = ENOSYS;
	return -1;
}
