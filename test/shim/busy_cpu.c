/*-------------------------------------------------------------------------
 *
 * busy_cpu.c
 *	  For LD_PRELOAD: CPU times and clocks as if other processes had taken four fifths of the
 *	  processor's time from this process, and the process had never waited by itself.
 *
 * All clocks are real system calls, so a reading takes long.
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
