/*-------------------------------------------------------------------------
 *
 * progress.h
 *	  Progress of long runs, reported as pgbench reports it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PROGRESS_H
#define CLOCKTIMING_PROGRESS_H

/* clocktiming.progress_interval, in milliseconds; 0: no reports */
extern int	progress_interval_ms;

typedef struct Progress
{
	const char *label;			/* what runs, such as a clock's name */
	uint64		start_ns;		/* on reference_ns() */
	double		total_s;		/* how long it will run at most */
	double		next_s;			/* when to report next */
} Progress;

extern void progress_start(Progress *progress, const char *label,
						   double total_s);

/* Seconds since the start, or since what start_ns was changed to. */
extern double progress_elapsed_s(const Progress *progress);

/* Whether an interval is over, so that progress_report() should be called. */
extern bool progress_due(const Progress *progress, double elapsed_s);

/* Sends a NOTICE: the times, and what "format" makes of the rest. */
extern void progress_report(Progress *progress, double elapsed_s,
							const char *format, ...) pg_attribute_printf(3, 4);

#endif							/* CLOCKTIMING_PROGRESS_H */
