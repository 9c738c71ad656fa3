/*-------------------------------------------------------------------------
 *
 * cpu_usage.c
 *	  For how long others have had the processor.
 *
 * Linux counts how long a thread was ready to run, but did not: exactly what is
 * wanted.  Elsewhere, and where the kernel does not tell, time off the CPU is
 * known, but not whether the thread waited for something meanwhile, other than
 * by how often either happened.
 *
 *-------------------------------------------------------------------------
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/cpu_usage.h"

/* A run has had the processor for this share of its time at least. */
#define LEAST_CPU	0.01

#if defined(__linux__)
/*
 * What the scheduler says of this thread.  It stays open, as opening it takes six times as
 * long as reading it; unless another process has opened it, before a fork.
 */
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

/* Time in a run queue, by the scheduler; negative if it does not tell. */
static double
delay_ns(void)
{
#if defined(__linux__)
	char text[	128];
	unsigned long long ran;
	unsigned long long delay;
	unsigned long long times;
	ssize_t		length = pread(schedstat(), text, sizeof(text) - 1, 0);

	if (length <= 0)
		return -1;
	text[		length] = '\0';

	/* a kernel that does not keep them shows zeros, but we have run before */
	if (sscanf(text, "%llu %llu %llu", &ran, &delay, &times) == 3 && times > 0)
		return (double) delay;
#endif
	return -1;
}

static void
put_usage(CpuUsage *usage)
{
#if defined(CLOCK_THREAD_CPUTIME_ID) && defined(RUSAGE_SELF)
	struct timespec ts;
	struct rusage rusage;

	if (getrusage(RUSAGE_SELF, &rusage) == 0 &&
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) == 0)
	{
		usage->cpu_ns = (double) ts.tv_sec * 1e9 + (double) ts.tv_nsec;
		usage->waits = (double) rusage.ru_nvcsw;
		usage->preemptions = (double) rusage.ru_nivcsw;
	}
#else
	(void) usage;
#endif
}

double
cpu_time_ns(void)
{
#ifdef CLOCK_THREAD_CPUTIME_ID
	struct timespec ts;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) == 0)
		return (double) ts.tv_sec * 1e9 + (double) ts.tv_nsec;
#endif
	return (double) clock() * (1e9 / CLOCKS_PER_SEC);
}

CpuUsage
cpu_usage_before(void)
{
	CpuUsage	usage = {.delay_ns = delay_ns()};

	put_usage(&usage);
	return usage;
}

CpuUsage
cpu_usage_after(void)
{
	CpuUsage	usage = {0};

	put_usage(&usage);
	usage.delay_ns = delay_ns();
	return usage;
}

/*
 * Without a single wait all time off the CPU was others', a hypervisor's other
 * guests among them, which are in no run queue of this system.
 */
Preempted
preempted_between(const CpuUsage *before, const CpuUsage *after, double run_ns)
{
	Preempted	preempted = {.run_ns = run_ns, .exact = true};
	double		off_ns = run_ns - (after->cpu_ns - before->cpu_ns);
	double		preemptions = after->preemptions - before->preemptions;
	double		waits = after->waits - before->waits;

	if (before->cpu_ns <= 0 || off_ns <= 0 || run_ns <= 0)
		return preempted;
	off_ns = fmin(off_ns, (1 - LEAST_CPU) * run_ns);
	preempted.turns = preemptions + waits;
	if (waits <= 0)
		preempted.ns = preemptions > 0 ? off_ns : 0;
	else if (before->delay_ns >= 0 && after->delay_ns >= before->delay_ns)
		preempted.ns = fmin(after->delay_ns - before->delay_ns, off_ns);
	else if (preemptions > 0)
	{
		preempted.ns = off_ns * preemptions / (preemptions + waits);
		preempted.exact = false;
	}
	preempted.share = preempted.ns / (run_ns - preempted.ns);
	return preempted;
}

/*
 * Others' turns begin at random, so that each falls into what was measured with a
 * probability that is its share, and they differ in length about as much as
 * their mean: n turns of mean m and as much deviation, with p each, have a
 * variance of 2 * n * m^2 * p * (1 - p), since what all turns take together is
 * known.  If that is not known, it may be half as much, or half more.
 */
double
preempted_variance(const Preempted *preempted, double measured_ns, double estimated_ns)
{
	double		part;
	double		variance;

	if (preempted->ns <= 0 || preempted->run_ns <= 0)
		return 0;
	part = fmin(fmax(measured_ns / preempted->run_ns, 0), 1);
	variance = 2 * part * (1 - part) * preempted->ns * preempted->ns / fmax(preempted->turns, 1);
	if (!preempted->exact)
		variance += pow(estimated_ns * preempted->share / 2, 2);
	return variance;
}
