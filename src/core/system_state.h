/*-------------------------------------------------------------------------
 *
 * system_state.h
 *	  What the operating system says of the machine and of its clock's
 *	  synchronisation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SYSTEM_STATE_H
#define CLOCKTIMING_SYSTEM_STATE_H

#include <stdbool.h>

#define BOOT_ID_SIZE 37

/* The identifier of this start of the machine; false, and empty, if not known. */
extern bool system_boot_id(char *id);

/* Time of all CPUs since the machine started, in some unit. */
typedef struct SystemCpuTime
{
	double		all;			/* 0: not known */
	double		stolen;			/* that a hypervisor gave to other guests */
} SystemCpuTime;

extern SystemCpuTime system_cpu_time(void);

/* Time since the machine started, also while it was suspended; steered as the time of day is. */
extern double system_boottime_s(void);

/* For how long the machine has been suspended since it started; 0 if not known. */
extern double system_suspended_s(void);

typedef struct SystemSync
{
	bool		known;
	bool		synchronised;
	double		offset_us;
	double		max_error_us;
	double		frequency_ppm;	/* by which the clock is steered */
} SystemSync;

extern SystemSync system_sync(void);

#endif							/* CLOCKTIMING_SYSTEM_STATE_H */
