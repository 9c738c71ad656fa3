/*-------------------------------------------------------------------------
 *
 * arm_counter.h
 *	  The counter of 64-bit Arm, CNTVCT_EL0.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_ARM_COUNTER_H
#define CLOCKTIMING_ARM_COUNTER_H

#if defined(__aarch64__)

#include <stdint.h>

#include "core/sampler.h"

#define CLOCKTIMING_HAVE_ARM_COUNTER 1

extern const ClockReader reader_cntvct;
extern const ClockReader reader_cntvct_isb;

/* NULL if the counter may be read by this process, else why not. */
extern const char *arm_counter_why_not(void);

/* Its frequency as the firmware states it, in CNTFRQ_EL0. */
extern double arm_counter_hz(void);

#endif							/* __aarch64__ */

#endif							/* CLOCKTIMING_ARM_COUNTER_H */
