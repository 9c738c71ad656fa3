/*-------------------------------------------------------------------------
 *
 * arm_counter.h
 *	  The virtual counter of 64-bit Arm, CNTVCT_EL0: whether it may be read here
 *	  at all, its frequency, and whether it can be trusted.  See doc/arm.md.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_ARM_COUNTER_H
#define CLOCKTIMING_ARM_COUNTER_H

#include <stdint.h>

#include "core/counter_frequency.h"

#if defined(__aarch64__)
#define CLOCKTIMING_HAVE_ARM_COUNTER 1
#endif

/*
 * NULL if the counter may be read by this process now, else the reason why not.
 * Asks the kernel anew each time, as prctl(PR_SET_TSC) can change its mind.
 */
extern const char *arm_counter_why_not(void);

/*
 * The frequency, from "CNTFRQ_EL0" or "calibration": found once a process by
 * counter_calibrate().  NULL as long as the counter may not be read.
 */
extern const CounterFrequency *arm_counter_frequency(void (*wait) (double seconds));

/* What a reading costs, and what the kernel says: see arm_counter_judge(). */
typedef struct ArmEvidence
{
	const char *why_not;		/* as above */
	const char *kernel_source;	/* as kernel_clock.h tells, or empty */
	double		counter_ns;		/* what a reading costs, after a fence */
	double		system_ns;		/* and one of the system's clock */
} ArmEvidence;

/*
 * NULL if times are to be taken by the counter, else the reason why not, which
 * stays until the next call.  Linux must keep time by it, as it then has seen to
 * known faults of it: it does not let processes read a counter that needs a
 * workaround, but answers itself, which takes longer than its own clock does.
 */
extern const char *arm_counter_judge(const ArmEvidence *evidence);

/* By the evidence there is now; the costs are measured once a process, in 0.1 ms. */
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
