/*
 * The table of the operating system's clocks, and their readers.
 *
 * X-macros generate a reader and a table entry from one line per clock.  A reader is a function of
 * its own, in whose loop the call is compiled directly, because a call by a function pointer would
 * add to the measured cost.  All readers return nanoseconds, whatever the unit of the clock.
 */
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

#include "clock/sampling/os_clocks.h"
#include "core/system_clock.h"

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

/* Length of a tick of times() in ns, set by os_clock_works(). */
static uint64_t times_tick_ns;

static inline uint64_t
times_ns(void)
{
	struct tms	unused;

	return (uint64_t) times(&unused) * times_tick_ns;
}

#ifdef __APPLE__
static mach_timebase_info_data_t mach_timebase; /* set by os_clock_works() */

static inline uint64_t
mach_absolute_time_ns(void)
{
	/* a tick takes numer / denom nanoseconds */
	return (uint64_t) ((unsigned __int128) mach_absolute_time() *
					   mach_timebase.numer / mach_timebase.denom);
}
#endif

/*
 * X-macro of the clocks that are in the table on every platform.  It generates readers and table.
 * BY_ID(name, id, kind, description) is a clock that clock_gettime() reads.  BY_CALL(name, call,
 * unit in ns, kind, description) is a clock that another function reads.  If the unit is 0,
 * os_clock_works() determines the unit at run time.
 */
#define COMMON_CLOCKS(BY_ID, BY_CALL) \
	BY_ID(realtime, CLOCK_REALTIME, CLOCK_FINE, "time of day, which NTP and the administrator set") \
	BY_ID(realtime_coarse, CLOCK_REALTIME_COARSE, CLOCK_COARSE, "time of day at the last timer interrupt") \
	BY_ID(monotonic, CLOCK_MONOTONIC, CLOCK_FINE, "time since the system started, steered by NTP") \
	BY_ID(monotonic_coarse, CLOCK_MONOTONIC_COARSE, CLOCK_COARSE, "monotonic at the last timer interrupt") \
	BY_ID(monotonic_raw, CLOCK_MONOTONIC_RAW, CLOCK_FINE, "time since the system started, not steered by NTP") \
	BY_ID(boottime, CLOCK_BOOTTIME, CLOCK_FINE, "monotonic, plus the time during which the system was suspended") \
	BY_ID(tai, CLOCK_TAI, CLOCK_FINE, "time of day without leap seconds") \
	BY_ID(process_cputime, CLOCK_PROCESS_CPUTIME_ID, CLOCK_CPU_TIME, "CPU time of this process") \
	BY_ID(thread_cputime, CLOCK_THREAD_CPUTIME_ID, CLOCK_CPU_TIME, "CPU time of this thread") \
	BY_CALL(gettimeofday, gettimeofday_ns(), 1e3, CLOCK_FINE, "time of day in microseconds") \
	BY_CALL(clock, (uint64_t) clock() * (NS_PER_S / CLOCKS_PER_SEC), 1e9 / CLOCKS_PER_SEC, \
		CLOCK_CPU_TIME, "CPU time of this process by the C library") \
	BY_CALL(getrusage, getrusage_ns(), 1e3, CLOCK_CPU_TIME, "CPU time of this process, user and system") \
	BY_CALL(times, times_ns(), 0, CLOCK_COARSE, "elapsed time in timer ticks, from an arbitrary origin") \
	BY_CALL(time, (uint64_t) time(NULL) * NS_PER_S, 1e9, CLOCK_COARSE, "time of day in seconds")

#if defined(__FreeBSD__)
#define PLATFORM_CLOCKS(BY_ID, BY_CALL) \
	BY_ID(realtime_fast, CLOCK_REALTIME_FAST, CLOCK_COARSE, "time of day at the last timer interrupt") \
	BY_ID(realtime_precise, CLOCK_REALTIME_PRECISE, CLOCK_FINE, "time of day as precisely as possible") \
	BY_ID(monotonic_fast, CLOCK_MONOTONIC_FAST, CLOCK_COARSE, "monotonic at the last timer interrupt") \
	BY_ID(monotonic_precise, CLOCK_MONOTONIC_PRECISE, CLOCK_FINE, "monotonic as precisely as possible") \
	BY_ID(uptime_fast, CLOCK_UPTIME_FAST, CLOCK_COARSE, "time that the system has run, at the last timer interrupt") \
	BY_ID(uptime_precise, CLOCK_UPTIME_PRECISE, CLOCK_FINE, "time that the system has run, as precisely as possible") \
	BY_ID(second, CLOCK_SECOND, CLOCK_COARSE, "time of day in seconds")
