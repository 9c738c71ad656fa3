/*
 * Judges this server's clocks and recommends actions, for clock_advice().
 *
 * A violated criterion of clock_criteria.h yields a warning.  A notice says that something could be
 * improved or could not be determined.
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "utils/guc.h"

#include "clock/measure/instr_clock.h"
#include "clock/measure/migration.h"
#include "clock/verdict/clock_criteria.h"
#include "compat.h"
#include "core/frequency_cause.h"
#include "core/reference.h"
#include "core/system_clock.h"
#include "core/tsc.h"
#include "core/tsc_check.h"
#include "server/args.h"
#include "server/platform.h"
#include "server/row.h"

PG_FUNCTION_INFO_V1(internal_clock_findings);

/* The container's CPU limit is the cause of gaps if it explains this share of them. */
#define LIMITED_SHARE		0.5

/* Result of a check.  Commands in its texts are in backquotes. */
typedef struct Advice
{
	Severity	severity;
	const char *finding;
	const char *evidence;
	const char *now;			/* immediate action, or NULL */
	const char *for_good;		/* permanent action, or NULL */
	const char *provider;		/* request to the provider, or NULL */
} Advice;

static void
advise(Advice *advice, Severity severity, const char *finding,
	   const char *now, const char *for_good, const char *provider)
{
	advice->severity = severity;
	advice->finding = finding;
	advice->now = now;
	advice->for_good = for_good;
	advice->provider = provider;
}

static void
advise_nothing(Advice *advice, const char *finding)
{
	advise(advice, OK, finding, NULL, NULL, NULL);
}

#define SET_SOURCE(source)		"`SET timing_clock_source = '" source "'`"
#define ALTER_SOURCE(source)	"`ALTER SYSTEM SET timing_clock_source = '" source "';` `SELECT pg_reload_conf();`"

/* Returns advice if a known fault of the kernel may be why it has given up the TSC; else NULL. */
static const char *
advice_on_kernel(void)
{
	const TscEvidence *evidence = tsc_evidence();
	const char *release = platform_linux_release();

	if (release == NULL || evidence->why_not_usable != NULL || !tsc_is_given_up(evidence) ||
		!kernel_may_reject_good_tsc(release))
		return NULL;
	return psprintf("update the kernel: Linux 7.1 to 7.3 (here %s) reject a good TSC if their check is delayed, unless they contain commit f322d7f7ae56 of October 2026; restart the machine", release);
}

/* Functions of the checks.  "wrong" means that the check's criterion is violated. */

/*
 * The cost of a reading has three causes: the server reads a TSC that the hypervisor intercepts;
 * the kernel's clock source needs a system call; or the vDSO is not used.  Each has an action of
 * its own.
 */
static void
advise_on_cost(const Facts *facts, bool wrong, Advice *advice)
{
	const SurveyedClock *server = &facts->clocks[INSTR_TIME];
	const SurveyedClock *system = &facts->clocks[SYSTEM];
	const char *current = platform_kernel_clock_source();
	const char *offered = platform_kernel_clock_sources_available();
	const char *faster = platform_faster_kernel_clock_source();
	bool		system_too = system->cost.ns > facts->expensive_ns;

	advice->evidence = psprintf("%s takes %.1f ns%s%s%s; kernel clock source: %s%s%s",
								clock_of_explain(), server->cost.ns,
								server_times_by_tsc() ?
								psprintf(", the system clock %.1f ns", system->cost.ns) : "",
								isnan(facts->system_call.ns) ? "" :
								psprintf(", a system call %.1f ns", facts->system_call.ns),
								clock_is_available(&facts->clocks[RDTSC]) &&
								!server_times_by_tsc() ?
								psprintf(", RDTSC %.1f ns", facts->clocks[RDTSC].cost.ns) : "",
								current ? current : "not known",
								offered ? ", available: " : "", offered ? offered : "");
	if (!wrong && !system_too)
		advise_nothing(advice, "reading the clock is cheap");
	else if (wrong && server_times_by_tsc())
		advise(advice, WORTH_WARNING, "reading the TSC, which is the server's clock, is expensive",
			   system_too ? NULL : SET_SOURCE("system"), system_too ? NULL : ALTER_SOURCE("system"),
			   "why reading the TSC takes so long, and whether the hypervisor intercepts RDTSC");
	else
	{
		advise(advice, wrong ? WORTH_WARNING : WORTH_NOTICE,
			   server->cost.ns < facts->system_call.ns * 0.9 ?
			   "each reading of the system clock is expensive" :
			   "each reading of the system clock costs a system call", NULL,
			   "check that the kernel was not started with vdso=0, and that no sandbox, tracer or preloaded library intercepts clock_gettime()",
			   faster != NULL ? psprintf("to change the kernel's clock source from %s to %s", current, faster) :
			   "which instance type or setting makes the kernel offer a clock source that is read without a system call (tsc, kvm-clock, hyperv_clocksource_tsc_page, arch_sys_counter)");
		platform_change_of_kernel_clock_source(faster, &advice->now, &advice->for_good);
		if (advice_on_kernel() != NULL)
			advice->for_good = advice_on_kernel();
	}
}

