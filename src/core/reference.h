/*-------------------------------------------------------------------------
 *
 * reference.h
 *	  The reference clock that every run is bounded and judged by.
 *
 * On 64-bit Linux it is the kernel's CLOCK_MONOTONIC_RAW, read by a real
 * system call: neither the vDSO nor a preloaded library stands in between, so
 * it stays true where the clock that the C library hands out does not.
 * Elsewhere it is clock_gettime() of the steadiest clock there is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_REFERENCE_H
#define CLOCKTIMING_REFERENCE_H

#include <stdint.h>

/* What the reference clock is called in results. */
extern const char *const reference_name;

/* A clock's reading and the moment of it on the reference clock. */
typedef struct ReferencePair
{
	uint64_t	reading;		/* ticks of the clock under test */
	uint64_t	reference_ns;	/* middle of the bracket around it */
	uint64_t	width_ns;		/* width of the bracket: the reading was taken
								 * within half of it either side */
} ReferencePair;

/* Nanoseconds since an arbitrary start.  Never goes backwards. */
extern uint64_t reference_ns(void);

/*
 * "reference" is reference_ns() or another clock in nanoseconds.
 *
 * Reads (reference, clock, reference) until the bracket is no wider than
 * good_width_ns, but at most "tries" times, and returns the triple with the
 * narrowest bracket, but none whose reading fell back behind the one before,
 * or the return from there would look like a step ahead.  "seen" (may be NULL) is told every reading of the clock,
 * in order, so that a caller can judge each of them.
 */
extern ReferencePair reference_pair(uint64_t (*reference) (void),
									uint64_t (*read) (void), int tries,
									uint64_t good_width_ns,
									void (*seen) (void *arg, uint64_t reading),
									void *arg);

#endif							/* CLOCKTIMING_REFERENCE_H */
