/*-------------------------------------------------------------------------
 *
 * drift_clock.c
 *	  For LD_PRELOAD: makes CLOCK_MONOTONIC of a process run at a wrong rate, and system calls slow.
 *
 * The faulty time is computed from CLOCK_MONOTONIC_RAW, whose rate NTP does not change.  So the
 * drift relative to that clock is exactly the injected one.  All other clocks are correct.
 *
 * The environment variable DRIFT_CLOCK_CONTROL names the control file (see shim.h).
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <sys/syscall.h>

#include "shim.h"

enum
{
	PID,						/* process with the faulty clock */

	/*
	 * Error of the rate in thousandths of ppm.  At -1000000000 the clock
	 * stands still; below that, it goes backwards.
	 */
	RATE,
	AHEAD,						/* offset in ns */
	DELAY,						/* delay in ns of readings in the first 10 ms of
								 * each 100 ms */
	EVERY,						/* period of STEP and STILL in ns; 0: never */
	STEP,						/* step ahead in each period, in ns */

	/* duration of a standstill in each period, in ns; the clock never catches up */
	STILL,
	SLOW,						/* delay of each reading in ns */

	/*
	 * Delay in ns of system calls that read a clock, in bursts of
	 * BURST_CALLS that begin at random
	 */
	BURST,
	WORDS
};

#define BURST_CALLS		12

static void __attribute__((constructor))
attach(void)
{
	map_control("DRIFT_CLOCK_CONTROL", WORDS);
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int64_t		now;
	int64_t		start;
	int64_t		every;

	if (id != CLOCK_MONOTONIC || control == NULL)
		return real_clock_gettime(id, ts);
	/*
	 * Computes the time before checking whether this process has the faulty clock, so that a
	 * reading takes about as long in all processes.
	 */
	now = start = true_time();
	if (control[PID] != getpid())
		return real_clock_gettime(id, ts);
	if (start / 10000000 % 10 == 0)
		while (now - start < control[DELAY])
			now = true_time();
	start = now;
	while (now - start < control[SLOW])
		now = true_time();
	start = now;
	now += (int64_t) ((__int128) now * control[RATE] / NS_PER_S) + control[AHEAD];
	every = control[EVERY];
	if (every > 0)
	{
		int64_t		into = start % every;

		now += start / every * (control[STEP] - control[STILL]);
		now -= into < control[STILL] ? into : control[STILL];
	}
	*ts = from_ns(now);
	return 0;
}

/* A burst begins at one of eight calls on average. */
static void
delay_call(void)
{
	static uint32_t random = 1;
	static int	left;
	int64_t		start = true_time();

	random ^= random << 13;
	random ^= random >> 17;
	random ^= random << 5;
	if (left == 0 && random % 8 == 0)
		left = BURST_CALLS;
	if (left > 0)
	{
		left--;
		while (true_time() - start < control[BURST])
			continue;
	}
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
	if (number == SYS_clock_gettime && control != NULL && control[BURST] > 0 &&
		control[PID] == getpid())
		delay_call();
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
