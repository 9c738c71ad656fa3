/* Progress reports of long runs, in pgbench's style. */
#ifndef CLOCKTIMING_PROGRESS_H
#define CLOCKTIMING_PROGRESS_H

/* Value of clocktiming.progress_interval in ms; 0: no reports. */
extern int	progress_interval_ms;

typedef struct Progress
{
	const char *label;			/* subject of the run, such as a clock's name */
	uint64		start_ns;		/* start of the run, by reference_ns() */
	double		total_s;		/* maximum duration */
	double		next_s;			/* time of the next report */
} Progress;

extern void progress_start(Progress *progress, const char *label, double total_s);

extern double progress_elapsed_s(const Progress *progress);

extern bool progress_due(const Progress *progress, double elapsed_s);

extern void progress_report(Progress *progress, double elapsed_s,
							const char *format, ...) pg_attribute_printf(3, 4);

#endif							/* CLOCKTIMING_PROGRESS_H */
