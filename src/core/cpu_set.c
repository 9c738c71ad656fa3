/*
 * Wraps Linux's system calls for the CPU affinity of a thread.  A cpu_set_t has 1024 CPUs, and
 * sched_getaffinity() fails with EINVAL if the kernel supports more.  So a CpuSet consists of
 * several of them.
 */
#include "core/cpu_set.h"

#ifdef __linux__

#include <errno.h>
#include <string.h>
#include <unistd.h>

int
cpus_allowed(CpuSet *set)
{
	memset(set, 0, sizeof(*set));
	return sched_getaffinity(0, sizeof(*set), set->parts) == 0 ? 0 : errno;
}

static int
allow_cpus(const CpuSet *set)
{
	return sched_setaffinity(0, sizeof(*set), set->parts) == 0 ? 0 : errno;
}

bool
cpus_are_all(const CpuSet *set)
{
	return CPU_COUNT_S(sizeof(*set), set->parts) == sysconf(_SC_NPROCESSORS_ONLN);
}

int
restore_cpus(const CpuSet *earlier, bool all)
{
	CpuSet		set = *earlier;

	if (all)
		memset(&set, 0xff, sizeof(set));
	return allow_cpus(&set);
}

int
pin_to_cpu(int cpu)
{
	CpuSet		set;

	memset(&set, 0, sizeof(set));
	CPU_SET_S(cpu, sizeof(set), set.parts);
	return allow_cpus(&set);
}

#endif
