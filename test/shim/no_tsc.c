/*-------------------------------------------------------------------------
 *
 * no_tsc.c
 *	  For LD_PRELOAD: forbids a process to read the time-stamp counter.
 *
 * A process with PR_TSC_SIGSEGV is killed by a single RDTSC.  The vDSO executes RDTSC, too, so all
 * clocks that the C library reads there become system calls.  The prohibition is inherited by
 * forked processes.  But a program that a process executes would be killed in the dynamic linker,
 * which reads the counter before any library is loaded.  So only the program that the environment
 * variable NO_TSC_PROGRAM names is subject to it, and not pg_ctl, which executes others.
 *
 * With NO_TSC_SELF_TEST in the environment, the program executes RDTSC at once, which proves that
 * the prohibition takes effect: it must be killed by SIGSEGV.
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
