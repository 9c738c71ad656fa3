/*
 * Linux counts the time in which a thread was ready to run but did not run.  Other systems only
 * show the time off the CPU, which includes waiting for other things, such as disks.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/cpu_usage.h"
#include "core/system_clock.h"

#if defined(__linux__)
/* Returns the file with the scheduler's counters of this thread.  Opens it once per process. */
static int
schedstat(void)
{
	static int	fd = -1;
	static pid_t opened_by = 0;

	if (opened_by != getpid())
	{
		if (fd >= 0)
			(void) close(fd);
		fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
		opened_by = getpid();
	}
	return fd;
}
#endif

/* Reads the second number of schedstat. */
double
cpu_delay_ns(void)
{
#if defined(__linux__)
	char		line[128];
	unsigned long long ran;
	unsigned long long delay;
	unsigned long long times;
	ssize_t		length = pread(schedstat(), line, sizeof(line) - 1, 0);

	if (length <= 0)
		return -1;
	line[length] = '\0';

	/*
	 * the thread has run, so 0 timeslices mean that the kernel does not count
	 * them
	 */
	if (sscanf(line, "%llu %llu %llu", &ran, &delay, &times) == 3 && times > 0)
		return (double) delay;
#endif
	return -1;
}

double
cpu_time_ns(void)
{
	return (double) clock_gettime_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void
put_usage(CpuUsage *usage)
{
	struct rusage rusage;

	if (getrusage(RUSAGE_SELF, &rusage) == 0)
	{
		usage->waits = (double) rusage.ru_nvcsw;
		usage->preemptions = (double) rusage.ru_nivcsw;
	}
	usage->cpu_ns = cpu_time_ns();
}

CpuUsage
cpu_usage_before(void)
{
	CpuUsage	usage = {.delay_ns = cpu_delay_ns()};

	put_usage(&usage);
	return usage;
}

CpuUsage
cpu_usage_after(void)
{
	CpuUsage	usage = {0};

	put_usage(&usage);
	usage.delay_ns = cpu_delay_ns();
	return usage;
}

/*
 * Returns all time off the CPU if the thread was preempted and never waited voluntarily.  This time
 * includes the time of other virtual machines, unlike delay_ns.  If the thread has waited, returns
 * the increase of delay_ns.  If delay_ns is unknown, divides the time off the CPU in the ratio of
 * preemptions and waits.
 */
double
preempted_ns(const CpuUsage *before, const CpuUsage *after, double elapsed_ns)
{
	double		off_ns = elapsed_ns - (after->cpu_ns - before->cpu_ns);
	double		preemptions = after->preemptions - before->preemptions;
	double		waits = after->waits - before->waits;

	if (off_ns <= 0)
		return 0;
	if (waits <= 0)
		return preemptions > 0 ? off_ns : 0;
	if (before->delay_ns >= 0 && after->delay_ns >= before->delay_ns)
		return fmin(after->delay_ns - before->delay_ns, off_ns);
	return preemptions > 0 ? off_ns * preemptions / (preemptions + waits) : 0;
}
