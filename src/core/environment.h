/*
 * What surrounds the clocks, as Linux's /proc and /sys state it: a limit of CPU time, different
 * kinds of CPUs, CPUs without timer interrupts, and idle states.
 *
 * "root" is the directory that contains proc and sys: "" for those of this machine.
 */
#ifndef CLOCKTIMING_ENVIRONMENT_H
#define CLOCKTIMING_ENVIRONMENT_H

#include <stdbool.h>

#define ENVIRONMENT_TEXT_SIZE 512	/* size of the buffers for texts, in bytes */

/* Limit of the CPU time of this process's control group, or of the one that limits it most. */
typedef struct CpuLimit
{
	bool		known;
	double		quota_us;		/* CPU time in each period; 0: no limit */
	double		period_us;
} CpuLimit;

extern CpuLimit environment_cpu_limit(const char *root);

/*
 * Writes the kinds of CPUs of this machine and their numbers, such as "cpu_core 0-7, cpu_atom
 * 8-11", or "one" if all are of a kind; returns false if not known.
 */
extern bool environment_cpu_types(const char *root, char *text);

/*
 * Writes the numbers of the CPUs on which the kernel switches the timer interrupt off while a
 * single process runs (nohz_full), or "none"; returns false if not known.
 */
extern bool environment_nohz_full(const char *root, char *text);

/* How idle CPUs sleep. */
typedef struct IdleStates
{
	char		driver[ENVIRONMENT_TEXT_SIZE];	/* "": not known */
	char		deepest[ENVIRONMENT_TEXT_SIZE]; /* deepest enabled state; "":
												 * not known */
	double		latency_us;		/* time to wake up from it, as the driver
								 * states it */
	int			max_cstate;		/* limit set at boot; -1: not known */
} IdleStates;

extern IdleStates environment_idle_states(const char *root);

/* Returns the time of CLOCK_BOOTTIME in s at which a process started; -1 if not known. */
extern double environment_process_start_s(const char *root, int pid);

#endif							/* CLOCKTIMING_ENVIRONMENT_H */
