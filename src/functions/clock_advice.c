/*-------------------------------------------------------------------------
 *
 * clock_advice.c
 *	  What to think of this server's clocks, and what to do: clock_advice and
 *	  clock_check_detail().
 *
 * Both judge by what is measured here and now.  Names of clock sources say
 * little: kvm-clock read through the vDSO costs hardly more than the TSC, and a
 * TSC that the hypervisor intercepts costs more than either.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"

#include "clock/instr_clock.h"
#include "clock/platform.h"
#include "clock/subtransaction.h"
#include "core/tsc.h"
#include "functions/args.h"
#include "functions/clock_cpu_skew.h"
#include "functions/clock_survey.h"
#include "functions/row.h"

PG_FUNCTION_INFO_V1(clock_list_advice);
PG_FUNCTION_INFO_V1(clock_check_detail);

/* Seconds that the view takes, and the share of any run that the skew gets. */
#define ADVICE_DURATION_S	1.0
#define SKEW_SHARE			0.4

/* A clock is dear if it costs so many times what a cheap one does. */
#define DEAR_RATIO			3.0

/* The rate that NTP does not explain, and a frequency that is stated wrongly. */
#define RATE_PPM			600.0
#define FREQUENCY_PPM		100.0

/* Time off the CPU, in percent of the run: worth a word, and too much. */
#define LOST_NOTICE			1.0
#define LOST_WARNING		10.0

enum
{
	SYSTEM, INSTR_TIME, RDTSCP, RDTSC, N_CLOCKS
};

/* All that advice is given by. */
typedef struct Facts
{
	SurveyedClock clocks[N_CLOCKS];
	ReadingCost system_call;
	bool		skew_known;
	char	   *why_no_skew;
	SkewSummary skew;
} Facts;

typedef struct SkewGathering
{
	Facts	   *facts;
	double		duration_s;
} SkewGathering;

static bool
available(const SurveyedClock *clock)
{
	return clock->why_not == NULL;
}

static void
gather_skew(void *arg)
{
	SkewGathering *gathering = arg;

	gathering->facts->skew = cpu_skew_summary(gathering->duration_s);
}

static Facts *
gather(double duration_s, bool skew)
{
	static const char *const names[N_CLOCKS] = {
		[SYSTEM] = "system",[INSTR_TIME] = "instr_time",
		[RDTSCP] = "rdtscp",[RDTSC] = "rdtsc"
	};
	Facts	   *facts = palloc0(sizeof(Facts));

	for (int i = 0; i < N_CLOCKS; i++)
	{
		facts->clocks[i].source = clock_source_find(names[i]);
		facts->clocks[i].reference = clock_reference_get(REFERENCE_BY_DEFAULT);
	}
	survey(facts->clocks, N_CLOCKS, duration_s * (skew ? 1 - SKEW_SHARE : 1),
		   0, &facts->system_call);
	if (skew)
	{
		/* no free slot for a worker, say, is not the end of everything else */
		SkewGathering gathering = {facts, duration_s * SKEW_SHARE};

		facts->why_no_skew = subtransaction_attempt(gather_skew, &gathering);
		facts->skew_known = facts->why_no_skew == NULL;
	}
	return facts;
}

/* By how many ppm the clock is faster than the reference, for certain. */
static double
certain_rate_ppm(const SurveyedClock *clock)
{
	double		difference_ns = fabs(clock->run.advance_ns - clock->run.elapsed_s * 1e9);

	return Max(difference_ns - clock->run.reference_error_ns, 0) /
		clock->run.elapsed_s / 1e3;
}

static double
rate_ppm(const SurveyedClock *clock)
{
	return (clock->run.advance_ns / 1e9 / clock->run.elapsed_s - 1) * 1e6;
}

/* Time off the CPU while the system clock was watched, in percent. */
static double
lost_percent(const Facts *facts)
{
	const SamplerRun *run = &facts->clocks[SYSTEM].run;

	return run->gaps.total_ns / 1e7 / run->elapsed_s;
}

/* The cheapest of those that can be read. */
static const SurveyedClock *
cheapest(const Facts *facts)
{
	const SurveyedClock *result = &facts->clocks[SYSTEM];

	for (int i = 0; i < N_CLOCKS; i++)
	{
		if (available(&facts->clocks[i]) && facts->clocks[i].cost.ns < result->cost.ns)
			result = &facts->clocks[i];
	}
	return result;
}

