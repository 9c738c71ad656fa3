/* The state of the machine and of its clocks according to the operating system. */
#ifndef CLOCKTIMING_SYSTEM_STATE_H
#define CLOCKTIMING_SYSTEM_STATE_H

#include <stdbool.h>
#include <stddef.h>

#define KERNEL_CLOCK_SIZE 1024	/* size of the buffers for names, in bytes */

/* Write the kernel's current or available clock sources; return false and write "" if unknown. */
extern bool kernel_clock_source(char *name);
extern bool kernel_clock_sources_available(char *names);

/* Returns whether the list "names" contains a name.  FreeBSD appends a quality: TSC(1000). */
extern bool kernel_offers(const char *name, const char *names);

/* Reads the beginning of a file of the kernel; returns whether it was read and is not empty. */
extern bool kernel_file(char *text, size_t size, const char *path);

#define BOOT_ID_SIZE 37

/* Writes the identifier of this boot; returns false and writes an empty string if not known. */
extern bool system_boot_id(char *id);

/* Time of all CPUs since the machine started, in clock ticks. */
typedef struct SystemCpuTime
{
	double		all;			/* 0: not known */
	double		stolen;			/* time that a hypervisor gave to other guests */
} SystemCpuTime;

extern SystemCpuTime system_cpu_time(void);

/*
 * Returns the time in s since the machine started; on Linux, including suspensions, and with the
 * offset of the time namespace.
 */
extern double system_boottime_s(void);

/* Returns the total time in s of the machine's suspensions since it started; 0 if not known. */
extern double system_suspended_s(void);

/*
 * Returns the time in ns for which the processes of this container have waited because of its CPU
 * limit, as a sum over CPUs; 0 if there is no limit or it is not known.
 */
extern double system_throttled_ns(void);

/* State of the kernel's clock synchronisation, by adjtimex(). */
typedef struct SystemSync
{
	bool		known;			/* adjtimex() exists and has succeeded */
	bool		synchronised;
	double		offset_us;		/* remaining correction of the time of day */
	double		max_error_us;	/* maximum error of the time of day */
	double		frequency_ppm;	/* correction of the clock's rate */
} SystemSync;

extern SystemSync system_sync(void);

#endif							/* CLOCKTIMING_SYSTEM_STATE_H */
