/* The clocks that the operating system and the C library offer. */
#ifndef CLOCKTIMING_OS_CLOCKS_H
#define CLOCKTIMING_OS_CLOCKS_H

#include <time.h>

#include "clock/sampling/sampler.h"

typedef enum ClockKind
{
	CLOCK_FINE,					/* advances all the time */
	CLOCK_COARSE,				/* advances with the timer interrupt or slower */
	CLOCK_CPU_TIME				/* stands still while the process does not run */
} ClockKind;

/* A clock that can be measured; clock/measure/source.c has clocks of this type as well. */
typedef struct ClockSource
{
	const char *name;
	const char *call;			/* call or instruction that reads it */
	ClockKind	kind;
	const char *description;

	/* reads an operating system's clock in nanoseconds, whatever its unit */
	const ClockReader *reader;
	double		unit_ns;		/* the clock's unit; 0: known only at run time */
	clockid_t	id;				/* for clock_gettime(); else NO_CLOCK */
} ClockSource;

/* Identifier of clocks that the platform lacks, or that clock_gettime() does not read. */
#define NO_CLOCK ((clockid_t) -1)

/* The clocks that are listed on every platform, then those that only this platform has. */
extern const ClockSource os_clocks[];
extern const int n_os_clocks;

/*
 * Linux's auxiliary clocks (6.17), whose time and rate a program sets, for example for a second
 * time server.  They are listed only if they are enabled, which os_clock_works() tells.
 */
extern const ClockSource aux_clocks[];
extern const int n_aux_clocks;

/* Returns whether this is an entry of aux_clocks. */
extern bool os_clock_is_aux(const ClockSource *clock);

/* Returns whether the kernel supports the clock.  Must be called before the clock is read. */
extern bool os_clock_works(const ClockSource *clock);

/* Returns the resolution that the system reports; 0 if it reports none. */
extern double os_clock_resolution_ns(const ClockSource *clock);

/* Makes n cheap system calls, to measure their cost; returns false if this is not Linux. */
extern bool os_system_calls(int n);

#endif							/* CLOCKTIMING_OS_CLOCKS_H */
