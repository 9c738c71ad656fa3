/*-------------------------------------------------------------------------
 *
 * os_clocks.h
 *	  The clocks that the operating system and the C library offer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_OS_CLOCKS_H
#define CLOCKTIMING_OS_CLOCKS_H

#include <time.h>

#include "core/sampler.h"

/* What a clock is good for. */
typedef enum ClockKind
{
	CLOCK_FINE,
	CLOCK_COARSE,				/* advances with the timer interrupt, or
								 * slower */
	CLOCK_CPU_TIME				/* stands still while the process does not run */
} ClockKind;

typedef struct OsClock
{
	const char *name;
	const char *call;			/* how it is read */
	ClockKind	kind;
	const char *description;

	/*
	 * Reads it in nanoseconds, whatever its own unit is, so that a duration
	 * is known to be long by the same number of ticks for all clocks.
	 */
	const ClockReader *reader;
	double		unit_ns;		/* 0: by id, or known once it works */
	clockid_t	id;				/* for clock_gettime(), else NO_CLOCK */
} OsClock;

/* Those of Linux, whatever the platform, then what else this one has. */
extern const OsClock os_clocks[];
extern const int n_os_clocks;

/*
 * Whether it can be read here: kernels know fewer than headers do.  To be asked
 * before it is read.
 */
extern bool os_clock_works(const OsClock *clock);

/* As it is reported; 0 if it is not. */
extern double os_clock_resolution_ns(const OsClock *clock);

/*
 * Makes "n" of the cheapest real system calls; false where there is no knowing
 * which calls are real.  What is read for less than one costs is not read by a
 * system call.
 */
extern bool os_system_calls(int n);

#endif							/* CLOCKTIMING_OS_CLOCKS_H */
