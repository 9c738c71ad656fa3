/*-------------------------------------------------------------------------
 *
 * clock_drift.c
 *	  Clocks compared with a reference over a longer time: clock_drift(),
 *	  which fits a rate, and clock_monitor(), which lists advances.
 *
 * Both look at a clock now and then and sleep in between, so they take next to
 * no CPU time.  A look is a reading between two of the reference, of several
 * the one with the narrowest bracket.  A drift is told by up to 1000 looks; it
 * takes more of them, one a sleep, to find steps of the clock, which are
 * counted and left out of the drift.  All times to wait for are those of the
 * kernel's clock, whatever the reference is, lest one that stands still make a
 * run that never ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "clock/progress.h"
#include "clock/source.h"
#include "core/jumps.h"
#include "core/reference.h"
#include "core/stats.h"
#include "functions/args.h"
#include "functions/row.h"

PG_FUNCTION_INFO_V1(clock_drift);
PG_FUNCTION_INFO_V1(clock_monitor);

/* pairs of a drift, evenly spread; few where there is hardly time for any */
#define MAX_PAIRS		1000
#define MIN_PAIRS		30

/* batches for the interval, and its confidence */
#define BATCHES			10
#define CONFIDENCE		0.95

/* a bracket wider than this times the median was disturbed */
#define WIDE_BRACKET	1.5

/*
 * Rates of one clock may differ by so much from each other: NTP steers it by up
 * to 500 ppm either way.  So many pairs tell its usual rate.
 */
#define STEERED_RATE	1000e-6
#define MIN_STRETCHES	10

/* ticks that a coarse clock may be late: see clock_measure.c */
#define COARSE_SLACK	25

/* brackets tried for one pair, unless one is about as narrow as any before */
#define BRACKETS		9

/*
 * A sleep takes some 60 us longer than it is told to, so shorter waits are
 * spent awake.  Sleeping no longer than this a time, a cancel takes effect at
 * once even where it does not interrupt a sleep.
 */
#define AWAKE_NS		100000
#define LONGEST_SLEEP_NS 1000000

/* A clock that is compared. */
typedef struct ComparedClock
{
	const ClockSource *source;
	double		tick_ns;
	ReferencePair first;
	uint64		narrowest_ns;	/* bracket so far; UINT64_MAX: none */
	bool		has_last;
	uint64		last;			/* latest reading, of any bracket */
	int64		backward_steps;
	uint64		backward_max_ticks;
	double		backward_ticks; /* sum */
} ComparedClock;

/* A run, as far as waiting is concerned. */
typedef struct Comparison
{
	uint64		start_ns;
	Progress	progress;

	/* reports how far it has come */
	void		(*report) (struct Comparison *comparison, double elapsed_s);

	/* called after each sleep but the last; may be NULL */
	void		(*awake) (struct Comparison *comparison);
} Comparison;

typedef struct Drift
{
	Comparison	comparison;
	ComparedClock clock;
	ClockReference reference;
	double		resolutions_ns; /* of both */
	int			n;				/* pairs so far, whose ... */
	double	   *time_ns;		/* ... advance of the reference, ... */
	double	   *lead_ns;		/* ... clock's advance less that, ... */
	double	   *width_ns;		/* ... bracket's width ... */
	int64	   *look;			/* ... and look these are */

	/* steps of the clock between a pair and the one before, and their bounds */
	double	   *step_ns;
	double	   *doubt_ns;
	double		stepped_ns;		/* sum so far */

	/* looks for them */
	Jumps		jumps;
	int64		looks;
	ReferencePair last;			/* the latest look */
	double		last_backward_ticks;
} Drift;

typedef struct Monitor
{
	Comparison	comparison;
	int64		edge;			/* the next one to come */
	int64		edges;
} Monitor;

static double
elapsed_s(const Comparison *comparison)
{
	return (reference_ns() - comparison->start_ns) / 1e9;
}

static void
comparison_start(Comparison *comparison, const char *label, double duration_s,
				 void (*report) (Comparison *comparison, double elapsed_s),
				 void (*awake) (Comparison *comparison))
{
	comparison->report = report;
	comparison->awake = awake;
	progress_start(&comparison->progress, label, duration_s);
	comparison->start_ns = reference_ns();
}

