/*-------------------------------------------------------------------------
 *
 * kernel_clock.c
 *	  For LD_PRELOAD: another clock source of the kernel's.
 *
 * What is opened below /sys/devices/system/clocksource/clocksource0 is opened in
 * the directory that the environment variable KERNEL_CLOCK_DIR names.
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

#define DIRECTORY "/sys/devices/system/clocksource/clocksource0/"

static const char *
redirect(const char *path, char *other)
{
	const char *directory = getenv("KERNEL_CLOCK_DIR");

	if (directory == NULL || strncmp(path, DIRECTORY, strlen(DIRECTORY)) != 0)
		return path;
	snprintf(other, PATH_MAX, "%s/%s", directory, path + strlen(DIRECTORY));
	return other;
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
