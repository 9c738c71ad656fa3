/* The counter of 64-bit Arm processors, the register CNTVCT_EL0.  doc/arm.md describes it. */
#ifndef CLOCKTIMING_ARM_COUNTER_H
#define CLOCKTIMING_ARM_COUNTER_H

#include <stdint.h>

#include "core/counter.h"

#if defined(__aarch64__)
#define CLOCKTIMING_HAVE_ARM_COUNTER 1
#endif

/* Returns NULL if this process may read the counter at present, else the reason why not. */
extern const char *arm_counter_why_not(void);

/* Returns the frequency; NULL if it is unknown.  Sleeps by wait() while measuring it (50 ms). */
extern const CounterFrequency *arm_counter_frequency(void (*wait) (double seconds));

typedef struct ArmEvidence
{
	const char *why_not;		/* result of arm_counter_why_not() */
	const char *kernel_source;	/* Linux's current clock source; "": not known */
	double		counter_ns;		/* cost of a reading after a fence (ISB) */
	double		system_ns;		/* cost of a reading by clock_gettime() */
} ArmEvidence;

/*
 * Returns NULL if the counter is to be used for timing, else the reason why not, valid until the
 * next call.  Linux must keep time by the counter, because Linux then handles known faults of
 * processors.  Reading the counter must also be faster than clock_gettime().  Reading is slower if
 * Linux traps each reading in order to work around a fault.
 */
extern const char *arm_counter_judge(const ArmEvidence *evidence);

/* arm_counter_judge() with the current evidence.  The first call in a process takes 0.1 ms. */
extern const char *arm_counter_why_not_trusted(void);

#ifdef CLOCKTIMING_HAVE_ARM_COUNTER
static inline uint64_t
arm_counter_read(void)
{
	uint64_t	ticks;

	__asm__ volatile ("mrs %0, cntvct_el0":"=r" (ticks));

	return ticks;
}
#endif

#endif							/* CLOCKTIMING_ARM_COUNTER_H */
