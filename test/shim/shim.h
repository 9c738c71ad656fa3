/*-------------------------------------------------------------------------
 *
 * shim.h
 *	  Functions for the libraries of this directory, which tests load by LD_PRELOAD.
 *
 * Each library is built from one file.  Most libraries replace clock_gettime().  A control file
 * contains the parameters and results of a library, as 64-bit integers, which are called words.
 * An environment variable, different for each library, names this file.  Every process that has
 * loaded the library maps the file, so a test may change the words at any time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SHIM_H
#define CLOCKTIMING_SHIM_H

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S	INT64_C(1000000000)

/* Words of the control file, or NULL if there is no file. */
static volatile int64_t *control;

/* Maps the control file that an environment variable names.  A library's constructor calls it. */
static inline void
map_control(const char *variable, int words)
{
	const char *path = getenv(variable);
	int			fd;
	void	   *mapped;

	if (path == NULL || (fd = open(path, O_RDWR | O_CLOEXEC)) < 0)
		return;
	mapped = mmap(NULL, words * sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped != MAP_FAILED)
		control = mapped;
}

/*
 * Calls the clock_gettime() of the C library.  Looks it up at the first call and not in this
 * library's constructor, because constructors of other libraries may run earlier and read a clock.
 */
static inline int
real_clock_gettime(clockid_t id, struct timespec *ts)
{
	static int	(*real) (clockid_t, struct timespec *);

	if (real == NULL)
	{
		*(void **) &real = dlsym(RTLD_NEXT, "clock_gettime");
		if (real == NULL)
			abort();
	}
	return real(id, ts);
}

static inline int64_t
to_ns(const struct timespec *ts)
{
	return ts->tv_sec * NS_PER_S + ts->tv_nsec;
}

static inline struct timespec
from_ns(int64_t ns)
{
	return (struct timespec) {ns / NS_PER_S, ns % NS_PER_S};
}

/* Returns the time of a clock that NTP does not steer, in nanoseconds. */
static inline int64_t
true_time(void)
{
	struct timespec ts;

	(void) real_clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return to_ns(&ts);
}

#endif							/* CLOCKTIMING_SHIM_H */