/* Waits until that many seconds of the run are over, if they are not yet. */
static void
wait_until(Comparison *comparison, double due_s)
{
	for (;;)
	{
		double		elapsed = elapsed_s(comparison);
		double		left_ns = (due_s - elapsed) * 1e9;

		CHECK_FOR_INTERRUPTS();
		if (progress_due(&comparison->progress, elapsed))
			comparison->report(comparison, elapsed);
		if (left_ns <= 0)
			break;
		if (left_ns > AWAKE_NS)
		{
			pg_usleep((long) (Min(left_ns, LONGEST_SLEEP_NS) / 1000));
			/* what is waited for is a look itself */
			if (comparison->awake != NULL &&
				due_s - elapsed_s(comparison) > AWAKE_NS / 1e9)
				comparison->awake(comparison);
		}
	}
}

/* A clock may go backwards in any of its readings. */
static void
look_for_backward_step(void *arg, uint64_t reading)
{
	ComparedClock *clock = arg;

	if (clock->has_last && (int64) (reading - clock->last) < 0)
	{
		clock->backward_steps++;
		clock->backward_max_ticks = Max(clock->backward_max_ticks,
										clock->last - reading);
		clock->backward_ticks += (double) (clock->last - reading);
	}
	clock->last = reading;
	clock->has_last = true;
}

/* Whether the reference went backwards between its two readings. */
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
										look_for_backward_step, clock);

	clock->narrowest_ns = Min(clock->narrowest_ns, pair.width_ns);
	return pair;
}

static void
compare_first(ComparedClock *clock, const ClockSource *source,
			  const ClockReference *reference)
{
	const char *from;

	memset(clock, 0, sizeof(*clock));
	clock->source = source;
	clock->tick_ns = 1e9 / source->frequency_hz(source, &from);
	clock->narrowest_ns = UINT64_MAX;
	clock->first = compare(clock, reference);
}

/*
 * Advances since the first pair.  Subtracted as integers, so that times since
 * 1970 lose no digits.
 */
static double
clock_advance_ns(const ComparedClock *clock, const ReferencePair *pair)
{
	return (double) (int64) (pair->reading - clock->first.reading) * clock->tick_ns;
}

static double
reference_advance_ns(const ComparedClock *clock, const ReferencePair *pair)
{
	return (double) (int64) (pair->reference_ns - clock->first.reference_ns);
}

/* The largest is known better where a drift has been told: judged_ns. */
static double
backward_max_ns(const ComparedClock *clock, double judged_ns)
{
	return Max(clock->backward_max_ticks * clock->tick_ns, judged_ns);
}

static void
warn_of_backward_steps(const ComparedClock *clock, double judged_ns)
{
	if (clock->backward_steps > 0)
		ereport(WARNING,
				(errmsg("clock source \"%s\" went backwards", clock->source->name),
				 errdetail("Backward steps: " INT64_FORMAT ", the largest of %.0f ns.",
						   clock->backward_steps,
						   backward_max_ns(clock, judged_ns))));
}

/* Steps ahead or back are findings, and no part of the drift. */
static void
warn_of_steps(const Drift *drift, const JumpsCount *steps, const char *message, const char *kind)
{
	if (steps->count > 0)
		ereport(WARNING,
				(errmsg(message, drift->clock.source->name),
				 errdetail("%s: " INT64_FORMAT ", the largest of %.0f ns.", kind, steps->count, steps->max_ns),
				 strcmp(drift->reference.name, REFERENCE_BY_DEFAULT) == 0 ? 0 :
				 errhint("Compare \"%s\" with %s: it may be the one that is wrong.",
						 drift->reference.name, REFERENCE_BY_DEFAULT)));
}

static void
report_drift(Comparison *comparison, double elapsed)
{
	Drift	   *drift = (Drift *) comparison;
	double		ppm = 0;

	if (drift->n > 1 && drift->time_ns[drift->n - 1] > 0)
		ppm = (drift->lead_ns[drift->n - 1] - drift->stepped_ns) /
			drift->time_ns[drift->n - 1] * 1e6;
	progress_report(&comparison->progress, elapsed, "drift so far %.3f ppm", ppm);
}

/* By how much a lead may be wrong that two such brackets tell. */
static double
lead_doubt_ns(const Drift *drift, double width_ns, double other_width_ns)
{
	return drift->resolutions_ns + (width_ns + other_width_ns) / 2;
}

