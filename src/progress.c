/*-------------------------------------------------------------------------
 *
 * progress.c
 *	  Progress of long runs, reported as pgbench reports it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "progress.h"

int			progress_interval_ms = 5000;

void
progress_start(Progress *progress, const char *label, double total_s,
			   double frequency_hz)
{
	memset(progress, 0, sizeof(*progress));
	progress->label = label;
	progress->total_s = total_s;
	progress->frequency_hz = frequency_hz;
	progress->next_s = progress_interval_ms / 1000.0;
}

void
progress_tick(Progress *progress, double elapsed_s, const Tally *tally)
{
	TallyMoments now;
	double		count;
	double		mean;
	double		variance;
	double		tick_ns = 1e9 / progress->frequency_hz;

	if (progress_interval_ms <= 0 || elapsed_s < progress->next_s)
		return;

	now = tally_moments(tally);
	count = (double) (now.count - progress->before.count);
	mean = count > 0 ? (now.sum - progress->before.sum) / count : 0;
	variance = count > 0 ?
		(now.sumsq - progress->before.sumsq) / count - mean * mean : 0;
	ereport(NOTICE,
			(errmsg("progress: %s: %.1f s elapsed, %.1f s remaining, mean %.2f ns, stddev %.2f ns",
					progress->label, elapsed_s,
					Max(progress->total_s - elapsed_s, 0.0),
					mean * tick_ns, sqrt(Max(variance, 0)) * tick_ns)));
	progress->before = now;

	/* after a long gap, go on with the next interval that is still to come */
	while (progress->next_s <= elapsed_s)
		progress->next_s += progress_interval_ms / 1000.0;
}
