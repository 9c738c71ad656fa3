#include <fcntl.h>
#include <stdio.h>
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
	return boottime - (before + after) / 2;
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
