#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "core/cpu_hop.h"

int64_t
cpu_hop_proven(const CpuHop *hop)
{
	return hop->least > 0 ? hop->least : hop->most < 0 ? hop->most : 0;
}

#ifdef __linux__

/* Number of cpu_set_t in a set; CPUs beyond MOST_CPUS are ignored. */
#define SETS		8
#define MOST_CPUS	(SETS * CPU_SETSIZE)

static bool
go_to(int cpu)
{
	cpu_set_t	set[SETS];

	memset(set, 0, sizeof(set));
	CPU_SET_S(cpu, sizeof(set), set);
	return sched_setaffinity(0, sizeof(set), set) == 0;
}

/* Returns the n-th CPU of a set, not counting "home"; -1: none. */
static int
other_cpu(const cpu_set_t * set, size_t size, int home, unsigned int n)
{
	for (int cpu = 0; cpu < MOST_CPUS; cpu++)
	{
		if (CPU_ISSET_S(cpu, size, set) && cpu != home && n-- == 0)
			return cpu;
	}
	return -1;
}

bool
cpu_hop(unsigned int turn, uint64_t (*read) (void), CpuHop *hop)
{
	cpu_set_t	all[SETS],
				afterwards[SETS];
	uint64_t	before,
				there,
				after;
	bool		went;

	memset(all, 0, sizeof(all));
	memset(hop, 0, sizeof(*hop));
	if (sched_getaffinity(0, sizeof(all), all) != 0)
		return false;
	hop->cpus = CPU_COUNT_S(sizeof(all), all);
	hop->home = sched_getcpu();
	if (hop->cpus < 2 || hop->home < 0 || hop->home >= MOST_CPUS ||
		!CPU_ISSET_S(hop->home, sizeof(all), all))
		return false;
	hop->cpu = other_cpu(all, sizeof(all), hop->home, turn % (hop->cpus - 1));

	/* if all online CPUs are allowed, allow also CPUs that come online later */
	memcpy(afterwards, all, sizeof(all));
	if (hop->cpus == sysconf(_SC_NPROCESSORS_ONLN))
		memset(afterwards, 0xff, sizeof(afterwards));

	/* the thread must not leave home between the first two readings */
	went = go_to(hop->home);
	before = read();
	went = went && go_to(hop->cpu);
	there = read();
	went = went && go_to(hop->home);
	after = read();
	(void) sched_setaffinity(0, sizeof(afterwards), afterwards);
	hop->least = (int64_t) (there - after);
	hop->most = (int64_t) (there - before);
	return went;
}

#else

bool
cpu_hop(unsigned int turn, uint64_t (*read) (void), CpuHop *hop)
{
	(void) turn;
	(void) read;
	memset(hop, 0, sizeof(*hop));
	return false;
}

#endif