/* A step of the clock, which all pairs from that look on have in their lead. */
static void
step_found(void *arg, const JumpsInterval *interval, double size_ns, double bound_ns)
{
	Drift	   *drift = arg;
	int			i = drift->n;

	while (i > 0 && drift->look[i - 1] >= interval->look)
		i--;
	drift->step_ns[i] += size_ns;
	drift->doubt_ns[i] += bound_ns;
	drift->stepped_ns += size_ns;
}

/* One more look at the clock, which may have stepped since the last. */
static void
look_for_steps(Drift *drift, const ReferencePair *pair)
{
	ComparedClock *clock = &drift->clock;
	const ClockSource *source = clock->source;

	/* CPU time is behind for as long as the process sleeps */
	if (bracket_is_reversed(pair) || source->kind == CLOCK_CPU_TIME)
		return;
	if (drift->looks > 0)
	{
		JumpsInterval interval;

		interval.look = drift->looks;
		interval.passed_ns = (double) (int64) (pair->reference_ns - drift->last.reference_ns);
		interval.lead_ns = (double) (int64) (pair->reading - drift->last.reading) *
			clock->tick_ns - interval.passed_ns;
		interval.doubt_ns = lead_doubt_ns(drift, pair->width_ns, drift->last.width_ns);
		if (source->kind == CLOCK_COARSE)
			interval.doubt_ns += COARSE_SLACK * source->resolution_ns(source);
		interval.backward_ns = (clock->backward_ticks - drift->last_backward_ticks) *
			clock->tick_ns;
		jumps_add(&drift->jumps, &interval);
	}
	drift->looks++;
	drift->last = *pair;
	drift->last_backward_ticks = clock->backward_ticks;
}

static void
look_when_awake(Comparison *comparison)
{
	Drift	   *drift = (Drift *) comparison;
	ReferencePair pair = compare(&drift->clock, &drift->reference);

	look_for_steps(drift, &pair);
}

static void
keep_pair(Drift *drift, const ReferencePair *pair)
{
	look_for_steps(drift, pair);
	drift->time_ns[drift->n] = reference_advance_ns(&drift->clock, pair);
	drift->lead_ns[drift->n] = clock_advance_ns(&drift->clock, pair) -
		drift->time_ns[drift->n];
	drift->width_ns[drift->n] = bracket_is_reversed(pair) ?
		INFINITY : (double) pair->width_ns;
	drift->look[drift->n] = drift->looks - 1;
	drift->n++;
}

static void
take_pairs(Drift *drift, double duration_s)
{
	double		step_s = duration_s / (MAX_PAIRS - 1);
	double		due_s = 0;

	for (;;)
	{
		ReferencePair pair = drift->n == 0 ? drift->clock.first :
			compare(&drift->clock, &drift->reference);
		double		elapsed;

		keep_pair(drift, &pair);
		elapsed = elapsed_s(&drift->comparison);
		if (drift->n == MAX_PAIRS || (elapsed >= duration_s && drift->n >= MIN_PAIRS))
			break;

		/* what is missed is missed; the last pair is one at the very end */
		due_s = Max(due_s + step_s, elapsed);
		wait_until(&drift->comparison, Min(due_s, duration_s));
	}
}

/*
 * Takes the steps found off all leads after them.  What is not known of their
 * sizes is not known of these.
 */
static void
take_off_steps(Drift *drift)
{
	double		stepped_ns = 0;
	double		doubt_ns = 0;

	for (int i = 0; i < drift->n; i++)
	{
		stepped_ns += drift->step_ns[i];
		doubt_ns += drift->doubt_ns[i];
		drift->lead_ns[i] -= stepped_ns;
		drift->doubt_ns[i] = doubt_ns;
	}
}

/*
 * Stretches of many looks in which the clock ran at quite another rate than
 * usual, as one does that was frozen: no look differs from those around it
 * there, but all do from most others.  Taken off as steps are.
 */
