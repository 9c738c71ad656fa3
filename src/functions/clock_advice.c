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
#include "utils/guc.h"

#include "clock/instr_clock.h"
#include "clock/platform.h"
#include "clock/skew_run.h"
#include "clock/subtransaction.h"
#include "compat.h"
#include "core/tsc.h"
#include "functions/args.h"
#include "functions/clock_survey.h"
#include "functions/row.h"

PG_FUNCTION_INFO_V1(clock_list_advice);
PG_FUNCTION_INFO_V1(clock_check_detail);

/* Seconds that the view takes, and the share of any run that the skew gets. */
#define ADVICE_DURATION_S	1.0
#define SKEW_SHARE			0.4

/* A clock is expensive if it costs so many times what a cheap one does. */
#define EXPENSIVE_RATIO			3.0

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

/*
 * What the wrongs of a kind add up to, in all clocks, and whose they are.  A
 * clock that PostgreSQL does not read now could be read tomorrow.
 */
typedef struct Wrongs
{
	int64		count;
	char	   *names;			/* NULL: nobody's */
} Wrongs;

/* All that advice is given by. */
typedef struct Facts
{
	SurveyedClock clocks[N_CLOCKS];
	ReadingCost system_call;
	Wrongs		backward_steps;
	Wrongs		warps;
	Wrongs		lags;
	double		lost_percent;	/* off the CPU while the system clock was
								 * watched */

	/* in seconds; 0: not asked for */
	double		skew_duration_s;
	char	   *why_no_skew;	/* NULL: it is known */
	Skew		skew;
} Facts;

static inline bool
available(const SurveyedClock *clock)
{
	return clock->why_not == NULL;
}

static void
gather_skew(void *arg)
{
	Facts	   *facts = arg;
	const Skew *skew = &facts->skew;

	facts->skew = skew_run(skew_default_source(), facts->skew_duration_s);
	/* nobody has any use for half of the CPUs */
	for (int i = 0; i < skew->ncpus; i++)
	{
		if (!skew->cpus[i].result.known)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("clock source \"%s\" did not advance on CPU %d or %d",
							skew->source->name, skew->cpus[0].cpu, skew->cpus[i].cpu)));
	}
}

static void
add_wrongs(Wrongs *wrongs, const SurveyedClock *clock, int64 count)
{
	wrongs->count += count;
	if (count > 0)
		wrongs->names = psprintf("%s%s%s", wrongs->names ? wrongs->names : "",
								 wrongs->names ? ", " : "", clock->source->name);
}

static Facts *
gather(double duration_s, bool skew)
{
	static const char *const names[N_CLOCKS] = {"system", "instr_time", "rdtscp", "rdtsc"};
	Facts	   *facts = palloc0(sizeof(Facts));
	const SamplerRun *run = &facts->clocks[SYSTEM].run;

	for (int i = 0; i < N_CLOCKS; i++)
	{
		facts->clocks[i].source = clock_source_find(names[i]);
		facts->clocks[i].reference = clock_reference_get(REFERENCE_BY_DEFAULT);
	}
	facts->skew_duration_s = skew ? duration_s * SKEW_SHARE : 0;
	survey(facts->clocks, N_CLOCKS, duration_s - facts->skew_duration_s, 0, &facts->system_call);
	for (int i = 0; i < N_CLOCKS; i++)
	{
		const SurveyedClock *clock = &facts->clocks[i];

		if (!available(clock))
			continue;
		add_wrongs(&facts->backward_steps, clock, clock->backward_steps);
		add_wrongs(&facts->warps, clock, clock->run.warps.count);
		add_wrongs(&facts->lags, clock, clock->run.lags.count);
	}
	facts->lost_percent = run->gaps.total_ns / 1e7 / run->elapsed_s;

	/* no free slot for a worker, say, is not the end of everything else */
	facts->why_no_skew = skew ? subtransaction_attempt(gather_skew, facts) : "not asked for";
	return facts;
}

/* By how many ppm the clock may be wrongly judged to be fast, ... */
static double
rate_margin_ppm(const SurveyedClock *clock)
{
	return clock->run.reference_bound_ns / clock->run.elapsed_s / 1e3;
}

