/*-------------------------------------------------------------------------
 *
 * clock_throttled.c
 *	  Throttled runs: readings at random instants, and sleep in between, so
 *	  that a production server hardly notices.
 *
 * The schedule is kept: an instant is due when the gaps before it are over,
 * however late those before it were taken.  An instant that is due already
 * when the one before it is done is taken at once; there is no sleep before
 * it, so it has no cold reading.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <sys/resource.h>

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "core/random.h"
#include "core/reference.h"
#include "functions/args.h"
#include "functions/clock_throttled.h"
#include "functions/row.h"

PG_FUNCTION_INFO_V1(clock_throttled);

/* less of the rate than this is worth a warning */
#define REACHED			0.95

/* Instants that a pause has delayed by more than this are left out. */
#define LATE_AFTER_PAUSE_S 0.01

double
cpu_time_s(void)
{
	struct rusage usage;

	/* cannot fail: the arguments are valid */
	(void) getrusage(RUSAGE_SELF, &usage);
	return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		(double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double
elapsed_s(const ThrottledRun *throttled)
{
	return (double) (int64) (reference_ns() - throttled->run->start.reference_ns) / 1e9;
}

void
throttled_prepare(ThrottledRun *throttled, SamplerRun *run,
				  RunProgress *progress, double rate)
{
	const ClockSource *tsc = clock_source_find("rdtscp");

	memset(throttled, 0, sizeof(*throttled));
	throttled->run = run;
	throttled->progress = progress;
	throttled->rate = rate;
	throttled->cold = palloc(sizeof(Tally));
	throttled->late = palloc(sizeof(Tally));
	throttled_clear(throttled);

	/*
	 * The TSC by itself needs nothing that a sleep could push out of a cache.
	 * (Its calibration is part of the set-up.)
	 */
	if (tsc != NULL && tsc->why_not(tsc) == NULL)
	{
		const char *from;

		run->stopwatch = tsc->reader->read;
		run->stopwatch_hz = tsc->frequency_hz(tsc, &from);
	}
	else
	{
		run->stopwatch = reference_ns;
		run->stopwatch_hz = 1e9;
	}
}

static void
next_instant(ThrottledRun *throttled)
{
	throttled->due_s += random_exponential(&throttled->random) / throttled->rate;
}

void
throttled_begin(ThrottledRun *throttled)
{
	throttled->progress->wait.progress.start_ns = throttled->run->start.reference_ns;
	throttled->random = pg_prng_uint64(&pg_global_prng_state) | 1;
	next_instant(throttled);
}

void
throttled_clear(ThrottledRun *throttled)
{
	tally_init(throttled->cold);
	tally_init(throttled->late);
	throttled->instants = 0;
}

void
throttled_resume(ThrottledRun *throttled)
{
	double		elapsed = elapsed_s(throttled);

	while (throttled->due_s < elapsed - LATE_AFTER_PAUSE_S)
	{
		CHECK_FOR_INTERRUPTS();
		next_instant(throttled);
	}
}

static void
take_instant(ThrottledRun *throttled, bool slept)
{
	double		due_ns = throttled->due_s * 1e9;
	SamplerInstant instant;
	double		late_ns;

	sampler_instant(throttled->run, &instant);
	late_ns = (double) (int64) (instant.at_ns - throttled->run->start.reference_ns) - due_ns;
	/* what is not known of the moment may make it a little early */
	tally_add(throttled->late, (uint64) Max(rint(late_ns), 0), 1);
	if (slept)
		tally_add(throttled->cold, (uint64) rint(instant.first_ns), 1);
	throttled->sampled_s += instant.all_ns / 1e9;
	throttled->instants++;
}

void
throttled_until(ThrottledRun *throttled, double until_s)
{
	for (;;)
	{
		double		due_s = throttled->due_s;
		bool		slept = wait_until(&throttled->progress->wait, Min(due_s, until_s));

		/* one that was slept for is taken even if the wait was too long */
		if (due_s >= until_s || (!slept && elapsed_s(throttled) >= until_s))
			break;
		take_instant(throttled, slept);
		next_instant(throttled);
	}
}

void
throttled_warn(const ThrottledRun *throttled, const char *source,
			   int64 instants, double elapsed)
{
	double		missing = (elapsed - throttled->due_s) * throttled->rate;

	if (instants == 0)
		ereport(WARNING,
				(errmsg("no reading of clock source \"%s\" was due", source),
				 errdetail("The duration is %g seconds, the rate %g a second.",
						   elapsed, throttled->rate),
				 errhint("Choose a longer duration or a higher rate.")));
	else if (missing > 0 && (double) instants < REACHED * ((double) instants + missing))
		ereport(WARNING,
				(errmsg("the rate of %g a second could not be reached", throttled->rate),
				 errdetail("Clock source \"%s\" was read at %.0f instants a second.",
						   source, (double) instants / elapsed)));
}

ClockSample *
measure_throttled_by_arguments(FunctionCallInfo fcinfo, ThrottledRun *throttled)
{
	SamplerRun *run = palloc0(sizeof(SamplerRun));
	RunProgress progress;
	const ClockSource *source;
	ClockSample *sample;
	TimestampTz started_at;
	double		duration_s = arg_duration(fcinfo, 1);
	double		rate = arg_rate(fcinfo, 2);
	double		cpu_s;

	source = arg_source(fcinfo, 0);

	prepare_run(run, source);
	throttled_prepare(throttled, run, &progress, rate);
	run_progress_start(&progress, run, source->name, duration_s);

	started_at = GetCurrentTimestamp();
	sampler_begin(run);
	/* set-up apart, what came before is not to be in it */
	sampler_clear(run);
	throttled_begin(throttled);
	cpu_s = cpu_time_s();
	throttled_until(throttled, duration_s);
	cpu_s = cpu_time_s() - cpu_s;
	sampler_end(run);
	throttled->cpu_percent = cpu_s / run->elapsed_s * 100;

	sample = sample_from_run(run);
	sample->source = source->name;
	sample->clock = source->reads(source);
	sample->started_at = started_at;
	pfree(run->tally);
	run->tally = NULL;
	warn_of_sample(source, sample, throttled->sampled_s, NATURAL_STALL_THROTTLED);
	throttled_warn(throttled, source->name, throttled->instants, duration_s);
	return sample;
}

/* Mean, median, 99 % quantile and maximum, in "unit" ticks. */
static void
put_figures(Row *row, const TallyEntry *entries, int n, double tick, int decimals)
{
	static const double quantiles[] = {0.5, 0.99, 1};
	uint64		total = 0;
	double		sum = 0;

	for (int i = 0; i < n; i++)
	{
		total += entries[i].count;
		sum += (double) entries[i].count * (double) entries[i].ticks;
	}
	row_put_number(row, total > 0 ? sum / (double) total * tick : NAN, decimals);
	for (int i = 0; i < (int) lengthof(quantiles); i++)
		row_put_number(row, total > 0 ?
					   (double) tally_quantile(entries, n, total, quantiles[i]) * tick : NAN,
					   decimals);
}

static void
put_tally(Row *row, const Tally *tally, double tick, int decimals)
{
	TallyEntry *entries = palloc(sizeof(TallyEntry) * (tally_distinct(tally) + 1));

	put_figures(row, entries, tally_export(tally, entries), tick, decimals);
	pfree(entries);
}

Datum
clock_throttled(PG_FUNCTION_ARGS)
{
	ThrottledRun throttled;
	ClockSample *sample = measure_throttled_by_arguments(fcinfo, &throttled);
	Row			row = row_of_result(fcinfo);

	row_put_text(&row, sample->source);
	row_put_text(&row, sample->clock);
	row_put_count(&row, throttled.instants);
	row_put_count(&row, (int64) tally_moments(throttled.cold).count);
	row_put_number(&row, (double) throttled.instants / sample->duration_s, 3);
	put_tally(&row, throttled.cold, 1, 2);
	put_figures(&row, sample->entries, sample->n, sample_ns(sample, 1), 2);
	put_tally(&row, throttled.late, 1e-3, 3);
	row_put_number(&row, throttled.cpu_percent, 4);
	return row_result(&row);
}
