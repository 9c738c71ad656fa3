/* The clock that PostgreSQL's portability/instr_time.h reads when it does not use the TSC. */
#ifndef CLOCKTIMING_SYSTEM_CLOCK_H
#define CLOCKTIMING_SYSTEM_CLOCK_H

#include <stdint.h>
#include <time.h>

#if defined(__APPLE__) && defined(CLOCK_MONOTONIC_RAW)
#define SYSTEM_CLOCK_ID		CLOCK_MONOTONIC_RAW
#define SYSTEM_CLOCK_NAME	"clock_gettime (CLOCK_MONOTONIC_RAW)"
#elif defined(CLOCK_MONOTONIC)
#define SYSTEM_CLOCK_ID		CLOCK_MONOTONIC
#define SYSTEM_CLOCK_NAME	"clock_gettime (CLOCK_MONOTONIC)"
#else
#define SYSTEM_CLOCK_ID		CLOCK_REALTIME
#define SYSTEM_CLOCK_NAME	"clock_gettime (CLOCK_REALTIME)"
#endif

static inline uint64_t
clock_gettime_ns(clockid_t id)
{
	struct timespec ts;

	(void) clock_gettime(id, &ts);
	return (uint64_t) ts.tv_sec * UINT64_C(1000000000) + (uint64_t) ts.tv_nsec;
}

static inline uint64_t
system_clock_read(void)
{
	return clock_gettime_ns(SYSTEM_CLOCK_ID);
}

#endif							/* CLOCKTIMING_SYSTEM_CLOCK_H */
