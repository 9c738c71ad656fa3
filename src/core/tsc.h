/* The time-stamp counter of x86: whether it can be read and trusted, and its frequency. */
#ifndef CLOCKTIMING_TSC_H
#define CLOCKTIMING_TSC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/counter.h"

#if defined(__x86_64__) || defined(__i386__)
#define CLOCKTIMING_HAVE_TSC 1
#include <x86intrin.h>
#endif

/* Results of the instruction CPUID.  All are false, empty or 0 if there is no CPUID. */
typedef struct TscCpuid
{
	bool		readable;		/* CPUID itself may be executed */
	bool		tsc;			/* has a TSC: leaf 1, EDX bit 4 */
	bool		rdtscp;			/* has RDTSCP: leaf 0x80000001, EDX bit 27 */
	bool		invariant;		/* constant rate: leaf 0x80000007, EDX bit 8 */
	bool		tsc_adjust;		/* has TSC_ADJUST: leaf 7, EBX bit 1 */
	bool		hypervisor;		/* in a virtual machine: leaf 1, ECX bit 31 */
	char		vendor[13];		/* leaf 0 */
	char		brand[49];		/* leaves 0x80000002 to 0x80000004 */
	char		hypervisor_name[13];	/* leaf 0x40000000 */
	double		cpuid_hz;		/* TSC's rate: leaf 0x15 or 0x16; 0: unknown */
	double		hypervisor_hz;	/* TSC's rate: leaf 0x40000010; 0: unknown */
} TscCpuid;

/* Returns the results that CPUID had at the first call of this function in this process. */
extern const TscCpuid *tsc_cpuid(void);

/* Executes CPUID again, because a virtual machine may have moved to another processor. */
extern TscCpuid tsc_cpuid_now(void);

/* Returns NULL if CPUID could be executed, else the reason why nothing is known by CPUID. */
extern const char *tsc_why_no_cpuid(void);

/* Return NULL if this process may execute RDTSC or RDTSCP at present, else the reason why not. */
extern const char *tsc_why_no_rdtsc(void);
extern const char *tsc_why_no_rdtscp(void);

/* Returns NULL if PostgreSQL 19 can use the TSC (RDTSCP, invariant rate), else the reason. */
extern const char *tsc_why_not_usable(void);

/* Evidence for judging the TSC of this or another server. */
typedef struct TscEvidence
{
	const char *why_not_usable; /* result of tsc_why_not_usable() */
	bool		tsc_adjust;		/* see TscCpuid */
	/* Linux's current and available clock sources; empty: not known */
	const char *kernel_source;
	const char *kernel_sources_available;
	const char *unchecked_option;	/* result of tsc_unchecked_option() */
} TscEvidence;

/*
 * Returns whether PostgreSQL 19 reads a usable TSC with timing_clock_source = auto.  The rule is
 * that of tsc_use_by_default() in its src/common/instr_time.c: Linux keeps time by the TSC, or the
 * processor has TSC_ADJUST, by which firmware and kernel synchronise the counters of sockets.
 */
extern bool tsc_is_default(const TscEvidence *evidence);

/*
 * Returns whether Linux has given up the TSC: Linux does not offer the TSC as a clock source, or
 * keeps time by a much slower timer (hpet, acpi_pm).  If Linux offers the TSC and keeps time by a
 * hypervisor's clock, it has not given up the TSC.
 */
extern bool tsc_is_given_up(const TscEvidence *evidence);

/*
 * Returns NULL if the TSC can be trusted, else the reason why not, valid until the next call.  The
 * rule is that of tsc_is_default(), with two exceptions.  TSC_ADJUST does not suffice if Linux has
 * given up the TSC.  If Linux keeps time by the TSC because it was told not to check it, this does
 * not suffice, either.
 */
extern const char *tsc_judge(const TscEvidence *evidence);

/* Returns the current evidence, valid until the next call.  Takes some ten microseconds. */
extern const TscEvidence *tsc_evidence(void);

/* Returns the TSC's frequency; NULL if unknown.  Sleeps by wait() while measuring it (50 ms). */
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
