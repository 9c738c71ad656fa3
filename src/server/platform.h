/* Facts about the platform and its kernel's clock source. */
#ifndef CLOCKTIMING_PLATFORM_H
#define CLOCKTIMING_PLATFORM_H

/* Return the kernel's current and available clock sources, palloc'd; NULL: not known. */
extern char *platform_kernel_clock_source(void);
extern char *platform_kernel_clock_sources_available(void);

/* Returns an available kernel clock source that is faster than the current one; NULL: none. */
extern const char *platform_faster_kernel_clock_source(void);

/*
 * Sets *now and *for_good to instructions to select the kernel clock source "source" at once and
 * permanently.  Commands in them are in backquotes.  Sets nothing if "source" is NULL.
 */
extern void platform_change_of_kernel_clock_source(const char *source, const char **now,
												   const char **for_good);

/* Returns name, release and machine as printed by uname -srm; NULL: not known. */
extern char *platform_operating_system(void);

/* Returns the release of Linux as printed by uname -r; NULL: not known, or another system. */
extern char *platform_linux_release(void);

/* Return the numbers of CPUs online and of CPUs that this backend may use; 0: not known. */
extern int	platform_cpus_online(void);
extern int	platform_cpus_allowed(void);

#endif							/* CLOCKTIMING_PLATFORM_H */
