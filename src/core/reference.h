/*
 * The reference clock, which bounds every run and against which clocks are judged.  On Linux, it is
 * CLOCK_MONOTONIC_RAW, read by a real system call, so that neither the vDSO nor a preloaded library
 * can falsify it.
 */
#ifndef CLOCKTIMING_REFERENCE_H
#define CLOCKTIMING_REFERENCE_H

#include <stdint.h>
#include <time.h>

extern const char *const reference_name;

/* A reading of a clock and its time on the reference clock. */
typedef struct ReferencePair
{
	uint64_t	reading;		/* ticks of the clock */
	uint64_t	reference_ns;	/* middle of the bracket around the reading */
	uint64_t	width_ns;		/* width of the bracket */
} ReferencePair;

/* Returns nanoseconds since an arbitrary start.  Never goes backwards. */
extern uint64_t reference_ns(void);

/* Returns the time of another clock in nanoseconds, read in the same way. */
extern uint64_t kernel_clock_ns(clockid_t id);

/*
 * Reads the reference, the clock and the reference again, until this bracket is no wider than
 * good_width_ns or "tries" brackets have been tried.  Returns the narrowest bracket.  Skips brackets
 * whose reading is below the previous one, because the clock's later return would look like a
 * forward step.
 *
 * "reference" is reference_ns() or another clock in nanoseconds.  The callback "seen" gets every
 * reading in order; it may be NULL.
 */
extern ReferencePair reference_pair(uint64_t (*reference) (void),
									uint64_t (*read) (void), int tries,
									uint64_t good_width_ns,
									void (*seen) (void *arg, uint64_t reading),
									void *arg);

#endif							/* CLOCKTIMING_REFERENCE_H */
