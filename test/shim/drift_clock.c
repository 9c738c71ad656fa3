/*-------------------------------------------------------------------------
 *
 * drift_clock.c
 *	  For LD_PRELOAD: makes CLOCK_MONOTONIC of a process run at a wrong rate.
 *
 * The faulty time is computed from CLOCK_MONOTONIC_RAW, whose rate NTP does not change.  So the
 * drift relative to that clock is exactly the injected one.  All other clocks are correct.
 *
 * The environment variable DRIFT_CLOCK_CONTROL names the control file (see shim.h).
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
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
	WORDS
};

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
