/* The clocks that the operating system and the C library offer. */
#ifndef CLOCKTIMING_OS_CLOCKS_H
#define CLOCKTIMING_OS_CLOCKS_H

#include <time.h>

#include "core/sampler.h"

typedef enum ClockKind
{
	CLOCK_FINE,
	CLOCK_COARSE,				/* advances with the timer interrupt or slower */
	CLOCK_CPU_TIME				/* stands still while the process does not run */
} ClockKind;

/* A clock of the operating system, or another one of clock/source.c. */
typedef struct ClockSource
{
	const char *name;
	const char *call;			/* call or instruction that reads it */
	ClockKind	kind;
	const char *description;

	/* reads a clock of the system in nanoseconds, whatever its unit is */
	const ClockReader *reader;
	double		unit_ns;		/* 0: see os_clock_resolution_ns() */
	clockid_t	id;				/* for clock_gettime(); else NO_CLOCK */
} ClockSource;

/* Identifier of clocks that the platform's headers lack.  They are compiled but never read. */
#define NO_CLOCK ((clockid_t) -1)

/* The clocks that every platform lists (COMMON_CLOCKS), then those of this platform. */
extern const ClockSource os_clocks[];
extern const int n_os_clocks;

/* Returns whether the kernel supports the clock.  Must be called before the clock is read. */
extern bool os_clock_works(const ClockSource *clock);

/* Returns the reported resolution; 0 if none is reported. */
extern double os_clock_resolution_ns(const ClockSource *clock);

/* Makes n of the cheapest real system calls; returns false if no call is known to be real. */
extern bool os_system_calls(int n);

#endif							/* CLOCKTIMING_OS_CLOCKS_H */