/* Advice if a clock's rate or time is wrong.  A program such as chronyd may adjust it wrongly. */
#define SEE_TIME_SERVICE	"run `chronyc tracking` or `timedatectl timesync-status` to see how the time is synchronized"
#define ASK_TIME_SERVICE	"how the time of the virtual machine is synchronized"

static void
advise_on_time_service(bool wrong, Advice *advice, const char *good, const char *bad)
{
	const char *library = clock_source_interposed_by(clock_source_find("system"));

	if (wrong && library != NULL)
		advise(advice, WORTH_WARNING, psprintf("%s, because the library %s replaces the system's clock", bad, library),
			   NULL, "start the server without this library, which LD_PRELOAD or /etc/ld.so.preload names", NULL);
	else if (wrong)
		advise(advice, WORTH_WARNING, bad, SEE_TIME_SERVICE, NULL, ASK_TIME_SERVICE);
	else
		advise_nothing(advice, good);
}

/* Says that the reference clock is the clock under test, so that errors cannot be seen. */
static void
advise_self_reference(Advice *advice, const char *errors)
{
	advise(advice, NOT_KNOWN,
		   psprintf("not known: %s, the reference clock, is the same clock as %s, so %s cannot be seen",
					reference_name, SYSTEM_CLOCK_NAME, errors), NULL, NULL, NULL);
	advice->evidence = NULL;
}

static const char *
faults_in_words(const Faults *faults)
{
	return faults->count == 0 ? NULL :
		psprintf(INT64_FORMAT " times (%s)", faults->count, faults->names);
}

static void
advise_on_backward_steps(const Facts *facts, bool wrong, Advice *advice)
{
	advice->evidence = faults_in_words(&facts->backward_steps);
	advise_nothing(advice, "no clock went backwards");
	if (!wrong)
		return;
	advise(advice, WORTH_WARNING, "a clock went backwards, so durations can be negative or huge", NULL, NULL,
		   "a host whose processors' counters are synchronised, or another kernel clock source");
	platform_change_of_kernel_clock_source(platform_faster_kernel_clock_source(),
										   &advice->now, &advice->for_good);
}

static void
advise_on_warps(const Facts *facts, bool wrong, Advice *advice)
{
	advice->evidence = faults_in_words(&facts->warps);
	advise_on_time_service(wrong, advice, "no clock jumped ahead", "a clock jumped ahead, so durations can be too long");
	if (jumps_are_unseen(facts))
		advise_self_reference(advice, "jumps");
}

static void
advise_on_lags(const Facts *facts, bool wrong, Advice *advice)
{
	advice->evidence = faults_in_words(&facts->lags);
	advise_on_time_service(wrong, advice, "no clock fell behind", "a clock fell behind, so durations can be too short");
	if (jumps_are_unseen(facts))
		advise_self_reference(advice, "lags");
}

static void
advise_on_drift(const Facts *facts, bool wrong, Advice *advice)
{
	const SurveyedClock *clock = clock_of_worst_rate(facts);

	advice->evidence = psprintf("rate error of %s %+.1f ppm, uncertainty at most %.1f ppm", clock->source->name,
								rate_ppm(clock), rate_bound_ppm(clock));
	advise_on_time_service(wrong, advice, "the clock runs at the right rate", "a clock runs at a wrong rate");
	if (rate_is_unseen(facts))
		advise_self_reference(advice, "a wrong rate and suspensions");
}

/*
 * If the CPUs' clocks differ, no setting of the server helps, but only firmware or another kernel
 * clock source.
 */