/* ... is faster than the reference, ... */
static double
rate_ppm(const SurveyedClock *clock)
{
	return (clock->run.advance_ns / 1e9 / clock->run.elapsed_s - 1) * 1e6;
}

/* ... and is faster or slower for certain. */
static double
certain_rate_ppm(const SurveyedClock *clock)
{
	return Max(fabs(rate_ppm(clock)) - rate_margin_ppm(clock), 0);
}

/* ---------------------------------------------------------------------
 * Advice
 */

typedef struct Advice
{
	const char *severity;
	const char *finding;
	const char *evidence;
	const char *now;
	const char *persistently;
	const char *provider;
} Advice;

static void
say(Advice *advice, const char *severity, const char *finding,
	const char *now, const char *persistently, const char *provider)
{
	*advice = (Advice)
	{
		severity, finding, advice->evidence, now, persistently, provider
	};
}

static void
ok(Advice *advice, const char *finding)
{
	say(advice, "ok", finding, NULL, NULL, NULL);
}

#define SET_SOURCE(source)		"SET timing_clock_source = '" source "'"
#define ALTER_SOURCE(source)	"ALTER SYSTEM " SET_SOURCE(source) "; SELECT pg_reload_conf()"

/* Whether reading the system clock costs a system call, or as much. */
static bool
system_clock_is_expensive(const Facts *facts)
{
	const SurveyedClock *clock = &facts->clocks[SYSTEM];
	double		cheapest_ns = clock->cost.ns;

	if (clock->read_by != NULL)
		return strcmp(clock->read_by, "system call") == 0;
	for (int i = 0; i < N_CLOCKS; i++)
	{
		if (available(&facts->clocks[i]))
			cheapest_ns = Min(cheapest_ns, facts->clocks[i].cost.ns);
	}
	return clock->cost.ns > EXPENSIVE_RATIO * cheapest_ns;
}

static void
advise_on_system_clock(const Facts *facts, Advice *advice)
{
	const SurveyedClock *clock = &facts->clocks[SYSTEM];
	const char *current = platform_kernel_clock_source();

	advice->evidence = psprintf("%.1f ns a reading%s%s%s%s", clock->cost.ns,
								isnan(facts->system_call.ns) ? "" :
								psprintf(", the cheapest system call %.1f ns", facts->system_call.ns),
								available(&facts->clocks[RDTSC]) ?
								psprintf(", RDTSC %.1f ns", facts->clocks[RDTSC].cost.ns) : "",
								current ? "; the kernel's clock source is " : "",
								current ? current : "");
	if (!system_clock_is_expensive(facts))
		ok(advice, clock->read_by == NULL ? "reading the system clock is cheap" :
		   "the system clock is read without a system call");
	else
		say(advice, "warning", "each reading of the system clock costs a system call", NULL,
			platform_faster_kernel_clock_source() != NULL ?
			"change the kernel's clock source, as the next row says" :
			"see that the kernel is not started with vdso=0, and that no sandbox, tracer or preloaded library is in between",
			"which instance type or setting makes the kernel offer a clock source that is read without a system call (tsc, kvm-clock, hyperv_clocksource_tsc_page)");
}

static void
advise_on_kernel_source(const Facts *facts, Advice *advice)
{
	const char *current = platform_kernel_clock_source();
	const char *offered = platform_kernel_clock_sources_available();
	const char *faster = platform_faster_kernel_clock_source();

	advice->evidence = current == NULL ? "the operating system does not tell" :
		psprintf("in use: %s; available: %s", current, offered ? offered : "not known");
	if (!system_clock_is_expensive(facts))
		ok(advice, "the one in use is fast enough");
	else if (faster == NULL)
		ok(advice, "there is no faster one to change to");
	else
	{
		say(advice, "warning", psprintf("a faster clock source is available: %s", faster), NULL, NULL,
			psprintf("to have the kernel's clock source changed from %s to %s", current, faster));
		platform_change_of_kernel_clock_source(faster, &advice->now, &advice->persistently);
	}
}

