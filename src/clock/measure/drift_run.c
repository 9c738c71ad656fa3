/*
 * The drift of a clock against a reference, and the advance of several clocks.
 *
 * An observation is the narrowest of several brackets (see drift_run.h).  Up to 1000 observations,
 * called pairs, determine the drift: the slope of the least-squares line of the clock's lead over
 * the reference's advance (fit()).  Further observations after each sleep serve only to find steps
 * of the clock (jumps.h).  Steps are counted, and subtracted from all later leads before the line
 * is fitted: a step of 1 ms would otherwise change the drift of a run of 10 s by some
 * 100 ppm.
 */
#include "postgres.h"

#include <math.h>

#include "utils/memutils.h"

#include "clock/measure/drift_run.h"
#include "core/stats.h"
#include "server/wait.h"

/* Limits of the number of pairs, evenly spaced.  A run is prolonged until it has MIN_PAIRS. */
#define MAX_PAIRS		1000
#define MIN_PAIRS		30

/* Number of batches for the confidence interval, and its confidence level. */
#define BATCHES			10
#define CONFIDENCE		0.95

/* Ratio of a bracket's width to the median width, above which the bracket is rejected. */
#define WIDE_BRACKET	1.5

/* Maximum number of brackets per observation.  A narrow enough bracket ends the observation. */
#define BRACKETS		9

typedef struct DriftRun
{
	Wait		wait;
	ComparedClock clock;
	const ClockReference *reference;
	double		resolutions_ns; /* sum of both clocks' resolutions */

	/* the n pairs so far; pairs[n] collects steps after the last pair */
	int			n;
	JumpsPair	pairs[MAX_PAIRS + 1];
	double		stepped_ns;		/* sum of steps so far */

	Jumps		jumps;
	int64		number;			/* observations so far */
	ReferencePair last;			/* latest observation */
	double		last_backward_ns;
} DriftRun;

typedef struct MonitorRun
{
	Wait		wait;
	int64		edge;			/* number of the current interval, from 1 */
	int64		edges;			/* number of intervals */
} MonitorRun;

static void
note_backward_step(void *arg, uint64_t reading)
{
	ComparedClock *clock = arg;

	if (clock->has_last && (int64) (reading - clock->last) < 0)
	{
		double		step_ns = (clock->last - reading) * clock->tick_ns;

		clock->backward_steps++;
		clock->backward_max_ns = Max(clock->backward_max_ns, step_ns);
		clock->backward_ns += step_ns;
	}
	clock->last = reading;
	clock->has_last = true;
}

/* Returns whether the reference went backwards within the bracket. */
static bool
bracket_is_reversed(const ReferencePair *pair)
{
	return pair->width_ns > PG_INT64_MAX;
}

static ReferencePair
compare(ComparedClock *clock, const ClockReference *reference)
{
	uint64		good_ns = clock->narrowest_ns == UINT64_MAX ? 0 :
		clock->narrowest_ns + clock->narrowest_ns / 8;
	ReferencePair pair = reference_pair(reference->ns, clock->source->reader->read,
										BRACKETS, good_ns,
										note_backward_step, clock);

	clock->narrowest_ns = Min(clock->narrowest_ns, pair.width_ns);
	return pair;
}

static void
compare_first(ComparedClock *clock, const ClockSource *source,
			  const ClockReference *reference)
{
	memset(clock, 0, sizeof(*clock));
	clock->source = source;
	clock->tick_ns = 1e9 / clock_source_hz(source, NULL);
	clock->narrowest_ns = UINT64_MAX;
	clock->first = compare(clock, reference);
}

/* Returns the clock's advance.  Subtracts integers: as doubles, times since 1970 lose digits. */
static double
clock_advance_ns(const ComparedClock *clock, const ReferencePair *from, const ReferencePair *to)
{
	return (double) (int64) (to->reading - from->reading) * clock->tick_ns;
}

