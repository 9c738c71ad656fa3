/*
 * The time-stamp counter (TSC) of x86 processors.
 *
 * A kernel or a hypervisor may forbid CPUID, RDTSC and RDTSCP.  They then raise a signal, and an
 * unhandled signal in one backend makes the postmaster restart the whole server.  So four checks
 * precede the first reading: Linux's arch_prctl() allows CPUID; CPUID states that the processor has
 * the counter; prctl() states that this process may read it; and a first reading raises no signal
 * while handlers are installed (probe() in counter.c).
 *
 * The frequency that the hypervisor or CPUID states is preferred to a calibrated one, because it is
 * the same in all processes.  It is used only if calibration confirms it (counter_consider()).
 *
 * No instruction shows whether the counters of all processors agree.  Linux compares them, and
 * gives up the TSC as a clock source if they do not.  A TSC that Linux has given up is not trusted.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/system_state.h"
#include "core/tsc.h"
#include "core/tsc_check.h"

/* Names of hypervisors' clocks.  Linux may prefer one of them although the TSC is available. */
static const char *const hypervisor_clocks[] = {
	"kvm-clock", "xen", "hyperv_clocksource_tsc_page", "hyperv_clocksource_msr"
};

const char *
tsc_why_not_usable(void)
{
	const char *why = tsc_why_no_rdtscp();

	if (why == NULL && !tsc_cpuid()->invariant)
		return "the processor does not report an invariant TSC (CPUID leaf 0x80000007, EDX bit 8)";
	return why;
}

static bool
kernel_uses_tsc(const TscEvidence *evidence)
{
	return strcmp(evidence->kernel_source, "tsc") == 0;
}

/* Returns whether the kernel offers the TSC; true if not known. */
static bool
kernel_offers_tsc(const TscEvidence *evidence)
{
	const char *sources = evidence->kernel_sources_available;

	return *sources == '\0' || kernel_offers("tsc", sources);
}

static bool
kernel_prefers_hypervisor(const TscEvidence *evidence)
{
	for (size_t i = 0; i < sizeof(hypervisor_clocks) / sizeof(hypervisor_clocks[0]); i++)
	{
		if (strcmp(evidence->kernel_source, hypervisor_clocks[i]) == 0)
			return true;
	}
	return false;
}

bool
tsc_is_default(const TscEvidence *evidence)
{
	return evidence->tsc_adjust || kernel_uses_tsc(evidence);
}

bool
tsc_is_given_up(const TscEvidence *evidence)
{
	return evidence->kernel_source[0] != '\0' && !kernel_uses_tsc(evidence) &&
		(!kernel_offers_tsc(evidence) || !kernel_prefers_hypervisor(evidence));
}

/*
 * The kernel's rejection of the TSC counts more than the processor's registers.  Without
 * TSC_ADJUST, which shows whether firmware has changed the TSC, the kernel must use the TSC and
 * check it.
 */
const char *
tsc_judge(const TscEvidence *evidence)
{
	static char reason[KERNEL_CLOCK_SIZE + 100];

	if (evidence->why_not_usable != NULL)
		return evidence->why_not_usable;
	if (tsc_is_given_up(evidence))
		snprintf(reason, sizeof(reason), "the kernel %s the TSC: its clock source is %s",
				 kernel_offers_tsc(evidence) ? "does not keep time by" : "has given up",
				 evidence->kernel_source);
	else if (evidence->tsc_adjust)
		return NULL;
	else if (kernel_uses_tsc(evidence) && evidence->unchecked_option != NULL)
		snprintf(reason, sizeof(reason), "the processor has no TSC_ADJUST, and the kernel does not check the TSC (%s)",
				 evidence->unchecked_option);
	else if (kernel_uses_tsc(evidence))
		return NULL;
	else if (evidence->kernel_source[0] != '\0')
		snprintf(reason, sizeof(reason), "the processor has no TSC_ADJUST, and the kernel's clock source is %s",
				 evidence->kernel_source);
	else
		return "the processor has no TSC_ADJUST, and the kernel's clock source is not known";
	return reason;
}

const TscEvidence *
tsc_evidence(void)
{
	static char source[KERNEL_CLOCK_SIZE];
	static char available[KERNEL_CLOCK_SIZE];
	static TscEvidence evidence = {.kernel_source = source, .kernel_sources_available = available};
#ifdef __linux__
	char		command_line[4096];

	kernel_command_line(command_line, sizeof(command_line));
	evidence.unchecked_option = tsc_unchecked_option(command_line);
	(void) kernel_clock_source(source);
	(void) kernel_clock_sources_available(available);
#endif
	evidence.why_not_usable = tsc_why_not_usable();
	evidence.tsc_adjust = tsc_cpuid()->tsc_adjust;
	return &evidence;
}

#ifdef CLOCKTIMING_HAVE_TSC

#include <cpuid.h>
#include <errno.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* ARCH_GET_CPUID of Linux's asm/prctl.h, which some C libraries lack. */
#define ARCH_GET_CPUID_CODE	0x1011

/* Returns whether CPUID may be executed.  A kernel without this system call cannot forbid CPUID. */
static bool
cpuid_allowed(void)
{
#if defined(__linux__) && defined(SYS_arch_prctl)
	return syscall(SYS_arch_prctl, ARCH_GET_CPUID_CODE, 0) != 0;
#else
	return true;
#endif
}

/* Reads EAX to EDX of a leaf; returns false if the processor lacks it. */
static bool
get_leaf(unsigned int leaf, unsigned int *r)
{
	return __get_cpuid_count(leaf, 0, &r[0], &r[1], &r[2], &r[3]) != 0;
}

