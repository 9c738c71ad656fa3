/*
 * The reference clock, and comparisons of another clock with it.
 *
 * A comparison is a bracket: a reading of the other clock between two readings of the reference.
 * The reading is assumed to have been taken in the middle of the bracket, so the error of its time
 * is at most half of the bracket's width.  An interrupt within a bracket makes it wide.  So several
 * brackets are read, and the narrowest one is used.
 */
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#include <stddef.h>

#include "core/reference.h"
#include "core/system_clock.h"

#if defined(__linux__) && defined(SYS_clock_gettime) && defined(__LP64__)
#define REFERENCE_BY_SYSTEM_CALL 1
#endif

#if defined(REFERENCE_BY_SYSTEM_CALL)
#define REFERENCE_CLOCK_ID CLOCK_MONOTONIC_RAW
const char *const reference_name = "CLOCK_MONOTONIC_RAW by system call";
#elif defined(CLOCK_MONOTONIC_RAW)
#define REFERENCE_CLOCK_ID CLOCK_MONOTONIC_RAW
const char *const reference_name = "clock_gettime (CLOCK_MONOTONIC_RAW)";
#else
#define REFERENCE_CLOCK_ID CLOCK_MONOTONIC
const char *const reference_name = "clock_gettime (CLOCK_MONOTONIC)";
#endif

uint64_t
kernel_clock_ns(clockid_t id)
{
#ifdef REFERENCE_BY_SYSTEM_CALL
	struct timespec ts = {0, 0};

	/* cannot fail: Linux supports all clocks used here since 2.6.39 */
	(void) syscall(SYS_clock_gettime, id, &ts);
	return (uint64_t) ts.tv_sec * UINT64_C(1000000000) + (uint64_t) ts.tv_nsec;
#else
	return clock_gettime_ns(id);
#endif
}

uint64_t
reference_ns(void)
{
	return kernel_clock_ns(REFERENCE_CLOCK_ID);
}

/*
 * The first bracket is accepted in any case, so there is a result even if the clock goes backwards
 * in each of the others.
 */
ReferencePair
reference_pair(uint64_t (*reference) (void), uint64_t (*read) (void), int tries,
			   uint64_t good_width_ns, void (*seen) (void *arg, uint64_t reading), void *arg)
{
	ReferencePair best = {0, 0, UINT64_MAX};
	uint64_t	previous = 0;

	for (int i = 0; i < tries && best.width_ns > good_width_ns; i++)
	{
		uint64_t	before = reference();
		uint64_t	reading = read();
		uint64_t	after = reference();

		if (seen != NULL)
			seen(arg, reading);
		if (after - before < best.width_ns && (i == 0 || (int64_t) (reading - previous) >= 0))
		{
			best.reading = reading;
			best.reference_ns = before + (after - before) / 2;
			best.width_ns = after - before;
		}
		previous = reading;
	}
	return best;
}
