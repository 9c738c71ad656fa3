/*
 * costs: measures the cost of a reading of each clock, in a loop that only
 * reads the clock.  For bench/survey.
 *
 * Short batches of readings of all clocks alternate, so that a disturbance of
 * the machine affects all clocks.  The fastest batches are disturbed least.
 * With --unrolled, an iteration of the loop has eight readings, so the time of
 * a reading includes only an eighth of the loop's own cost.
 *
 * usage: costs [--unrolled] [SECONDS].  Prints a line for each clock: name,
 * mean time per reading of the fastest fiftieth of the batches, and median time
 * per reading of all batches, in ns.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#include "core/tsc.h"
#ifdef CLOCKTIMING_HAVE_TSC
#include <cpuid.h>
#endif

#define BATCH_NS 50000.0		/* approximate duration of a batch */
#define AT_LEAST 5				/* minimum number of batches of a clock */
#define UNROLLED 8				/* readings in an iteration of an unrolled loop */

/* A clock that the system's headers lack gets the number -1, for which has() returns false. */
#ifndef CLOCK_REALTIME_COARSE
#define CLOCK_REALTIME_COARSE ((clockid_t) -1)
#endif
#ifndef CLOCK_MONOTONIC_COARSE
#define CLOCK_MONOTONIC_COARSE ((clockid_t) -1)
#endif
#ifndef CLOCK_MONOTONIC_RAW
#define CLOCK_MONOTONIC_RAW ((clockid_t) -1)
#define TIMER CLOCK_MONOTONIC
#else
#define TIMER CLOCK_MONOTONIC_RAW
#endif
#ifndef CLOCK_BOOTTIME
#define CLOCK_BOOTTIME ((clockid_t) -1)
#endif
#ifndef CLOCK_TAI
#define CLOCK_TAI ((clockid_t) -1)
#endif

static bool
has(clockid_t id)
{
	struct timespec ts;

	return clock_gettime(id, &ts) == 0;
}

static inline uint64_t
read_clock(clockid_t id)
{
	struct timespec ts;

	(void) clock_gettime(id, &ts);
	return ts.tv_nsec;
}

static inline uint64_t
read_gettimeofday(void)
{
	struct timeval tv;

	(void) gettimeofday(&tv, NULL);
	return tv.tv_usec;
}

static inline uint64_t
read_getrusage(void)
{
	struct rusage usage;

	(void) getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_usec;
}

static inline uint64_t
read_times(void)
{
	struct tms	tms;

	return times(&tms);
}

#ifdef CLOCKTIMING_HAVE_TSC
static bool
has_rdtscp(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) && (edx & 1 << 27);
}

#define TSC_CLOCKS(X) \
	X(rdtscp, has_rdtscp(), tsc_read_rdtscp()) \
	X(rdtsc, true, tsc_read_rdtsc())
#else
#define TSC_CLOCKS(X)
#endif

/* The clocks: name, expression that is true if the system has the clock, expression to read it. */
#define CLOCKS(X) \
	X(realtime, has(CLOCK_REALTIME), read_clock(CLOCK_REALTIME)) \
	X(realtime_coarse, has(CLOCK_REALTIME_COARSE), read_clock(CLOCK_REALTIME_COARSE)) \
	X(monotonic, has(CLOCK_MONOTONIC), read_clock(CLOCK_MONOTONIC)) \
	X(monotonic_coarse, has(CLOCK_MONOTONIC_COARSE), read_clock(CLOCK_MONOTONIC_COARSE)) \
	X(monotonic_raw, has(CLOCK_MONOTONIC_RAW), read_clock(CLOCK_MONOTONIC_RAW)) \
	X(boottime, has(CLOCK_BOOTTIME), read_clock(CLOCK_BOOTTIME)) \
	X(tai, has(CLOCK_TAI), read_clock(CLOCK_TAI)) \
	X(process_cputime, has(CLOCK_PROCESS_CPUTIME_ID), read_clock(CLOCK_PROCESS_CPUTIME_ID)) \
	X(thread_cputime, has(CLOCK_THREAD_CPUTIME_ID), read_clock(CLOCK_THREAD_CPUTIME_ID)) \
	X(gettimeofday, true, read_gettimeofday()) \
	X(clock, true, (uint64_t) clock()) \
	X(getrusage, true, read_getrusage()) \
	X(times, true, read_times()) \
	X(time, true, (uint64_t) time(NULL)) \
	TSC_CLOCKS(X)

