/*-------------------------------------------------------------------------
 *
 * tsc.h
 *	  The time-stamp counter of x86: whether it may be read here at all, its
 *	  frequency, and where that comes from.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_TSC_H
#define CLOCKTIMING_TSC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/counter_frequency.h"

#if defined(__x86_64__) || defined(__i386__)
#define CLOCKTIMING_HAVE_TSC 1
#include <x86intrin.h>
#endif

/* What CPUID says.  All false, empty or zero where there is no CPUID. */
typedef struct TscCpuid
{
	bool		readable;		/* CPUID itself may be executed */
	bool		tsc;			/* leaf 1, EDX bit 4 */
	bool		rdtscp;			/* leaf 0x80000001, EDX bit 27 */
	bool		invariant;		/* leaf 0x80000007, EDX bit 8 */
	bool		tsc_adjust;		/* leaf 7, EBX bit 1 */
	bool		hypervisor;		/* leaf 1, ECX bit 31 */
	char		vendor[13];		/* leaf 0 */
	char		brand[49];		/* leaves 0x80000002 to 0x80000004 */
	char		hypervisor_name[13];	/* leaf 0x40000000 */
	double		cpuid_hz;		/* leaf 0x15, with 0x16 where that leaves the
								 * crystal's frequency open; 0 if unknown */
	double		hypervisor_hz;	/* leaf 0x40000010; 0 if unknown */
} TscCpuid;

/* Executes CPUID once a process; later calls return what it said then. */
extern const TscCpuid *tsc_cpuid(void);

/* Executes it anew: a virtual machine may have moved to another processor. */
extern TscCpuid tsc_cpuid_now(void);

/*
 * NULL if RDTSC, or RDTSCP, may be executed by this process now, else the
 * reason why not.  Asks the kernel anew each time, since prctl(PR_SET_TSC) can
 * change its mind.
 */
extern const char *tsc_why_no_rdtsc(void);
extern const char *tsc_why_no_rdtscp(void);

/* The same for what PostgreSQL 19 needs to time with it: RDTSCP, at one rate. */
extern const char *tsc_why_not_usable(void);

/* By what the TSC of a server is judged, or would be. */
typedef struct TscEvidence
{
	const char *why_not_usable; /* as above */
	bool		tsc_adjust;		/* CPUID leaf 7, EBX bit 1 */
	/* Linux: what kernel_clock.h tells; empty where that is not known */
	const char *kernel_source;
	const char *kernel_sources_available;
} TscEvidence;

/*
 * Whether PostgreSQL 19 reads the TSC, if usable, where timing_clock_source is
 * "auto": tsc_use_by_default() in its src/common/instr_time.c.  It does with
 * TSC_ADJUST, by which firmware and kernel set the counters of all sockets
 * alike, or else where Linux keeps time by it and so watches it.
 */
extern bool tsc_is_default(const TscEvidence *evidence);

/*
 * Whether Linux has given the TSC up: it no longer offers it as a clock source,
 * or keeps time by a timer that takes far longer to read (hpet, acpi_pm).  A
 * hypervisor's clock, beside a TSC that is offered still, is no such evidence.
 */
extern bool tsc_is_given_up(const TscEvidence *evidence);

/*
 * NULL if times can be trusted to the TSC, else the reason why not, which stays
 * until the next call.  The rule is that of PostgreSQL 19, and one thing more:
 * TSC_ADJUST does not help where the kernel has given the TSC up.
 */
extern const char *tsc_judge(const TscEvidence *evidence);

/* These three by the evidence there is now, which costs a few microseconds. */
extern bool tsc_is_default_now(void);
extern bool tsc_is_given_up_now(void);
extern const char *tsc_why_not_trusted(void);

/*
 * The frequency, from "CPUID", "hypervisor" or "calibration": found once a
 * process by counter_calibrate().  NULL as long as the TSC may not be read.
 */
extern const CounterFrequency *tsc_frequency(void (*wait) (double seconds));

#ifdef CLOCKTIMING_HAVE_TSC
static inline uint64_t
tsc_read_rdtsc(void)
{
	return __rdtsc();
}

static inline uint64_t
tsc_read_rdtscp(void)
{
	unsigned int aux;

	return __rdtscp(&aux);
}
#endif

#endif							/* CLOCKTIMING_TSC_H */