static void
take_off_stretches(Drift *drift)
{
	double	   *rates = palloc(sizeof(double) * Max(drift->n, 1));
	double	   *doubts = palloc(sizeof(double) * Max(drift->n, 1));
	double		rate;
	double		rate_doubt;
	double		stepped_ns = 0;
	double		doubt_ns = 0;
	int			n = 0;

	for (int i = 1; i < drift->n; i++)
	{
		double		passed_ns = drift->time_ns[i] - drift->time_ns[i - 1];

		if (passed_ns == 0)
			continue;
		rates[n] = (drift->lead_ns[i] - drift->lead_ns[i - 1]) / passed_ns;
		doubts[n] = lead_doubt_ns(drift, drift->width_ns[i], drift->width_ns[i - 1]) /
			fabs(passed_ns);
		n++;
	}
	if (n < MIN_STRETCHES || drift->clock.source->kind != CLOCK_FINE)
		return;
	rate = stats_median(rates, n);
	rate_doubt = stats_median(doubts, n);
	pfree(rates);
	pfree(doubts);

	for (int i = 1; i < drift->n; i++)
	{
		JumpsInterval interval = {.look = i};
		double		lead_ns = drift->lead_ns[i] - stepped_ns;
		double		excess_ns;
		double		bound_ns;

		interval.passed_ns = drift->time_ns[i] - drift->time_ns[i - 1];
		/* the one before is corrected already */
		interval.lead_ns = lead_ns - drift->lead_ns[i - 1];
		excess_ns = interval.lead_ns - rate * interval.passed_ns;
		bound_ns = JUMPS_LEAST_NS +
			lead_doubt_ns(drift, drift->width_ns[i], drift->width_ns[i - 1]) +
			drift->doubt_ns[i] - drift->doubt_ns[i - 1] +
			fabs(interval.passed_ns) * (STEERED_RATE + rate_doubt);
		if (fabs(excess_ns) > bound_ns)
		{
			jumps_count(&drift->jumps, &interval, excess_ns, bound_ns);
			stepped_ns += excess_ns;
			doubt_ns += bound_ns;
			lead_ns -= excess_ns;
		}
		else
			jumps_pass(&drift->jumps, &interval, bound_ns);
		drift->lead_ns[i] = lead_ns;
		drift->step_ns[i] = doubt_ns;
	}
	/* bounds are sums of sums, so not added to while they are compared */
	for (int i = 1; i < drift->n; i++)
		drift->doubt_ns[i] += drift->step_ns[i];
}

/*
 * Leaves the pairs whose bracket is not much wider than usual, and returns the
 * median width.
 */
static double
reject_wide_brackets(Drift *drift, double resolution_ns)
{
	double	   *widths = palloc(sizeof(double) * drift->n);
	double		median_ns;
	double		limit_ns;
	int			kept = 0;

	memcpy(widths, drift->width_ns, sizeof(double) * drift->n);
	median_ns = stats_median(widths, drift->n);
	pfree(widths);
	/* equal brackets may differ by the reference's resolution */
	limit_ns = WIDE_BRACKET * median_ns + resolution_ns;
	for (int i = 0; i < drift->n; i++)
	{
		if (isinf(drift->width_ns[i]) || drift->width_ns[i] > limit_ns)
			continue;
		drift->time_ns[kept] = drift->time_ns[i];
		drift->lead_ns[kept] = drift->lead_ns[i];
		drift->width_ns[kept] = drift->width_ns[i];
		drift->doubt_ns[kept] = drift->doubt_ns[i];
		kept++;
	}
	drift->n = kept;
	return isinf(median_ns) ? NAN : median_ns;
}

/*
 * Half of the width of the interval of the rate, in ns per ns.
 *
 * The larger of two.  By batches: what is seen to scatter.  By brackets: a
 * delay that makes a bracket wider than the narrowest one comes either before
 * or after the reading, and moves the middle by half of it at most (Mills,
 * IEEE Transactions on Communications 39(10), 1991, on NTP's clock filter).
 * Such delays come in phases that may last as long as the run does, so that
 * nothing need be seen of them.  What is not known of the sizes of steps comes
 * on top.
 */
static double
rate_half_width(const Drift *drift)
{
	double		narrowest_ns = stats_min(drift->width_ns, drift->n);
	double	   *bound = palloc(sizeof(double) * Max(drift->n, 1));
	double		by_batches = stats_line_half_width(drift->time_ns,
												   drift->lead_ns, drift->n,
												   BATCHES, CONFIDENCE);
	double		by_brackets;

	for (int i = 0; i < drift->n; i++)
		bound[i] = (drift->width_ns[i] - narrowest_ns + drift->resolutions_ns) / 2 +
			drift->doubt_ns[i];
	by_brackets = stats_line_bound(drift->time_ns, bound, drift->n);
	pfree(bound);
	if (isnan(by_batches) || isnan(by_brackets))
		return NAN;
	return Max(by_batches, by_brackets);
}

