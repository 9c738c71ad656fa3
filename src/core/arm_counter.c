/*
 * The counter of 64-bit Arm processors.
 *
 * Programs read it from the register CNTVCT_EL0, and its frequency from CNTFRQ_EL0.  Some
 * processors have faulty counters, and Linux knows which ones.  It then either keeps time by
 * another clock, or traps each reading and corrects it.  A trapped reading costs more than
 * clock_gettime().  So the counter is trusted only if Linux keeps time by it, and if reading it is
 * faster than clock_gettime().
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/arm_counter.h"
#include "core/system_state.h"

/* Linux's name of the counter as a clock source. */
#define KERNEL_NAME			"arch_sys_counter"

const char *
arm_counter_judge(const ArmEvidence *evidence)
{
	static char reason[KERNEL_CLOCK_SIZE + 100];

	if (evidence->why_not != NULL)
		return evidence->why_not;
	if (evidence->kernel_source[0] == '\0')
		return "the kernel's clock source is not known";
	if (strcmp(evidence->kernel_source, KERNEL_NAME) != 0)
		snprintf(reason, sizeof(reason), "the kernel does not keep time by the counter: its clock source is %s",
				 evidence->kernel_source);
	else if (evidence->counter_ns >= evidence->system_ns)
		snprintf(reason, sizeof(reason), "a reading of the counter takes %.0f ns, and one of the system's clock %.0f ns",
				 evidence->counter_ns, evidence->system_ns);
	else
		return NULL;
	return reason;
}

#ifdef CLOCKTIMING_HAVE_ARM_COUNTER

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "core/reading_fence.h"
#include "core/reference.h"
#include "core/system_clock.h"

/* PR_GET_TSC and PR_TSC_ENABLE of Linux 6.12, the first version that supports them on Arm. */
#define PR_GET_TSC_CODE		25
#define PR_TSC_ENABLE_CODE	1

/* The cost of a reading is the minimum over BATCHES batches of BATCH_READINGS readings each. */
#define BATCHES				20
#define BATCH_READINGS		20

static double
stated_hz(void)
{
	uint64_t	hz;

	__asm__ volatile ("mrs %0, cntfrq_el0":"=r" (hz));

	return (double) (hz & 0xffffffff);
}

static uint64_t
read_both_registers(void)
{
	return (uint64_t) stated_hz() + arm_counter_read();
}

const char *
arm_counter_why_not(void)
{
	static Probe tried = {.read = read_both_registers};

#ifdef __linux__
	int			mode = PR_TSC_ENABLE_CODE;

	/* a kernel without this prctl() cannot forbid reading the counter */
	if (prctl(PR_GET_TSC_CODE, &mode, 0, 0, 0) == 0 && mode != PR_TSC_ENABLE_CODE)
		return "the kernel forbids this process to read the counter (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))";
#endif
	return probe(&tried) ? NULL : "reading CNTVCT_EL0 raised a signal";
}

const CounterFrequency *
arm_counter_frequency(void (*wait) (double seconds))
{
	static CounterFrequency frequency;

	if (arm_counter_why_not() != NULL)
		return NULL;
	if (frequency.hz > 0)
		return &frequency;
	counter_calibrate(&frequency, arm_counter_read, wait);
	counter_consider(&frequency, stated_hz(), "CNTFRQ_EL0");
	counter_consider(&frequency, frequency.calibrated_hz, "calibration");
	return frequency.hz > 0 ? &frequency : NULL;
}

static uint64_t
fenced_read(void)
{
	reading_fence();
	return arm_counter_read();
}

/* Returns the cost of a reading, plus the share 1 / BATCH_READINGS of a reference clock reading. */
static double
least_cost_ns(uint64_t (*read) (void))
{
	uint64_t	least = UINT64_MAX;

	for (int i = 0; i < BATCHES; i++)
	{
		uint64_t	start = reference_ns();
		uint64_t	ns;

		for (int j = 0; j < BATCH_READINGS; j++)
			(void) read();
		ns = reference_ns() - start;
		if (ns < least)
			least = ns;
	}
	return (double) least / BATCH_READINGS;
}

const char *
arm_counter_why_not_trusted(void)
{
	static char source[KERNEL_CLOCK_SIZE];
	static ArmEvidence evidence;

	evidence.why_not = arm_counter_why_not();
	evidence.kernel_source = source;
#ifdef __linux__
	/* elsewhere, the source stays "", and the counter is rejected */
	(void) kernel_clock_source(source);
#endif
	if (evidence.why_not == NULL && evidence.system_ns == 0)
	{
		evidence.counter_ns = least_cost_ns(fenced_read);
		evidence.system_ns = least_cost_ns(system_clock_read);
	}
	return arm_counter_judge(&evidence);
}

#else							/* !CLOCKTIMING_HAVE_ARM_COUNTER */

const char *
arm_counter_why_not(void)
{
	return "this is not a 64-bit Arm processor";
}

const CounterFrequency *
arm_counter_frequency(void (*wait) (double seconds))
{
	(void) wait;
	return NULL;
}

const char *
arm_counter_why_not_trusted(void)
{
	return arm_counter_why_not();
}

#endif							/* CLOCKTIMING_HAVE_ARM_COUNTER */
