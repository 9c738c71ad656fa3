/*
 * Reads the time namespace: its inode from a symbolic link in /proc, "time:[4026531834]", and the
 * offsets of its clocks.  The offsets in /proc are those of the process's children, which are its
 * own unless it has called unshare().
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/time_namespace.h"

#define PATH_SIZE		1024

/* Offsets are set in ns when a namespace is created, and never change. */
#define EQUAL_S			1e-6

/* Offsets that cannot be read are 0, as in the initial namespace. */
TimeNamespace
time_namespace(const char *root)
{
	TimeNamespace namespace = {0, 0, 0};
	char		path[PATH_SIZE];
	char		link[64];
	char		clock[32];
	double		s;
	double		ns;
	ssize_t		length;
	FILE	   *file;

	(void) snprintf(path, sizeof(path), "%s/proc/self/ns/time", root);
	length = readlink(path, link, sizeof(link) - 1);
	if (length <= 0)
		return namespace;
	link[length] = '\0';
	if (sscanf(link, "time:[%" SCNu64 "]", &namespace.inode) != 1)
		return namespace;
	(void) snprintf(path, sizeof(path), "%s/proc/self/timens_offsets", root);
	file = fopen(path, "re");
	while (file != NULL && fscanf(file, "%31s %lf %lf", clock, &s, &ns) == 3)
	{
		if (strcmp(clock, "monotonic") == 0)
			namespace.monotonic_s = s + ns / 1e9;
		else if (strcmp(clock, "boottime") == 0)
			namespace.boottime_s = s + ns / 1e9;
	}
	if (file != NULL)
		(void) fclose(file);
	return namespace;
}

bool
time_namespace_equal(const TimeNamespace *a, const TimeNamespace *b)
{
	return a->inode == b->inode && fabs(a->monotonic_s - b->monotonic_s) < EQUAL_S &&
		fabs(a->boottime_s - b->boottime_s) < EQUAL_S;
}