static void
advise_on_skew(const Facts *facts, bool wrong, Advice *advice)
{
	const Skew *skew = &facts->skew;

	advice->evidence = facts->why_no_skew;
	if (facts->why_no_skew != NULL)
	{
		advise(advice, WORTH_NOTICE, "the clocks of the CPUs could not be compared",
			   "run `SELECT * FROM clock_cpu_skew();` to see the requirements", NULL, NULL);
		return;
	}
	if (skew->ncpus < 2)
	{
		advise_nothing(advice, "the server is restricted to one CPU");
		return;
	}
	advice->evidence = psprintf("%d CPUs; the largest offset is that of CPU %d, between %+.0f and %+.0f ns; %s takes %.1f ns; warps: " INT64_FORMAT,
								skew->ncpus, skew->worst->cpu,
								skew->worst->result.offset_min * skew->tick_ns,
								skew->worst->result.offset_max * skew->tick_ns,
								clock_source_reads(skew->source), skew->reading_ns, skew->warps);
	if (!wrong)
		advise_nothing(advice, "the CPUs' clocks agree, as far as can be measured");
	else
		advise(advice, WORTH_WARNING, "the CPUs' clocks differ by more than the cost of a reading", NULL,
			   "install firmware that synchronizes the processors' counters, or select a kernel clock source that does not use them",
			   "a host whose processors' counters are synchronised");
}

/* Gaps are no fault of the clock.  Their cause is the container's CPU limit or other processes. */
static void
advise_on_gaps(const Facts *facts, bool wrong, Advice *advice)
{
	double		lost = facts->lost_percent;
	bool		limited = facts->throttled_ns > facts->gaps_ns * LIMITED_SHARE;

	advice->evidence = psprintf("%.2f %% of %.2f s lost, in %s", lost,
								facts->clocks[SYSTEM].run.elapsed_s, gaps_in_words(facts));
	if (facts->throttled_ns > 0)
		advice->evidence = psprintf("%s; by cpu.stat of the control group, the CPU limit of the server's container stopped its processes for %.1f ms",
									advice->evidence, facts->throttled_ns / 1e6);
	if (!wrong && lost < LOST_PERCENT)
		advise_nothing(advice, "other processes hardly interrupted the run");
	else if (limited)
		advise(advice, wrong ? WORTH_WARNING : WORTH_NOTICE, "the CPU limit of the server's container interrupted the run; the figures of the clocks are valid nevertheless",
			   NULL, "raise the limit: `docker update --cpus`, Kubernetes' resources.limits.cpu, systemd's CPUQuota, or cpu.max of the control group",
			   "a higher CPU limit");
	else
		advise(advice, wrong ? WORTH_WARNING : WORTH_NOTICE, "other processes interrupted the run; the figures of the clocks are valid nevertheless",
			   "run `top` to see which processes use the CPU; its st column is the hypervisor's share", NULL,
			   "dedicated CPUs, if the hypervisor takes the time");
}

/*
 * Adds a TSC frequency to the evidence, if the frequency is known.  Returns the larger of "worst"
 * and the frequency's absolute deviation from the calibrated frequency, in ppm.
 */
static double
add_frequency(Advice *advice, const char *whose, double hz, double worst)
{
	double		calibrated_hz = calibrated_tsc_frequency()->calibrated_hz;
	double		ppm = (hz / calibrated_hz - 1) * 1e6;

	if (hz <= 0 || calibrated_hz <= 0)
		return worst;
	advice->evidence = psprintf("%s; %s %.3f kHz, %+.1f ppm", advice->evidence, whose,
								hz / 1e3, ppm);
	return Max(worst, fabs(ppm));
}

/* Returns the possible cause of a difference from the calibrated frequency, or NULL. */
static const char *
cause_of_difference(double stated_hz)
{
	FrequencyEvidence evidence = {
		.stated_hz = stated_hz,
		.calibrated_hz = calibrated_tsc_frequency()->calibrated_hz,
		.limit_ppm = FREQUENCY_PPM,
		.hypervisor = tsc_cpuid()->hypervisor,
		.amd = strcmp(tsc_cpuid()->vendor, "AuthenticAMD") == 0,
		.sync = system_sync()
	};

	switch (frequency_cause(&evidence))
	{
		case FREQUENCY_OF_KERNEL:
			return psprintf("the kernel assumes a wrong frequency, and the time service corrects its clock by %+.0f ppm",
							evidence.sync.frequency_ppm);
		case FREQUENCY_SECURE_TSC:
			return "the kernel ignores TSC_FACTOR of Secure TSC (SEV-SNP, Linux 6.14 to 6.15.6), or the hypervisor states the frequency of another machine";
		case FREQUENCY_OF_HYPERVISOR:
			return "the hypervisor states the frequency of another machine, from which the virtual machine was moved";
		case FREQUENCY_OF_PROCESSOR:
			return "the processor states its nominal frequency, or the firmware has changed the actual one";
		case FREQUENCY_AGREES:
			break;
	}
	return NULL;
}