/*
 * What the wrongs of a kind add up to, in all clocks, and whose they are.  A
 * clock that PostgreSQL does not read now could be read tomorrow.
 */
static int64
sum_of(const Facts *facts, int64 (*count) (const SurveyedClock *clock), char **names)
{
	int64		sum = 0;

	*names = "";
	for (int i = 0; i < N_CLOCKS; i++)
	{
		const SurveyedClock *clock = &facts->clocks[i];

		if (!available(clock) || count(clock) == 0)
			continue;
		sum += count(clock);
		*names = psprintf("%s%s%s", *names, **names ? ", " : "", clock->source->name);
	}
	return sum;
}

static int64
backward_steps_of(const SurveyedClock *clock)
{
	return clock->backward_steps;
}

static int64
jumps_of(const SurveyedClock *clock)
{
	return clock->run.warps.count;
}

static int64
lags_of(const SurveyedClock *clock)
{
	return clock->run.lags.count;
}

/* ---------------------------------------------------------------------
 * Advice
 */

typedef struct Advice
{
	const char *check;
	const char *severity;
	const char *finding;
	const char *evidence;
	const char *now;
	const char *persistently;
	const char *provider;
} Advice;

static void
ok(Advice *advice, const char *finding)
{
	advice->severity = "ok";
	advice->finding = finding;
}

static void
notice(Advice *advice, const char *finding)
{
	advice->severity = "notice";
	advice->finding = finding;
}

static void
warning(Advice *advice, const char *finding)
{
	advice->severity = "warning";
	advice->finding = finding;
}

static bool
word_in(const char *word, const char *list)
{
	size_t		length = strlen(word);

	for (const char *p = list; p != NULL && (p = strstr(p, word)) != NULL; p += length)
	{
		if ((p == list || p[-1] == ' ') && strchr(" (", p[length]) != NULL)
			return true;
	}
	return false;
}

/*
 * A kernel clock source that can be read without a system call, where the
 * present one cannot; NULL if the kernel offers none.
 */
static const char *
faster_kernel_source(void)
{
#if defined(__linux__)
	static const char *const by_vdso[] = {
		"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"
	};
#elif defined(__FreeBSD__)
	static const char *const by_vdso[] = {"TSC-low", "TSC"};
#else
	static const char *const by_vdso[] = {""};
#endif
	const char *offered = platform_kernel_clock_sources_available();
	const char *current = platform_kernel_clock_source();

	if (offered == NULL || current == NULL)
		return NULL;
	for (int i = 0; i < (int) lengthof(by_vdso); i++)
	{
		/* then something else is in the way */
		if (strcmp(by_vdso[i], current) == 0)
			return NULL;
	}
	for (int i = 0; i < (int) lengthof(by_vdso); i++)
	{
		if (word_in(by_vdso[i], offered))
			return by_vdso[i];
	}
	return NULL;
}

static void
put_change_of_kernel_source(Advice *advice, const char *source)
{
#if defined(__linux__)
	advice->now = psprintf("as root: echo %s > /sys/devices/system/clocksource/clocksource0/current_clocksource",
						   source);
	advice->persistently = psprintf("add clocksource=%s to GRUB_CMDLINE_LINUX in /etc/default/grub, then as root: update-grub (Debian, Ubuntu) or grub2-mkconfig -o /boot/grub2/grub.cfg (Red Hat, SUSE), and restart the machine",
									source);
#elif defined(__FreeBSD__)
	advice->now = psprintf("as root: sysctl kern.timecounter.hardware=%s", source);
	advice->persistently = psprintf("as root: echo kern.timecounter.hardware=%s >> /etc/sysctl.conf",
									source);
#else
	(void) advice;
	(void) source;
#endif
}

/* Whether reading the system clock costs a system call, or as much. */
static bool
system_clock_is_dear(const Facts *facts)
{
	const SurveyedClock *clock = &facts->clocks[SYSTEM];
	const SurveyedClock *cheap = cheapest(facts);

	if (clock->read_by != NULL && strcmp(clock->read_by, "system call") == 0)
		return true;
	return clock->cost.ns > DEAR_RATIO * cheap->cost.ns && clock->read_by == NULL;
}

