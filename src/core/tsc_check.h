/*
 * Whether Linux checks the TSC, if it keeps time by it.  The kernel's watchdog compares clock
 * sources with another timer, but often not the TSC.  Then the current clock source "tsc" does not
 * mean that the kernel has found the TSC to be correct.
 */
#ifndef CLOCKTIMING_TSC_CHECK_H
#define CLOCKTIMING_TSC_CHECK_H

#include <stdbool.h>
#include <stddef.h>

typedef enum TscCheck
{
	TSC_CHECK_UNKNOWN,
	TSC_CHECKED,
	TSC_UNCHECKED
} TscCheck;

/* What the kernel reports.  An unknown text is empty, and an unknown number is 0. */
typedef struct TscCheckEvidence
{
	const char *kernel_source;	/* current clock source */
	const char *kernel_sources_available;
	const char *command_line;	/* of the kernel */
	const char *cpu_flags;		/* from /proc/cpuinfo */
	const char *release;		/* as printed by uname -r */
	int			packages;		/* number of processor packages (sockets) */
	int			nodes;			/* number of memory nodes */
} TscCheckEvidence;

/* Judges evidence.  Sets *why to the reason, valid until the next call. */
extern TscCheck tsc_check_judge(const TscCheckEvidence *evidence, const char **why);

/* tsc_check_judge() with the current evidence.  Reads some files per CPU. */
extern TscCheck tsc_check(const char **why);

/* Returns the option by which the kernel was told not to check the TSC; NULL: none. */
extern const char *tsc_unchecked_option(const char *command_line);

/* Writes the kernel's command line; an empty string if it is not known. */
extern void kernel_command_line(char *text, size_t size);

/*
 * Returns whether this release of Linux may reject a good TSC because the watchdog was delayed.
 * These are 7.1, the first one with a rewritten watchdog (commit 763aacf86f1b, March 2026), to 7.3,
 * unless they contain commit f322d7f7ae56 of October 2026.
 */
extern bool kernel_may_reject_good_tsc(const char *release);

#endif							/* CLOCKTIMING_TSC_CHECK_H */
