/*-------------------------------------------------------------------------
 *
 * os_clocks.c
 *	  The clocks that the operating system and the C library offer.
 *
 *-------------------------------------------------------------------------
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <stddef.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#ifdef __APPLE__
#include <mach/mach_time.h>
#endif
#include <unistd.h>

#include "os_clocks.h"
#include "sampler_loop.h"

/* What the platform's headers lack is compiled, but never read. */
#define NO_CLOCK ((clockid_t) -1)
#ifndef CLOCK_REALTIME_COARSE
#define CLOCK_REALTIME_COARSE NO_CLOCK
#endif
#ifndef CLOCK_MONOTONIC
#define CLOCK_MONOTONIC NO_CLOCK
#endif
#ifndef CLOCK_MONOTONIC_COARSE
#define CLOCK_MONOTONIC_COARSE NO_CLOCK
#endif
#ifndef CLOCK_MONOTONIC_RAW
#define CLOCK_MONOTONIC_RAW NO_CLOCK
#endif
#ifndef CLOCK_BOOTTIME
#define CLOCK_BOOTTIME NO_CLOCK
#endif
#ifndef CLOCK_TAI
#define CLOCK_TAI NO_CLOCK
#endif
#ifndef CLOCK_PROCESS_CPUTIME_ID
#define CLOCK_PROCESS_CPUTIME_ID NO_CLOCK
#endif
#ifndef CLOCK_THREAD_CPUTIME_ID
#define CLOCK_THREAD_CPUTIME_ID NO_CLOCK
#endif

static inline uint64_t
clock_gettime_ns(clockid_t id)
{
	struct timespec ts;

	(void) clock_gettime(id, &ts);
	return (uint64_t) ts.tv_sec * UINT64_C(1000000000) + (uint64_t) ts.tv_nsec;
}

static inline uint64_t
gettimeofday_us(void)
{
	struct timeval tv;

	(void) gettimeofday(&tv, NULL);
	return (uint64_t) tv.tv_sec * UINT64_C(1000000) + (uint64_t) tv.tv_usec;
}

static inline uint64_t
getrusage_us(void)
{
	struct rusage usage;

	(void) getrusage(RUSAGE_SELF, &usage);
	return ((uint64_t) usage.ru_utime.tv_sec + (uint64_t) usage.ru_stime.tv_sec) *
		UINT64_C(1000000) +
		(uint64_t) usage.ru_utime.tv_usec + (uint64_t) usage.ru_stime.tv_usec;
}

static inline uint64_t
times_ticks(void)
{
	struct tms	unused;

	return (uint64_t) times(&unused);
}

static double
nanoseconds(void)
{
	return 1e9;
}

static double
microseconds(void)
{
	return 1e6;
}

static double
seconds(void)
{
	return 1;
}

static double
clock_hz(void)
{
	return CLOCKS_PER_SEC;
}

static double
times_hz(void)
{
	return (double) sysconf(_SC_CLK_TCK);
}

