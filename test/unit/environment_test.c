/*
 * Facts about what surrounds the clocks are read from directories in the format of Linux's /proc
 * and /sys, which this test creates.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/environment.h"
#include "core/time_namespace.h"
#include "tap.h"

static char root[64];

/* Creates the directories of a path, and removes what is at the path. */
static void
prepare(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s%s", root, name);
	for (char *p = path + strlen(root) + 1; *p != '\0'; p++)
	{
		if (*p == '/')
		{
			*p = '\0';
			mkdir(path, 0700);
			*p = '/';
		}
	}
	unlink(path);
}

/* Writes a file; removes it if "text" is NULL. */
static void
put(const char *name, const char *text)
{
	char		path[512];
	FILE	   *file;

	prepare(path, sizeof(path), name);
	if (text == NULL)
		return;
	if ((file = fopen(path, "w")) == NULL)
		abort();
	fputs(text, file);
	fclose(file);
}

static void
put_link(const char *name, const char *target)
{
	char		path[512];

	prepare(path, sizeof(path), name);
	if (symlink(target, path) != 0)
		abort();
}

static void
is_text(bool known, const char *text, const char *expected, const char *what)
{
	ok(known == (expected != NULL) && (expected == NULL || strcmp(text, expected) == 0),
	   "%s: %s", what, known ? text : "not known");
}

static void
time_namespaces(void)
{
	TimeNamespace namespace = time_namespace(root);
	TimeNamespace other;

	ok(namespace.inode == 0, "a kernel without time namespaces");
	put_link("/proc/self/ns/time", "time:[4026531834]");
	put("/proc/self/timens_offsets", "monotonic           0         0\nboottime            0         0\n");
	namespace = time_namespace(root);
	ok(namespace.inode == INITIAL_TIME_NAMESPACE, "the initial time namespace");
	put_link("/proc/self/ns/time", "time:[4026532281]");
	put("/proc/self/timens_offsets", "monotonic      -86400 500000000\nboottime         3600         0\n");
	other = time_namespace(root);
	ok(other.inode == 4026532281 && !time_namespace_equal(&other, &namespace),
	   "another time namespace");
	ok(other.monotonic_s == -86399.5 && other.boottime_s == 3600,
	   "its offsets: %.1f s and %.1f s", other.monotonic_s, other.boottime_s);
	put("/proc/self/timens_offsets", NULL);
	other = time_namespace(root);
	ok(other.inode == 4026532281 && other.monotonic_s == 0 && other.boottime_s == 0,
	   "another time namespace whose offsets cannot be read");
}

static void
is_limit(double quota_us, double period_us, const char *what)
{
	CpuLimit	limit = environment_cpu_limit(root);

	ok(limit.known && limit.quota_us == quota_us && limit.period_us == period_us,
	   "%s: %.0f us in %.0f us", what, limit.quota_us, limit.period_us);
}

static void
cpu_limits(void)
{
	ok(!environment_cpu_limit(root).known, "no control groups");
	put("/proc/self/cgroup", "0::/a.slice/b.service\n");
	ok(!environment_cpu_limit(root).known, "control groups that are not mounted");
	put("/sys/fs/cgroup/cgroup.controllers", "cpu io memory\n");
	is_limit(0, 0, "version 2, no limit anywhere");
	put("/sys/fs/cgroup/a.slice/b.service/cpu.max", "max 100000\n");
	is_limit(0, 0, "version 2, the limit is \"max\"");
	put("/sys/fs/cgroup/a.slice/b.service/cpu.max", "150000 100000\n");
	is_limit(150000, 100000, "version 2, limit of the group");
	put("/sys/fs/cgroup/a.slice/cpu.max", "200000 100000\n");
	is_limit(150000, 100000, "version 2, a wider limit above");
	put("/sys/fs/cgroup/a.slice/cpu.max", "10000 50000\n");
	is_limit(10000, 50000, "version 2, a narrower limit above");
	put("/sys/fs/cgroup/a.slice/b.service/cpu.max", NULL);
	put("/sys/fs/cgroup/a.slice/cpu.max", NULL);
	put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
	is_limit(50000, 100000, "version 2, within a container, whose root is the group");
	put("/sys/fs/cgroup/cpu.max", "\n");
	is_limit(0, 0, "version 2, an empty file");
	put("/sys/fs/cgroup/cpu.max", NULL);

	put("/proc/self/cgroup", "5:cpuset:/docker/1\n4:cpuacct,cpu:/docker/1\n0::/docker/1\n");
	put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
	is_limit(0, 0, "version 1, no limit");
	put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "25000\n");
	is_limit(25000, 100000, "version 1, limit of the group");
	put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", NULL);
	is_limit(0, 0, "version 1, without the file of the period");
	put("/proc/self/cgroup", "5:cpuset:/x\nnonsense\n::\n");
	is_limit(0, 0, "a file without a group of cpu");
}