static double
reference_resolution_ns(const ClockReference *reference)
{
	const ClockSource *source = clock_source_find(reference->name);

	return source == NULL ? 1 : source->resolution_ns(source);
}

Datum
clock_drift(PG_FUNCTION_ARGS)
{
	Drift	   *drift = palloc0(sizeof(Drift));
	Row			row = row_of_result(fcinfo);
	const ClockSource *source;
	ClockReference reference;
	double		duration_s;
	double		resolution_ns;
	double		median_ns;
	double		error_ppm;
	int			pairs;
	StatsLine	line;

	check_not_null(fcinfo, 0, "source");
	check_not_null(fcinfo, 1, "reference");
	check_not_null(fcinfo, 2, "duration");
	duration_s = PG_GETARG_FLOAT8(2);
	check_duration(duration_s);
	source = clock_source_get(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	reference = clock_reference_get(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	check_reference(&reference, source);
	resolution_ns = reference_resolution_ns(&reference);

	drift->reference = reference;
	drift->resolutions_ns = source->resolution_ns(source) + resolution_ns;
	drift->jumps.nominal = source->kind == CLOCK_COARSE;
	drift->jumps.found = step_found;
	drift->jumps.arg = drift;
	drift->time_ns = palloc(sizeof(double) * MAX_PAIRS);
	drift->lead_ns = palloc(sizeof(double) * MAX_PAIRS);
	drift->width_ns = palloc(sizeof(double) * MAX_PAIRS);
	drift->look = palloc(sizeof(int64) * MAX_PAIRS);
	/* a step may come after the last pair */
	drift->step_ns = palloc0(sizeof(double) * (MAX_PAIRS + 1));
	drift->doubt_ns = palloc0(sizeof(double) * (MAX_PAIRS + 1));
	comparison_start(&drift->comparison, source->name, duration_s, report_drift,
					 look_when_awake);
	compare_first(&drift->clock, source, &reference);
	take_pairs(drift, duration_s);
	duration_s = elapsed_s(&drift->comparison);

	jumps_end(&drift->jumps);
	take_off_steps(drift);
	pairs = drift->n;
	median_ns = reject_wide_brackets(drift, resolution_ns);
	drift->jumps.found = NULL;
	drift->jumps.event_look = 0;
	drift->jumps.unexplained_ns = 0;
	take_off_stretches(drift);
	line = stats_line(drift->time_ns, drift->lead_ns, drift->n);
	error_ppm = rate_half_width(drift) * 1e6;

	row_put_text(&row, source->name);
	row_put_text(&row, reference.name);
	row_put_text(&row, source->reads(source));
	row_put_count(&row, drift->n);
	row_put_count(&row, pairs - drift->n);
	row_put_number(&row, duration_s, 3);
	row_put_number(&row, line.slope * 1e6, 4);
	/* rounded up, lest rounding the drift put the truth outside */
	row_put_number(&row, ceil(error_ppm * 1e4 + 0.5) / 1e4, 4);
	row_put_number(&row, line.residual_max, 2);
	row_put_number(&row, median_ns, 0);
	row_put_count(&row, drift->clock.backward_steps);
	row_put_number(&row, backward_max_ns(&drift->clock, drift->jumps.backward_max_ns), 0);
	row_put_count(&row, drift->jumps.warps.count);
	row_put_number(&row, drift->jumps.warps.max_ns, 0);
	row_put_count(&row, drift->jumps.lags.count);
	row_put_number(&row, drift->jumps.lags.max_ns, 0);

	warn_of_backward_steps(&drift->clock, drift->jumps.backward_max_ns);
	warn_of_steps(drift, &drift->jumps.warps,
				  "clock source \"%s\" jumped ahead of the reference clock", "Warps");
	warn_of_steps(drift, &drift->jumps.lags,
				  "clock source \"%s\" fell behind the reference clock", "Lags");
	if (isnan(line.slope))
		ereport(WARNING,
				(errmsg("no drift of clock source \"%s\" can be told", source->name),
				 errdetail("The reference \"%s\" did not advance.", reference.name)));
	return row_result(&row);
}

/* Whether that is an element of the array of names, whatever the case. */
static bool
is_named(ArrayType *array, const char *name)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i] && pg_strcasecmp(TextDatumGetCString(elements[i]), name) == 0)
			return true;
	}
	return false;
}