#define DEFINE_LOOPS(name, available, READ) \
static uint64_t \
name##_plain(int readings) \
{ \
	uint64_t	sum = 0; \
\
	for (int i = 0; i < readings; i++) \
		sum += (READ); \
	return sum; \
} \
\
static uint64_t \
name##_unrolled(int readings) \
{ \
	uint64_t	sum = 0; \
\
	for (int i = 0; i < readings; i += UNROLLED) \
	{ \
		sum += (READ); \
		sum += (READ); \
		sum += (READ); \
		sum += (READ); \
		sum += (READ); \
		sum += (READ); \
		sum += (READ); \
		sum += (READ); \
	} \
	return sum; \
}

CLOCKS(DEFINE_LOOPS)

typedef struct Clock
{
	const char *name;
	uint64_t	(*loops[2]) (int readings); /* plain loop, unrolled loop */
	int			readings;		/* number of readings in a batch */
	double	   *ns;				/* mean ns per reading of each batch */
} Clock;

static volatile uint64_t sink;

/* Executes a batch of readings and returns its duration in ns. */
static double
batch(uint64_t (*loop) (int), int readings)
{
	struct timespec start;
	struct timespec end;

	clock_gettime(TIMER, &start);
	sink = loop(readings);
	clock_gettime(TIMER, &end);
	return (end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec);
}

/* Returns the number of readings with which a batch takes about BATCH_NS. */
static int
readings_for(uint64_t (*loop) (int))
{
	int			readings = UNROLLED;

	for (;;)
	{
		double		ns = batch(loop, readings);

		/* uses the fastest of five batches, which is hardly disturbed */
		for (int i = 0; i < 4; i++)
		{
			double		again = batch(loop, readings);

			ns = again < ns ? again : ns;
		}
		if (ns >= BATCH_NS * 0.8)
			return readings;
		readings = ns < BATCH_NS / 4 ? readings * 2 :
			((int) (readings * BATCH_NS / ns) / UNROLLED + 1) * UNROLLED;
	}
}

static int
compare(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
#define ENTRY(name, available, READ) {#name, {name##_plain, name##_unrolled}, 0, NULL},
#define AVAILABLE(name, available, READ) (available),
	Clock		clocks[] = {CLOCKS(ENTRY)};
	bool		available[] = {CLOCKS(AVAILABLE)};
	int			nclocks = 0;
	bool		unrolled = argc > 1 && strcmp(argv[1], "--unrolled") == 0;
	double		seconds = argc > 1 + unrolled ? atof(argv[1 + unrolled]) : 2;
	int			rounds = 0;
	int			capacity = 0;
	struct timespec start;
	struct timespec now;

	if (argc > 2 + unrolled || seconds <= 0)
	{
		fprintf(stderr, "usage: costs [--unrolled] [SECONDS]\n");
		return 1;
	}
	for (size_t c = 0; c < sizeof(clocks) / sizeof(clocks[0]); c++)
		if (available[c])
			clocks[nclocks++] = clocks[c];
	for (int c = 0; c < nclocks; c++)
		clocks[c].readings = readings_for(clocks[c].loops[unrolled]);

	clock_gettime(TIMER, &start);
	do
	{
		if (rounds == capacity)
		{
			capacity = capacity * 2 + 1000;
			for (int c = 0; c < nclocks; c++)
				if ((clocks[c].ns = realloc(clocks[c].ns, capacity * sizeof(double))) == NULL)
					return 1;
		}
		for (int c = 0; c < nclocks; c++)
			clocks[c].ns[rounds] = batch(clocks[c].loops[unrolled], clocks[c].readings) /
				clocks[c].readings;
		rounds++;
		clock_gettime(TIMER, &now);
	} while ((now.tv_sec - start.tv_sec) + (now.tv_nsec - start.tv_nsec) / 1e9 < seconds ||
			 rounds < AT_LEAST);

	for (int c = 0; c < nclocks; c++)
	{
		int			fastest = rounds / 50 > AT_LEAST ? rounds / 50 : AT_LEAST;
		double		sum = 0;

		qsort(clocks[c].ns, rounds, sizeof(double), compare);
		for (int i = 0; i < fastest; i++)
			sum += clocks[c].ns[i];
		printf("%-16s %9.3f %9.3f\n", clocks[c].name, sum / fastest,
			   (clocks[c].ns[(rounds - 1) / 2] + clocks[c].ns[rounds / 2]) / 2);
	}
	return 0;
}
