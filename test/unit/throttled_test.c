/*
 * throttled_test: system_throttled_ns() must return the throttled time of this process's control
 * group, for the forms of /proc/self/cgroup that occur.  fopen() is replaced, so that the function
 * reads files of the test.
 */
#include <string.h>

#include "core/system_state.h"
#include "tap.h"

/* A file and its contents; the last one has the path NULL. */
typedef struct FakeFile
{
	const char *path;
	const char *text;
} FakeFile;

static const FakeFile *files;

FILE *
fopen(const char *path, const char *mode)
{
	(void) mode;
	for (const FakeFile *file = files; file->path != NULL; file++)
	{
		if (strcmp(file->path, path) == 0)
			return fmemopen((void *) file->text, strlen(file->text), "r");
	}
	return NULL;
}

static void
expect(const FakeFile *those, double ns, const char *what)
{
	double		found;

	files = those;
	found = system_throttled_ns();
#ifndef __linux__
	ns = 0;
#endif
	ok(found == ns, "%s: %.0f ns", what, found);
}

static const FakeFile version_2[] = {
	{"/proc/self/cgroup", "0::/pg.slice\n"},
	{"/sys/fs/cgroup/pg.slice/cpu.stat", "usage_usec 5\nnr_throttled 3\nthrottled_usec 1500\n"},
	{NULL, NULL}
};

static const FakeFile version_1[] = {
	{"/proc/self/cgroup", "4:cpu,cpuacct:/pg\n"},
	{"/sys/fs/cgroup/cpu/cpu.stat", "nr_periods 0\nthrottled_time 0\n"},
	{"/sys/fs/cgroup/cpu/pg/cpu.stat", "nr_periods 9\nthrottled_time 123456789\n"},
	{NULL, NULL}
};

/* Other controllers' names begin with "cpu", too, and their groups are others. */
static const FakeFile other_controllers[] = {
	{"/proc/self/cgroup", "11:cpuset:/\n7:memory,cpuacct:/\n4:cpuacct,cpu:/pg\n"},
	{"/sys/fs/cgroup/cpu/cpu.stat", "nr_periods 0\nthrottled_time 0\n"},
	{"/sys/fs/cgroup/cpu//cpu.stat", "nr_periods 0\nthrottled_time 0\n"},
	{"/sys/fs/cgroup/cpu/pg/cpu.stat", "nr_periods 9\nthrottled_time 123456789\n"},
	{NULL, NULL}
};

static const FakeFile in_container[] = {
	{"/proc/self/cgroup", "4:cpu,cpuacct:/docker/0123\n"},
	{"/sys/fs/cgroup/cpu/cpu.stat", "throttled_time 42\n"},
	{NULL, NULL}
};

static const FakeFile nothing[] = {{NULL, NULL}};

int
main(void)
{
	expect(version_2, 1500e3, "version 2 counts microseconds");
	expect(version_1, 123456789, "version 1 counts nanoseconds");
	expect(other_controllers, 123456789, "other controllers whose names begin with cpu");
	expect(in_container, 42, "the container's group is mounted as the root");
	expect(nothing, 0, "without the files, 0");
	return done();
}