/*
 * Shows all stated frequencies of the TSC with their deviations from the calibrated one.  A wrong
 * one matters only if the server uses it, but then it makes each of the server's times wrong by the
 * same ratio.
 */
static void
advise_on_frequency(const Facts *facts, bool wrong, Advice *advice)
{
	double		stated;
	double		server;
	VmClock		vmclock;
	const char *cause;

	if (!clock_is_available(&facts->clocks[RDTSC]))
	{
		advise_nothing(advice, "the TSC cannot be used");
		advice->evidence = facts->clocks[RDTSC].why_not;
		return;
	}
	advice->evidence = calibrated_tsc_frequency()->calibrated_hz <= 0 ? "the calibration failed" :
		psprintf("%.3f kHz, uncertainty at most %.1f ppm",
				 calibrated_tsc_frequency()->calibrated_hz / 1e3,
				 calibrated_tsc_frequency()->calibrated_bound_ppm);
	stated = add_frequency(advice, "CPUID", tsc_cpuid()->cpuid_hz, 0);
	stated = add_frequency(advice, "hypervisor", tsc_cpuid()->hypervisor_hz, stated);
	vmclock_read(VMCLOCK_DEVICE, &vmclock);
	if (!isnan(vmclock_hz(&vmclock)))
		stated = add_frequency(advice, "VMClock", vmclock_hz(&vmclock), stated);
	server = add_frequency(advice, "this server", server_tsc_hz(), 0);
	cause = cause_of_difference(tsc_cpuid()->cpuid_hz);
	if (cause == NULL)
		cause = cause_of_difference(tsc_cpuid()->hypervisor_hz);
	if (cause != NULL)
		advice->evidence = psprintf("%s; possible cause: %s", advice->evidence, cause);
	if (wrong || (server > FREQUENCY_PPM && server_times_by_tsc()))
		advise(advice, wrong ? WORTH_WARNING : WORTH_NOTICE,
			   psprintf("the server's TSC frequency, and so its times, are wrong by %.0f parts per million", server),
			   SET_SOURCE("system") " in sessions that need correct times",
			   "restart the server, which then calibrates the TSC again, or " ALTER_SOURCE("system"),
			   "an instance whose hypervisor states the TSC's frequency (CPUID leaf 0x40000010)");
	else if (stated > FREQUENCY_PPM)
		advise(advice, WORTH_NOTICE,
			   psprintf("the TSC's stated frequency is wrong by %.0f parts per million, but not used", stated),
			   NULL, NULL, "why the stated frequency of the TSC differs from its actual frequency");
	else
		advise_nothing(advice, stated > 0 ? "the calibrated TSC frequency agrees with the stated one" :
					   "the TSC's frequency was calibrated");
}

static void
advise_on_invariance(const Facts *facts, bool wrong, Advice *advice)
{
	static const char provider[] = "to expose the invariant TSC to the virtual machine";
	const TscCpuid *id = tsc_cpuid();

	advice->evidence = tsc_why_no_cpuid() != NULL ? tsc_why_no_cpuid() :
		psprintf("CPUID leaf 0x80000007, EDX bit 8: %d", id->invariant);
	if (wrong)
		advise(advice, WORTH_WARNING, "the server reads the TSC, whose rate may change",
			   SET_SOURCE("system"), ALTER_SOURCE("system"), provider);
	else if (!clock_is_available(&facts->clocks[RDTSC]))
		advise_nothing(advice, "the TSC cannot be used");
	else if (id->invariant)
		advise_nothing(advice, "the TSC's rate is constant");
	else
		advise(advice, WORTH_NOTICE, "the TSC's rate may change with the processor's speed, but the server does not read the TSC",
			   NULL, NULL, provider);
}

