/*
 * arm_counter.c
 *	  See arm_counter.h.
 *
 * The processor may read it earlier than the order of instructions says; the
 * instruction barrier prevents that (Arm Architecture Reference Manual, D12).
 */
#include "core/arm_counter.h"

#ifdef CLOCKTIMING_HAVE_ARM_COUNTER

#include <stddef.h>

#include "core/probe.h"

static inline uint64_t
cntvct(void)
{
	uint64_t	ticks;

	__asm__ volatile ("mrs %0, cntvct_el0":"=r" (ticks));

	return ticks;
}

static inline uint64_t
cntvct_isb(void)
{
	uint64_t	ticks;

	__asm__ volatile ("isb\n\tmrs %0, cntvct_el0":"=r" (ticks)::"memory");

	return ticks;
}

DEFINE_CLOCK_READER(reader_cntvct, cntvct());
DEFINE_CLOCK_READER(reader_cntvct_isb, cntvct_isb());

static uint64_t
cntfrq(void)
{
	uint64_t	hz;

	__asm__ volatile ("mrs %0, cntfrq_el0":"=r" (hz));

	return hz;
}

static uint64_t
read_both_registers(void)
{
	return cntfrq() + cntvct();
}

const char *
arm_counter_why_not(void)
{
	static Probe tried = {.read = read_both_registers};

	if (!probe(&tried))
		return "reading CNTVCT_EL0 raised a signal";
	if (arm_counter_hz() <= 0)
		return "the firmware states no frequency of it (CNTFRQ_EL0 is 0)";
	return NULL;
}

double
arm_counter_hz(void)
{
	return (double) (cntfrq() & 0xffffffff);
}

#else

/* ISO C forbids an empty translation unit. */
typedef int clocktiming_no_arm_counter;

#endif							/* CLOCKTIMING_HAVE_ARM_COUNTER */