static void
advise_on_timing_source(const Facts *facts, Advice *advice)
{
	const SurveyedClock *system = &facts->clocks[SYSTEM];
	const SurveyedClock *tsc = &facts->clocks[RDTSC];
	const char *setting = GetConfigOption("timing_clock_source", true, false);
	const char *why_not_trusted = tsc_why_not_trusted();

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
		say(advice, "notice",
			psprintf("the server times by a TSC that is not to be trusted: %s", why_not_trusted),
			SET_SOURCE("system"), ALTER_SOURCE("system"),
			"why the kernel does not keep time by the TSC");
	else if (!available(tsc))
		ok(advice, "the server cannot use the TSC");
	else if (tsc->cost.ns >= system->cost.ns)
		ok(advice, "the TSC would be no faster");
	else if (tsc_is_given_up_now())
		ok(advice, psprintf("the TSC is not to be trusted: %s", why_not_trusted));
	else if (server_defaults_to_tsc())
		say(advice, "notice",
			psprintf("timing_clock_source is %s, although the TSC can be used", setting),
			SET_SOURCE("auto") ", in a session of its own",
			"ALTER SYSTEM RESET timing_clock_source; SELECT pg_reload_conf()",
			"to have timing_clock_source set to auto");
	else
		say(advice, "notice",
			psprintf("timing_clock_source = %s does not use the TSC: %s", setting,
					 why_not_trusted ? why_not_trusted : "the server does not know its frequency"),
			SET_SOURCE("tsc") ", in a session of its own, where all else here is ok",
			ALTER_SOURCE("tsc"), "to have timing_clock_source set to tsc");
}

/* Returns the larger of *worst and by how many ppm a stated frequency is off. */
static double
add_frequency(Advice *advice, const char *whose, double hz, double worst)
{
	double		calibrated_hz = calibrated_tsc_frequency()->calibrated_hz;
	double		ppm = (hz / calibrated_hz - 1) * 1e6;

	if (hz <= 0)
		return worst;
	advice->evidence = psprintf("%s; %s %.3f kHz, %+.1f ppm", advice->evidence, whose,
								hz / 1e3, ppm);
	return Max(worst, fabs(ppm));
}

static void
advise_on_frequency(const Facts *facts, Advice *advice)
{
	double		stated;
	double		server;

	if (!available(&facts->clocks[RDTSC]))
	{
		ok(advice, "the TSC is not read");
		advice->evidence = facts->clocks[RDTSC].why_not;
		return;
	}
	advice->evidence = psprintf("calibrated %.3f kHz, within %.1f ppm",
								calibrated_tsc_frequency()->calibrated_hz / 1e3,
								calibrated_tsc_frequency()->calibrated_bound_ppm);
	stated = add_frequency(advice, "CPUID", tsc_cpuid()->cpuid_hz, 0);
	stated = add_frequency(advice, "hypervisor", tsc_cpuid()->hypervisor_hz, stated);
	server = add_frequency(advice, "this server", server_tsc_hz(), 0);
	if (server > FREQUENCY_PPM && server_times_by_tsc())
		say(advice, "notice",
			psprintf("times by the TSC are wrong by %.0f parts per million", server),
			SET_SOURCE("system") ", where that matters",
			"restart the server, which calibrates the TSC anew; or " ALTER_SOURCE("system"),
			"an instance whose hypervisor states the TSC's frequency (CPUID leaf 0x40000010)");
	else if (stated > FREQUENCY_PPM)
		say(advice, "warning",
			psprintf("the TSC's stated frequency is wrong by %.0f parts per million", stated),
			NULL, NULL, "why the stated frequency of the TSC is not the one that it runs at");
	else
		ok(advice, stated > 0 ? "what is stated is what it runs at" : "nothing that is stated is wrong");
}