#elif defined(__APPLE__)
#define PLATFORM_CLOCKS(BY_ID, BY_CALL) \
	BY_CALL(mach_absolute_time, mach_absolute_time_ns(), 0, CLOCK_FINE, "time that the system has run, by the processor's counter") \
	BY_ID(uptime_raw, CLOCK_UPTIME_RAW, CLOCK_FINE, "time that the system has run, not steered by NTP") \
	BY_ID(uptime_raw_approx, CLOCK_UPTIME_RAW_APPROX, CLOCK_COARSE, "uptime_raw at the last context switch") \
	BY_ID(monotonic_raw_approx, CLOCK_MONOTONIC_RAW_APPROX, CLOCK_COARSE, "monotonic_raw at the last context switch")
#else
#define PLATFORM_CLOCKS(BY_ID, BY_CALL)
#endif

#define READER(name, READ) \
CLOCK_READER_FUNCTIONS(read_##name, READ) \
static const ClockReader reader_##name = CLOCK_READER(read_##name);
#define READER_BY_ID(name, id, kind, description) READER(name, clock_gettime_ns(id))
#define READER_BY_CALL(name, call, unit_ns, kind, description) READER(name, call)

COMMON_CLOCKS(READER_BY_ID, READER_BY_CALL)
PLATFORM_CLOCKS(READER_BY_ID, READER_BY_CALL)

#define ENTRY_BY_ID(name, id, kind, description) \
	{#name, "clock_gettime (" #id ")", kind, description, &reader_##name, 0, id},
#define ENTRY_BY_CALL(name, call, unit_ns, kind, description) \
	{#name, #name, kind, description, &reader_##name, unit_ns, NO_CLOCK},

const ClockSource os_clocks[] = {
	COMMON_CLOCKS(ENTRY_BY_ID, ENTRY_BY_CALL)
	PLATFORM_CLOCKS(ENTRY_BY_ID, ENTRY_BY_CALL)
};

const int	n_os_clocks = sizeof(os_clocks) / sizeof(os_clocks[0]);

/* Linux numbers its auxiliary clocks from CLOCK_AUX on, which older C libraries do not define. */
#define AUX_FIRST	16

#if defined(__linux__)
#define AUX_CLOCKS(AUX) AUX(0) AUX(1) AUX(2) AUX(3) AUX(4) AUX(5) AUX(6) AUX(7)
#define READER_OF_AUX(n) READER(aux##n, clock_gettime_ns(AUX_FIRST + n))
AUX_CLOCKS(READER_OF_AUX)
#define ENTRY_OF_AUX(n) \
	{"aux" #n, "clock_gettime (CLOCK_AUX + " #n ")", CLOCK_FINE, \
		"auxiliary clock, whose time and rate its owner sets", &reader_aux##n, 0, AUX_FIRST + n},
const ClockSource aux_clocks[] = {AUX_CLOCKS(ENTRY_OF_AUX)};

const int	n_aux_clocks = sizeof(aux_clocks) / sizeof(aux_clocks[0]);
#else
const ClockSource aux_clocks[] = {{.name = ""}};

const int	n_aux_clocks = 0;
#endif

bool
os_clock_is_aux(const ClockSource *clock)
{
	return clock >= aux_clocks && clock < aux_clocks + n_aux_clocks;
}

/*
 * For an auxiliary clock, only clock_gettime() tells: the clock_getres() of the vDSO succeeds for
 * disabled clocks, too, and also on kernels without auxiliary clocks.
 */
bool
os_clock_works(const ClockSource *clock)
{
	struct timespec ts;

	if (clock->reader == &reader_times)
	{
		long		hz = sysconf(_SC_CLK_TCK);

		times_tick_ns = hz > 0 ? NS_PER_S / (uint64_t) hz : 0;
		return hz > 0;
	}
#ifdef __APPLE__
	if (clock->reader == &reader_mach_absolute_time)
		return mach_timebase_info(&mach_timebase) == KERN_SUCCESS &&
			mach_timebase.numer > 0 && mach_timebase.denom > 0;
#endif
	return clock->unit_ns > 0 ||
		(clock->id != NO_CLOCK && clock_gettime(clock->id, &ts) == 0);
}

double
os_clock_resolution_ns(const ClockSource *clock)
{
	struct timespec ts;

	if (clock->reader == &reader_times)
		return (double) times_tick_ns;
#ifdef __APPLE__
	if (clock->reader == &reader_mach_absolute_time)
		return (double) mach_timebase.numer / mach_timebase.denom;
#endif
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
