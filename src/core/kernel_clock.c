/*
 * kernel_clock.c
 *	  See kernel_clock.h.
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
#define SOURCE_IN_USE	"/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define SOURCES			"/sys/devices/system/clocksource/clocksource0/available_clocksource"

/* The first line of a file, which sysfs gives in one piece. */
static ssize_t
read_text(const char *path, char *text, size_t size)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t		length = 0;

	if (fd >= 0)
	{
		length = read(fd, text, size);
		(void) close(fd);
	}
	return length;
}
#elif defined(__FreeBSD__)
#define SOURCE_IN_USE	"kern.timecounter.hardware"
#define SOURCES			"kern.timecounter.choice"

static ssize_t
read_text(const char *variable, char *text, size_t size)
{
	return sysctlbyname(variable, text, &size, NULL, 0) == 0 ? (ssize_t) size : 0;
}
#else
#define SOURCE_IN_USE	""
#define SOURCES			""

static ssize_t
read_text(const char *name, char *text, size_t size)
{
	(void) name, (void) text ,
				(void) size;

	return 0;
}
#endif

/* Without blanks and a newline at its end. */
static bool
read_line(const char *from, char *line)
{
	ssize_t		length = read_text(from, line, KERNEL_CLOCK_SIZE - 1);

	line[length > 0 ? length : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	for (length = (ssize_t) strlen(line); length > 0 && line[length - 1] == ' '; length--)
		line[length - 1] = '\0';
	return length > 0;
}

bool
kernel_clock_source(char *name)
{
	return read_line(SOURCE_IN_USE, name);
}

bool
kernel_clock_sources_available(char *names)
{
	return read_line(SOURCES, names);
}