static void
advise_on_invariance(const Facts *facts, Advice *advice)
{
	static const char provider[] = "to have the invariant TSC shown to the guest";
	const TscCpuid *id = tsc_cpuid();

	advice->evidence = !id->readable ? "CPUID cannot be executed" :
		psprintf("CPUID leaf 0x80000007, EDX bit 8: %d", id->invariant);
	if (!available(&facts->clocks[RDTSC]))
		ok(advice, "the TSC is not read");
	else if (id->invariant)
		ok(advice, "the TSC runs at one rate, whatever the processor does");
	else if (server_times_by_tsc())
		say(advice, "warning", "the server times by a TSC whose rate may change",
			SET_SOURCE("system"), ALTER_SOURCE("system"), provider);
	else
		say(advice, "notice", "the TSC's rate may change with the processor's speed",
			NULL, NULL, provider);
}

static void
advise_on_skew(const Facts *facts, Advice *advice)
{
	const Skew *skew = &facts->skew;

	if (facts->why_no_skew != NULL)
	{
		say(advice, "notice", "whether the clocks of all CPUs agree could not be found",
			"SELECT * FROM clock_cpu_skew() says what it needs", NULL, NULL);
		advice->evidence = facts->why_no_skew;
		return;
	}
	if (skew->ncpus < 2)
	{
		ok(advice, "there is one CPU only");
		advice->evidence = "the server may run on one CPU";
		return;
	}
	advice->evidence = psprintf("%d CPUs; the offset farthest from 0 is between %+.0f and %+.0f ns (CPU %d); %s takes %.1f ns; warps: " INT64_FORMAT,
								skew->ncpus, skew->worst->result.offset_min * skew->tick_ns,
								skew->worst->result.offset_max * skew->tick_ns,
								skew->worst->cpu, skew->source->reads(skew->source),
								skew->reading_ns, skew->warps);
	if (skew->warps > 0 || skew->certain * skew->tick_ns > skew->reading_ns)
		say(advice, "warning", "CPUs disagree by more than a reading takes", NULL,
			"let the kernel keep time by another source than the TSC, unless a newer firmware sets all counters alike",
			"a host whose processors' time-stamp counters are synchronised");
	else
		ok(advice, "no disagreement between CPUs that exceeds what a reading takes");
}

static const char *
wrongs_in_words(const Wrongs *wrongs)
{
	return wrongs->count == 0 ? "0" : psprintf(INT64_FORMAT " in %s", wrongs->count, wrongs->names);
}

static void
advise_on_backward_steps(const Facts *facts, Advice *advice)
{
	advice->evidence = psprintf("steps: %s", wrongs_in_words(&facts->backward_steps));
	if (facts->backward_steps.count == 0)
	{
		ok(advice, "no clock went backwards");
		return;
	}
	say(advice, "warning", "a clock went backwards: durations can be negative or huge", NULL, NULL,
		"a host whose time-stamp counters are synchronised, or another kernel clock source");
	platform_change_of_kernel_clock_source(platform_faster_kernel_clock_source(),
										   &advice->now, &advice->persistently);
}

static void
advise_on_rate(const Facts *facts, Advice *advice)
{
	const SurveyedClock *clock = &facts->clocks[SYSTEM];

	advice->evidence = psprintf("jumps: %s; rate of system %+.1f ppm, within %.1f",
								wrongs_in_words(&facts->warps), rate_ppm(clock), rate_margin_ppm(clock));
	if (facts->warps.count == 0 && certain_rate_ppm(clock) <= RATE_PPM)
		ok(advice, "the clocks run steadily");
	else
		say(advice, "warning", facts->warps.count > 0 ? "a clock jumped ahead" :
			"the system clock runs at a wrong rate",
			"see what sets the time: chronyc tracking, or timedatectl timesync-status", NULL,
			"what steers the guest's time");
}

static const char *
gaps_in_words(const Facts *facts)
{
	const Events *gaps = &facts->clocks[SYSTEM].run.gaps;

	return psprintf(INT64_FORMAT " gaps, the longest of %.1f us", gaps->count, gaps->max_ns / 1e3);
}

static void
advise_on_stolen_time(const Facts *facts, Advice *advice)
{
	double		lost = facts->lost_percent;

	advice->evidence = psprintf("%.2f %% of %.2f s, in %s", lost,
								facts->clocks[SYSTEM].run.elapsed_s, gaps_in_words(facts));
	if (lost < LOST_NOTICE)
		ok(advice, "the CPU is there when it is needed");
	else
		say(advice, lost < LOST_WARNING ? "notice" : "warning",
			lost < LOST_WARNING ? "others take some of the CPU's time" :
			"others take much of the CPU's time",
			"see who: top, the column st for the hypervisor's share", NULL,
			"CPUs of one's own, if the hypervisor takes the time");
}

