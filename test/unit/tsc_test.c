/*
 * tsc_test: the TSC is read only if reading is known to be permitted.  PostgreSQL's rule decides
 * whether it is trusted.
 */
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "core/reference.h"
#include "core/tsc.h"
#include "tap.h"

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

/*
 * Runs in a child process.  Forbids reading the TSC.  Returns 0 if the extension's code then
 * refuses to read the TSC and states a reason, 1 if not, 2 if the kernel cannot forbid reading.
 */
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
	/* Permits reading again. */
	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	return tsc_why_no_rdtsc() == NULL ? 0 : 1;
}

/*
 * Runs in a child process.  Reads the TSC although reading is forbidden, so the process must die.
 * Resets the signal handler, because a sanitizer's would report an error, and disables core files.
 */
static int
careless_child(void)
{
	struct rlimit no_core = {0, 0};

	signal(SIGSEGV, SIG_DFL);
	setrlimit(RLIMIT_CORE, &no_core);
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

/*
 * Checks the verdict about the TSC.  PostgreSQL 19's rule decides, unless the kernel has stopped
 * using the TSC.  "why" must be part of the stated reason; NULL means that the TSC must be trusted.
 */
static void
judged(bool tsc_adjust, const char *source, const char *available, bool by_default, const char *why)
{
	TscEvidence evidence = {NULL, tsc_adjust, source, available, NULL};
	const char *reason = tsc_judge(&evidence);

	ok(tsc_is_default(&evidence) == by_default, "%s TSC_ADJUST, kernel \"%s\" of \"%s\": %s by default",
	   tsc_adjust ? "with" : "without", source, available, by_default ? "used" : "not used");
	ok(why == NULL ? reason == NULL : reason != NULL && strstr(reason, why) != NULL,
	   "the verdict about the TSC: %s", reason ? reason : "trusted");

	/* A TSC that cannot be read is never trusted. */
	evidence.why_not_usable = "it cannot be read";
	ok(tsc_judge(&evidence) == evidence.why_not_usable, "a TSC that cannot be used is not trusted");
}

/* The kernel keeps time by the TSC, but was told not to check it. */
static void
unchecked(void)
{
	TscEvidence evidence = {NULL, true, "tsc", "tsc hpet", "tsc=reliable"};

	ok(tsc_judge(&evidence) == NULL, "TSC_ADJUST suffices if the kernel does not check the TSC");
	evidence.tsc_adjust = false;
	ok(tsc_judge(&evidence) != NULL && strstr(tsc_judge(&evidence), "tsc=reliable") != NULL,
	   "without it, the kernel's clock source is no approval if the kernel does not check the TSC");
	ok(tsc_is_default(&evidence), "PostgreSQL reads this TSC by default");
}

static void
judgements(void)
{
	unchecked();
	/*
	 * Machines without a hypervisor.  The second one has an AMD processor, with any number of
	 * sockets.
	 */
	judged(true, "tsc", "tsc hpet acpi_pm", true, NULL);
	judged(false, "tsc", "tsc hpet acpi_pm", true, NULL);
	judged(true, "hpet", "hpet acpi_pm", true, "has given up the TSC: its clock source is hpet");
	judged(false, "hpet", "hpet acpi_pm", false, "has given up the TSC: its clock source is hpet");
	judged(true, "hpet", "tsc hpet acpi_pm", true, "does not keep time by the TSC: its clock source is hpet");
	judged(false, "acpi_pm", "tsc hpet acpi_pm", false, "does not keep time by the TSC: its clock source is acpi_pm");
	judged(true, "jiffies", "jiffies", true, "has given up the TSC: its clock source is jiffies");

	/* Virtual machines */
	judged(true, "tsc", "tsc kvm-clock", true, NULL);
	judged(true, "kvm-clock", "kvm-clock tsc acpi_pm", true, NULL);
	judged(false, "kvm-clock", "kvm-clock tsc acpi_pm", false, "no TSC_ADJUST, and the kernel's clock source is kvm-clock");
	judged(true, "kvm-clock", "kvm-clock acpi_pm", true, "has given up the TSC: its clock source is kvm-clock");
	judged(true, "hyperv_clocksource_tsc_page", "hyperv_clocksource_tsc_page tsc acpi_pm", true, NULL);
	judged(true, "hyperv_clocksource_tsc_page", "hyperv_clocksource_tsc_page acpi_pm", true, "has given up the TSC");
	judged(true, "xen", "xen tsc-early", true, "has given up the TSC");

	/*
	 * The kernel's files cannot be read.  Without TSC_ADJUST, the TSCs of several sockets may
	 * differ.
	 */
	judged(true, "", "", true, NULL);
	judged(false, "", "", false, "no TSC_ADJUST, and the kernel's clock source is not known");
	judged(true, "kvm-clock", "", true, NULL);
	judged(true, "hpet", "", true, "does not keep time by the TSC");
}

int
main(void)
{
	uint64_t	before = reference_ns();

	ok(reference_ns() >= before, "the reference clock does not go backwards");
	judgements();
	ok(tsc_why_no_rdtscp() == NULL || tsc_why_not_usable() != NULL, "a TSC that cannot be read is not usable");
	ok(tsc_why_not_usable() == NULL || tsc_judge(tsc_evidence()) != NULL, "a TSC that is not usable is not trusted");
	if (tsc_why_no_rdtsc() == NULL)
	{
		const CounterFrequency *f = tsc_frequency(nap);
		double		hz = f->hz;

		ok(tsc_cpuid()->tsc && tsc_cpuid()->vendor[0] != '\0', "CPUID states that there is a TSC");
		ok(f != NULL && f->hz > 1e8 && f->hz < 1e11, "the frequency of the TSC is plausible: %.0f", hz);
		ok(fabs(f->hz / f->calibrated_hz - 1) < 1e-3, "the calibrated frequency agrees");
		ok(f->calibrated_bound_ppm > 0 && f->calibrated_bound_ppm < 1000, "the error bound of the calibration: %.1f ppm",
		   f->calibrated_bound_ppm);
		ok(waits > 0, "calibration waits by calling the given function");
		waits = 0;
		ok(tsc_frequency(nap)->hz == hz && waits == 0, "a second call returns the same frequency without waiting");
#if defined(CLOCKTIMING_HAVE_TSC) && defined(__linux__)
		ok(status_of(forbidden_child) == 0, "after prctl has forbidden reading, the code refuses to read and states a reason");
		{
			int			status = status_of(careless_child);

			ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "without this check, the forbidden reading ends the process");
		}
#endif
	}
	else
		ok(tsc_frequency(nap) == NULL, "no TSC, no frequency: %s", tsc_why_no_rdtsc());
#ifdef CLOCKTIMING_HAVE_TSC
	ok((tsc_why_no_cpuid() == NULL) == tsc_cpuid()->readable, "CPUID, or a reason why not");
#else
	ok(strcmp(tsc_why_no_cpuid(), "this is not an x86 processor") == 0, "no CPUID: %s",
	   tsc_why_no_cpuid());
#endif
	return done();
}
