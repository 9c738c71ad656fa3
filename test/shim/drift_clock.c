/*-------------------------------------------------------------------------
 *
 * drift_clock.c
 *	  For LD_PRELOAD: a CLOCK_MONOTONIC that runs at a wrong rate.
 *
 * It is CLOCK_MONOTONIC_RAW times the rate, which nobody steers, so that its
 * drift against that clock is what was asked for and nothing else.  All other
 * clocks are honest.
 *
 * The words of the control file, DRIFT_CLOCK_CONTROL, see shim.h: the pid of
 * the process that lies; by how much the clock is too fast, in thousandths of
 * parts per million (-1000000000: stands still, less: goes backwards);
 * nanoseconds that it is ahead; nanoseconds that a reading takes longer than it
 * should, before the clock is read, in one of ten periods of 10 ms; the length
 * of other periods in nanoseconds, at the beginning of each of which the clock
 * steps ahead by so many nanoseconds and then stands still for so many, which
 * it does not catch up with; nanoseconds that each reading takes longer.
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
	/* for all processes, so that an honest reading takes about as long */
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
