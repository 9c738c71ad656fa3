/*-------------------------------------------------------------------------
 *
 * platform.c
 *	  What the operating system says of its clocks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __linux__
#include <sched.h>
#endif
#include <sys/utsname.h>
#include <unistd.h>
#ifdef __FreeBSD__
#include <sys/sysctl.h>
#endif

#include "storage/fd.h"

#include "platform.h"

#if defined(__linux__)

#define CLOCKSOURCE_DIR "/sys/devices/system/clocksource/clocksource0/"

/* The first line of a file, without blanks at its end; NULL if there is none. */
static char *
first_line(const char *path)
{
	FILE	   *file = AllocateFile(path, "r");
	char		line[1024];
	char	   *result = NULL;

	if (file == NULL)
		return NULL;
	if (fgets(line, sizeof(line), file) != NULL)
	{
		int			length = strlen(line);

		while (length > 0 && strchr(" \n", line[length - 1]) != NULL)
			line[--length] = '\0';
		if (length > 0)
			result = pstrdup(line);
	}
	FreeFile(file);
	return result;
}

char *
platform_kernel_clock_source(void)
{
	return first_line(CLOCKSOURCE_DIR "current_clocksource");
}

char *
platform_kernel_clock_sources_available(void)
{
	return first_line(CLOCKSOURCE_DIR "available_clocksource");
}

#elif defined(__FreeBSD__)

static char *
sysctl_string(const char *name)
{
	char		value[1024];
	size_t		length = sizeof(value) - 1;

	if (sysctlbyname(name, value, &length, NULL, 0) != 0)
		return NULL;
	value[length] = '\0';
	return pstrdup(value);
}

char *
platform_kernel_clock_source(void)
{
	return sysctl_string("kern.timecounter.hardware");
}

char *
platform_kernel_clock_sources_available(void)
{
	return sysctl_string("kern.timecounter.choice");
}

#else

char *
platform_kernel_clock_source(void)
{
	return NULL;
}

char *
platform_kernel_clock_sources_available(void)
{
	return NULL;
}

#endif

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
