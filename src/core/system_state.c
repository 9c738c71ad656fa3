/*
 * The state of the machine and of its clocks, from the files and system calls of Linux and FreeBSD.
 *
 * Containers and sandboxes hide some of these files, and other kernels lack them.  What cannot be
 * read is unknown, which is no error.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/timex.h>
#endif
#ifdef __FreeBSD__
#include <sys/types.h>
#include <sys/sysctl.h>
#endif

#include "core/reference.h"
#include "core/system_state.h"
#include "core/time_namespace.h"

#if defined(__linux__)
#define SOURCE_IN_USE	"/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define SOURCES			"/sys/devices/system/clocksource/clocksource0/available_clocksource"
#define BOOT_CLOCK_ID	CLOCK_BOOTTIME
#elif defined(__FreeBSD__)
#define SOURCE_IN_USE	"kern.timecounter.hardware"
#define SOURCES			"kern.timecounter.choice"
#else
#define SOURCE_IN_USE	""
#define SOURCES			""
#endif
#ifndef BOOT_CLOCK_ID
#define BOOT_CLOCK_ID	CLOCK_MONOTONIC
#endif

/* Reads the beginning of a file; writes an empty string if it cannot be read. */
static void
read_beginning(const char *path, char *text, size_t size)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t		length = 0;

	if (fd >= 0)
	{
		length = read(fd, text, size - 1);
		(void) close(fd);
	}
	text[		length > 0 ? length : 0] = '\0';
}

/* Reads the first line of a file, or of a variable of FreeBSD's kernel, without trailing blanks. */
static bool
read_kernel_text(const char *name, char *line)
{
	size_t		length;

#ifdef __FreeBSD__
	length = KERNEL_CLOCK_SIZE - 1;
	line[sysctlbyname(name, line, &length, NULL, 0) == 0 ? length : 0] = '\0';
#else
	read_beginning(name, line, KERNEL_CLOCK_SIZE);
#endif
	length = strcspn(line, "\n");
	while (length > 0 && line[length - 1] == ' ')
		length--;
	line[length] = '\0';
	return length > 0;
}

bool
kernel_clock_source(char *name)
{
	return read_kernel_text(SOURCE_IN_USE, name);
}

bool
kernel_clock_sources_available(char *names)
{
	return read_kernel_text(SOURCES, names);
}

bool
kernel_offers(const char *name, const char *names)
{
	size_t		length = strlen(name);

	for (const char *p = names; (p = strstr(p, name)) != NULL; p += length)
	{
		if ((p == names || p[-1] == ' ') && strchr(" (", p[length]) != NULL)
			return true;
	}
	return false;
}

bool
kernel_file(char *text, size_t size, const char *path)
{
	read_beginning(path, text, size);
	return text[0] != '\0';
}

bool
system_boot_id(char *id)
{
	read_beginning("/proc/sys/kernel/random/boot_id", id, BOOT_ID_SIZE);
	id[strcspn(id, "\n")] = '\0';
	return id[0] != '\0';
}

/* Adds up user, nice, system, idle, iowait, irq, softirq and steal, which together are all time. */
SystemCpuTime
system_cpu_time(void)
{
	SystemCpuTime time = {0, 0};
	double		t[8];
	char		line[256];

	read_beginning("/proc/stat", line, sizeof(line));
	if (sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf",
			   &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) == 8)
	{
		for (int i = 0; i < 8; i++)
			time.all += t[i];
		time.stolen = t[7];
	}
	return time;
}

double
system_boottime_s(void)
{
	return (double) kernel_clock_ns(BOOT_CLOCK_ID) / 1e9;
}

/* CLOCK_MONOTONIC excludes suspensions.  Reads both clocks again if the thread was interrupted. */
double
system_suspended_s(void)
{
	TimeNamespace namespace = time_namespace("");
	double		before;
	double		boottime;
	double		after;
	int			tries = 5;

	do
	{
		before = (double) kernel_clock_ns(CLOCK_MONOTONIC) / 1e9;
		boottime = system_boottime_s();
		after = (double) kernel_clock_ns(CLOCK_MONOTONIC) / 1e9;
	} while (after - before > 0.001 && --tries > 0);
	return (boottime - namespace.boottime_s) - ((before + after) / 2 - namespace.monotonic_s);
}

SystemSync
system_sync(void)
{
	SystemSync	sync = {false, false, 0, 0, 0};
#ifdef __linux__
	struct timex timex = {.modes = 0};
	int			state = adjtimex(&timex);

	if (state >= 0)
	{
		sync.known = true;
		sync.synchronised = state != TIME_ERROR && !(timex.status & STA_UNSYNC);
		sync.offset_us = timex.status & STA_NANO ? timex.offset / 1e3 : timex.offset;
		sync.max_error_us = timex.maxerror;
		sync.frequency_ppm = timex.freq / 65536.0;
	}
#endif
	return sync;
}

#if defined(__linux__)
/* Returns the value after a word at the beginning of a line of a file; -1 if there is none. */
static double
value_in_file(const char *path, const char *word)
{
	FILE	   *file = fopen(path, "re");
	char		line[256];
	double		value = -1;
	size_t		length = strlen(word);

	while (file != NULL && value < 0 && fgets(line, sizeof(line), file) != NULL)
	{
		if (strncmp(line, word, length) == 0 && line[length] == ' ')
			value = strtod(line + length, NULL);
	}
	if (file != NULL)
		(void) fclose(file);
	return value;
}

/* Returns the throttled time of a control group; version 1 counts ns, version 2 us. */
static double
throttled_of_group(const char *mount, const char *group)
{
	char		path[1024];
	double		value;

	(void) snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s/cpu.stat", mount, group);
	value = value_in_file(path, "throttled_time");
	if (value < 0)
		value = value_in_file(path, "throttled_usec") * 1e3;
	return value;
}

/* Returns whether a list such as "cpu,cpuacct" contains the controller "cpu". */
static bool
has_cpu_controller(const char *controllers)
{
	while (*controllers != '\0')
	{
		size_t		length = strcspn(controllers, ",");

		if (length == strlen("cpu") && strncmp(controllers, "cpu", length) == 0)
			return true;
		controllers += length + (controllers[length] == ',');
	}
	return false;
}
#endif

/* Reads the groups of this process, and the first cpu.stat that exists for one of them. */
double
system_throttled_ns(void)
{
	double		value = -1;
#if defined(__linux__)
	FILE	   *file = fopen("/proc/self/cgroup", "re");
	char		line[768];

	/*
	 * a line is "number:controllers:path"; version 2 has number 0 and no
	 * controllers
	 */
	while (file != NULL && value < 0 && fgets(line, sizeof(line), file) != NULL)
	{
		char	   *controllers = strchr(line, ':');
		char	   *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');

		if (group == NULL)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		controllers++;
		if (*controllers == '\0')
		{
			value = throttled_of_group("", group);
			if (value < 0)
				value = throttled_of_group("/unified", group);
		}
		else if (has_cpu_controller(controllers))
		{
			value = throttled_of_group("/cpu", group);
			/* within the container, its group may be mounted as the root */
			if (value < 0)
				value = throttled_of_group("/cpu", "");
		}
	}
	if (file != NULL)
		(void) fclose(file);
	if (value < 0)
		value = throttled_of_group("", "");
#endif
	return value > 0 ? value : 0;
}