/*
 * Compares the clock that EXPLAIN ANALYZE reads with the best one that it could read.  Recommends
 * the TSC only if it is faster and can be trusted.
 */
static void
advise_on_explain_clock(const Facts *facts, Advice *advice)
{
	const SurveyedClock *system = &facts->clocks[SYSTEM];
	const SurveyedClock *tsc = &facts->clocks[RDTSC];
	const char *setting = GetConfigOption("timing_clock_source", true, false);
	const char *why_not_trusted = tsc_judge(tsc_evidence());
	const char *unchecked;

	advice->evidence = psprintf("EXPLAIN ANALYZE reads %s, which takes %.1f ns; %s",
								clock_of_explain(), facts->clocks[INSTR_TIME].cost.ns,
								clock_is_available(tsc) ? psprintf("RDTSC takes %.1f ns", tsc->cost.ns) :
								psprintf("the TSC cannot be read because %s", tsc->why_not));
	if (clock_is_available(tsc) && tsc_check(&unchecked) == TSC_UNCHECKED)
		advice->evidence = psprintf("%s; the kernel does not check the TSC: %s", advice->evidence,
									unchecked);
	if (setting == NULL)
		advise_nothing(advice, clock_is_available(tsc) && tsc->cost.ns < system->cost.ns ?
					   "EXPLAIN ANALYZE reads the system clock; PostgreSQL 19 can read the TSC, which is faster" :
					   "EXPLAIN ANALYZE reads the system clock, as always before PostgreSQL 19");
	else if (server_times_by_tsc() && why_not_trusted == NULL)
		advise_nothing(advice, "EXPLAIN ANALYZE reads the fastest clock");
	else if (server_times_by_tsc())
		advise(advice, WORTH_NOTICE,
			   psprintf("EXPLAIN ANALYZE reads the TSC, which is unreliable: %s", why_not_trusted),
			   SET_SOURCE("system"), ALTER_SOURCE("system"),
			   "why the kernel does not keep time by the TSC");
	else if (!clock_is_available(tsc))
		advise_nothing(advice, "EXPLAIN ANALYZE cannot use the TSC");
	else if (tsc->cost.ns >= system->cost.ns)
		advise_nothing(advice, "the TSC is not faster than the system clock");
	else if (tsc_is_given_up(tsc_evidence()) && advice_on_kernel() != NULL)
		advise(advice, WORTH_NOTICE, psprintf("the TSC seems to be unreliable, perhaps wrongly: %s", why_not_trusted),
			   NULL, advice_on_kernel(), "a kernel with this fix");
	else if (tsc_is_given_up(tsc_evidence()))
		advise_nothing(advice, psprintf("the TSC is unreliable: %s", why_not_trusted));
	else if (server_defaults_to_tsc())
		advise(advice, WORTH_NOTICE,
			   psprintf("timing_clock_source is %s, although the TSC can be used", setting),
			   "try " SET_SOURCE("auto") " in one session",
			   "`ALTER SYSTEM RESET timing_clock_source;` `SELECT pg_reload_conf();`",
			   "to have timing_clock_source set to auto");
	else
		advise(advice, WORTH_NOTICE,
			   psprintf("timing_clock_source = %s does not use the TSC: %s", setting,
						why_not_trusted ? why_not_trusted : "the server does not know its frequency"),
			   "if all other checks are ok, try " SET_SOURCE("tsc") " in one session",
			   ALTER_SOURCE("tsc"), "to have timing_clock_source set to tsc");
}

/* Advice if the virtual machine was migrated since the server started. */
static void
advise_on_past_migration(const VmClock *clock, Migration migration, Advice *advice)
{
	double		hz = vmclock_hz(clock);
	double		server_hz = server_tsc_hz();
	const char *moved = migration == MIGRATION_RESTORED ? "restored from a snapshot" : "migrated";

	if (server_times_by_tsc())
	{
		if (!isnan(hz) && server_hz > 0)
			advice->evidence = psprintf("VMClock states %.3f kHz, this server uses %.3f kHz, %+.1f ppm",
										hz / 1e3, server_hz / 1e3, (server_hz / hz - 1) * 1e6);
		advise(advice, WORTH_WARNING,
			   psprintf("the virtual machine was %s, but the server still uses the TSC frequency from its start", moved),
			   SET_SOURCE("system") " in sessions that need correct times",
			   "restart the server, which then calibrates the TSC again", NULL);
	}
	else
		advise(advice, WORTH_NOTICE,
			   psprintf("the virtual machine was %s since the server started: times from before and after may differ", moved),
			   "compare by `SELECT * FROM clock_survey();` and `SELECT * FROM clock_drift('system');`", NULL, NULL);
}

