/*
 * raw: reads a clock as fast as possible, and only stores the readings.  The time per reading is a
 * lower bound for any loop that samples the clock.  For bench/loop.
 *
 * usage: raw (system | rdtscp | rdtsc) SECONDS.  Prints the time per reading in ns.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/system_clock.h"
#include "core/tsc.h"

/* Number of readings that are stored, small enough to stay in the first-level cache. */
#define READINGS 1024

static uint64_t buffer[READINGS];

static double
wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

#define DEFINE_RAW(name, READ) \
static void \
name(void) \
{ \
	for (int i = 0; i < READINGS; i += 2) \
	{ \
		buffer[i] = (READ); \
		buffer[i + 1] = (READ); \
	} \
	__asm__ volatile("" : : "r" (buffer) : "memory"); \
}

DEFINE_RAW(raw_system, system_clock_read())
#ifdef CLOCKTIMING_HAVE_TSC
DEFINE_RAW(raw_rdtscp, tsc_read_rdtscp())
DEFINE_RAW(raw_rdtsc, tsc_read_rdtsc())
#endif

int
main(int argc, char **argv)
{
	void		(*batch) (void) = NULL;
	double		start;
	double		now;
	double		batches = 0;

	if (argc == 3 && strcmp(argv[1], "system") == 0)
		batch = raw_system;
#ifdef CLOCKTIMING_HAVE_TSC
	if (argc == 3 && strcmp(argv[1], "rdtscp") == 0)
		batch = raw_rdtscp;
	if (argc == 3 && strcmp(argv[1], "rdtsc") == 0)
		batch = raw_rdtsc;
#endif
	if (batch == NULL)
	{
		fprintf(stderr, "usage: raw (system | rdtscp | rdtsc) SECONDS\n");
		return 1;
	}
	start = wall_ns();
	do
	{
		/* Checks the time only after 64 batches, so that the cost of the check is negligible. */
		for (int i = 0; i < 64; i++)
			batch();
		batches += 64;
		now = wall_ns();
	} while (now - start < atof(argv[2]) * 1e9);
	printf("%.4f\n", (now - start) / (batches * READINGS));
	return 0;
}
