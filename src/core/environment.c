/*
 * Reads what surrounds the clocks.
 *
 * The limit of CPU time is the smallest quota per period among the process's control group
 * and the groups that contain it, because the kernel enforces each of them.  Hybrid processors are
 * recognized by their performance counters: the kernel has a directory for each kind of CPU.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/environment.h"

#define PATH_SIZE		1024
#define LINE_SIZE		768

/* Number of idle states and of CPUs that are looked at. */
#define MOST_STATES		32
#define MOST_CPUS		4096

static void
make_path(char *path, const char *root, const char *name)
{
	(void) snprintf(path, PATH_SIZE, "%s%s", root, name);
}

/* Reads a file's first line; returns false, and writes "", if there is no such file. */
static bool
read_line(const char *root, const char *name, char *line, int size)
{
	char		path[PATH_SIZE];
	FILE	   *file;
	bool		found;

	make_path(path, root, name);
	line[0] = '\0';
	if ((file = fopen(path, "re")) == NULL)
		return false;
	found = fgets(line, size, file) != NULL;
	(void) fclose(file);
	if (!found)
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return true;
}

static bool
exists(const char *root, const char *name)
{
	char		path[PATH_SIZE];

	make_path(path, root, name);
	return access(path, F_OK) == 0;
}

/* Keeps the smaller limit.  A quota that is no number above 0 ("max", -1) is no limit. */
static void
consider_limit(CpuLimit *limit, double quota_us, double period_us)
{
	limit->known = true;
	if (quota_us > 0 && period_us > 0 &&
		(limit->quota_us == 0 || quota_us / period_us < limit->quota_us / limit->period_us))
	{
		limit->quota_us = quota_us;
		limit->period_us = period_us;
	}
}

/* Considers the limit of one group: cpu.max of version 2, two files of version 1. */
static void
consider_group(CpuLimit *limit, const char *root, const char *mount, const char *group)
{
	char		name[PATH_SIZE];
	char		line[LINE_SIZE];
	char		period[LINE_SIZE];
	char	   *rest;
	double		quota_us;

	(void) snprintf(name, sizeof(name), "/sys/fs/cgroup%s%s/cpu.max", mount, group);
	if (read_line(root, name, line, sizeof(line)))
	{
		quota_us = strtod(line, &rest);
		consider_limit(limit, quota_us, strtod(rest, NULL));
	}
	(void) snprintf(name, sizeof(name), "/sys/fs/cgroup%s%s/cpu.cfs_quota_us", mount, group);
	if (read_line(root, name, line, sizeof(line)))
	{
		(void) snprintf(name, sizeof(name), "/sys/fs/cgroup%s%s/cpu.cfs_period_us", mount, group);
		if (read_line(root, name, period, sizeof(period)))
			consider_limit(limit, strtod(line, NULL), strtod(period, NULL));
	}
}

/*
 * Considers a group and all groups above it, up to the root of the mounted hierarchy.  Within a
 * container, this root may be the container's group, although the kernel names a longer path.
 */
static void
consider_groups(CpuLimit *limit, const char *root, const char *mount, char *group)
{
	char	   *slash;

	while ((slash = strrchr(group, '/')) != NULL)
	{
		if (slash[1] != '\0')
			consider_group(limit, root, mount, group);
		*slash = '\0';
	}
	consider_group(limit, root, mount, "");
}

