/*-------------------------------------------------------------------------
 *
 * busy_cpu.c
 *	  For LD_PRELOAD: makes the CPU look busy.
 *
 * The process's CPU time is a fifth of the true one, as if other processes had used the CPU for
 * four fifths of the time.  The numbers of context switches look as if the process had lost the
 * CPU often, and never given it up.  All clocks are read by system calls, so a reading takes long.
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
