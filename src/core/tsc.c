/*-------------------------------------------------------------------------
 *
 * tsc.c
 *	  The time-stamp counter of x86: whether it may be read here at all, its
 *	  frequency, and where that comes from.
 *
 *-------------------------------------------------------------------------
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/kernel_clock.h"
#include "core/tsc.h"

/*
 * Clocks that a hypervisor offers, which Linux may prefer to a TSC that it does
 * trust.
 */
static const char *const hypervisor_clocks[] = {
	"kvm-clock", "xen", "hyperv_clocksource_tsc_page", "hyperv_clocksource_msr"
};

const char *
tsc_why_not_usable(void)
{
	const char *why = tsc_why_no_rdtscp();

	if (why == NULL && !tsc_cpuid()->invariant)
		return "the processor does not say that its rate is invariant (CPUID leaf 0x80000007, EDX bit 8)";
	return why;
}

static bool
kernel_uses_tsc(const TscEvidence *evidence)
{
	return strcmp(evidence->kernel_source, "tsc") == 0;
}

/* Or may do so, where that is not known. */
static bool
kernel_offers_tsc(const TscEvidence *evidence)
{
	const char *name = evidence->kernel_sources_available;

	if (*name == '\0')
		return true;
	while (*name != '\0')
	{
		size_t		length = strcspn(name, " ");

		if (length == 3 && strncmp(name, "tsc", 3) == 0)
			return true;
		name += length;
		name += strspn(name, " ");
	}
	return false;
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
	else if (tsc_is_default(evidence))
		return NULL;
	else if (evidence->kernel_source[0] != '\0')
		snprintf(reason, sizeof(reason), "the processor has no TSC_ADJUST, and the kernel's clock source is %s",
				 evidence->kernel_source);
	else
		return "the processor has no TSC_ADJUST, and the kernel's clock source is not known";
	return reason;
}

/* The strings in it stay until the next call. */
static TscEvidence
evidence_now(void)
{
	static char source[KERNEL_CLOCK_SIZE];
	static char available[KERNEL_CLOCK_SIZE];
	TscEvidence evidence;

	evidence.why_not_usable = tsc_why_not_usable();
	evidence.tsc_adjust = tsc_cpuid()->tsc_adjust;
	evidence.kernel_source = source;
	evidence.kernel_sources_available = available;
	source[0] = available[0] = '\0';
#ifdef __linux__
	(void) kernel_clock_source(source);
	(void) kernel_clock_sources_available(available);
#endif
	return evidence;
}

bool
tsc_is_default_now(void)
{
	TscEvidence evidence = evidence_now();

	return tsc_is_default(&evidence);
}

bool
tsc_is_given_up_now(void)
{
	TscEvidence evidence = evidence_now();

	return tsc_is_given_up(&evidence);
}

const char *
tsc_why_not_trusted(void)
{
	TscEvidence evidence = evidence_now();

	return tsc_judge(&evidence);
}

#ifdef CLOCKTIMING_HAVE_TSC

#include <cpuid.h>
#include <errno.h>
#include <math.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "core/probe.h"
#include "core/reference.h"

/* from Linux's asm/prctl.h, which not every C library installs */
#define ARCH_GET_CPUID_CODE	0x1011

#define CALIBRATION_S		0.05
#define CALIBRATION_TRIES	21
/* a stated frequency that is farther off than this is not believed */
#define BELIEVED_PPM		100.0

/*
 * CPUID can be made to fault, too (arch_prctl(ARCH_SET_CPUID), on processors
 * that offer it).  Where the kernel does not know the question, it does not
 * make it fault either.
 */
static bool
cpuid_allowed(void)
{
#if defined(__linux__) && defined(SYS_arch_prctl)
	return syscall(SYS_arch_prctl, ARCH_GET_CPUID_CODE, 0) != 0;
#else
	return true;
#endif
}

static void
copy_registers(char *to, unsigned int a, unsigned int b, unsigned int c)
{
	memcpy(to, &a, 4);
	memcpy(to + 4, &b, 4);
	memcpy(to + 8, &c, 4);
}

/*
 * Frequency of the TSC from leaf 0x15: crystal frequency times EBX / EAX.
 * Where the crystal's is not stated, leaf 0x16's base frequency stands in for
 * the product, as in the Linux kernel (native_calibrate_tsc).
 */
static double
frequency_from_cpuid(void)
{
	unsigned int a,
				b,
				c,
				d;
	unsigned int base_mhz = 0;

	if (!__get_cpuid_count(0x15, 0, &a, &b, &c, &d) || a == 0 || b == 0)
		return 0;
	if (c != 0)
		return (double) c * b / a;
	if (__get_cpuid_count(0x16, 0, &base_mhz, &b, &c, &d))
		return (base_mhz & 0xffff) * 1e6;
	return 0;
}

