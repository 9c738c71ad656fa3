/*-------------------------------------------------------------------------
 *
 * no_tsc.c
 *	  For LD_PRELOAD: forbids a process to read the time-stamp counter.
 *
 * A process with PR_TSC_SIGSEGV dies of a single RDTSC.  The vDSO executes it,
 * too, so everything that the C library reads there has to become a system
 * call.  What such a process forks is forbidden as well, but what it executes
 * dies in the dynamic linker, which reads the counter before any library can
 * do anything about it.  Hence the environment variable NO_TSC_PROGRAM: only a
 * program of that name is subject to all this, not pg_ctl, which has to
 * execute others.
 *
 * With NO_TSC_SELF_TEST in the environment that program executes RDTSC at
 * once, which shows whether the prohibition is real: it must die of SIGSEGV.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	return (int) syscall(SYS_clock_gettime, id, ts);
}

int
clock_getres(clockid_t id, struct timespec *ts)
{
	return (int) syscall(SYS_clock_getres, id, ts);
}

int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	return (int) syscall(SYS_gettimeofday, tv, tz);
}

time_t
time(time_t *t)
{
	struct timespec ts = {0, 0};

	/* not every architecture has a system call of that name */
	(void) syscall(SYS_clock_gettime, CLOCK_REALTIME, &ts);
	if (t != NULL)
		*t = ts.tv_sec;
	return ts.tv_sec;
}

int
timespec_get(struct timespec *ts, int base)
{
	if (base != TIME_UTC ||
		syscall(SYS_clock_gettime, CLOCK_REALTIME, ts) != 0)
		return 0;
	return base;
}

clock_t
clock(void)
{
	struct timespec ts;

	if (syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &ts) != 0)
		return (clock_t) -1;
	return ts.tv_sec * CLOCKS_PER_SEC + ts.tv_nsec / (1000000000 / CLOCKS_PER_SEC);
}

static void __attribute__((constructor))
forbid(void)
{
	const char *program = getenv("NO_TSC_PROGRAM");

	if (program == NULL || strcmp(program, program_invocation_short_name) != 0)
		return;
#ifdef PR_SET_TSC
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0)
		abort();
#endif
#if defined(__x86_64__) || defined(__i386__)
	if (getenv("NO_TSC_SELF_TEST") != NULL)
		__asm__ volatile("rdtsc" : : : "eax", "edx");
#endif
}
