/*-------------------------------------------------------------------------
 *
 * busy_cpu.c
 *	  For LD_PRELOAD: a process that seems to have had the processor for a fifth
 *	  of the time only, since others took it away, and none that it ever waited for.
 *
 * All clocks are real system calls, so that a reading takes long.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/syscall.h>

#include "shim.h"

#define FIFTH	5

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int			result = (int) syscall(SYS_clock_gettime, id, ts);

	if (result == 0 && id == CLOCK_THREAD_CPUTIME_ID)
		*ts = from_ns(to_ns(ts) / FIFTH);
	return result;
}

int
getrusage(__rusage_who_t who, struct rusage *usage)
{
	static long taken_away = 0;
	int			result = (int) syscall(SYS_getrusage, who, usage);

	if (result == 0)
	{
		usage->ru_nvcsw = 0;
		usage->ru_nivcsw = ++taken_away * 100;
	}
	return result;
}