static double
reference_advance_ns(const ReferencePair *from, const ReferencePair *to)
{
	return (double) (int64) (to->reference_ns - from->reference_ns);
}

static void
report_drift(void *arg, double elapsed_s)
{
	DriftRun   *run = arg;
	const JumpsPair *last = &run->pairs[Max(run->n - 1, 0)];
	double		ppm = last->time_ns > 0 ?
		(last->lead_ns - run->stepped_ns) / last->time_ns * 1e6 : 0;

	progress_report(&run->wait.progress, elapsed_s, "drift so far %.3f ppm", ppm);
}

static void
step_found(void *arg, const JumpsInterval *interval, double size_ns, double bound_ns)
{
	DriftRun   *run = arg;
	JumpsPair  *pair = &run->pairs[run->n];

	while (pair > run->pairs && pair[-1].number >= interval->number)
		pair--;
	pair->step_ns += size_ns;
	pair->doubt_ns += bound_ns;
	run->stepped_ns += size_ns;
}

static double
pair_bound_ns(const DriftRun *run, const ReferencePair *pair)
{
	return bracket_is_reversed(pair) ? INFINITY : (run->resolutions_ns + pair->width_ns) / 2;
}

/*
 * Adds the interval since the previous observation to the search for steps.  Skips an observation
 * during which the reference went backwards, because its time is unknown.
 */
static void
find_steps(DriftRun *run, const ReferencePair *pair)
{
	const ComparedClock *clock = &run->clock;
	const ClockSource *source = clock->source;

	/* a CPU time clock stands still while the process sleeps */
	if (bracket_is_reversed(pair) || source->kind == CLOCK_CPU_TIME)
		return;
	if (run->number > 0)
	{
		JumpsInterval interval;

		interval.number = run->number;
		interval.passed_ns = reference_advance_ns(&run->last, pair);
		interval.lead_ns = clock_advance_ns(clock, &run->last, pair) - interval.passed_ns;
		interval.doubt_ns = pair_bound_ns(run, pair) + pair_bound_ns(run, &run->last) +
			clock_source_slack_ns(source);
		interval.backward_ns = clock->backward_ns - run->last_backward_ns;
		jumps_add(&run->jumps, &interval);
	}
	run->number++;
	run->last = *pair;
	run->last_backward_ns = clock->backward_ns;
}

static void
observe_when_awake(void *arg)
{
	DriftRun   *run = arg;
	ReferencePair pair = compare(&run->clock, run->reference);

	find_steps(run, &pair);
}

static void
keep_pair(DriftRun *run, const ReferencePair *pair)
{
	JumpsPair  *kept = &run->pairs[run->n];

	find_steps(run, pair);
	kept->time_ns = reference_advance_ns(&run->clock.first, pair);
	kept->lead_ns = clock_advance_ns(&run->clock, &run->clock.first, pair) - kept->time_ns;
	kept->bound_ns = pair_bound_ns(run, pair);
	kept->number = run->number - 1;
	run->n++;
}

static void
take_pairs(DriftRun *run, double duration_s)
{
	double		step_s = duration_s / (MAX_PAIRS - 1);
	double		due_s = 0;

	for (;;)
	{
		ReferencePair pair = run->n == 0 ? run->clock.first : compare(&run->clock, run->reference);
		double		elapsed_s;

		keep_pair(run, &pair);
		elapsed_s = progress_elapsed_s(&run->wait.progress);
		if (run->n == MAX_PAIRS || (elapsed_s >= duration_s && run->n >= MIN_PAIRS))
			break;

		/* skips pairs missed by a delay; the last pair is at the very end */
		due_s = Max(due_s + step_s, elapsed_s);
		wait_until(&run->wait, Min(due_s, duration_s));
	}
}

