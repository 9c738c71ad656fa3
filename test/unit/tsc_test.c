/*
 * tsc_test: whether the TSC may be read is found out before it is read.
 */
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "reference.h"
#include "tap.h"
#include "tsc.h"

static int	waits;

static void
nap(double seconds)
{
	struct timespec ms = {0, 1000000};

	waits++;
	if (seconds > 0)
		nanosleep(&ms, NULL);
}

#if defined(CLOCKTIMING_HAVE_TSC) && defined(__linux__)

/* In a child: exit status 0 if it is refused, and says why; 1 if not. */
static int
forbidden_child(void)
{
	const char *why;

	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0)
		return 2;
	why = tsc_why_no_rdtsc();
	if (why == NULL || strstr(why, "prctl") == NULL)
		return 1;
	why = tsc_why_no_rdtscp();
	if (why == NULL || tsc_frequency(nap) != NULL)
		return 1;
	/* and again once it is allowed */
	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	return tsc_why_no_rdtsc() == NULL ? 0 : 1;
}

/* That reading it would have killed: the child must die. */
static int
careless_child(void)
{
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	(void) tsc_read_rdtsc();
	return 0;
}

static int
status_of(int (*child) (void))
{
	int			status = -1;
	pid_t		pid = fork();

	if (pid == 0)
		_exit(child());
	waitpid(pid, &status, 0);
	return status;
}

#endif

int
main(void)
{
	uint64_t	before = reference_ns();

	ok(reference_ns() >= before, "the reference clock goes on");
	if (tsc_why_no_rdtsc() == NULL)
	{
		const TscFrequency *f = tsc_frequency(nap);
		double		hz = f->hz;

		ok(tsc_cpuid()->tsc && tsc_cpuid()->vendor[0] != '\0', "CPUID says so");
		ok(f != NULL && f->hz > 1e8 && f->hz < 1e11, "its frequency: %.0f", hz);
		ok(fabs(f->hz / f->calibrated_hz - 1) < 1e-3, "calibration agrees");
		ok(f->calibrated_error_ppm > 0 && f->calibrated_error_ppm < 1000, "to within %.1f ppm", f->calibrated_error_ppm);
		ok(waits > 0, "whoever waits is asked");
		waits = 0;
		ok(tsc_frequency(nap)->hz == hz && waits == 0, "a second call knows it already");
#if defined(CLOCKTIMING_HAVE_TSC) && defined(__linux__)
		ok(status_of(forbidden_child) == 0, "forbidden by prctl: refused, and why");
		{
			int			status = status_of(careless_child);

			/* a sanitizer turns the signal into an exit status */
			ok(!(WIFEXITED(status) && WEXITSTATUS(status) == 0), "where a reading would have been fatal");
		}
#endif
	}
	else
		ok(tsc_frequency(nap) == NULL, "no TSC, no frequency: %s", tsc_why_no_rdtsc());
	return done();
}
