/*-------------------------------------------------------------------------
 *
 * kernel_clock.c
 *	  The clock that the kernel keeps time by.
 *
 *-------------------------------------------------------------------------
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef __FreeBSD__
#include <sys/sysctl.h>
#endif

#include "core/kernel_clock.h"

#if defined(__linux__)

#define CLOCKSOURCE_DIR "/sys/devices/system/clocksource/clocksource0/"

/* The first line of a file, without blanks at its end. */
static bool
first_line(const char *path, char *line)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t		length = 0;

	if (fd >= 0)
	{
		/* what sysfs has to say comes in one piece */
		length = read(fd, line, KERNEL_CLOCK_SIZE - 1);
		(void) close(fd);
	}
	line[length > 0 ? length : 0] = '\0';
	length = (ssize_t) strcspn(line, "\n");
	while (length > 0 && line[length - 1] == ' ')
		length--;
	line[length] = '\0';
	return length > 0;
}

bool
kernel_clock_source(char *name)
{
	return first_line(CLOCKSOURCE_DIR "current_clocksource", name);
}

bool
kernel_clock_sources_available(char *names)
{
	return first_line(CLOCKSOURCE_DIR "available_clocksource", names);
}

#elif defined(__FreeBSD__)

static bool
sysctl_string(const char *variable, char *value)
{
	size_t		length = KERNEL_CLOCK_SIZE - 1;

	if (sysctlbyname(variable, value, &length, NULL, 0) != 0)
		length = 0;
	value[length] = '\0';
	return value[0] != '\0';
}

bool
kernel_clock_source(char *name)
{
	return sysctl_string("kern.timecounter.hardware", name);
}

bool
kernel_clock_sources_available(char *names)
{
	return sysctl_string("kern.timecounter.choice", names);
}

#else

bool
kernel_clock_source(char *name)
{
	name[0] = '\0';
	return false;
}

bool
kernel_clock_sources_available(char *names)
{
	names[0] = '\0';
	return false;
}

#endif
