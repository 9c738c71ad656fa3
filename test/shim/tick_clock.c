/*-------------------------------------------------------------------------
 *
 * tick_clock.c
 *	  For LD_PRELOAD: a CLOCK_MONOTONIC_COARSE whose reader misses ticks.
 *
 * As a process does that loses the CPU at a timer interrupt and gets it back at
 * the next but one, again and again: of 32 ticks, the first so many are such
 * that a reading in an odd one sleeps until the next.
 *
 * The environment variable TICK_CLOCK_CONTROL names a file of three 64-bit
 * integers, which every process maps: the pid of the process concerned; by how
 * many nanoseconds the clock advances at a time; and how many ticks of 32 are
 * such ones.
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

#define PERIOD	32

enum
{
	PID,
	STEP,
	MISSING,
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
	const char *path = getenv("TICK_CLOCK_CONTROL");
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
	int64_t		step;
	int64_t		now;

	/* a library's constructor may be earlier than ours */
	if (real_clock_gettime == NULL)
		find_real();
	if (id != CLOCK_MONOTONIC_COARSE || control == NULL || control[PID] != getpid())
		return real_clock_gettime(id, ts);
	step = control[STEP];
	now = true_time();
	while (now / step % 2 == 1 && now / step % PERIOD < control[MISSING])
	{
		int64_t		left = step - now % step;
		struct timespec nap = {left / 1000000000, left % 1000000000};

		(void) nanosleep(&nap, NULL);
		now = true_time();
	}
	now -= now % step;
	ts->tv_sec = now / 1000000000;
	ts->tv_nsec = now % 1000000000;
	return 0;
}
