/*-------------------------------------------------------------------------
 *
 * kernel_clock.c
 *	  For LD_PRELOAD: replaces the kernel's information about its clocks.
 *
 * The environment variable KERNEL_CLOCK_DIR names a directory with these files:
 * - current_clocksource and available_clocksource replace the files of the same name in
 *   /sys/devices/system/clocksource/clocksource0;
 * - stat, boot_id, cmdline, cpuinfo and timens_offsets replace /proc/stat,
 *   /proc/sys/kernel/random/boot_id, /proc/cmdline, /proc/cpuinfo and /proc/self/timens_offsets, if
 *   present;
 * - cpu.stat replaces the file of that name of each control group, if present;
 * - release replaces the kernel's release of uname(), if present;
 * - vmclock0 replaces /dev/vmclock0;
 * - files below its subdirectories proc and sys replace those of /proc and /sys, if present.
 * These optional files contain a number:
 * - synchronised: adjtimex() reports a synchronised clock (1), or one that is not (0);
 * - namespace: CLOCK_BOOTTIME read by syscall() is this many seconds ahead;
 * - suspended: the time of day, and CLOCK_BOOTTIME read by syscall(), are this many seconds ahead;
 * - set: the time of day is this many seconds ahead.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define CGROUPS "/sys/fs/cgroup/"
#define DIRECTORY "/sys/devices/system/clocksource/clocksource0/"

static const char *
redirect(const char *path, char *other)
{
	static const char *const proc[] = {
		"/proc/stat", "/proc/sys/kernel/random/boot_id", "/proc/cmdline", "/proc/cpuinfo",
		"/proc/self/timens_offsets"
	};
	const char *directory = getenv("KERNEL_CLOCK_DIR");

	if (directory == NULL)
		return path;
	if (strncmp(path, DIRECTORY, strlen(DIRECTORY)) == 0)
	{
		snprintf(other, PATH_MAX, "%s/%s", directory, path + strlen(DIRECTORY));
		return other;
	}
	if (strcmp(path, "/dev/vmclock0") == 0)
	{
		snprintf(other, PATH_MAX, "%s/vmclock0", directory);
		return other;
	}
	if (strncmp(path, CGROUPS, strlen(CGROUPS)) == 0)
	{
		snprintf(other, PATH_MAX, "%s%s", directory, strrchr(path, '/'));
		if (access(other, R_OK) == 0)
			return other;
	}
	for (int i = 0; i < 5; i++)
	{
		snprintf(other, PATH_MAX, "%s%s", directory,
				 strrchr(path, '/') == NULL ? path : strrchr(path, '/'));
		if (strcmp(path, proc[i]) == 0 && access(other, R_OK) == 0)
			return other;
	}
	if (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0)
	{
		snprintf(other, PATH_MAX, "%s%s", directory, path);
		if (access(other, R_OK) == 0)
			return other;
	}
	return path;
}

#define OPEN(name) \
int \
name(const char *path, int flags, ...) \
{ \
	static int	(*real) (const char *, int, ...); \
	char		other[PATH_MAX]; \
	va_list		args; \
	mode_t		mode; \
 \
	va_start(args, flags); \
	mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0; \
	va_end(args); \
	if (real == NULL) \
		*(void **) &real = dlsym(RTLD_NEXT, #name); \
	return real(redirect(path, other), flags, mode); \
}

#define FOPEN(name) \
FILE * \
name(const char *path, const char *mode) \
{ \
	static FILE *(*real) (const char *, const char *); \
	char		other[PATH_MAX]; \
 \
	if (real == NULL) \
		*(void **) &real = dlsym(RTLD_NEXT, #name); \
	return real(redirect(path, other), mode); \
}

OPEN(open)
OPEN(open64)
FOPEN(fopen)
FOPEN(fopen64)

/* Returns the number in a file of the directory, or "otherwise" if the file does not exist. */
static long
number_in(const char *name, long otherwise)
{
	const char *directory = getenv("KERNEL_CLOCK_DIR");
	char		path[PATH_MAX];
	FILE	   *file;

	if (directory == NULL)
		return otherwise;
	snprintf(path, PATH_MAX, "%s/%s", directory, name);
	if ((file = fopen(path, "r")) == NULL)
		return otherwise;
	if (fscanf(file, "%ld", &otherwise) != 1)
		abort();
	fclose(file);
	return otherwise;
}

int
uname(struct utsname *name)
{
	static int	(*real) (struct utsname *);
	const char *directory = getenv("KERNEL_CLOCK_DIR");
	char		path[PATH_MAX];
	FILE	   *file;
	int			result;

	if (real == NULL)
		*(void **) &real = dlsym(RTLD_NEXT, "uname");
	result = real(name);
	snprintf(path, PATH_MAX, "%s/release", directory == NULL ? "" : directory);
	if (directory != NULL && (file = fopen(path, "r")) != NULL)
	{
		if (fscanf(file, "%60s", name->release) != 1)
			abort();
		fclose(file);
	}
	return result;
}

int
adjtimex(struct timex *timex)
{
	static int	(*real) (struct timex *);
	long		synchronised = number_in("synchronised", -1);

	if (real == NULL)
		*(void **) &real = dlsym(RTLD_NEXT, "adjtimex");
	if (synchronised < 0)
		return real(timex);
	memset(timex, 0, sizeof(*timex));
	timex->status = synchronised ? STA_NANO : STA_NANO | STA_UNSYNC;
	timex->maxerror = synchronised ? 1500 : 16000000;
	return synchronised ? TIME_OK : TIME_ERROR;
}

int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	static int	(*real) (struct timeval *restrict, void *restrict);
	int			result;

	if (real == NULL)
		*(void **) &real = dlsym(RTLD_NEXT, "gettimeofday");
	result = real(tv, tz);
	tv->tv_sec += number_in("suspended", 0) + number_in("set", 0);
	return result;
}

time_t
time(time_t *t)
{
	struct timeval tv;

	(void) gettimeofday(&tv, NULL);
	if (t != NULL)
		*t = tv.tv_sec;
	return tv.tv_sec;
}

long
syscall(long number, ...)
{
	static long (*real) (long, ...);
	long		a[6];
	long		result;
	va_list		args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (real == NULL)
		*(void **) &real = dlsym(RTLD_NEXT, "syscall");
	result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_clock_gettime && a[0] == CLOCK_BOOTTIME && result == 0)
		((struct timespec *) a[1])->tv_sec += number_in("suspended", 0) + number_in("namespace", 0);
	return result;
}