static void
copy_text(char *to, unsigned int a, unsigned int b, unsigned int c)
{
	memcpy(to, &a, 4);
	memcpy(to + 4, &b, 4);
	memcpy(to + 8, &c, 4);
}

/*
 * Returns the TSC's frequency in Hz.  Leaf 0x15 states it as ECX, the frequency of a crystal, times
 * EBX / EAX.  If ECX is 0, returns the processor's base frequency from leaf 0x16, as Linux does in
 * native_calibrate_tsc().
 */
static double
frequency_from_cpuid(void)
{
	unsigned int r[4];

	if (!get_leaf(0x15, r) || r[0] == 0 || r[1] == 0)
		return 0;
	if (r[2] != 0)
		return (double) r[2] * r[1] / r[0];
	return get_leaf(0x16, r) ? (r[0] & 0xffff) * 1e6 : 0;
}

/*
 * Executes CPUID for each leaf that a member of TscCpuid needs.  A leaf that the processor lacks
 * leaves its members 0.  The leaves of hypervisors begin at 0x40000000, which states the highest
 * one of them.
 */
TscCpuid
tsc_cpuid_now(void)
{
	TscCpuid	id = {0};
	unsigned int r[4];

	if (!cpuid_allowed() || !get_leaf(0, r))
		return id;
	id.readable = true;
	copy_text(id.vendor, r[1], r[3], r[2]);
	if (get_leaf(1, r))
	{
		id.tsc = (r[3] >> 4) & 1;
		id.hypervisor = (r[2] >> 31) & 1;
	}
	id.tsc_adjust = get_leaf(7, r) && ((r[1] >> 1) & 1);
	id.rdtscp = get_leaf(0x80000001, r) && ((r[3] >> 27) & 1);
	id.invariant = get_leaf(0x80000007, r) && ((r[3] >> 8) & 1);
	for (unsigned int i = 0; i < 3 && get_leaf(0x80000002 + i, r); i++)
		memcpy(id.brand + 16 * i, r, 16);
	id.cpuid_hz = frequency_from_cpuid();
	if (id.hypervisor)
	{
		unsigned int highest;

		/* __get_cpuid() would reject the leaves of hypervisors */
		__cpuid(0x40000000, highest, r[1], r[2], r[3]);
		copy_text(id.hypervisor_name, r[1], r[2], r[3]);
		if (highest >= 0x40000010 && highest <= 0x400000ff)
		{
			__cpuid(0x40000010, r[0], r[1], r[2], r[3]);
			id.hypervisor_hz = r[0] * 1e3;
		}
	}
	return id;
}

const char *
tsc_why_no_cpuid(void)
{
	return tsc_cpuid()->readable ? NULL :
		"the CPUID instruction may not be executed here, so nothing is known of the processor";
}

const char *
tsc_why_no_rdtsc(void)
{
	static Probe tried = {.read = tsc_read_rdtsc};

	if (tsc_why_no_cpuid() != NULL)
		return tsc_why_no_cpuid();
	if (!tsc_cpuid()->tsc)
		return "the processor reports no time-stamp counter (CPUID leaf 1, EDX bit 4)";
#ifdef __linux__
	{
		int			mode = 0;

		if (prctl(PR_GET_TSC, &mode, 0, 0, 0) != 0)
			return "the kernel does not say whether the time-stamp counter may be read (prctl(PR_GET_TSC) failed)";
		if (mode != PR_TSC_ENABLE)
			return "the kernel forbids this process to read the time-stamp counter (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))";
	}
#endif
	return probe(&tried) ? NULL : "executing RDTSC raised a signal";
}

const char *
tsc_why_no_rdtscp(void)
{
	static Probe tried = {.read = tsc_read_rdtscp};
	const char *why = tsc_why_no_rdtsc();

	if (why != NULL)
		return why;
	if (!tsc_cpuid()->rdtscp)
		return "the processor has no RDTSCP instruction (CPUID leaf 0x80000001, EDX bit 27)";
	return probe(&tried) ? NULL : "executing RDTSCP raised a signal";
}

#else							/* !CLOCKTIMING_HAVE_TSC */

#define tsc_read_rdtsc NULL

TscCpuid
tsc_cpuid_now(void)
{
	return (TscCpuid)
	{
		0
	};
}

const char *
tsc_why_no_cpuid(void)
{
	return "this is not an x86 processor";
}

const char *
tsc_why_no_rdtsc(void)
{
	return tsc_why_no_cpuid();
}

const char *
tsc_why_no_rdtscp(void)
{
	return tsc_why_no_rdtsc();
}

#endif							/* CLOCKTIMING_HAVE_TSC */

const TscCpuid *
tsc_cpuid(void)
{
	static TscCpuid id;
	static bool known = false;

	if (!known)
		id = tsc_cpuid_now();
	known = true;
	return &id;
}

const CounterFrequency *
tsc_frequency(void (*wait) (double seconds))
{
	static CounterFrequency frequency;

	if (tsc_why_no_rdtsc() != NULL)
		return NULL;
	if (frequency.calibrated_hz > 0)
		return &frequency;

	/*
	 * a calibration that failed is repeated, and a stated frequency is judged
	 * by it
	 */
	memset(&frequency, 0, sizeof(frequency));
	counter_calibrate(&frequency, tsc_read_rdtsc, wait);
	counter_consider(&frequency, tsc_cpuid()->hypervisor_hz, "hypervisor");
	counter_consider(&frequency, tsc_cpuid()->cpuid_hz, "CPUID");
	counter_consider(&frequency, frequency.calibrated_hz, "calibration");
	return frequency.hz > 0 ? &frequency : NULL;
}
