/*-------------------------------------------------------------------------
 *
 * drift_clock.c
 *	  For LD_PRELOAD: a CLOCK_MONOTONIC that runs at a wrong rate.
 *
 * It is CLOCK_MONOTONIC_RAW times the rate, which nobody steers, so that its
 * drift against that clock is what was asked for and nothing else.  All other
 * clocks are honest.
 *
 * The environment variable DRIFT_CLOCK_CONTROL names a file of seven 64-bit
 * integers, which every process maps: the pid of the process that lies; by how
 * much the clock is too fast, in thousandths of parts per million (-1000000000:
 * stands still, less: goes backwards); nanoseconds that it is ahead; and
 * nanoseconds that a reading takes longer than it should, before the clock is
 * read, in one of ten periods of 10 ms; the length of other periods in
 * nanoseconds, at the beginning of each of which the clock steps ahead by so
 * many nanoseconds and then stands still for so many, which it does not catch
 * up with.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum
{
	PID,
	RATE,
	AHEAD,
	DELAY,
	EVERY,
	STEP,
	STILL,
	WORDS
};

static volatile int64_t *control;
static int	(*real_clock_gettime) (clockid_t, struct timespec *);

static void
find_real(void)
{
	*(void **) &real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	if (real_clock_gettime == NULL)
		abort();
}

static void __attribute__((constructor))
attach(void)
{
	const char *path = getenv("DRIFT_CLOCK_CONTROL");
	int			fd;
	void	   *mapped;

	find_real();
	if (path == NULL || (fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return;
	mapped = mmap(NULL, WORDS * sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped != MAP_FAILED)
		control = mapped;
}

static int64_t
true_time(void)
{
	struct timespec ts;

	(void) real_clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (int64_t) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int64_t		now;
	int64_t		start;
	int64_t		every;

	/* a library's constructor may be earlier than ours */
	if (real_clock_gettime == NULL)
		find_real();
	if (id != CLOCK_MONOTONIC || control == NULL || control[PID] != getpid())
		return real_clock_gettime(id, ts);
	now = start = true_time();
	if (start / 10000000 % 10 == 0)
		while (now - start < control[DELAY])
			now = true_time();
	start = now;
	now += (int64_t) ((__int128) now * control[RATE] / 1000000000) + control[AHEAD];
	every = control[EVERY];
	if (every > 0)
	{
		int64_t		into = start % every;

		now += start / every * (control[STEP] - control[STILL]);
		now -= into < control[STILL] ? into : control[STILL];
	}
	ts->tv_sec = now / 1000000000;
	ts->tv_nsec = now % 1000000000;
	return 0;
}
