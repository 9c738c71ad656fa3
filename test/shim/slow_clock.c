/*-------------------------------------------------------------------------
 *
 * slow_clock.c
 *	  For LD_PRELOAD: makes each clock_gettime() a system call, as if the vDSO could not read the
 *	  kernel's clock source.
 *
 * The environment variable SLOW_CLOCK_CONTROL names the control file (see shim.h), which is
 * optional.  Its only word is a delay in ns: of each 4000 readings of CLOCK_MONOTONIC, the first
 * 2800 take that much longer.
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