/* Advice by VMClock, through which a hypervisor reports and announces migrations. */
static void
advise_on_migration(Advice *advice)
{
	const TscCpuid *id = tsc_cpuid();
	VmClock		clock;
	Migration	migration;

	vmclock_read(VMCLOCK_DEVICE, &clock);
	migration = migration_since_start(&clock);
	if (clock.state == VMCLOCK_ABSENT)
		advise_nothing(advice, id->readable && !id->hypervisor ? "this is no virtual machine" :
					   "no migration is reported: there is no " VMCLOCK_DEVICE ", by which a hypervisor reports them");
	else if (clock.state != VMCLOCK_READ)
	{
		advise(advice, WORTH_NOTICE, "not known: " VMCLOCK_DEVICE " cannot be read", NULL,
			   clock.state == VMCLOCK_UNREADABLE ?
			   "allow the server's user to read it, by a udev rule such as `KERNEL==\"vmclock0\", GROUP=\"postgres\", MODE=\"0640\"`" : NULL,
			   NULL);
		advice->evidence = pstrdup(clock.why_not);
	}
	else if (clock.announced != VMCLOCK_NONE_ANNOUNCED)
		advise(advice, WORTH_WARNING,
			   psprintf("a migration is announced, %s", vmclock_announced_names[clock.announced]),
			   "do not start long measurements, and compare no times from before and after it", NULL,
			   "when the virtual machine will be migrated");
	else if (migration == MIGRATION_MOVED || migration == MIGRATION_RESTORED)
		advise_on_past_migration(&clock, migration, advice);
	else if (migration == MIGRATION_NONE)
		advise_nothing(advice, "the virtual machine was not migrated since the server started, and no migration is announced");
	else
		advise_nothing(advice, "no migration is announced; past ones are not known, because clocktiming was not loaded at the server's start");
}

static void (*const advisers[N_CHECKS]) (const Facts *facts, bool wrong, Advice *advice) =
{
	[CHECK_COST] = advise_on_cost,
		[CHECK_BACKWARD_STEPS] = advise_on_backward_steps,
		[CHECK_WARPS] = advise_on_warps,
		[CHECK_LAGS] = advise_on_lags,
		[CHECK_DRIFT] = advise_on_drift,
		[CHECK_SKEW] = advise_on_skew,
		[CHECK_GAPS] = advise_on_gaps,
		[CHECK_TSC_FREQUENCY] = advise_on_frequency,
		[CHECK_INVARIANT_TSC] = advise_on_invariance,
};

static void
put_advice(FunctionCallInfo fcinfo, const char *check_name, const Advice *advice)
{
	Row			row = row_of_set(fcinfo);

	row_put_text(&row, check_name);
	row_put_text(&row, advice->severity == NOT_KNOWN ? NULL : severity_names[advice->severity]);
	row_put_text(&row, advice->evidence == NULL ? advice->finding :
				 psprintf("%s: %s", advice->finding, advice->evidence));
	row_put_text(&row, advice->now);
	row_put_text(&row, advice->for_good);
	row_put_text(&row, advice->provider);
	row_to_set(&row, fcinfo);
}

/* Returns a row per criterion, and then those of the recommendations, which have no limit. */
Datum
internal_clock_findings(PG_FUNCTION_ARGS)
{
	double		duration_s = arg_duration(fcinfo, 0);
	const Facts *facts;
	Criterion	criteria[N_CHECKS];
	Advice		of_explain = {0};
	Advice		of_migration = {0};

	InitMaterializedSRF(fcinfo, 0);
	facts = clock_facts(duration_s, true);
	clock_criteria(facts, criteria);
	for (int i = 0; i < N_CHECKS; i++)
	{
		Advice		advice = {0};

		advisers[i] (facts, criteria[i].figure > criteria[i].limit, &advice);
		put_advice(fcinfo, criteria[i].check_name, &advice);
	}
	advise_on_explain_clock(facts, &of_explain);
	put_advice(fcinfo, "explain_clock", &of_explain);
	advise_on_migration(&of_migration);
	put_advice(fcinfo, "migration", &of_migration);
	return (Datum) 0;
}
