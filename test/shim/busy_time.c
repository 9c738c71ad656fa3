/*-------------------------------------------------------------------------
 *
 * busy_time.c
 *	  For LD_PRELOAD: makes time pass for a process as if it had the CPU for a part of
 *	  the time only.
 *
 * The process's clocks and timers advance by a multiple of its CPU time.  So the process seems to
 * lose the CPU very often, by a factor that does not depend on the load of the machine.  While the
 * process waits, its clocks stand still.
 *
 * The environment variable BUSY_TIME_CONTROL names the control file (see shim.h).
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "shim.h"

enum
{
	PID,						/* process whose time passes fast */
	FACTOR,						/* seconds per second of CPU time */
	WORDS
};

static int	started;			/* this process's time passes fast */
static int64_t started_cpu;		/* CPU time when that began, in ns */
static int64_t started_at[2];	/* CLOCK_REALTIME and CLOCK_MONOTONIC then, in ns */

static void __attribute__((constructor))
attach(void)
{
	map_control("BUSY_TIME_CONTROL", WORDS);
}

static int64_t
kernel_time(clockid_t id)
{
	struct timespec ts = {0, 0};

	(void) syscall(SYS_clock_gettime, id, &ts);
	return to_ns(&ts);
}

/* Returns whether the calling process's time passes fast. */
static int
is_busy(void)
{
	if (control == NULL || control[PID] != getpid())
		return 0;
	if (!started)
	{
		started = 1;
		started_cpu = kernel_time(CLOCK_THREAD_CPUTIME_ID);
		started_at[CLOCK_REALTIME] = kernel_time(CLOCK_REALTIME);
		started_at[CLOCK_MONOTONIC] = kernel_time(CLOCK_MONOTONIC);
	}
	return 1;
}

static int64_t
busy_time(clockid_t id)
{
	return started_at[id] +
		(kernel_time(CLOCK_THREAD_CPUTIME_ID) - started_cpu) * control[FACTOR];
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	if ((id != CLOCK_REALTIME && id != CLOCK_MONOTONIC) || !is_busy())
		return real_clock_gettime(id, ts);
	*ts = from_ns(busy_time(id));
	return 0;
}

int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec ts;

	(void) tz;
	(void) clock_gettime(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

/* PostgreSQL's only timer is ITIMER_REAL. */
int
setitimer(__itimer_which_t which, const struct itimerval *restrict new,
		  struct itimerval *restrict old)
{
	static timer_t timer;
	static int	has_timer;
	struct sigevent event;
	struct itimerspec spec;
	int64_t		ns;

	if (which != ITIMER_REAL || !is_busy())
		return (int) syscall(SYS_setitimer, which, new, old);
	if (!has_timer)
	{
		memset(&event, 0, sizeof(event));
		event.sigev_notify = SIGEV_SIGNAL;
		event.sigev_signo = SIGALRM;
		if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0)
			abort();
		has_timer = 1;
	}
	memset(&spec, 0, sizeof(spec));
	ns = new->it_value.tv_sec * NS_PER_S + new->it_value.tv_usec * 1000;
	if (ns > 0)
		spec.it_value = from_ns(ns / control[FACTOR] + 1);
	return timer_settime(timer, 0, &spec, NULL);
}