static void
advise_on_system_clock(const Facts *facts, Advice *advice)
{
	const SurveyedClock *clock = &facts->clocks[SYSTEM];
	const char *current = platform_kernel_clock_source();

	advice->check = "system clock";
	advice->evidence = psprintf("%.1f ns a reading%s%s%s%s", clock->cost.ns,
								isnan(facts->system_call.ns) ? "" :
								psprintf(", the cheapest system call %.1f ns", facts->system_call.ns),
								available(&facts->clocks[RDTSC]) ?
								psprintf(", RDTSC %.1f ns", facts->clocks[RDTSC].cost.ns) : "",
								current ? "; the kernel's clock source is " : "",
								current ? current : "");
	if (!system_clock_is_dear(facts))
	{
		ok(advice, clock->read_by == NULL ? "reading the system clock is cheap" :
		   "the system clock is read without a system call");
		return;
	}
	warning(advice, "each reading of the system clock costs a system call");
	advice->persistently = faster_kernel_source() != NULL ?
		"change the kernel's clock source, as the next row says" :
		"see that the kernel is not started with vdso=0, and that no sandbox, tracer or preloaded library is in between";
	advice->provider = "which instance type or setting makes the kernel offer a clock source that is read without a system call (tsc, kvm-clock, hyperv_clocksource_tsc_page)";
}

static void
advise_on_kernel_source(const Facts *facts, Advice *advice)
{
	const char *current = platform_kernel_clock_source();
	const char *offered = platform_kernel_clock_sources_available();
	const char *faster = faster_kernel_source();

	advice->check = "kernel clock source";
	advice->evidence = current == NULL ? "the operating system does not tell" :
		psprintf("in use: %s; available: %s", current, offered ? offered : "not known");
	if (faster == NULL || !system_clock_is_dear(facts))
	{
		ok(advice, system_clock_is_dear(facts) ? "there is no faster one to change to" :
		   "the one in use is fast enough");
		return;
	}
	warning(advice, psprintf("a faster clock source is available: %s", faster));
	put_change_of_kernel_source(advice, faster);
	advice->provider = psprintf("to have the kernel's clock source changed from %s to %s", current, faster);
}

static void
advise_on_timing_source(const Facts *facts, Advice *advice)
{
	const SurveyedClock *system = &facts->clocks[SYSTEM];
	const SurveyedClock *tsc = &facts->clocks[RDTSC];
	const char *setting = GetConfigOption("timing_clock_source", true, false);
	const char *why_not_trusted = tsc_why_not_trusted();

	advice->check = "clock of EXPLAIN ANALYZE";
	advice->evidence = psprintf("it reads %s, %.1f ns a reading; %s",
								clock_of_explain(), facts->clocks[INSTR_TIME].cost.ns,
								available(tsc) ? psprintf("RDTSC takes %.1f ns", tsc->cost.ns) :
								psprintf("the TSC cannot be read because %s", tsc->why_not));
	if (setting == NULL)
		ok(advice, available(tsc) && tsc->cost.ns < system->cost.ns ?
		   "before PostgreSQL 19 the server reads no other; 19 can read the TSC" :
		   "before PostgreSQL 19 the server reads no other");
	else if (server_times_by_tsc() && why_not_trusted == NULL)
		ok(advice, "EXPLAIN ANALYZE reads the fastest clock there is");
	else if (server_times_by_tsc())
	{
		notice(advice, psprintf("the server times by a TSC that is not to be trusted: %s", why_not_trusted));
		advice->now = "SET timing_clock_source = 'system'";
		advice->persistently = "ALTER SYSTEM SET timing_clock_source = 'system'; SELECT pg_reload_conf()";
		advice->provider = "why the kernel does not keep time by the TSC";
	}
	else if (!available(tsc))
		ok(advice, "the server cannot use the TSC");
	else if (tsc->cost.ns >= system->cost.ns)
		ok(advice, "the TSC would be no faster");
	else if (tsc_is_given_up_now())
		ok(advice, psprintf("the TSC is not to be trusted: %s", why_not_trusted));
	else if (server_defaults_to_tsc())
	{
		notice(advice, psprintf("timing_clock_source is %s, although the TSC can be used", setting));
		advice->now = "SET timing_clock_source = 'auto', in a session of its own";
		advice->persistently = "ALTER SYSTEM RESET timing_clock_source; SELECT pg_reload_conf()";
		advice->provider = "to have timing_clock_source set to auto";
	}
	else
	{
		notice(advice, psprintf("timing_clock_source = %s does not use the TSC: %s", setting,
								why_not_trusted ? why_not_trusted : "the server does not know its frequency"));
		advice->now = "SET timing_clock_source = 'tsc', in a session of its own, where all else here is ok";
		advice->persistently = "ALTER SYSTEM SET timing_clock_source = 'tsc'; SELECT pg_reload_conf()";
		advice->provider = "to have timing_clock_source set to tsc";
	}
}