static void
cpu_types(void)
{
	char		text[ENVIRONMENT_TEXT_SIZE];

	is_text(environment_cpu_types(root, text), text, NULL, "no /sys");
	put("/sys/devices/system/cpu/cpu0/online", "1\n");
	is_text(environment_cpu_types(root, text), text, "one", "CPUs of one kind");
	put("/sys/devices/cpu_core/cpus", "0-7\n");
	is_text(environment_cpu_types(root, text), text, "one", "only one kind of x86 is in use");
	put("/sys/devices/cpu_atom/cpus", "8-15\n");
	is_text(environment_cpu_types(root, text), text, "cpu_core 0-7, cpu_atom 8-15", "two kinds of x86");
	put("/sys/devices/cpu_core/cpus", "0,2\n");
	put("/sys/devices/cpu_lowpower/cpus", "20-21\n");
	is_text(environment_cpu_types(root, text), text, "cpu_core 0,2, cpu_atom 8-15, cpu_lowpower 20-21",
			"three kinds of x86");
	put("/sys/devices/cpu_core/cpus", "0,2,4\n");
	put("/sys/devices/cpu_atom/cpus", "\n");
	put("/sys/devices/cpu_lowpower/cpus", NULL);
	is_text(environment_cpu_types(root, text), text, "one", "a kind without CPUs");
	put("/sys/devices/cpu_core/cpus", NULL);
	put("/sys/devices/cpu_atom/cpus", NULL);
	put("/sys/devices/system/cpu/cpu0/cpu_capacity", "446\n");
	put("/sys/devices/system/cpu/cpu1/cpu_capacity", "446\n");
	is_text(environment_cpu_types(root, text), text, "one", "one capacity of Arm");
	put("/sys/devices/system/cpu/cpu2/cpu_capacity", "1024\n");
	is_text(environment_cpu_types(root, text), text, "2 of capacity 446, 1 of capacity 1024",
			"two capacities of Arm");
	for (int cpu = 3; cpu < 400; cpu++)
	{
		char		name[64];
		char		capacity[16];

		snprintf(name, sizeof(name), "/sys/devices/system/cpu/cpu%d/cpu_capacity", cpu);
		snprintf(capacity, sizeof(capacity), "%d\n", cpu);
		put(name, capacity);
	}
	ok(environment_cpu_types(root, text) && strlen(text) < ENVIRONMENT_TEXT_SIZE, "398 capacities: %s",
	   text);
}

static void
nohz_full(void)
{
	char		text[ENVIRONMENT_TEXT_SIZE];

	is_text(environment_nohz_full(root, text), text, NULL, "no /sys/devices/system/cpu");
	put("/sys/devices/system/cpu/online", "0-7\n");
	is_text(environment_nohz_full(root, text), text, "none", "a kernel without nohz_full");
	put("/sys/devices/system/cpu/nohz_full", "\n");
	is_text(environment_nohz_full(root, text), text, "none", "nohz_full of no CPU");
	put("/sys/devices/system/cpu/nohz_full", "  (null)\n");
	is_text(environment_nohz_full(root, text), text, "none", "nohz_full of no CPU, on older kernels");
	put("/sys/devices/system/cpu/nohz_full", "2-7\n");
	is_text(environment_nohz_full(root, text), text, "2-7", "nohz_full");
}

static void
idle_states(void)
{
	IdleStates	idle = environment_idle_states(root);

	ok(idle.driver[0] == '\0' && idle.deepest[0] == '\0' && idle.max_cstate == -1, "no idle states");
	put("/sys/devices/system/cpu/cpuidle/current_driver", "none\n");
	put("/sys/module/intel_idle/parameters/max_cstate", "9\n");
	idle = environment_idle_states(root);
	ok(strcmp(idle.driver, "none") == 0 && idle.max_cstate == -1, "no driver: its limit is not intel_idle's");
	put("/sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1E\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "10\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C6\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133\n");
	put("/sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "0\n");
	idle = environment_idle_states(root);
	ok(strcmp(idle.deepest, "C6") == 0 && idle.latency_us == 133 && idle.max_cstate == 9,
	   "intel_idle: %s, %.0f us, max_cstate %d", idle.deepest, idle.latency_us, idle.max_cstate);
	put("/sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "1\n");
	put("/sys/devices/system/cpu/cpuidle/current_driver", "acpi_idle\n");
	put("/sys/module/processor/parameters/max_cstate", "1\n");
	idle = environment_idle_states(root);
	ok(strcmp(idle.deepest, "C1E") == 0 && idle.latency_us == 10 && idle.max_cstate == 1,
	   "acpi_idle with a state that is disabled: %s, %.0f us, max_cstate %d", idle.deepest,
	   idle.latency_us, idle.max_cstate);
	put("/sys/module/processor/parameters/max_cstate", "nonsense\n");
	ok(environment_idle_states(root).max_cstate == -1, "a limit that is no number");
}

static void
process_start(void)
{
	char		text[256];

	ok(environment_process_start_s(root, 42) < 0, "a process that does not exist");
	snprintf(text, sizeof(text), "42 (a) b (c) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 %ld 9 9\n",
			 123 * sysconf(_SC_CLK_TCK));
	put("/proc/42/stat", text);
	ok(environment_process_start_s(root, 42) == 123, "its name has blanks and parentheses");
	put("/proc/42/stat", "42 (a) S 1 42\n");
	ok(environment_process_start_s(root, 42) < 0, "a line that is too short");
	put("/proc/42/stat", "");
	ok(environment_process_start_s(root, 42) < 0, "an empty file");
}

int
main(void)
{
	char		command[128];

	snprintf(root, sizeof(root), "/tmp/environment_test.XXXXXX");
	if (mkdtemp(root) == NULL)
		abort();
	time_namespaces();
	cpu_limits();
	cpu_types();
	nohz_full();
	idle_states();
	process_start();
	ok(environment_process_start_s("", (int) getpid()) > 0 ||
	   access("/proc/self/stat", R_OK) != 0, "the start of this process");
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	return done() | (system(command) != 0);
}