static void
read_cpuid(TscCpuid *id)
{
	unsigned int a,
				b,
				c,
				d;

	memset(id, 0, sizeof(*id));
	if (!cpuid_allowed() || !__get_cpuid(0, &a, &b, &c, &d))
		return;
	id->readable = true;
	copy_registers(id->vendor, b, d, c);
	if (__get_cpuid(1, &a, &b, &c, &d))
	{
		id->tsc = (d >> 4) & 1;
		id->hypervisor = (c >> 31) & 1;
	}
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
		id->tsc_adjust = (b >> 1) & 1;
	if (__get_cpuid(0x80000001, &a, &b, &c, &d))
		id->rdtscp = (d >> 27) & 1;
	if (__get_cpuid(0x80000007, &a, &b, &c, &d))
		id->invariant = (d >> 8) & 1;
	for (unsigned int i = 0; i < 3; i++)
	{
		if (!__get_cpuid(0x80000002 + i, &a, &b, &c, &d))
			break;
		copy_registers(id->brand + 16 * i, a, b, c);
		memcpy(id->brand + 16 * i + 12, &d, 4);
	}
	id->cpuid_hz = frequency_from_cpuid();
	if (id->hypervisor)
	{
		unsigned int highest;

		/* __get_cpuid() would check against the wrong highest leaf */
		__cpuid(0x40000000, highest, b, c, d);
		copy_registers(id->hypervisor_name, b, c, d);
		if (highest >= 0x40000010 && highest <= 0x400000ff)
		{
			__cpuid(0x40000010, a, b, c, d);
			id->hypervisor_hz = a * 1e3;
		}
	}
}

const TscCpuid *
tsc_cpuid(void)
{
	static TscCpuid id;
	static bool known = false;

	if (!known)
	{
		read_cpuid(&id);
		known = true;
	}
	return &id;
}

const char *
tsc_why_no_rdtsc(void)
{
	static bool probed = false;
	static bool survived = false;

	if (!tsc_cpuid()->readable)
		return "the CPUID instruction may not be executed here, so nothing is known of the processor";
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
	if (!probed)
	{
		survived = probe(tsc_read_rdtsc);
		probed = true;
	}
	if (!survived)
		return "executing RDTSC raised a signal";
	return NULL;
}

const char *
tsc_why_no_rdtscp(void)
{
	static bool probed = false;
	static bool survived = false;
	const char *why = tsc_why_no_rdtsc();

	if (why != NULL)
		return why;
	if (!tsc_cpuid()->rdtscp)
		return "the processor has no RDTSCP instruction (CPUID leaf 0x80000001, EDX bit 27)";
	if (!probed)
	{
		survived = probe(tsc_read_rdtscp);
		probed = true;
	}
	if (!survived)
		return "executing RDTSCP raised a signal";
	return NULL;
}

/* Fenced, so that the reading stays inside its bracket. */
static uint64_t
fenced_rdtsc(void)
{
	uint64_t	ticks;

	tsc_fence();
	ticks = tsc_read_rdtsc();
	tsc_fence();
	return ticks;
}

static bool
confirmed(double stated_hz, const TscFrequency *frequency)
{
	return stated_hz > 0 &&
		(frequency->calibrated_hz == 0 ||
		 fabs(stated_hz / frequency->calibrated_hz - 1) * 1e6 <= BELIEVED_PPM);
}

const TscFrequency *
tsc_frequency(void (*wait) (double seconds))
{
	static TscFrequency frequency;
	ReferencePair begin;
	ReferencePair end;
	double		passed_ns;

	if (tsc_why_no_rdtsc() != NULL)
		return NULL;
	if (frequency.hz > 0)
		return &frequency;

	begin = reference_pair(reference_ns, fenced_rdtsc, CALIBRATION_TRIES, 0,
						   NULL, NULL);
	for (;;)
	{
		double		left = CALIBRATION_S -
			(reference_ns() - begin.reference_ns) / 1e9;

		if (left <= 0)
			break;
		wait(left);
	}
	end = reference_pair(reference_ns, fenced_rdtsc, CALIBRATION_TRIES, 0,
						 NULL, NULL);

	passed_ns = (double) (end.reference_ns - begin.reference_ns);
	if ((int64_t) (end.reading - begin.reading) > 0)
	{
		frequency.calibrated_hz = (end.reading - begin.reading) * 1e9 / passed_ns;
		frequency.calibrated_error_ppm =
			(begin.width_ns + end.width_ns) / 2.0 / passed_ns * 1e6;
	}

	if (confirmed(tsc_cpuid()->hypervisor_hz, &frequency))
	{
		frequency.hz = tsc_cpuid()->hypervisor_hz;
		frequency.from = "hypervisor";
	}
	else if (confirmed(tsc_cpuid()->cpuid_hz, &frequency))
	{
		frequency.hz = tsc_cpuid()->cpuid_hz;
		frequency.from = "CPUID";
	}
	else
	{
		frequency.hz = frequency.calibrated_hz;
		frequency.from = "calibration";
	}
	return frequency.hz > 0 ? &frequency : NULL;
}

#else							/* !CLOCKTIMING_HAVE_TSC */

const TscCpuid *
tsc_cpuid(void)
{
	static const TscCpuid nothing;

	return &nothing;
}

const char *
tsc_why_no_rdtsc(void)
{
	return "this is not an x86 processor";
}

const char *
tsc_why_no_rdtscp(void)
{
	return tsc_why_no_rdtsc();
}

const TscFrequency *
tsc_frequency(void (*wait) (double seconds))
{
	(void) wait;
	return NULL;
}

#endif							/* CLOCKTIMING_HAVE_TSC */
