/*-------------------------------------------------------------------------
 *
 * clock_survey.c
 *	  All clocks side by side: clock_survey().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"

#include "clock_measure.h"
#include "progress.h"
#include "reference.h"
#include "row.h"
#include "stats.h"

PG_FUNCTION_INFO_V1(clock_survey);

/*
 * What reading costs: so many batches, of about so long, of each clock, but no
 * more than half of the time goes into them.
 */
#define BATCHES			400
#define MIN_BATCHES		10
#define COST_SHARE		0.5
#define BATCH_NS		40000.0
#define MAX_BATCH		65536

/* The fastest batches, whose mean counts, as for executions in executor.c. */
#define FASTEST_SHARE	50
#define FASTEST_MIN		5
#define CONFIDENCE		0.95

/* A clock is not read by a system call if it costs less than this share. */
#define SYSTEM_CALL_SHARE 0.9

/* A warp of the survey, in ns: the one of clockperf. */
#define WARP_NS			1e6

/* The longest to wait for a clock that has not ticked, in ns: a second does. */
#define TICK_NS			1.1e9

typedef struct ReadingCost
{
	int			batch;			/* readings in a batch */
	double		ns[BATCHES];	/* per reading, batch by batch */
	double		mean_ns;		/* of the fastest */
	double		error_ns;		/* half of its 95 % confidence interval */
} ReadingCost;

typedef struct SurveyedClock
{
	const ClockSource *source;
	const char *why_not;		/* NULL if it is available */
	ClockReference reference;
	ReadingCost		cost;
	SamplerRun	run;
	double		observed_ns;	/* smallest advance; NAN if it always advances */
} SurveyedClock;

/* Makes n of what a cost is of. */
static void
do_repeat(const ClockSource *source, int n)
{
	if (source == NULL)
		(void) os_system_calls(n);
	else
		(void) source->reader->repeat(n);
}

/* How long n of them take, the reference clock's own reading taken off. */
static double
batch_ns(const ClockSource *source, int n, double bracket_ns)
{
	uint64		start = reference_ns();

	do_repeat(source, n);
	return (double) (reference_ns() - start) - bracket_ns;
}

/* The time between two readings of the reference clock in a row. */
static double
empty_bracket_ns(void)
{
	double		shortest = DBL_MAX;

	for (int i = 0; i < 1000; i++)
	{
		uint64		start = reference_ns();

		shortest = Min(shortest, (double) (reference_ns() - start));
	}
	return shortest;
}

static int
batch_size(const ClockSource *source, double bracket_ns)
{
	int			n = 16;

	/* twice, since code that runs for the first time is slow */
	(void) batch_ns(source, n, bracket_ns);
	while (n < MAX_BATCH && batch_ns(source, n, bracket_ns) < BATCH_NS)
		n *= 2;
	return n;
}

static void
sum_up(ReadingCost *cost, int batches)
{
	static const double zeros[BATCHES];
	double		sorted[BATCHES];
	double		work[BATCHES];
	double		limit;
	int			fastest = Max(batches / FASTEST_SHARE, FASTEST_MIN);

	memcpy(sorted, cost->ns, sizeof(double) * batches);
	cost->mean_ns = stats_low_mean(sorted, batches, fastest, &limit);
	cost->error_ns = stats_low_mean_half_width(cost->ns, limit, zeros, 0, batches,
											   fastest, CONFIDENCE, work);
}

/*
 * What a reading of each clock costs, and what a system call does: batches by
 * turns, since others may disturb the processor for tenths of a second.
 */
static void
measure_costs(SurveyedClock *clocks, int n, ReadingCost *system_call,
			  double duration_s)
{
	double		bracket_ns = empty_bracket_ns();
	uint64		start = reference_ns();
	int			rounds = 0;

	for (int i = 0; i < n; i++)
	{
		if (clocks[i].why_not == NULL)
			clocks[i].cost.batch = batch_size(clocks[i].source, bracket_ns);
		CHECK_FOR_INTERRUPTS();
	}
	system_call->batch = batch_size(NULL, bracket_ns);

	while (rounds < MIN_BATCHES ||
		   (rounds < BATCHES && (reference_ns() - start) / 1e9 < duration_s))
	{
		for (int i = 0; i <= n; i++)
		{
			const ClockSource *source = i < n ? clocks[i].source : NULL;
			ReadingCost	   *cost = i < n ? &clocks[i].cost : system_call;

			if (i < n && clocks[i].why_not != NULL)
				continue;
			cost->ns[rounds] = batch_ns(source, cost->batch, bracket_ns) / cost->batch;
			CHECK_FOR_INTERRUPTS();
		}
		rounds++;
	}
	for (int i = 0; i < n; i++)
	{
		if (clocks[i].why_not == NULL)
			sum_up(&clocks[i].cost, rounds);
	}
	sum_up(system_call, rounds);
}

static void
check_interrupts(void *arg, double elapsed_s)
{
	(void) arg;
	(void) elapsed_s;
	CHECK_FOR_INTERRUPTS();
}

/* Waits for the clock's next tick and returns its size, NAN if none comes. */
static double
next_tick_ns(const SamplerRun *run, double longest_ns)
{
	uint64		start = reference_ns();
	uint64		before = run->reader->read();

	while ((double) (reference_ns() - start) < longest_ns)
	{
		uint64		now = run->reader->read();

		if ((int64) (now - before) > 0)
			return (now - before) * 1e9 / run->frequency_hz;
		pg_usleep(1000);
		CHECK_FOR_INTERRUPTS();
	}
	return get_float8_nan();
}