static void
add_frequency(Advice *advice, const char *whose, double hz, double calibrated_hz, double *worst)
{
	double		ppm;

	if (hz <= 0)
		return;
	ppm = (hz / calibrated_hz - 1) * 1e6;
	*worst = Max(*worst, fabs(ppm));
	advice->evidence = psprintf("%s; %s %.3f kHz, %+.1f ppm", advice->evidence, whose,
								hz / 1e3, ppm);
}

static void
advise_on_frequency(const Facts *facts, Advice *advice)
{
	const TscFrequency *frequency;
	double		stated = 0;
	double		server = 0;

	advice->check = "TSC frequency";
	if (!available(&facts->clocks[RDTSC]))
	{
		ok(advice, "the TSC is not read");
		advice->evidence = facts->clocks[RDTSC].why_not;
		return;
	}
	frequency = calibrated_tsc_frequency();
	advice->evidence = psprintf("calibrated %.3f kHz, within %.1f ppm",
								frequency->calibrated_hz / 1e3, frequency->calibrated_error_ppm);
	add_frequency(advice, "CPUID", tsc_cpuid()->cpuid_hz, frequency->calibrated_hz, &stated);
	add_frequency(advice, "hypervisor", tsc_cpuid()->hypervisor_hz, frequency->calibrated_hz, &stated);
	add_frequency(advice, "this server", server_tsc_hz(), frequency->calibrated_hz, &server);
	if (server > FREQUENCY_PPM && server_times_by_tsc())
	{
		notice(advice, psprintf("times by the TSC are wrong by %.0f parts per million", server));
		advice->now = "SET timing_clock_source = 'system', where that matters";
		advice->persistently = "restart the server, which calibrates the TSC anew; or ALTER SYSTEM SET timing_clock_source = 'system'; SELECT pg_reload_conf()";
		advice->provider = "an instance whose hypervisor states the TSC's frequency (CPUID leaf 0x40000010)";
	}
	else if (stated > FREQUENCY_PPM)
	{
		warning(advice, psprintf("the TSC's stated frequency is wrong by %.0f parts per million", stated));
		advice->provider = "why the stated frequency of the TSC is not the one that it runs at";
	}
	else
		ok(advice, stated > 0 ? "what is stated is what it runs at" : "nothing that is stated is wrong");
}

static void
advise_on_invariance(const Facts *facts, Advice *advice)
{
	const TscCpuid *id = tsc_cpuid();

	advice->check = "invariant TSC";
	advice->evidence = !id->readable ? "CPUID cannot be executed" :
		psprintf("CPUID leaf 0x80000007, EDX bit 8: %d", id->invariant);
	if (!available(&facts->clocks[RDTSC]))
		ok(advice, "the TSC is not read");
	else if (id->invariant)
		ok(advice, "the TSC runs at one rate, whatever the processor does");
	else if (server_times_by_tsc())
	{
		warning(advice, "the server times by a TSC whose rate may change");
		advice->now = "SET timing_clock_source = 'system'";
		advice->persistently = "ALTER SYSTEM SET timing_clock_source = 'system'; SELECT pg_reload_conf()";
		advice->provider = "to have the invariant TSC shown to the guest";
	}
	else
	{
		notice(advice, "the TSC's rate may change with the processor's speed");
		advice->provider = "to have the invariant TSC shown to the guest";
	}
}

