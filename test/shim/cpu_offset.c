/*-------------------------------------------------------------------------
 *
 * cpu_offset.c
 *	  For LD_PRELOAD: a CLOCK_MONOTONIC that is wrong on one CPU.
 *
 * The environment variable CPU_OFFSET_CONTROL names a file of four 64-bit
 * integers, which every process maps: a CPU; by how many nanoseconds the
 * clock is ahead there; whether the clock stands still, on all CPUs alike; and
 * the reading that it then repeats.  A test may change them at any time.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum
{
	CPU,
	OFFSET,
	STILL,
	STILL_AT,
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
	const char *path = getenv("CPU_OFFSET_CONTROL");
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

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int			result;

	/* a library's constructor may be earlier than ours */
	if (real_clock_gettime == NULL)
		find_real();
	result = real_clock_gettime(id, ts);
	if (id == CLOCK_MONOTONIC && result == 0 && control != NULL && control[STILL])
	{
		ts->tv_sec = control[STILL_AT] / 1000000000;
		ts->tv_nsec = control[STILL_AT] % 1000000000;
	}
	else if (id == CLOCK_MONOTONIC && result == 0 && control != NULL &&
		control[OFFSET] != 0 && sched_getcpu() == control[CPU])
	{
		int64_t		told = (int64_t) ts->tv_sec * 1000000000 + ts->tv_nsec +
			control[OFFSET];

		ts->tv_sec = told / 1000000000;
		ts->tv_nsec = told % 1000000000;
	}
	return result;
}
