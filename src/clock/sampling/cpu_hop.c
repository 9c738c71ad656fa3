/*
 * Bounds of the difference between two CPUs' clocks, by a thread that moves between them.
 *
 * The thread reads the clock on this CPU, then on the other one, then on this one again.  The
 * second reading was taken after the first and before the third.  So the other CPU's clock is ahead
 * by at most the second reading minus the first, and by at least the second minus the third.  The
 * distance between these bounds is the time of two moves, so differences below some microseconds
 * remain unknown.  In return, no second process is needed, so a background worker can do this all
 * the time.
 */
#include <string.h>

#include "clock/sampling/cpu_hop.h"
#include "core/cpu_set.h"

#ifdef __linux__

/* Returns the n-th CPU of a set, counted from 0 and without "home"; -1: none. */
static int
other_cpu(const CpuSet *set, int home, unsigned int n)
{
	for (int cpu = 0; cpu < MOST_CPUS; cpu++)
	{
		if (CPU_IN(cpu, set) && cpu != home && n-- == 0)
			return cpu;
	}
	return -1;
}

/*
 * Pins the thread to its own CPU first, because the kernel might otherwise move it before the first
 * reading.  Restores the earlier affinity also if a move has failed.
 */
bool
cpu_hop(unsigned int turn, uint64_t (*read) (void), CpuHop *hop)
{
	CpuSet		all;
	uint64_t	before;
	uint64_t	there;
	uint64_t	after;
	bool		are_all;
	bool		went;

	memset(hop, 0, sizeof(*hop));
	if (cpus_allowed(&all) != 0)
		return false;
	hop->cpus = CPU_COUNT_S(sizeof(all), all.parts);
	hop->home = sched_getcpu();
	if (hop->cpus < 2 || hop->home < 0 || hop->home >= MOST_CPUS || !CPU_IN(hop->home, &all))
		return false;
	hop->cpu = other_cpu(&all, hop->home, turn % (hop->cpus - 1));
	are_all = cpus_are_all(&all);

	/* pins the thread to "home" first, so that "before" is read there */
	went = pin_to_cpu(hop->home) == 0;
	before = read();
	went = went && pin_to_cpu(hop->cpu) == 0;
	there = read();
	went = went && pin_to_cpu(hop->home) == 0;
	after = read();
	(void) restore_cpus(&all, are_all);
	hop->least = (int64_t) (there - after);
	hop->most = (int64_t) (there - before);
	hop->proven = hop->least > 0 ? hop->least : hop->most < 0 ? hop->most : 0;
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
