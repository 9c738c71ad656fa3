/*-------------------------------------------------------------------------
 *
 * kernel_clock.c
 *	  For LD_PRELOAD: another clock source of the kernel's.
 *
 * What is opened below /sys/devices/system/clocksource/clocksource0 is opened in
 * the directory that the environment variable KERNEL_CLOCK_DIR names.  So are
 * /proc/stat and the boot id, if they are there.
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
#include <unistd.h>

#define DIRECTORY "/sys/devices/system/clocksource/clocksource0/"

static const char *
redirect(const char *path, char *other)
{
	static const char *const proc[] = {"/proc/stat", "/proc/sys/kernel/random/boot_id"};
	const char *directory = getenv("KERNEL_CLOCK_DIR");

	if (directory == NULL)
		return path;
	if (strncmp(path, DIRECTORY, strlen(DIRECTORY)) == 0)
	{
		snprintf(other, PATH_MAX, "%s/%s", directory, path + strlen(DIRECTORY));
		return other;
	}
	for (int i = 0; i < 2; i++)
	{
		snprintf(other, PATH_MAX, "%s%s", directory, strrchr(path, '/') == NULL ? path : strrchr(path, '/'));
		if (strcmp(path, proc[i]) == 0 && access(other, R_OK) == 0)
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