#define OS_CLOCK_READER(name, READ) \
CLOCK_READER_FUNCTIONS(read_##name, READ) \
static const ClockReader reader_##name = CLOCK_READER(read_##name)

OS_CLOCK_READER(realtime, clock_gettime_ns(CLOCK_REALTIME));
OS_CLOCK_READER(realtime_coarse, clock_gettime_ns(CLOCK_REALTIME_COARSE));
OS_CLOCK_READER(monotonic, clock_gettime_ns(CLOCK_MONOTONIC));
OS_CLOCK_READER(monotonic_coarse, clock_gettime_ns(CLOCK_MONOTONIC_COARSE));
OS_CLOCK_READER(monotonic_raw, clock_gettime_ns(CLOCK_MONOTONIC_RAW));
OS_CLOCK_READER(boottime, clock_gettime_ns(CLOCK_BOOTTIME));
OS_CLOCK_READER(tai, clock_gettime_ns(CLOCK_TAI));
OS_CLOCK_READER(process_cputime, clock_gettime_ns(CLOCK_PROCESS_CPUTIME_ID));
OS_CLOCK_READER(thread_cputime, clock_gettime_ns(CLOCK_THREAD_CPUTIME_ID));
OS_CLOCK_READER(gettimeofday, gettimeofday_us());
OS_CLOCK_READER(clock, (uint64_t) clock());
OS_CLOCK_READER(getrusage, getrusage_us());
OS_CLOCK_READER(times, times_ticks());
OS_CLOCK_READER(time, (uint64_t) time(NULL));

#ifdef __FreeBSD__
OS_CLOCK_READER(realtime_fast, clock_gettime_ns(CLOCK_REALTIME_FAST));
OS_CLOCK_READER(realtime_precise, clock_gettime_ns(CLOCK_REALTIME_PRECISE));
OS_CLOCK_READER(monotonic_fast, clock_gettime_ns(CLOCK_MONOTONIC_FAST));
OS_CLOCK_READER(monotonic_precise, clock_gettime_ns(CLOCK_MONOTONIC_PRECISE));
OS_CLOCK_READER(uptime_fast, clock_gettime_ns(CLOCK_UPTIME_FAST));
OS_CLOCK_READER(uptime_precise, clock_gettime_ns(CLOCK_UPTIME_PRECISE));
OS_CLOCK_READER(second, clock_gettime_ns(CLOCK_SECOND));
#endif

#ifdef __APPLE__
OS_CLOCK_READER(mach_absolute_time, mach_absolute_time());
OS_CLOCK_READER(uptime_raw, clock_gettime_ns(CLOCK_UPTIME_RAW));
OS_CLOCK_READER(uptime_raw_approx, clock_gettime_ns(CLOCK_UPTIME_RAW_APPROX));
OS_CLOCK_READER(monotonic_raw_approx, clock_gettime_ns(CLOCK_MONOTONIC_RAW_APPROX));

static double
mach_absolute_time_hz(void)
{
	mach_timebase_info_data_t base;

	/* a tick takes numer / denom nanoseconds */
	if (mach_timebase_info(&base) != KERN_SUCCESS || base.numer == 0)
		return 1e9;
	return 1e9 * base.denom / base.numer;
}
#endif

#define BY_ID(name, id, kind, description) \
	{#name, "clock_gettime (" #id ")", kind, description, &reader_##name, nanoseconds, id, true}
#define BY_CALL(name, hz, kind, description) \
	{#name, #name, kind, description, &reader_##name, hz, NO_CLOCK, false}

const OsClock os_clocks[] = {
	BY_ID(realtime, CLOCK_REALTIME, CLOCK_FINE,
		  "time of day, which NTP and the administrator set"),
	BY_ID(realtime_coarse, CLOCK_REALTIME_COARSE, CLOCK_COARSE,
		  "time of day at the last timer interrupt"),
	BY_ID(monotonic, CLOCK_MONOTONIC, CLOCK_FINE,
		  "time since the start, steered by NTP"),
	BY_ID(monotonic_coarse, CLOCK_MONOTONIC_COARSE, CLOCK_COARSE,
		  "monotonic at the last timer interrupt"),
	BY_ID(monotonic_raw, CLOCK_MONOTONIC_RAW, CLOCK_FINE,
		  "time since the start, steered by nobody"),
	BY_ID(boottime, CLOCK_BOOTTIME, CLOCK_FINE,
		  "monotonic, with the time that the system was suspended"),
	BY_ID(tai, CLOCK_TAI, CLOCK_FINE,
		  "time of day without leap seconds"),
	BY_ID(process_cputime, CLOCK_PROCESS_CPUTIME_ID, CLOCK_CPU_TIME,
		  "CPU time of this process"),
	BY_ID(thread_cputime, CLOCK_THREAD_CPUTIME_ID, CLOCK_CPU_TIME,
		  "CPU time of this thread"),
	BY_CALL(gettimeofday, microseconds, CLOCK_FINE,
			"time of day in microseconds"),
	BY_CALL(clock, clock_hz, CLOCK_CPU_TIME,
			"CPU time of this process by the C library"),
	BY_CALL(getrusage, microseconds, CLOCK_CPU_TIME,
			"CPU time of this process, user and system"),
	BY_CALL(times, times_hz, CLOCK_COARSE,
			"time since some moment in timer ticks"),
	BY_CALL(time, seconds, CLOCK_COARSE,
			"time of day in seconds"),
#ifdef __FreeBSD__
	BY_ID(realtime_fast, CLOCK_REALTIME_FAST, CLOCK_COARSE,
		  "time of day at the last timer interrupt"),
	BY_ID(realtime_precise, CLOCK_REALTIME_PRECISE, CLOCK_FINE,
		  "time of day as precisely as possible"),
	BY_ID(monotonic_fast, CLOCK_MONOTONIC_FAST, CLOCK_COARSE,
		  "monotonic at the last timer interrupt"),
	BY_ID(monotonic_precise, CLOCK_MONOTONIC_PRECISE, CLOCK_FINE,
		  "monotonic as precisely as possible"),
	BY_ID(uptime_fast, CLOCK_UPTIME_FAST, CLOCK_COARSE,
		  "time that the system has run, at the last timer interrupt"),
	BY_ID(uptime_precise, CLOCK_UPTIME_PRECISE, CLOCK_FINE,
		  "time that the system has run, as precisely as possible"),
	BY_ID(second, CLOCK_SECOND, CLOCK_COARSE,
		  "time of day in seconds"),
#endif
#ifdef __APPLE__
	BY_CALL(mach_absolute_time, mach_absolute_time_hz, CLOCK_FINE,
			"time that the system has run, as the processor counts"),
	BY_ID(uptime_raw, CLOCK_UPTIME_RAW, CLOCK_FINE,
		  "time that the system has run, steered by nobody"),
	BY_ID(uptime_raw_approx, CLOCK_UPTIME_RAW_APPROX, CLOCK_COARSE,
		  "uptime_raw at the last context switch"),
	BY_ID(monotonic_raw_approx, CLOCK_MONOTONIC_RAW_APPROX, CLOCK_COARSE,
		  "monotonic_raw at the last context switch"),
#endif
};

const int	n_os_clocks = sizeof(os_clocks) / sizeof(os_clocks[0]);

bool
os_clock_works(const OsClock *clock)
{
	struct timespec ts;

	if (!clock->by_id)
		return clock->hz() > 0;
	return clock->id != NO_CLOCK && clock_gettime(clock->id, &ts) == 0;
}

double
os_clock_resolution_ns(const OsClock *clock)
{
	struct timespec ts;

	if (!clock->by_id)
		return 1e9 / clock->hz();
	if (clock_getres(clock->id, &ts) != 0)
		return 0;
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

bool
os_system_calls(int n)
{
#if defined(__linux__) && defined(SYS_getppid)
	for (int i = 0; i < n; i++)
		(void) syscall(SYS_getppid);
	return true;
#else
	(void) n;
	return false;
#endif
}
