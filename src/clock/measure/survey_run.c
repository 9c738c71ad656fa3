/*
 * Surveys clocks.
 *
 * Half of the duration is for the cost of a reading, measured for all clocks in turns
 * (reading_cost.c).  The other half is divided equally among the clocks, each of which is sampled
 * (sampler.c) and compared with the reference.
 *
 * The survey also shows the step by which a clock advances.  If each reading advances the clock,
 * its step is unknown.  If a clock stands still between readings, its step is the shortest advance,
 * unless that is so long that the timer interrupt may be its cause: then the process may have been
 * off the CPU for a whole step.  Of such a coarse clock, only steps between two readings that are
 * close to each other count (ATTENDED_SHARE).  If the run has seen too few of them, the clock is
 * read between short sleeps until enough are seen (wait_for_steps()).  The smallest step with which
 * a tenth of all steps agree is the result.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "clock/measure/clock_run.h"
#include "clock/measure/survey_run.h"
#include "core/reference.h"
#include "core/stats.h"
#include "server/progress.h"
#include "server/wait.h"

/* Batches per clock (at most) and share of the duration for measuring the cost of readings. */
#define SURVEY_BATCHES	400
#define COST_SHARE		0.5

/* A reading that costs less than this share of a system call cannot be a system call. */
#define SYSTEM_CALL_SHARE 0.9

/* Longest wait for a step of a clock, in ns.  It suffices for a clock that counts whole seconds. */
#define TICK_NS			1.1e9

/*
 * Largest ratio of this wait to the duration.  By default, the duration is 0.9 s.  So the survey
 * waits for the step of a clock that counts whole seconds, and takes less than 2 s in total.
 */
#define TICK_SHARE		1.1

/*
 * Size, in ns, from which a step may be caused by timer interrupts, at most 1000 per second.  A
 * process that is off the CPU during two interrupts observes two steps as one.  The scheduler acts
 * at the same interrupts, so all observed steps may be double steps.  A step of this size counts
 * only if ATTENDED_SHARE, below, confirms it.  Shorter steps need no confirmation, because enough
 * of them are observed correctly.
 */
#define TIMER_STEP_NS	500000.0

/*
 * A step counts if the time between the readings before and after it is at most this share of the
 * step.  If the readings enclose two steps, that time is at least half of the sum of both steps.
 */
#define ATTENDED_SHARE	(1.0 / 3)

/* Number of remembered steps, share that must agree, and relative difference of agreeing steps. */
#define MAX_STEPS		64
#define FREQUENT_SHARE	0.1
#define STEP_TOLERANCE	0.01

/* Number of steps to wait for.  One is enough if it has the size that the system reports. */
#define ENOUGH_STEPS	3

/* Shortest sleep between two readings of a clock while waiting for its step, in us. */
#define SHORTEST_NAP_US	50.0

typedef struct StepWatch
{
	const SamplerRun *run;
	uint64		before_ns[2];	/* reference time of the last two blocks' ends */
	bool		has_reading;
	uint64		reading;		/* latest reading, if has_reading */
	int64		nsteps;			/* number of steps seen so far */
	double		steps_ns[MAX_STEPS];	/* sizes of the last MAX_STEPS steps */
	bool		as_reported;	/* a step had the size run->resolution_ns */
} StepWatch;

/*
 * Returns the clock's advance since the previous reading, in ns.  Remembers an advance of at least
 * least_ns as a step, if ATTENDED_SHARE confirms it.  before_ns is a time before both readings.
 */
static double
check_for_step(StepWatch *watch, uint64 reading, uint64 before_ns, double least_ns)
{
	double		step_ns = 0;
	double		passed_ns = (double) (reference_ns() - before_ns);

	if (watch->has_reading && (int64) (reading - watch->reading) > 0)
		step_ns = (reading - watch->reading) * 1e9 / watch->run->frequency_hz;
	watch->reading = reading;
	watch->has_reading = true;
	if (step_ns >= least_ns && passed_ns < step_ns * ATTENDED_SHARE)
	{
		watch->steps_ns[watch->nsteps++ % MAX_STEPS] = step_ns;
		if (fabs(step_ns - watch->run->resolution_ns) <= step_ns * STEP_TOLERANCE)
			watch->as_reported = true;
	}
	return step_ns;
}

/* Called between the sampler's blocks.  Uses the sampler's latest reading, to miss no step. */
static void
check_between_blocks(void *arg, double elapsed_s)
{
	StepWatch  *watch = arg;
	uint64		now_ns = reference_ns();

	(void) elapsed_s;
	CHECK_FOR_INTERRUPTS();
	/* before_ns[0] is a time before the previous reading */
	(void) check_for_step(watch, watch->run->last, watch->before_ns[0], TIMER_STEP_NS);
	watch->before_ns[0] = watch->before_ns[1];
	watch->before_ns[1] = now_ns;
}

/* Waits for steps, at most longest_ns.  Reads the clock 16 times per shortest known advance. */
static void
wait_for_steps(StepWatch *watch, double shortest_ns, double longest_ns)
{
	uint64		start = reference_ns();
	uint64		before_ns = start;

	watch->has_reading = false;
	while (watch->nsteps < ENOUGH_STEPS && !watch->as_reported &&
		   (double) (reference_ns() - start) < longest_ns)
	{
		double		nap_us = shortest_ns / 16e3;
		uint64		now_ns;
		double		step_ns;

		/* a very short sleep would take longer than requested */
		wait_briefly(nap_us >= SHORTEST_NAP_US ? nap_us / 1e6 : 0);
		now_ns = reference_ns();
		step_ns = check_for_step(watch, watch->run->reader->read(), before_ns, 0);
		if (step_ns > 0)
			shortest_ns = Min(shortest_ns, step_ns);
		before_ns = now_ns;
	}
}

