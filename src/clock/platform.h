/* Facts about the platform and its kernel's clock source. */
#ifndef CLOCKTIMING_PLATFORM_H
#define CLOCKTIMING_PLATFORM_H

/* Return the kernel's clock source, and those available, as palloc'd strings; NULL: not known. */
extern char *platform_kernel_clock_source(void);
extern char *platform_kernel_clock_sources_available(void);

/* Returns an available kernel clock source without system calls, if the current one has them. */
extern const char *platform_faster_kernel_clock_source(void);

/* Sets instructions for changing to this clock source unless NULL; commands are in backquotes. */
extern void platform_change_of_kernel_clock_source(const char *source, const char **now,
												   const char **for_good);

/* Returns name, release and machine as printed by uname -srm. */
extern char *platform_operating_system(void);

/* Return the CPUs online, and those that this backend may run on; 0: not known. */
extern int	platform_cpus_online(void);
extern int	platform_cpus_allowed(void);

#endif							/* CLOCKTIMING_PLATFORM_H */
