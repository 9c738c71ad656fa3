/*
 * Progress reports of long runs, as NOTICEs.  Reports are due at multiples of
 * clocktiming.progress_interval after the start, so that a late report does not delay the next one.
 */
#include "postgres.h"

#include <math.h>

#include "compat.h"
#include "core/reference.h"
#include "server/progress.h"

int			progress_interval_ms = 15000;

void
progress_start(Progress *progress, const char *label, double total_s)
{
	progress->label = label;
	progress->start_ns = reference_ns();
	progress->total_s = total_s;
	progress->next_s = progress_interval_ms / 1000.0;
}

double
progress_elapsed_s(const Progress *progress)
{
	return (double) (int64) (reference_ns() - progress->start_ns) / 1e9;
}

bool
progress_due(const Progress *progress, double elapsed_s)
{
	return progress_interval_ms > 0 && elapsed_s >= progress->next_s;
}

void
progress_report(Progress *progress, double elapsed_s, const char *format, ...)
{
	double		interval_s = progress_interval_ms / 1000.0;
	char		detail[1024];
	va_list		args;

	va_start(args, format);
	vsnprintf(detail, sizeof(detail), _(format), args);
	va_end(args);
	ereport(NOTICE,
			(errmsg("progress: %s: %.1f s elapsed, %.1f s remaining, %s",
					progress->label, elapsed_s,
					Max(progress->total_s - elapsed_s, 0.0), detail)));

	/* several intervals may have passed, for example if the clock jumped */
	if (progress->next_s <= elapsed_s)
		progress->next_s += interval_s * (floor((elapsed_s - progress->next_s) / interval_s) + 1);
}