/*
 * Returns the smallest step with which enough steps agree; NAN if there is no such step.  Prefers
 * small steps, because a late interrupt causes larger ones.
 */
static double
smallest_step(StepWatch *watch)
{
	int			n = (int) Min(watch->nsteps, MAX_STEPS);

	(void) stats_median(watch->steps_ns, n);	/* also sorts them */
	for (int i = 0; i < n; i++)
	{
		int			agreeing = 0;

		for (int j = i; j < n && watch->steps_ns[j] <= watch->steps_ns[i] * (1 + STEP_TOLERANCE);
			 j++)
			agreeing++;
		if (agreeing >= n * FREQUENT_SHARE)
			return watch->steps_ns[i];
	}
	return NAN;
}

/* Returns the step of the clock; NAN if it advances in every reading, or if the step is unknown. */
static double
observed_step_ns(const SurveyedClock *clock, StepWatch *watch, double longest_s)
{
	const SamplerRun *run = &clock->run;
	TallyEntry *entries = palloc(sizeof(TallyEntry) * (tally_distinct(run->tally) + 1));
	int			n = tally_export(run->tally, entries);
	bool		always = n > 0 && entries[0].ticks > 0;
	double		shortest_ns = n > 1 ? entries[1].ticks * 1e9 / run->frequency_hz : INFINITY;

	pfree(entries);

	/*
	 * if each reading advances, the step may be smaller than the shortest
	 * observed advance
	 */
	if (always)
		return NAN;

	/* a process that is off the CPU misses no steps of its CPU time */
	if (shortest_ns < TIMER_STEP_NS ||
		(clock->source->kind == CLOCK_CPU_TIME && !isinf(shortest_ns)))
		return shortest_ns;
	wait_for_steps(watch, shortest_ns, Min(TICK_NS, longest_s * 1e9));
	return smallest_step(watch);
}

/* Samples the clock for duration_s seconds.  Waits up to longest_s for its step, if necessary. */
static void
watch(SurveyedClock *clock, Tally *tally, double least_warp_ns,
	  double duration_s, double longest_s)
{
	SamplerRun *run = &clock->run;
	StepWatch	watch = {.run = run};

	run->tally = tally;
	prepare_sampler(run, clock->source);
	run->duration_s = duration_s;
	run->least_warp_ns = least_warp_ns;
	run->reference = clock->reference.ns;
	run->between_blocks = check_between_blocks;
	run->arg = &watch;
	watch.before_ns[0] = watch.before_ns[1] = reference_ns();
	sampler_run(run);

	clock->observed_ns = observed_step_ns(clock, &watch, longest_s);
	clock->stalls = tally->direct[0][0] + tally->direct[1][0];
	clock->failures = tally->failures;
	clock->backward_steps = tally->backward_steps;
	run->tally = NULL;
	run->arg = NULL;
}

/* Returns how the clock is read, according to the cost of a reading. */
static const char *
read_by(const SurveyedClock *clock, const ReadingCost *system_call)
{
	if (clock_source_is_instruction(clock->source))
		return "instruction";
	if (clock_source_interposed_by(clock->source) != NULL)
		return "library";
	if (isnan(system_call->ns))
		return NULL;
	return clock->cost.ns < SYSTEM_CALL_SHARE * system_call->ns ? "vDSO" : "system call";
}

/*
 * Measures the costs of all available clocks, then samples each of them.  A cheap system call is
 * measured as one more clock, because its cost shows whether reading a clock needs a system call.
 */
void
survey_run(SurveyedClock *clocks, int n, double duration_s, double least_warp_ns,
		   ReadingCost *system_call)
{
	Tally	   *tally = palloc(sizeof(Tally));
	const ClockSource **sources = palloc(sizeof(ClockSource *) * (n + 1));
	ReadingCost *costs = palloc(sizeof(ReadingCost) * (n + 1));
	int			available = 0;
	double		left_s;
	Progress	progress;

	for (int i = 0; i < n; i++)
	{
		clocks[i].why_not = clock_source_why_not(clocks[i].source);
		if (clocks[i].why_not == NULL)
			sources[available++] = clocks[i].source;
	}
	sources[available] = NULL;
	progress_start(&progress, "clock_survey", duration_s);
	reading_costs(sources, available + 1, duration_s * COST_SHARE, SURVEY_BATCHES, costs);
	*system_call = costs[available];
	left_s = Max(duration_s - progress_elapsed_s(&progress), 0.001);

	for (int i = 0, k = 0; i < n; i++)
	{
		double		elapsed_s = progress_elapsed_s(&progress);

		if (clocks[i].why_not != NULL)
			continue;
		if (progress_due(&progress, elapsed_s))
			progress_report(&progress, elapsed_s, "at clock source \"%s\"",
							clocks[i].source->name);
		clocks[i].cost = costs[k++];
		watch(&clocks[i], tally, least_warp_ns, left_s / available, duration_s * TICK_SHARE);
		clocks[i].read_by = read_by(&clocks[i], system_call);
	}
	pfree(tally);
}