static void
advise_on_skew(const Facts *facts, Advice *advice)
{
	const SkewSummary *skew = &facts->skew;

	advice->check = "skew between CPUs";
	if (!facts->skew_known)
	{
		notice(advice, "whether the clocks of all CPUs agree could not be found");
		advice->evidence = facts->why_no_skew;
		advice->now = "SELECT * FROM clock_cpu_skew() says what it needs";
		return;
	}
	if (skew->ncpus < 2)
	{
		ok(advice, "there is one CPU only");
		advice->evidence = "the server may run on one CPU";
		return;
	}
	advice->evidence = psprintf("%d CPUs; the offset farthest from 0 is between %+.0f and %+.0f ns (CPU %d); %s takes %.1f ns; warps: " INT64_FORMAT,
								skew->ncpus, skew->offset_min_ns, skew->offset_max_ns, skew->cpu,
								skew->clock, skew->reading_ns, skew->warps);
	if (skew->warps > 0 || skew->certain_ns > skew->reading_ns)
	{
		warning(advice, "CPUs disagree by more than a reading takes");
		advice->persistently = "let the kernel keep time by another source than the TSC, unless a newer firmware sets all counters alike";
		advice->provider = "a host whose processors' time-stamp counters are synchronised";
	}
	else
		ok(advice, "no disagreement between CPUs that exceeds what a reading takes");
}

static void
advise_on_stolen_time(const Facts *facts, Advice *advice)
{
	const SamplerRun *run = &facts->clocks[SYSTEM].run;
	double		lost = lost_percent(facts);

	advice->check = "time off the CPU";
	advice->evidence = psprintf("%.2f %% of %.2f s, in " INT64_FORMAT " gaps, the longest of %.1f us",
								lost, run->elapsed_s, run->gaps.count, run->gaps.max_ns / 1e3);
	if (lost < LOST_NOTICE)
	{
		ok(advice, "the CPU is there when it is needed");
		return;
	}
	if (lost < LOST_WARNING)
		notice(advice, "others take some of the CPU's time");
	else
		warning(advice, "others take much of the CPU's time");
	advice->now = "see who: top, the column st for the hypervisor's share";
	advice->provider = "CPUs of one's own, if the hypervisor takes the time";
}

static void
advise_on_backward_steps(const Facts *facts, Advice *advice)
{
	char	   *names;
	int64		steps = sum_of(facts, backward_steps_of, &names);

	advice->check = "backward steps";
	advice->evidence = psprintf("steps: " INT64_FORMAT "%s%s", steps, steps ? " in " : "", names);
	if (steps == 0)
	{
		ok(advice, "no clock went backwards");
		return;
	}
	warning(advice, "a clock went backwards: durations can be negative or huge");
	if (faster_kernel_source() != NULL)
		put_change_of_kernel_source(advice, faster_kernel_source());
	advice->provider = "a host whose time-stamp counters are synchronised, or another kernel clock source";
}

static void
advise_on_rate(const Facts *facts, Advice *advice)
{
	const SurveyedClock *clock = &facts->clocks[SYSTEM];
	char	   *names;
	int64		jumps = sum_of(facts, jumps_of, &names);

	advice->check = "steadiness";
	advice->evidence = psprintf("jumps: " INT64_FORMAT "%s%s; rate of system %+.1f ppm, within %.1f",
								jumps, jumps ? " in " : "", names, rate_ppm(clock),
								clock->run.reference_error_ns / clock->run.elapsed_s / 1e3);
	if (jumps > 0)
		warning(advice, "a clock jumped ahead");
	else if (certain_rate_ppm(clock) > RATE_PPM)
		warning(advice, "the system clock runs at a wrong rate");
	else
	{
		ok(advice, "the clocks run steadily");
		return;
	}
	advice->now = "see what sets the time: chronyc tracking, or timedatectl timesync-status";
	advice->provider = "what steers the guest's time";
}

Datum
clock_list_advice(PG_FUNCTION_ARGS)
{
	static void (*const advisers[]) (const Facts *facts, Advice *advice) = {
		advise_on_system_clock, advise_on_kernel_source, advise_on_timing_source,
		advise_on_frequency, advise_on_invariance, advise_on_skew,
		advise_on_backward_steps, advise_on_rate, advise_on_stolen_time
	};
	Facts	   *facts;

	InitMaterializedSRF(fcinfo, 0);
	facts = gather(ADVICE_DURATION_S, true);
	for (int i = 0; i < (int) lengthof(advisers); i++)
	{
		Advice		advice = {0};
		Row			row = row_of_set(fcinfo);

		advisers[i] (facts, &advice);
		row_put_text(&row, advice.check);
		row_put_text(&row, advice.severity);
		row_put_text(&row, advice.finding);
		row_put_text(&row, advice.evidence);
		row_put_text(&row, advice.now);
		row_put_text(&row, advice.persistently);
		row_put_text(&row, advice.provider);
		row_to_set(&row, fcinfo);
	}
	return (Datum) 0;
}

