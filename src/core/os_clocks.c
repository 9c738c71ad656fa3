#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <unistd.h>

#include "core/os_clocks.h"

/* Stands for clocks that the platform's headers lack.  They are compiled but never read. */
#define NO_CLOCK ((clockid_t) -1)
#ifndef CLOCK_REALTIME_COARSE
#define CLOCK_REALTIME_COARSE NO_CLOCK
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

#define NS_PER_S	UINT64_C(1000000000)

static inline uint64_t
clock_gettime_ns(clockid_t id)
{
	struct timespec ts;

	(void) clock_gettime(id, &ts);
	return (uint64_t) ts.tv_sec * NS_PER_S + (uint64_t) ts.tv_nsec;
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

/* Set by os_clock_works(). */
static uint64_t times_tick_ns;

static inline uint64_t
times_ns(void)
{
	struct tms	unused;

	return (uint64_t) times(&unused) * times_tick_ns;
}

/*
 * The clocks: BY_ID(name, id, kind, description) for clock_gettime(), and BY_CALL(name, call, unit
 * in ns, kind, description) for others.  os_clock_works() determines a unit of 0.
 */
#define OS_CLOCKS(BY_ID, BY_CALL) \
	BY_ID(realtime, CLOCK_REALTIME, CLOCK_FINE, "time of day, which NTP and the administrator set") \
	BY_ID(realtime_coarse, CLOCK_REALTIME_COARSE, CLOCK_COARSE, "time of day at the last timer interrupt") \
	BY_ID(monotonic, CLOCK_MONOTONIC, CLOCK_FINE, "time since the start, steered by NTP") \
	BY_ID(monotonic_coarse, CLOCK_MONOTONIC_COARSE, CLOCK_COARSE, "monotonic at the last timer interrupt") \
	BY_ID(monotonic_raw, CLOCK_MONOTONIC_RAW, CLOCK_FINE, "time since the start, steered by nobody") \
	BY_ID(boottime, CLOCK_BOOTTIME, CLOCK_FINE, "monotonic, with the time that the system was suspended") \
	BY_ID(tai, CLOCK_TAI, CLOCK_FINE, "time of day without leap seconds") \
	BY_ID(process_cputime, CLOCK_PROCESS_CPUTIME_ID, CLOCK_CPU_TIME, "CPU time of this process") \
	BY_ID(thread_cputime, CLOCK_THREAD_CPUTIME_ID, CLOCK_CPU_TIME, "CPU time of this thread") \
	BY_CALL(gettimeofday, gettimeofday_ns(), 1e3, CLOCK_FINE, "time of day in microseconds") \
	BY_CALL(clock, (uint64_t) clock() * (NS_PER_S / CLOCKS_PER_SEC), 1e9 / CLOCKS_PER_SEC, CLOCK_CPU_TIME, "CPU time of this process by the C library") \
	BY_CALL(getrusage, getrusage_ns(), 1e3, CLOCK_CPU_TIME, "CPU time of this process, user and system") \
	BY_CALL(times, times_ns(), 0, CLOCK_COARSE, "time since some moment in timer ticks") \
	BY_CALL(time, (uint64_t) time(NULL) * NS_PER_S, 1e9, CLOCK_COARSE, "time of day in seconds")

#define READER(name, READ) \
CLOCK_READER_FUNCTIONS(read_##name, READ) \
static const ClockReader reader_##name = CLOCK_READER(read_##name);
#define READER_BY_ID(name, id, kind, description) READER(name, clock_gettime_ns(id))
#define READER_BY_CALL(name, call, unit_ns, kind, description) READER(name, call)

OS_CLOCKS(READER_BY_ID, READER_BY_CALL)

#define ENTRY_BY_ID(name, id, kind, description) \
	{#name, "clock_gettime (" #id ")", kind, description, &reader_##name, 0, id},
#define ENTRY_BY_CALL(name, call, unit_ns, kind, description) \
	{#name, #name, kind, description, &reader_##name, unit_ns, NO_CLOCK},

const OsClock os_clocks[] = {
	OS_CLOCKS(ENTRY_BY_ID, ENTRY_BY_CALL)
};

const int	n_os_clocks = sizeof(os_clocks) / sizeof(os_clocks[0]);

bool
os_clock_works(const OsClock *clock)
{
	struct timespec ts;

	if (clock->reader == &reader_times)
	{
		long		hz = sysconf(_SC_CLK_TCK);

		times_tick_ns = hz > 0 ? NS_PER_S / (uint64_t) hz : 0;
		return hz > 0;
	}
	return clock->unit_ns > 0 ||
		(clock->id != NO_CLOCK && clock_gettime(clock->id, &ts) == 0);
}

double
os_clock_resolution_ns(const OsClock *clock)
{
	struct timespec ts;

	if (clock->reader == &reader_times)
		return (double) times_tick_ns;
	if (clock->unit_ns > 0)
		return clock->unit_ns;
	return clock_getres(clock->id, &ts) == 0 ? (double) ts.tv_sec * 1e9 + (double) ts.tv_nsec : 0;
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