/* What the clock does in so many seconds, and its next tick if it takes longer. */
static void
watch(SurveyedClock *clock, double duration_s, double longest_s)
{
	SamplerRun *run = &clock->run;
	TallyEntry *entries;
	int			n;

	prepare_run(run, clock->source);
	run->duration_s = duration_s;
	run->least_warp_ns = WARP_NS;
	run->reference = clock->reference.ns;
	run->between_blocks = check_interrupts;
	sampler_run(run);

	/* what advances on every reading may do so by less still */
	entries = palloc(sizeof(TallyEntry) * (tally_distinct(run->tally) + 1));
	n = tally_export(run->tally, entries);
	if (n > 0 && entries[0].ticks > 0)
		clock->observed_ns = get_float8_nan();
	else if (n > 1)
		clock->observed_ns = entries[1].ticks * 1e9 / run->frequency_hz;
	else
		clock->observed_ns = next_tick_ns(run, Min(TICK_NS, longest_s * 1e9));
	pfree(entries);
}

/* How it is read, judged by what that costs; NULL if there is no knowing. */
static const char *
read_by(const SurveyedClock *clock, const ReadingCost *system_call)
{
	if (clock_source_is_instruction(clock->source))
		return "instruction";
	if (!os_system_calls(0))
		return NULL;
	return clock->cost.mean_ns < SYSTEM_CALL_SHARE * system_call->mean_ns ?
		"vDSO" : "system call";
}

static void
put_clock(FunctionCallInfo fcinfo, const SurveyedClock *clock, const ReadingCost *system_call)
{
	const ClockSource *source = clock->source;
	const SamplerRun *run = &clock->run;
	const ReadingCost *cost = &clock->cost;
	Row			row = row_of_set(fcinfo);
	int64		stalls;

	row_put_text(&row, source->name);
	if (clock->why_not != NULL)
	{
		while (row.natts < row.tupdesc->natts - 1)
			row_put_null(&row);
		row_put_text(&row, clock->why_not);
		row_to_set(&row, fcinfo);
		return;
	}
	stalls = run->tally->direct[0][0] + run->tally->direct[1][0];

	row_put_number(&row, cost->mean_ns, 2);
	row_put_number(&row, cost->error_ns / cost->mean_ns * 100, 2);
	row_put_text(&row, read_by(clock, system_call));
	row_put_number(&row, run->resolution_ns, 2);
	row_put_number(&row, clock->observed_ns, 2);
	row_put_number(&row, 1e9 / clock->observed_ns, 0);
	row_put_number(&row, run->granularity_ticks > 0 ? run->granularity_ticks : get_float8_nan(), 2);
	row_put_bool(&row, stalls == 0 && run->tally->backward_steps == 0 && run->warps.count == 0);
	row_put_count(&row, run->tally->failures);
	row_put_count(&row, run->warps.count);
	row_put_count(&row, stalls);
	row_put_count(&row, run->tally->backward_steps);
	row_put_count(&row, run->gaps.count);
	row_put_text(&row, source->reads(source));
	row_put_text(&row, clock->reference.name);
	row_put_null(&row);
	row_to_set(&row, fcinfo);
}

Datum
clock_survey(PG_FUNCTION_ARGS)
{
	List	   *sources;
	ClockReference kernel = clock_reference_get(REFERENCE_BY_DEFAULT);
	ClockReference reference;
	SurveyedClock *clocks;
	ReadingCost	   *system_call = palloc0(sizeof(ReadingCost));
	Tally	   *tally = palloc(sizeof(Tally));
	Progress	progress;
	double		duration_s;
	double		left_s;
	uint64		start;
	int			n;
	int			available = 0;
	bool		all;

	check_not_null(fcinfo, 0, "sources");
	check_not_null(fcinfo, 1, "reference");
	check_not_null(fcinfo, 2, "duration");
	sources = clock_sources_of_array(PG_GETARG_ARRAYTYPE_P(0));
	reference = clock_reference_get(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	duration_s = PG_GETARG_FLOAT8(2);
	check_duration(duration_s);

	n = list_length(sources);
	all = n == clock_source_count();
	clocks = palloc0(sizeof(SurveyedClock) * n);
	for (int i = 0; i < n; i++)
	{
		SurveyedClock *clock = &clocks[i];

		clock->source = list_nth(sources, i);
		clock->why_not = clock->source->why_not(clock->source);
		if (clock->why_not == NULL)
			available++;
		/* a clock cannot be its own reference, but all are asked for */
		if (all && strcmp(clock->source->name, reference.name) == 0)
			clock->reference = kernel;
		else
			clock->reference = reference;
		check_reference(&clock->reference, clock->source);
	}

	InitMaterializedSRF(fcinfo, 0);
	progress_start(&progress, "clock_survey", duration_s);
	start = reference_ns();
	measure_costs(clocks, n, system_call, duration_s * COST_SHARE);
	left_s = Max(duration_s - (reference_ns() - start) / 1e9, 0.001);

	for (int i = 0; i < n; i++)
	{
		double		elapsed_s = (reference_ns() - start) / 1e9;

		if (clocks[i].why_not == NULL)
		{
			clocks[i].run.tally = tally;
			if (progress_due(&progress, elapsed_s))
				progress_report(&progress, elapsed_s, "at clock source \"%s\"",
								clocks[i].source->name);
			watch(&clocks[i], left_s / available, duration_s);
		}
		put_clock(fcinfo, &clocks[i], system_call);
	}
	return (Datum) 0;
}
