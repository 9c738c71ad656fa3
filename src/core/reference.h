/*
 * The reference clock.  It determines the length of a run, and is compared with the clock under
 * test.  On Linux, it is CLOCK_MONOTONIC_RAW, read by a real system call, so that neither the vDSO
 * nor a preloaded library can falsify it.
 */
#ifndef CLOCKTIMING_REFERENCE_H
#define CLOCKTIMING_REFERENCE_H

#include <stdint.h>
#include <time.h>

extern const char *const reference_name;

/* A reading of a clock, and the bracket: the readings of the reference before and after it. */
typedef struct ReferencePair
{
	uint64_t	reading;		/* ticks of the clock */
	uint64_t	reference_ns;	/* middle of the bracket */
	uint64_t	width_ns;		/* width of the bracket */
} ReferencePair;

/* Returns nanoseconds since an arbitrary start.  Never goes backwards. */
extern uint64_t reference_ns(void);

/* Returns the time of a clock of clock_gettime() in nanoseconds.  On Linux, makes a system call. */
extern uint64_t kernel_clock_ns(clockid_t id);

/*
 * Reads brackets until one is no wider than good_width_ns, or "tries" of them have been read.
 * Returns the narrowest one.  Skips a bracket whose reading is below the previous one: the clock
 * has stepped back, and its return would later look like a forward step.
 *
 * "reference" is reference_ns() or another clock in nanoseconds.  The callback "seen" gets every
 * reading of the clock in order; it may be NULL.
 */
extern ReferencePair reference_pair(uint64_t (*reference) (void),
									uint64_t (*read) (void), int tries,
									uint64_t good_width_ns,
									void (*seen) (void *arg, uint64_t reading),
									void *arg);

#endif							/* CLOCKTIMING_REFERENCE_H */
