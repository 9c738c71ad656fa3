/*-------------------------------------------------------------------------
 *
 * no_tsc.c
 *	  For LD_PRELOAD: forbids a process to read the time-stamp counter.
 *
 * With PR_TSC_SIGSEGV, the kernel kills the process when it executes RDTSC.  The vDSO executes
 * RDTSC, too.  So this library replaces the C library's functions that read clocks by the vDSO: its
 * own functions make system calls.
 *
 * Child processes inherit the prohibition.  A program that such a process executes would be killed
 * by its dynamic linker, which reads the counter before it loads any library.  So only the program
 * that the environment variable NO_TSC_PROGRAM names is forbidden to read the counter.  pg_ctl,
 * which executes other programs, is not.
 *
 * If the environment variable NO_TSC_SELF_TEST is set, the program executes RDTSC at once.  If
 * SIGSEGV kills it, the prohibition is effective.
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

	/*
	 * Reads the clock by clock_gettime(), because the system call time() exists on some
	 * architectures only.
	 */
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
