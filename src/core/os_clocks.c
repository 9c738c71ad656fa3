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

#include "core/os_clocks.h"

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

#define NS_PER_S	UINT64_C(1000000000)

static inline uint64_t
clock_gettime_ns(clockid_t id)
{
	struct timespec ts;

	(void) clock_gettime(id, &ts);
	return (uint64_t) ts.tv_sec * NS_PER_S + (uint64_t) ts.tv_nsec;
}

static double
clock_getres_ns(clockid_t id)
{
	struct timespec ts;

	if (clock_getres(id, &ts) != 0)
		return 0;
	return (double) ts.tv_sec * 1e9 + (double) ts.tv_nsec;
}

static inline uint64_t
gettimeofday_ns(void)
{
	struct timeval tv;

	(void) gettimeofday(&tv, NULL);
	return (uint64_t) tv.tv_sec * NS_PER_S + (uint64_t) tv.tv_usec * 1000;
}

static inline uint64_t
getrusage_ns(void)
{
	struct rusage usage;

	(void) getrusage(RUSAGE_SELF, &usage);
	return ((uint64_t) usage.ru_utime.tv_sec + (uint64_t) usage.ru_stime.tv_sec) * NS_PER_S +
		((uint64_t) usage.ru_utime.tv_usec + (uint64_t) usage.ru_stime.tv_usec) * 1000;
}

static double
microsecond(clockid_t id)
{
	(void) id;
	return 1e3;
}

static double
second(clockid_t id)
{
	(void) id;
	return 1e9;
}

static inline uint64_t
clock_ns(void)
{
	return (uint64_t) clock() * (NS_PER_S / CLOCKS_PER_SEC);
}

static double
clock_resolution(clockid_t id)
{
	(void) id;
	return 1e9 / CLOCKS_PER_SEC;
}

/* Set by os_clock_works(). */
static uint64_t times_tick_ns;

static inline uint64_t
times_ns(void)
{
	struct tms	unused;

	return (uint64_t) times(&unused) * times_tick_ns;
}

static double
times_resolution(clockid_t id)
{
	(void) id;
	return (double) times_tick_ns;
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
OS_CLOCK_READER(gettimeofday, gettimeofday_ns());
OS_CLOCK_READER(clock, clock_ns());
OS_CLOCK_READER(getrusage, getrusage_ns());
OS_CLOCK_READER(times, times_ns());
OS_CLOCK_READER(time, (uint64_t) time(NULL) * NS_PER_S);

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
static mach_timebase_info_data_t mach_timebase; /* by os_clock_works() */

static inline uint64_t
mach_absolute_time_ns(void)
{
	/* a tick takes numer / denom nanoseconds */
	return (uint64_t) ((unsigned __int128) mach_absolute_time() *
					   mach_timebase.numer / mach_timebase.denom);
}

static double
mach_absolute_time_resolution(clockid_t id)
{
	(void) id;
	return (double) mach_timebase.numer / mach_timebase.denom;
}

OS_CLOCK_READER(mach_absolute_time, mach_absolute_time_ns());
OS_CLOCK_READER(uptime_raw, clock_gettime_ns(CLOCK_UPTIME_RAW));
OS_CLOCK_READER(uptime_raw_approx, clock_gettime_ns(CLOCK_UPTIME_RAW_APPROX));
OS_CLOCK_READER(monotonic_raw_approx, clock_gettime_ns(CLOCK_MONOTONIC_RAW_APPROX));
#endif

#define BY_ID(name, id, kind, description) \
	{#name, "clock_gettime (" #id ")", kind, description, &reader_##name, clock_getres_ns, id}
#define BY_CALL(name, resolution, kind, description) \
	{#name, #name, kind, description, &reader_##name, resolution, NO_CLOCK}

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
	BY_CALL(gettimeofday, microsecond, CLOCK_FINE,
			"time of day in microseconds"),
	BY_CALL(clock, clock_resolution, CLOCK_CPU_TIME,
			"CPU time of this process by the C library"),
	BY_CALL(getrusage, microsecond, CLOCK_CPU_TIME,
			"CPU time of this process, user and system"),
	BY_CALL(times, times_resolution, CLOCK_COARSE,
			"time since some moment in timer ticks"),
	BY_CALL(time, second, CLOCK_COARSE,
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
	BY_CALL(mach_absolute_time, mach_absolute_time_resolution, CLOCK_FINE,
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

	if (clock->reader == &reader_times)
	{
		long		hz = sysconf(_SC_CLK_TCK);

		if (hz <= 0)
			return false;
		times_tick_ns = NS_PER_S / (uint64_t) hz;
		return true;
	}
#ifdef __APPLE__
	if (clock->reader == &reader_mach_absolute_time)
		return mach_timebase_info(&mach_timebase) == KERN_SUCCESS &&
			mach_timebase.numer > 0 && mach_timebase.denom > 0;
#endif
	if (clock->resolution_ns != clock_getres_ns)
		return true;
	return clock->id != NO_CLOCK && clock_gettime(clock->id, &ts) == 0;
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