/* Subtracts the steps from all later leads, and adds the uncertainty of their sizes. */
static void
subtract_steps(DriftRun *run)
{
	double		stepped_ns = 0;
	double		doubt_ns = 0;

	for (int i = 0; i < run->n; i++)
	{
		run->pairs[i].lead_ns -= stepped_ns += run->pairs[i].step_ns;
		run->pairs[i].doubt_ns = doubt_ns += run->pairs[i].doubt_ns;
	}
}

/* Keeps the pairs with an undisturbed bracket; returns the median width. */
static double
reject_wide_brackets(DriftRun *run, double reference_resolution_ns, double *work)
{
	double		median_ns;
	int			kept = 0;

	for (int i = 0; i < run->n; i++)
		work[i] = 2 * run->pairs[i].bound_ns - run->resolutions_ns;
	median_ns = stats_median(work, run->n);
	for (int i = 0; i < run->n; i++)
	{
		/* undisturbed widths may differ by the reference's resolution */
		double		limit_ns = WIDE_BRACKET * median_ns + reference_resolution_ns;

		if (!isinf(run->pairs[i].bound_ns) &&
			2 * run->pairs[i].bound_ns - run->resolutions_ns <= limit_ns)
			run->pairs[kept++] = run->pairs[i];
	}
	run->n = kept;
	return isinf(median_ns) ? NAN : median_ns;
}

/*
 * Fits a line through the pairs.  Sets *half_width to the larger of two estimates of half of the
 * confidence interval of the slope.  One is from the scatter of batches of pairs.  The other one is
 * a bound from the brackets' widths and the uncertainty of the steps.  A delay before or after the
 * reading widens the bracket, and moves its middle by at most half of the delay (Mills, IEEE
 * Transactions on Communications 39(10), 1991, on NTP's clock filter).  The bound is needed because
 * delays that last for the whole run cause no scatter.
 */
static StatsLine
fit(const DriftRun *run, double *half_width, double *work)
{
	int			n = run->n;
	double	   *time_ns = work;
	double	   *lead_ns = work + n;
	double	   *bound_ns = work + 2 * n;
	double		least_ns;
	double		by_batches;
	double		by_brackets;

	for (int i = 0; i < n; i++)
	{
		time_ns[i] = run->pairs[i].time_ns;
		lead_ns[i] = run->pairs[i].lead_ns;
		bound_ns[i] = run->pairs[i].bound_ns;
	}
	least_ns = stats_min(bound_ns, n);
	for (int i = 0; i < n; i++)
		bound_ns[i] += run->pairs[i].doubt_ns + run->resolutions_ns / 2 - least_ns;
	by_batches = stats_line_half_width(time_ns, lead_ns, n, BATCHES, CONFIDENCE);
	by_brackets = stats_line_bound(time_ns, bound_ns, n);
	*half_width = isnan(by_batches) || isnan(by_brackets) ? NAN : Max(by_batches, by_brackets);
	return stats_line(time_ns, lead_ns, n);
}

static double
reference_resolution_ns(const ClockReference *reference)
{
	const ClockSource *source = clock_source_find(reference->name);

	return source == NULL ? 1 : clock_source_resolution_ns(source);
}

/*
 * Observes the clock, subtracts its steps, rejects disturbed pairs, and fits the line through the
 * others.  Of a coarse clock, neighbouring intervals show no rate, because it advances in none or
 * in few of them.  So its steps are found by the nominal rate, and it is not searched for long
 * stretches.
 */
