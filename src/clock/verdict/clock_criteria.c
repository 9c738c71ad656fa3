/*
 * Measures this server's clocks, and compares each figure with a limit.
 *
 * The criteria judge clocks by measurements, because names of clock sources say little.  For
 * example, kvm-clock read through the vDSO is nearly as fast as the TSC.  However, a TSC that the
 * hypervisor intercepts is slower than kvm-clock.
 *
 * Of a figure with a known error, only the part beyond this error counts, so that an imprecise
 * measurement on a busy machine does not cause a warning.
 */
#include "postgres.h"

#include <math.h>

#include "clock/measure/instr_clock.h"
#include "clock/verdict/clock_criteria.h"
#include "compat.h"
#include "core/reference.h"
#include "core/system_state.h"
#include "core/tsc.h"
#include "server/subtransaction.h"

/* Share of the duration that is spent on measuring the skew of the CPUs. */
#define SKEW_SHARE			0.4

/* A reading that costs more than this share of a system call is expensive. */
#define SYSTEM_CALL_SHARE	0.9

const char *const severity_names[N_SEVERITIES] = {"ok", "notice", "warning"};

bool
clock_is_available(const SurveyedClock *clock)
{
	return clock->why_not == NULL;
}

static void
gather_skew(void *arg)
{
	Facts	   *facts = arg;
	const Skew *skew = &facts->skew;

	facts->skew = skew_run(skew_default_source(), facts->skew_duration_s);
	/* the check needs the skew of each CPU */
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
add_faults(Faults *faults, const SurveyedClock *clock, int64 count)
{
	faults->count += count;
	if (count > 0)
		faults->names = psprintf("%s%s%s", faults->names ? faults->names : "",
								 faults->names ? ", " : "", clock->source->name);
}

/*
 * Surveys the clocks, then compares the CPUs' clocks.  That comparison needs a background worker
 * and the right to pin processes, so an error in it is a fact of its own, and the other checks
 * remain.
 */
Facts *
clock_facts(double duration_s, bool skew)
{
	static const char *const names[N_CLOCKS] = {"system", "instr_time", "rdtscp", "rdtsc"};
	Facts	   *facts = palloc0(sizeof(Facts));
	const SamplerRun *run = &facts->clocks[SYSTEM].run;
	double		cheapest_ns = INFINITY;

	for (int i = 0; i < N_CLOCKS; i++)
	{
		facts->clocks[i].source = clock_source_find(names[i]);
		facts->clocks[i].reference = clock_reference_get(REFERENCE_BY_DEFAULT);
	}
	facts->throttled_ns = system_throttled_ns();
	facts->skew_duration_s = skew ? duration_s * SKEW_SHARE : 0;
	survey_run(facts->clocks, N_CLOCKS, duration_s - facts->skew_duration_s, 0,
			   &facts->system_call);
	facts->throttled_ns = Max(system_throttled_ns() - facts->throttled_ns, 0);
	for (int i = 0; i < N_CLOCKS; i++)
	{
		const SurveyedClock *clock = &facts->clocks[i];

		if (!clock_is_available(clock))
			continue;
		cheapest_ns = Min(cheapest_ns, clock->cost.ns);
		add_faults(&facts->backward_steps, clock, clock->backward_steps);
		add_faults(&facts->warps, clock, clock->run.warps.count);
		add_faults(&facts->lags, clock, clock->run.lags.count);
		facts->gaps_ns += clock->run.gaps.total_ns;
	}
	facts->expensive_ns = Min(EXPENSIVE_NS, isnan(facts->system_call.ns) ?
							  EXPENSIVE_RATIO * cheapest_ns :
							  SYSTEM_CALL_SHARE * facts->system_call.ns);
	facts->self_reference = clock_source_is_reference(facts->clocks[SYSTEM].source);
	facts->lost_percent = run->gaps.total_ns / 1e7 / run->elapsed_s;

	/* an error when measuring the skew must not prevent other checks */
	facts->why_no_skew = skew ? subtransaction_attempt(gather_skew, facts) : "not asked for";
	return facts;
}

bool
jumps_are_unseen(const Facts *facts)
{
	return facts->self_reference && !clock_is_available(&facts->clocks[RDTSC]);
}

bool
rate_is_unseen(const Facts *facts)
{
	return facts->self_reference && !server_times_by_tsc();
}

double
rate_bound_ppm(const SurveyedClock *clock)
{
	return clock->run.reference_bound_ns / clock->run.elapsed_s / 1e3;
}

double
rate_ppm(const SurveyedClock *clock)
{
	return (clock->run.advance_ns / 1e9 / clock->run.elapsed_s - 1) * 1e6;
}

/* Returns the lower bound of the error of the clock's rate, in ppm. */
static double
certain_rate_ppm(const SurveyedClock *clock)
{
	return Max(fabs(rate_ppm(clock)) - rate_bound_ppm(clock), 0);
}

const SurveyedClock *
clock_of_worst_rate(const Facts *facts)
{
	const SurveyedClock *clocks = facts->clocks;

	return &clocks[certain_rate_ppm(&clocks[SYSTEM]) > certain_rate_ppm(&clocks[INSTR_TIME]) ?
				   SYSTEM : INSTR_TIME];
}

const char *
gaps_in_words(const Facts *facts)
{
	const Events *gaps = &facts->clocks[SYSTEM].run.gaps;

	return psprintf(INT64_FORMAT " gaps of at most %.1f us", gaps->count, gaps->max_ns / 1e3);
}

/* Returns the lower bound of the error of the server's TSC frequency, in ppm; NAN if unknown. */
static double
certain_frequency_ppm(void)
{
	const CounterFrequency *calibrated = calibrated_tsc_frequency();

	if (calibrated->calibrated_hz <= 0)
		return NAN;
	return Max(fabs(server_tsc_hz() / calibrated->calibrated_hz - 1) * 1e6 -
			   calibrated->calibrated_bound_ppm, 0);
}

/*
 * Fills in the table of criteria from the facts.  A check that does not apply has the figure 0, and
 * passes.  A check whose figure could not be measured has NAN, and fails.
 */
void
clock_criteria(const Facts *facts, Criterion criteria[N_CHECKS])
{
	const SurveyedClock *server = &facts->clocks[INSTR_TIME];
	const SurveyedClock *rate = clock_of_worst_rate(facts);
	const Skew *skew = &facts->skew;
	bool		skew_known = facts->why_no_skew == NULL;
	bool		by_tsc = server_times_by_tsc() && clock_is_available(&facts->clocks[RDTSC]);
	bool		has_frequency = by_tsc && server_tsc_hz() > 0;
	bool		no_rate = rate_is_unseen(facts);
	bool		no_jumps = jumps_are_unseen(facts);
	const char *self_reference = psprintf("not known: %s is the same clock", reference_name);
	const char *not_by_tsc = "the server reads the system clock, not the TSC";
	const Criterion table[N_CHECKS] = {
		[CHECK_COST] = {
			"cost", server->cost.ns, facts->expensive_ns, "ns",
			psprintf("a reading of instr_time, which is %s", clock_of_explain())
		},
		[CHECK_BACKWARD_STEPS] = {
			"backward_steps", facts->backward_steps.count, 0, "steps", facts->backward_steps.names
		},
		[CHECK_WARPS] = {
			"warps", no_jumps ? NAN : facts->warps.count, 0, "jumps",
			no_jumps ? self_reference : facts->warps.names
		},
		[CHECK_LAGS] = {
			"lags", no_jumps ? NAN : facts->lags.count, 0, "times",
			no_jumps ? self_reference : facts->lags.names
		},
		[CHECK_DRIFT] = {
			"drift", no_rate ? NAN : certain_rate_ppm(rate), RATE_PPM, "ppm",
			no_rate ? self_reference :
			psprintf("rate error of %s %+.1f ppm, uncertainty at most %.1f ppm", rate->source->name, rate_ppm(rate),
					 rate_bound_ppm(rate))
		},
		/* a difference shorter than a reading is harmless */
		[CHECK_SKEW] = {
			"skew", skew_known ? Max(skew->certain, skew->warp_max) * skew->tick_ns : NAN,
			skew_known && skew->ncpus > 1 ? skew->reading_ns : 0, "ns",
			!skew_known ? facts->why_no_skew :
			skew->ncpus < 2 ? "there is one CPU only" :
			psprintf("the largest offset is that of CPU %d, between %+.0f and %+.0f ns", skew->worst->cpu,
					 skew->worst->result.offset_min * skew->tick_ns,
					 skew->worst->result.offset_max * skew->tick_ns)
		},
		/* no limit, because gaps are no fault of the clock */
		[CHECK_GAPS] = {"gaps", facts->lost_percent, INFINITY, "percent", gaps_in_words(facts)},
		[CHECK_TSC_FREQUENCY] = {
			"tsc_frequency", has_frequency ? certain_frequency_ppm() : 0, RATE_PPM, "ppm",
			has_frequency ? "error of the server's TSC frequency" : not_by_tsc
		},
		[CHECK_INVARIANT_TSC] = {
			"invariant_tsc", by_tsc && !tsc_cpuid()->invariant, 0, "clocks",
			by_tsc ? "the server reads the TSC, whose rate may change" : not_by_tsc
		},
	};

	memcpy(criteria, table, sizeof(table));
}
