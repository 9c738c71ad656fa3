/*
 * counter_test: tests which frequency is chosen for a processor's counter, and whether the counter
 * of 64-bit Arm is trusted.
 */
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "core/arm_counter.h"
#include "core/reference.h"
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

/* A counter of 25 MHz, as many Arm processors have. */
static uint64_t
counter_of_25_mhz(void)
{
	return reference_ns() / 40;
}

/* A counter of 1 GHz, as processors from Armv8.6 on have. */
static uint64_t
counter_of_1_ghz(void)
{
	return reference_ns();
}

static uint64_t
broken_counter(void)
{
	return 42;
}

/* Returns the frequency that is chosen if two sources state these frequencies, in this order. */
static CounterFrequency
believed(uint64_t (*read) (void), double first_hz, double second_hz)
{
	CounterFrequency frequency;

	/*
	 * Repeats the calibration until its error bound is small enough for the tests below.  On a busy
	 * machine it may be too large.
	 */
	for (int i = 0; i < 10; i++)
	{
		memset(&frequency, 0, sizeof(frequency));
		waits = 0;
		counter_calibrate(&frequency, read, nap);
		if (!(frequency.calibrated_bound_ppm > 300))
			break;
	}
	counter_consider(&frequency, first_hz, "first");
	counter_consider(&frequency, second_hz, "second");
	counter_consider(&frequency, frequency.calibrated_hz, "calibration");
	return frequency;
}

static void
frequencies(void)
{
	CounterFrequency f = believed(counter_of_25_mhz, 25e6, 25e6);
	double		bound = f.calibrated_bound_ppm + 40 / 0.05 / 1e9 * 1e6;

	ok(waits > 0, "calibration waits by calling the given function");
	ok(fabs(f.calibrated_hz / 25e6 - 1) * 1e6 <= bound, "calibrated: %.0f Hz, within %.1f ppm", f.calibrated_hz, bound);
	ok(f.hz == 25e6 && strcmp(f.from, "first") == 0, "the first stated frequency is used if it is right");
	f = believed(counter_of_25_mhz, 0, 25e6);
	ok(f.hz == 25e6 && strcmp(f.from, "second") == 0, "the second stated frequency is used if the first is 0");
	f = believed(counter_of_25_mhz, 24e6, 25e6 * 1.001);
	ok(f.hz == f.calibrated_hz && strcmp(f.from, "calibration") == 0, "wrong stated frequencies are not used: calibration");
	f = believed(counter_of_1_ghz, 1e9, 25e6);
	ok(f.hz == 1e9 && strcmp(f.from, "first") == 0, "a counter of 1 GHz");
	f = believed(counter_of_1_ghz, 25e6, 0);
	ok(f.hz == f.calibrated_hz && fabs(f.hz / 1e9 - 1) < 1e-3, "a counter of 1 GHz that is stated to have 25 MHz");
	f = believed(broken_counter, 0, 0);
	ok(f.hz == 0, "a counter that stands still has no frequency");
}

/*
 * Checks the verdict about a counter.  "why" must be part of the stated reason.  If "why" is NULL,
 * the counter must be trusted.
 */
static void
judged(const char *source, double counter_ns, double system_ns, const char *why)
{
	ArmEvidence evidence = {NULL, source, counter_ns, system_ns};
	const char *reason = arm_counter_judge(&evidence);

	ok(why == NULL ? reason == NULL : reason != NULL && strstr(reason, why) != NULL,
	   "kernel \"%s\", %.0f and %.0f ns: %s", source, counter_ns, system_ns, reason ? reason : "trusted");
	evidence.why_not = "it cannot be read";
	ok(arm_counter_judge(&evidence) == evidence.why_not, "a counter that cannot be read is refused for that reason");
}

#if defined(CLOCKTIMING_HAVE_ARM_COUNTER) && defined(__linux__)

/*
 * Runs in a child process.  Forbids reading the counter.  Returns 0 if the code then refuses
 * to read the counter, 1 if not, 2 if the kernel cannot forbid reading.
 */
static int
forbidden_child(void)
{
	const char *why;

	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0)
		return 2;
	why = arm_counter_why_not();
	if (why == NULL || strstr(why, "prctl") == NULL || arm_counter_frequency(nap) != NULL ||
		arm_counter_why_not_trusted() == NULL)
		return 1;
	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	return arm_counter_why_not() == NULL ? 0 : 1;
}

static void
prohibition(void)
{
	int			status = -1;
	pid_t		pid = fork();

	if (pid == 0)
		_exit(forbidden_child());
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		ok(true, "# SKIP this kernel cannot forbid reading the counter");
	else
		ok(status == 0, "after prctl has forbidden reading, the code refuses to read and names prctl");
}

static void
counter(void)
{
	const CounterFrequency *f = arm_counter_frequency(nap);
	uint64_t	before = arm_counter_read();
	uint64_t	start_ns = reference_ns();
	double		ns;

	/* the register CNTFRQ_EL0, which states the frequency, has 32 bits */
	if (!ok(f != NULL && f->hz >= 1e6 && f->hz < 4.3e9, "the counter's frequency is plausible: %.0f, from %s", f ? f->hz : 0, f ? f->from : "nowhere"))
		return;
	waits = 0;
	ok(arm_counter_frequency(nap)->hz == f->hz && waits == 0, "a second call returns the same frequency without waiting");
	while (reference_ns() - start_ns < 20000000)
		nap(1);
	ns = (double) (arm_counter_read() - before) * 1e9 / f->hz;
	ok(ns >= 20e6 * 0.999, "in 20 ms, the counter advances by at least 20 ms less 0.1 %%: %.0f ns", ns);
	prohibition();
}
#else
static void
counter(void)
{
	ok(false, "no readable counter on a system for which none is implemented");
}
#endif

int
main(void)
{
	frequencies();
	judged("arch_sys_counter", 12, 25, NULL);
	judged("arch_sys_counter", 400, 350, "takes 400 ns, and one of the system's clock 350 ns");
	judged("arch_sys_counter", 25, 25, "takes 25 ns");
	judged("jiffies", 12, 25, "its clock source is jiffies");
	judged("hyperv_clocksource_tsc_page", 12, 250, "its clock source is hyperv_clocksource_tsc_page");
	judged("", 12, 25, "not known");
	if (arm_counter_why_not() == NULL)
		counter();
	else
	{
		ok(arm_counter_why_not_trusted() != NULL, "a counter that cannot be read is not trusted: %s", arm_counter_why_not());
		ok(arm_counter_frequency(nap) == NULL, "a counter that cannot be read has no frequency");
	}
	return done();
}