static const struct Adviser
{
	const char *check;
	void		(*advise) (const Facts *facts, Advice *advice);
}			advisers[] =

{
	{"system clock", advise_on_system_clock},
	{"kernel clock source", advise_on_kernel_source},
	{"clock of EXPLAIN ANALYZE", advise_on_timing_source},
	{"TSC frequency", advise_on_frequency},
	{"invariant TSC", advise_on_invariance},
	{"skew between CPUs", advise_on_skew},
	{"backward steps", advise_on_backward_steps},
	{"steadiness", advise_on_rate},
	{"time off the CPU", advise_on_stolen_time},
};

Datum
clock_list_advice(PG_FUNCTION_ARGS)
{
	Facts	   *facts;
	Row			row;

	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	facts = gather(ADVICE_DURATION_S, true);
	for (int i = 0; i < (int) lengthof(advisers); i++)
	{
		Advice		advice = {0};

		advisers[i].advise(facts, &advice);
		row_put_text(&row, advisers[i].check);
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

Datum
clock_check_detail(PG_FUNCTION_ARGS)
{
	double		max_cost_ns = get_threshold(fcinfo, 1, "max_cost_ns");
	double		max_skew_ns = get_threshold(fcinfo, 2, "max_skew_ns");
	double		max_drift_ppm = get_threshold(fcinfo, 3, "max_drift_ppm");
	double		max_lost_percent = get_threshold(fcinfo, 4, "max_lost_percent");
	const Facts *facts = gather(arg_duration(fcinfo, 0), !isinf(max_skew_ns));
	const SurveyedClock *clock = &facts->clocks[INSTR_TIME];
	double		skew_ns = NAN;
	const char *skew_detail = facts->why_no_skew;
	const Skew *skew = &facts->skew;
	Row			row;

	if (facts->why_no_skew == NULL)
	{
		skew_ns = Max(skew->certain, skew->warp_max) * skew->tick_ns;
		skew_detail = skew->ncpus < 2 ? "there is one CPU only" :
			psprintf("CPU %d is ahead by %.0f to %.0f ns", skew->worst->cpu,
					 skew->worst->result.offset_min * skew->tick_ns,
					 skew->worst->result.offset_max * skew->tick_ns);
	}

	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	{
		/* the figure is NAN if it could not be found, which infinity accepts */
		const struct
		{
			const char *check;
			double		figure;
			double		threshold;
			const char *unit;
			const char *detail;
		}			checks[] =
		{
			{"cost", clock->cost.ns, max_cost_ns, "ns",
			psprintf("a reading of instr_time, which is %s", clock_of_explain())},
			{"backward_steps", facts->backward_steps.count, 0, "steps", facts->backward_steps.names},
			{"warps", facts->warps.count, 0, "jumps", facts->warps.names},
			{"lags", facts->lags.count, 0, "times", facts->lags.names},
			{"drift", certain_rate_ppm(clock), max_drift_ppm, "ppm",
				psprintf("instr_time runs at %+.1f ppm, within %.1f", rate_ppm(clock),
						 rate_margin_ppm(clock))},
			{"skew", skew_ns, max_skew_ns, "ns", skew_detail},
			{"gaps", facts->lost_percent, max_lost_percent, "percent", gaps_in_words(facts)},
		};

		for (int i = 0; i < (int) lengthof(checks); i++)
		{
			double		threshold = checks[i].threshold;

			row_put_text(&row, checks[i].check);
			row_put_bool(&row, isinf(threshold) || checks[i].figure <= threshold);
			row_put_number(&row, checks[i].figure, 2);
			row_put_number(&row, isinf(threshold) ? NAN : threshold, 2);
			row_put_text(&row, checks[i].unit);
			row_put_text(&row, checks[i].detail);
			row_to_set(&row, fcinfo);
		}
	}
	return (Datum) 0;
}
