/*-------------------------------------------------------------------------
 *
 * slow_clock.c
 *	  For LD_PRELOAD: a clock_gettime() that is a real system call, as if the kernel's clock
 *	  source could not be read in user space.
 *
 * Word of the control file, SLOW_CLOCK_CONTROL (see shim.h): the delay in nanoseconds of the first
 * 2800 of each 4000 readings of CLOCK_MONOTONIC.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <sys/syscall.h>

#include "shim.h"

#define PERIOD	4000
#define SLOW	2800

static void __attribute__((constructor))
attach(void)
{
	map_control("SLOW_CLOCK_CONTROL", 1);
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id == CLOCK_MONOTONIC && control != NULL && control[0] > 0)
	{
		static unsigned int readings;
		int64_t		start = true_time();

		while (readings % PERIOD < SLOW && true_time() - start < control[0])
			;
		readings++;
	}
	return (int) syscall(SYS_clock_gettime, id, ts);
}
