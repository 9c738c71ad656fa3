/*
 * Measures the cost of a reading in batches of readings.
 *
 * The reference clock is read before and after a batch.  A batch is much longer than these two
 * readings, whose own time is subtracted, and much shorter than a time slice, so that most batches
 * are undisturbed.  Disturbances only make a batch longer.  So the cost of an undisturbed reading
 * is the mean of the fastest batches (stats_undisturbed()), and the median of all batches is the
 * typical cost on this machine (stats_typical()).  Several clocks are measured in turns, so that a
 * disturbance affects all of them alike.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"

#include "clock/measure/reading_cost.h"
#include "core/reference.h"
#include "core/stats.h"
#include "server/progress.h"

/* Least duration of a batch in ns, much longer than a reading of the reference clock. */
#define BATCH_NS		40000.0
#define MAX_BATCH		65536
#define MIN_BATCHES		10
#define MAX_BATCHES		20000

/* Maximum number of batches per sample.  A longer sample keeps only its latest batches. */
#define SAMPLE_BATCHES	1000

/* Returns the time of n readings, without the time of reading the reference clock. */
static double
batch_ns(const ClockSource *source, int n, double bracket_ns)
{
	uint64		start = reference_ns();

	if (source == NULL)
		(void) os_system_calls(n);
	else
		(void) source->reader->repeat(n);
	return (double) (reference_ns() - start) - bracket_ns;
}

/* Returns the shortest time between two readings of the reference clock. */
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

	/* code that is executed for the first time is slow */
	(void) batch_ns(source, n, bracket_ns);

	/* measures three times, because an interrupt may lengthen a batch */
	while (n < MAX_BATCH && (batch_ns(source, n, bracket_ns) < BATCH_NS ||
							 batch_ns(source, n, bracket_ns) < BATCH_NS ||
							 batch_ns(source, n, bracket_ns) < BATCH_NS))
		n *= 2;
	return n;
}

/* Measures the series in turns, in rotating order, so that a disturbance affects all of them. */
int
reading_cost_samples(CostSeries *series, int n, int most, double duration_s, const char *label)
{
	double		bracket_ns = empty_bracket_ns();
	double	   *batches = palloc(sizeof(double) * n * SAMPLE_BATCHES);
	double		elapsed_s;
	int			round = 0;
	int			sample;
	Progress	progress;

	for (int i = 0; i < n; i++)
	{
		series[i].batch = batch_size(series[i].source, bracket_ns);
		series[i].ns = palloc(sizeof(double) * most);
		CHECK_FOR_INTERRUPTS();
	}
	progress_start(&progress, label, duration_s);
	elapsed_s = 0;
	for (sample = 0; sample < most; sample++)
	{
		double		until_s = elapsed_s + (duration_s - elapsed_s) / (most - sample);
		int			rounds = 0;

		if (label == NULL && sample >= MIN_BATCHES && elapsed_s >= duration_s)
			break;
		do
		{
			if (label != NULL && progress_due(&progress, elapsed_s))
				progress_report(&progress, elapsed_s, "%d of %d samples", sample, most);
			for (int turn = 0; turn < n; turn++)
			{
				int			i = (round + turn) % n;

				/* overwrites the oldest batch of a long sample */
				batches[i * SAMPLE_BATCHES + rounds % SAMPLE_BATCHES] =
					batch_ns(series[i].source, series[i].batch, bracket_ns) / series[i].batch;
				CHECK_FOR_INTERRUPTS();
			}
			round = (round + 1) % n;
			rounds++;
			elapsed_s = progress_elapsed_s(&progress);
		} while (label != NULL && elapsed_s < until_s);
		for (int i = 0; i < n; i++)
			series[i].ns[sample] =
				stats_median(&batches[i * SAMPLE_BATCHES], Min(rounds, SAMPLE_BATCHES));
	}
	pfree(batches);
	return sample;
}

/*
 * Measures all sources in turns, so that a disturbance affects all of them.  The source
 * NULL stands for a system call.
 */
void
reading_costs(const ClockSource *const *sources, int n, double duration_s,
			  int most_batches, ReadingCost *costs)
{
	CostSeries *series = palloc(sizeof(CostSeries) * n);
	double	   *work;
	int			batches;

	for (int i = 0; i < n; i++)
		series[i].source = sources[i];
	batches = reading_cost_samples(series, n, most_batches, duration_s, NULL);
	work = palloc(sizeof(double) * batches);
	for (int i = 0; i < n; i++)
	{
		costs[i].ns = stats_undisturbed(series[i].ns, batches, &costs[i].margin_ns, work);
		costs[i].typical_ns = stats_typical(series[i].ns, batches, &costs[i].typical_margin_ns);
		if (sources[i] == NULL && !os_system_calls(0))
			costs[i].ns = costs[i].typical_ns = NAN;
		pfree(series[i].ns);
	}
	pfree(work);
	pfree(series);
}

ReadingCost
reading_cost(const ClockSource *source, double duration_s)
{
	ReadingCost cost;

	reading_costs(&source, 1, duration_s, MAX_BATCHES, &cost);
	return cost;
}
