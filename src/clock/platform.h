/*-------------------------------------------------------------------------
 *
 * platform.h
 *	  What the operating system says of its clocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLATFORM_H
#define CLOCKTIMING_PLATFORM_H

/*
 * The clock source that the kernel keeps time by, and those that it could;
 * NULL if the operating system does not say.  Allocated by palloc.
 */
extern char *platform_kernel_clock_source(void);
extern char *platform_kernel_clock_sources_available(void);

/*
 * One of those that can be read without a system call, where the present one
 * cannot; NULL if the kernel offers none.
 */
extern const char *platform_faster_kernel_clock_source(void);

/*
 * What to do to change to that one, in words, with commands in backquotes; leaves
 * both alone if it is NULL.
 */
extern void platform_change_of_kernel_clock_source(const char *source, const char **now,
												   const char **for_good);

/* Name, release and machine, as uname -srm prints them. */
extern char *platform_operating_system(void);

/* CPUs online and those that this backend may run on; 0 if not known. */
extern int	platform_cpus_online(void);
extern int	platform_cpus_allowed(void);

#endif							/* CLOCKTIMING_PLATFORM_H */
