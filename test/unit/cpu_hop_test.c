/*
 * cpu_hop_test: cpu_hop(), which moves the thread to another CPU to compare the clocks of the two
 * CPUs.  It must detect a wrong clock, and must not report correct ones.
 */
#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#endif
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock/sampling/cpu_hop.h"
#include "core/cpu_set.h"
#include "tap.h"

#ifdef __linux__

/* Offset of the wrong clock in ns.  No move to another CPU takes that long. */
#define OFFSET	INT64_C(10000000000)

static int	wrong_cpu = -1;
static int64_t offset;

/*
 * Whether the latest call of sched_setaffinity() allowed CPU 8000.  No machine has this CPU yet,
 * but it may come online later.
 */
static bool one_to_come;

/*
 * Replaces the function of the C library.  Records whether the set contains CPU 8000, and calls the
 * kernel.
 */
int
sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	one_to_come = size * 8 > 8000 && CPU_ISSET_S(8000, size, set);
	return (int) syscall(SYS_sched_setaffinity, pid, size, set);
}

static uint64_t
now(void)
{
	struct timespec ts;
	uint64_t	ns;

	(void) clock_gettime(CLOCK_MONOTONIC, &ts);
	ns = (uint64_t) ts.tv_sec * 1000000000 + (uint64_t) ts.tv_nsec;
	return sched_getcpu() == wrong_cpu ? ns + (uint64_t) offset : ns;
}

static void
test_honest(void)
{
	CpuHop		hop;
	int			proven = 0,
				hops = 0,
				same = 0;

	for (unsigned int i = 0; i < 300 && cpu_hop(i, now, &hop); i++)
	{
		hops++;
		proven += hop.proven != 0;
		same += hop.cpu == hop.home || hop.least > hop.most;
	}
	ok(hops == 300 && proven == 0 && same == 0, "correct clocks: %d hops, of which %d prove a difference", hops, proven);
}

static void
test_wrong(int64_t by)
{
	CpuHop		hop;
	int			right = 0,
				sampled = 0;

	offset = by;
	for (unsigned int i = 0; i < 300 && cpu_hop(i, now, &hop); i++)
	{
		/*
		 * Lead of the other CPU's clock (hop.cpu) relative to the clock of the home CPU (hop.home)
		 */
		int64_t		there = hop.cpu == wrong_cpu ? by : hop.home == wrong_cpu ? -by : 0;

		sampled += there != 0;
		right += there == 0 ? hop.proven == 0 :
			hop.least <= there && there <= hop.most && (hop.proven > 0) == (there > 0);
	}
	ok(sampled > 0 && right == 300, "a clock that is %lld ns ahead: %d of 300 hops have the right result, %d hops involve this clock",
	   (long long) by, right, sampled);
}

int
main(void)
{
	cpu_set_t	before,
				after;
	CpuHop		hop;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	(void) sched_getaffinity(0, sizeof(before), &before);
	if (!cpu_hop(0, now, &hop))
	{
		ok(CPU_COUNT(&before) < 2, "no hop, because the process may run on only one CPU");
		return done();
	}
	test_honest();
	wrong_cpu = hop.cpu;
	test_wrong(OFFSET);
	test_wrong(-OFFSET);
	(void) sched_getaffinity(0, sizeof(after), &after);
	ok(memcmp(&before, &after, sizeof(before)) == 0, "after the hops, the process may run on the same CPUs as before");
	ok(one_to_come == (CPU_COUNT(&before) == sysconf(_SC_NPROCESSORS_ONLN)), "if it could run on all CPUs, it may also run on CPUs that come online later");
	CPU_CLR(wrong_cpu, &before);
	(void) sched_setaffinity(0, sizeof(before), &before);
	ok(!cpu_hop(0, now, &hop) || !one_to_come, "if it could run on some CPUs only, it may not run on CPUs that come online later");
	return done();
}

#else

int
main(void)
{
	CpuHop		hop;

	ok(!cpu_hop(0, NULL, &hop), "cpu_hop() does nothing on this system");
	return done();
}

#endif