/* Returns whether a comma-separated list of controllers contains "cpu". */
static bool
controls_cpu(const char *controllers)
{
	for (const char *p = controllers; *p != '\0'; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
	{
		if (strncmp(p, "cpu", 3) == 0 && (p[3] == ',' || p[3] == '\0'))
			return true;
	}
	return false;
}

/* Visits the control groups of version 2 and of the controller "cpu" of version 1. */
CpuLimit
environment_cpu_limit(const char *root)
{
	CpuLimit	limit = {false, 0, 0};
	char		path[PATH_SIZE];
	char		line[LINE_SIZE];
	FILE	   *file;

	make_path(path, root, "/proc/self/cgroup");
	if ((file = fopen(path, "re")) == NULL)
		return limit;
	limit.known = exists(root, "/sys/fs/cgroup/cgroup.controllers") ||
		exists(root, "/sys/fs/cgroup/cpu");

	/*
	 * a line is "number:controllers:path"; version 2 has number 0 and no
	 * controllers
	 */
	while (fgets(line, sizeof(line), file) != NULL)
	{
		char	   *controllers = strchr(line, ':');
		char	   *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
		char		copy[LINE_SIZE];

		if (group == NULL)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		if (*++controllers == '\0')
		{
			(void) snprintf(copy, sizeof(copy), "%s", group);
			consider_groups(&limit, root, "", copy);
			consider_groups(&limit, root, "/unified", group);
		}
		else if (controls_cpu(controllers))
			consider_groups(&limit, root, "/cpu", group);
	}
	(void) fclose(file);
	return limit;
}

/* Appends the kind of CPUs for which x86 has a directory of performance counters. */
static void
append_type(const char *root, const char *type, char *text)
{
	char		name[PATH_SIZE];
	char		cpus[LINE_SIZE];
	size_t		length = strlen(text);

	(void) snprintf(name, sizeof(name), "/sys/devices/%s/cpus", type);
	if (read_line(root, name, cpus, sizeof(cpus)) && cpus[0] != '\0')
		(void) snprintf(text +length, ENVIRONMENT_TEXT_SIZE - length, "%s%s %s",
						length > 0 ? ", " : "", type, cpus);
}

/* Appends the number of CPUs of a capacity: 64-bit Arm and RISC-V have no names of kinds. */
static void
append_capacity(long capacity, int cpus, char *text)
{
	size_t		length = strlen(text);

	(void) snprintf(text +length, ENVIRONMENT_TEXT_SIZE - length, "%s%d of capacity %ld",
					length > 0 ? ", " : "", cpus, capacity);
}

/* Writes the numbers of CPUs by capacity, if there are at least two capacities. */
static void
write_capacities(const char *root, char *text)
{
	long		capacities[8];
	int			cpus[8];
	int			n = 0;

	for (int cpu = 0; cpu < MOST_CPUS; cpu++)
	{
		char		name[PATH_SIZE];
		char		line[64];
		int			i = 0;

		(void) snprintf(name, sizeof(name), "/sys/devices/system/cpu/cpu%d/cpu_capacity", cpu);
		if (!read_line(root, name, line, sizeof(line)))
			break;
		while (i < n && capacities[i] != atol(line))
			i++;
		if (i == 8)
			continue;
		if (i == n)
		{
			capacities[n] = atol(line);
			cpus[n++] = 0;
		}
		cpus[i]++;
	}
	for (int i = 0; n > 1 && i < n; i++)
		append_capacity(capacities[i], cpus[i], text);
}

/* Finds the kinds by x86's directories of performance counters, else by the CPUs' capacities. */
bool
environment_cpu_types(const char *root, char *text)
{
	text[		0] = '\0';

	append_type(root, "cpu_core", text);
	append_type(root, "cpu_atom", text);
	append_type(root, "cpu_lowpower", text);

	/*
	 * a processor of which only one kind is enabled has one of these
	 * directories
	 */
	if (strstr(text, ", cpu_") == NULL)
		text[		0] = '\0';

	if (text[0] == '\0')
		write_capacities(root, text);
	if (text[0] == '\0' && exists(root, "/sys/devices/system/cpu/cpu0"))
		(void) snprintf(text, ENVIRONMENT_TEXT_SIZE, "one");
	return text[0] != '\0';
}

/* A kernel without nohz_full has no such file; some kernels write "(null)" for no CPU. */
bool
environment_nohz_full(const char *root, char *text)
{
	bool		known = exists(root, "/sys/devices/system/cpu/online");

	(void) read_line(root, "/sys/devices/system/cpu/nohz_full", text, ENVIRONMENT_TEXT_SIZE);
	if (strstr(text, "(null)") != NULL)
		text[		0] = '\0';

	if (text[0] == '\0' && known)
		(void) snprintf(text, ENVIRONMENT_TEXT_SIZE, "none");
	return known;
}

/* Returns the number in a file, or "otherwise". */
static int
number_in(const char *root, const char *name, int otherwise)
{
	char		line[64];
	char	   *end;
	long		number;

	if (!read_line(root, name, line, sizeof(line)))
		return otherwise;
	number = strtol(line, &end, 10);
	return end == line ? otherwise : (int) number;
}

/* States are listed from the shallowest to the deepest; max_cstate belongs to the driver. */
IdleStates
environment_idle_states(const char *root)
{
	IdleStates	idle = {.max_cstate = -1};
	char		name[PATH_SIZE];

	(void) read_line(root, "/sys/devices/system/cpu/cpuidle/current_driver", idle.driver,
					 sizeof(idle.driver));
	if (strcmp(idle.driver, "intel_idle") == 0)
		idle.max_cstate = number_in(root, "/sys/module/intel_idle/parameters/max_cstate", -1);
	else if (strcmp(idle.driver, "acpi_idle") == 0)
		idle.max_cstate = number_in(root, "/sys/module/processor/parameters/max_cstate", -1);
	for (int i = 0; i < MOST_STATES; i++)
	{
		char		state[64];

		(void) snprintf(name, sizeof(name), "/sys/devices/system/cpu/cpu0/cpuidle/state%d/name", i);
		if (!read_line(root, name, state, sizeof(state)))
			break;
		(void) snprintf(name, sizeof(name),
						"/sys/devices/system/cpu/cpu0/cpuidle/state%d/disable", i);
		if (number_in(root, name, 0) != 0)
			continue;
		(void) snprintf(idle.deepest, sizeof(idle.deepest), "%s", state);
		(void) snprintf(name, sizeof(name),
						"/sys/devices/system/cpu/cpu0/cpuidle/state%d/latency", i);
		idle.latency_us = number_in(root, name, 0);
	}
	return idle;
}

/* Field 22 of the file is the start; field 2, the name in parentheses, may contain anything. */
double
environment_process_start_s(const char *root, int pid)
{
	char		name[64];
	char		line[LINE_SIZE];
	const char *field;
	long		ticks_per_s = sysconf(_SC_CLK_TCK);

	(void) snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	if (!read_line(root, name, line, sizeof(line)) || ticks_per_s <= 0)
		return -1;
	field = strrchr(line, ')');
	for (int i = 2; field != NULL && i < 22; i++)
		field = strchr(field + 1, ' ');
	return field == NULL ? -1 : strtod(field, NULL) / (double) ticks_per_s;
}
