/*-------------------------------------------------------------------------
 *
 * drift_clock.c
 *	  For LD_PRELOAD: a CLOCK_MONOTONIC that runs at a wrong rate.
 *
 * It is CLOCK_MONOTONIC_RAW times the rate.  NTP does not steer that clock, so the drift against it
 * is exactly the injected one.  All other clocks are correct.
 *
 * Words of the control file, DRIFT_CLOCK_CONTROL (see shim.h): the pid of the process with the
 * faulty clock; the error of the rate in thousandths of parts per million (-1000000000: stands
 * still, less: goes backwards); the offset in nanoseconds; a delay of readings in nanoseconds,
 * before the clock is read, in one of ten periods of 10 ms; the length of other periods in
 * nanoseconds; by how many nanoseconds the clock steps ahead at the beginning of each of these, and
 * for how many it then stands still without catching up; a delay of each reading in nanoseconds.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "shim.h"

enum
{
	PID,
	RATE,
	AHEAD,
	DELAY,
	EVERY,
	STEP,
	STILL,
	SLOW,
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
	/* for all processes, so that a correct reading takes about as long */
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