/* ---------------------------------------------------------------------
 * Checks
 */

/* A threshold, not negative; infinity accepts everything. */
static double
get_threshold(FunctionCallInfo fcinfo, int argno, const char *name)
{
	double		value;

	check_not_null(fcinfo, argno, name);
	value = PG_GETARG_FLOAT8(argno);
	if (!(value >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be negative or NaN", name),
				 errhint("'infinity' leaves the check out: it is passed in any case.")));
	return value;
}

/* One check: "figure" NaN if it could not be found, which infinity accepts. */
static void
put_check(FunctionCallInfo fcinfo, const char *check, double figure,
		  double threshold, const char *unit, const char *detail)
{
	Row			row = row_of_set(fcinfo);

	row_put_text(&row, check);
	row_put_bool(&row, isinf(threshold) || figure <= threshold);
	row_put_number(&row, figure, 2);
	if (isinf(threshold))
		row_put_null(&row);
	else
		row_put_number(&row, threshold, 2);
	row_put_text(&row, unit);
	row_put_text(&row, detail);
	row_to_set(&row, fcinfo);
}

Datum
clock_check_detail(PG_FUNCTION_ARGS)
{
	double		max_cost_ns = get_threshold(fcinfo, 0, "max_cost_ns");
	double		max_skew_ns = get_threshold(fcinfo, 1, "max_skew_ns");
	double		max_drift_ppm = get_threshold(fcinfo, 2, "max_drift_ppm");
	double		max_lost_percent = get_threshold(fcinfo, 3, "max_lost_percent");
	const SurveyedClock *clock;
	double		duration_s;
	Facts	   *facts;
	char	   *names;
	int64		count;

	check_not_null(fcinfo, 4, "duration");
	duration_s = PG_GETARG_FLOAT8(4);
	check_duration(duration_s);

	InitMaterializedSRF(fcinfo, 0);
	facts = gather(duration_s, !isinf(max_skew_ns));
	clock = &facts->clocks[INSTR_TIME];
	put_check(fcinfo, "cost", clock->cost.ns, max_cost_ns, "ns",
			  psprintf("a reading of instr_time, which is %s", clock_of_explain()));
	count = sum_of(facts, backward_steps_of, &names);
	put_check(fcinfo, "backward_steps", (double) count, 0, "steps", *names ? names : NULL);
	count = sum_of(facts, jumps_of, &names);
	put_check(fcinfo, "warps", (double) count, 0, "jumps", *names ? names : NULL);
	count = sum_of(facts, lags_of, &names);
	put_check(fcinfo, "lags", (double) count, 0, "times", *names ? names : NULL);
	put_check(fcinfo, "drift", certain_rate_ppm(clock), max_drift_ppm, "ppm",
			  psprintf("instr_time runs at %+.1f ppm, within %.1f", rate_ppm(clock),
					   clock->run.reference_error_ns / clock->run.elapsed_s / 1e3));
	if (facts->skew_known)
		put_check(fcinfo, "skew",
				  facts->skew.warps > 0 ? Max(facts->skew.certain_ns, facts->skew.warp_max_ns) :
				  facts->skew.certain_ns, max_skew_ns, "ns",
				  facts->skew.ncpus < 2 ? "there is one CPU only" :
				  psprintf("CPU %d is ahead by %.0f to %.0f ns", facts->skew.cpu,
						   facts->skew.offset_min_ns, facts->skew.offset_max_ns));
	else
		put_check(fcinfo, "skew", get_float8_nan(), max_skew_ns, "ns",
				  facts->why_no_skew ? facts->why_no_skew : "not asked for");
	put_check(fcinfo, "gaps", lost_percent(facts), max_lost_percent, "percent",
			  psprintf(INT64_FORMAT " gaps, the longest of %.1f us",
					   facts->clocks[SYSTEM].run.gaps.count,
					   facts->clocks[SYSTEM].run.gaps.max_ns / 1e3));
	return (Datum) 0;
}