Drift
drift_run(const ClockSource *source, const ClockReference *reference, double duration_s)
{
	DriftRun   *run = palloc0(sizeof(DriftRun));
	double	   *work = palloc(sizeof(double) * 3 * MAX_PAIRS);
	double		resolution_ns = reference_resolution_ns(reference);
	double		half_width;
	StatsLine	line;
	Drift		drift;

	run->reference = reference;
	run->resolutions_ns = clock_source_resolution_ns(source) + resolution_ns;
	run->jumps.nominal = source->kind == CLOCK_COARSE;
	run->jumps.found = step_found;
	run->jumps.arg = run;
	wait_start(&run->wait, source->name, duration_s, report_drift, run);
	run->wait.awake = observe_when_awake;
	compare_first(&run->clock, source, reference);
	take_pairs(run, duration_s);
	drift.duration_s = progress_elapsed_s(&run->wait.progress);

	jumps_end(&run->jumps);
	subtract_steps(run);
	drift.rejected = run->n;
	drift.bracket_ns = reject_wide_brackets(run, resolution_ns, work);
	drift.pairs = run->n;
	drift.rejected -= run->n;
	if (source->kind == CLOCK_FINE)
		jumps_subtract_stretches(&run->jumps, run->pairs, run->n, work);
	line = fit(run, &half_width, work);

	drift.clock = run->clock;
	drift.rate_ppm = line.slope * 1e6;
	drift.margin_ppm = half_width * 1e6;
	drift.residual_max_ns = line.residual_max;
	/* observations may show a larger step than successive readings */
	drift.backward_max_ns = Max(run->clock.backward_max_ns, run->jumps.backward_max_ns);
	drift.warps = run->jumps.warps;
	drift.lags = run->jumps.lags;
	pfree(work);
	pfree(run);
	return drift;
}

static void
report_monitor(void *arg, double elapsed_s)
{
	MonitorRun *run = arg;

	progress_report(&run->wait.progress, elapsed_s,
					"%lld of %lld intervals",
					(long long) run->edge - 1, (long long) run->edges);
}

static void
put_advance(ComparedClock *clock, const ClockReference *reference, double elapsed_s,
			void (*put) (void *arg, const ClockAdvance *advance), void *arg)
{
	ReferencePair pair = compare(clock, reference);
	ClockAdvance advance = {elapsed_s, clock->source, .lead_ns = NAN, .bracket_ns = NAN};

	advance.advance_ns = clock_advance_ns(clock, &clock->first, &pair);
	if (!bracket_is_reversed(&pair) && !bracket_is_reversed(&clock->first))
	{
		advance.lead_ns = advance.advance_ns - reference_advance_ns(&clock->first, &pair);
		advance.bracket_ns = (double) pair.width_ns;
	}
	put(arg, &advance);
}

/*
 * Waits for the end of each interval, and compares all clocks with the reference.  Intervals end at
 * multiples of every_s, so that delays do not add up.
 */
ComparedClock *
monitor_run(List *sources, const ClockReference *reference, double duration_s, double every_s,
			void (*put) (void *arg, const ClockAdvance *advance), void *arg)
{
	ComparedClock *clocks = palloc(sizeof(ComparedClock) * list_length(sources));
	MemoryContext per_edge = AllocSetContextCreate(CurrentMemoryContext, "clock_monitor rows",
												   ALLOCSET_SMALL_SIZES);
	ListCell   *cell;
	MonitorRun	run;

	run.edge = 1;
	/* corrects rounding errors: 0.3 / 0.1 is slightly less than 3 */
	run.edges = (int64) floor(duration_s / every_s * (1 + 1e-12));
	wait_start(&run.wait, "clock_monitor", run.edges * every_s, report_monitor, &run);
	foreach(cell, sources)
		compare_first(&clocks[foreach_current_index(cell)], lfirst(cell), reference);

	while (run.edge <= run.edges)
	{
		MemoryContext old_context;
		double		elapsed_s;

		wait_until(&run.wait, run.edge * every_s);
		elapsed_s = progress_elapsed_s(&run.wait.progress);
		old_context = MemoryContextSwitchTo(per_edge);
		for (int i = 0; i < list_length(sources); i++)
			put_advance(&clocks[i], reference, elapsed_s, put, arg);
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(per_edge);

		/* missed intervals are skipped */
		run.edge = Max(run.edge + 1, (int64) floor(elapsed_s / every_s) + 1);
	}
	MemoryContextDelete(per_edge);
	return clocks;
}
