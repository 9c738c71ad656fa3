/*
 * platform.c
 *	  See platform.h.
 */
#include "postgres.h"

#ifdef __linux__
#include <sched.h>
#endif
#include <sys/utsname.h>
#include <unistd.h>

#include "clock/platform.h"
#include "core/kernel_clock.h"

char *
platform_kernel_clock_source(void)
{
	char		name[KERNEL_CLOCK_SIZE];

	return kernel_clock_source(name) ? pstrdup(name) : NULL;
}

char *
platform_kernel_clock_sources_available(void)
{
	char		names[KERNEL_CLOCK_SIZE];

	return kernel_clock_sources_available(names) ? pstrdup(names) : NULL;
}

char *
platform_operating_system(void)
{
	struct utsname name;

	if (uname(&name) < 0)
		return NULL;
	return psprintf("%s %s %s", name.sysname, name.release, name.machine);
}

int
platform_cpus_online(void)
{
#ifdef _SC_NPROCESSORS_ONLN
	return Max((int) sysconf(_SC_NPROCESSORS_ONLN), 0);
#else
	return 0;
#endif
}

int
platform_cpus_allowed(void)
{
#ifdef __linux__
	cpu_set_t	set;

	/* fails where the kernel knows more CPUs than fit into the set */
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return CPU_COUNT(&set);
#endif
	return 0;
}