/*
 * The sources to compare: those named, and where that is "all", those of them
 * which are available and not the reference.
 */
static List *
sources_to_compare(ArrayType *array, const ClockReference *reference)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, clock_sources_of_array(array))
	{
		ClockSource *source = lfirst(cell);

		if (is_named(array, source->name))
		{
			(void) clock_source_get(source->name);
			check_reference(reference, source);
		}
		else if (source->why_not(source) != NULL || strcmp(source->name, reference->name) == 0)
			continue;
		result = lappend(result, source);
	}
	return result;
}

static void
report_monitor(Comparison *comparison, double elapsed)
{
	Monitor    *monitor = (Monitor *) comparison;

	progress_report(&comparison->progress, elapsed,
					INT64_FORMAT " of " INT64_FORMAT " intervals",
					monitor->edge - 1, monitor->edges);
}

static void
put_advance(FunctionCallInfo fcinfo, Row *row, double elapsed,
			const ComparedClock *clock, const ReferencePair *pair)
{
	double		advance_ns = clock_advance_ns(clock, pair);
	bool		unknown = bracket_is_reversed(pair) || bracket_is_reversed(&clock->first);

	row_put_number(row, elapsed, 3);
	row_put_text(row, clock->source->name);
	row_put_number(row, advance_ns / 1e6, 6);
	row_put_number(row, unknown ? NAN :
				   (advance_ns - reference_advance_ns(clock, pair)) / 1e3, 3);
	row_put_number(row, unknown ? NAN : (double) pair->width_ns, 0);
	row_to_set(row, fcinfo);
}

Datum
clock_monitor(PG_FUNCTION_ARGS)
{
	Monitor		monitor;
	ClockReference reference;
	List	   *sources;
	ListCell   *cell;
	ComparedClock *clocks;
	Row			row;
	MemoryContext per_edge;
	MemoryContext old_context;
	double		duration_s;
	double		every_s;

	check_not_null(fcinfo, 0, "sources");
	check_not_null(fcinfo, 1, "duration");
	check_not_null(fcinfo, 2, "every");
	check_not_null(fcinfo, 3, "reference");
	duration_s = PG_GETARG_FLOAT8(1);
	every_s = PG_GETARG_FLOAT8(2);
	check_duration(duration_s);
	check_every(every_s, duration_s);
	reference = clock_reference_get(text_to_cstring(PG_GETARG_TEXT_PP(3)));
	sources = sources_to_compare(PG_GETARG_ARRAYTYPE_P(0), &reference);

	InitMaterializedSRF(fcinfo, 0);
	row = row_of_set(fcinfo);
	per_edge = AllocSetContextCreate(CurrentMemoryContext, "clock_monitor rows",
									 ALLOCSET_SMALL_SIZES);
	clocks = palloc(sizeof(ComparedClock) * list_length(sources));
	monitor.edge = 1;
	/* 0.3 / 0.1 is a little less than 3 */
	monitor.edges = (int64) floor(duration_s / every_s * (1 + 1e-12));
	comparison_start(&monitor.comparison, "clock_monitor",
					 monitor.edges * every_s, report_monitor, NULL);
	foreach(cell, sources)
		compare_first(&clocks[foreach_current_index(cell)], lfirst(cell), &reference);

	while (monitor.edge <= monitor.edges)
	{
		double		elapsed;

		wait_until(&monitor.comparison, monitor.edge * every_s);
		elapsed = elapsed_s(&monitor.comparison);
		old_context = MemoryContextSwitchTo(per_edge);
		for (int i = 0; i < list_length(sources); i++)
		{
			ReferencePair pair = compare(&clocks[i], &reference);

			put_advance(fcinfo, &row, elapsed, &clocks[i], &pair);
		}
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(per_edge);

		/* an edge that was missed is not made up for */
		monitor.edge = Max(monitor.edge + 1, (int64) floor(elapsed / every_s) + 1);
	}
	for (int i = 0; i < list_length(sources); i++)
		warn_of_backward_steps(&clocks[i], 0);
	return (Datum) 0;
}
