/* Waits in a long run, with progress reports.  A cancellation takes effect within 20 ms. */
#ifndef CLOCKTIMING_WAIT_H
#define CLOCKTIMING_WAIT_H

#include "server/progress.h"

typedef struct Wait
{
	Progress	progress;

	/* called when a progress report is due; must call progress_report() */
	void		(*report) (void *arg, double elapsed_s);

	/* called after each sleep but the last; limits sleeps to 1 ms; or NULL */
	void		(*awake) (void *arg);
	void	   *arg;
} Wait;

/* Starts a run of at most total_s seconds, with "awake" set to NULL. */
extern void wait_start(Wait *wait, const char *label, double total_s,
					   void (*report) (void *arg, double elapsed_s), void *arg);

/* Checks for interrupts and reports progress.  For phases of a run without waits. */
extern void wait_poll(Wait *wait, double elapsed_s);

/* Waits for due_s seconds of the run to pass, or up to 60 us more; returns whether it slept. */
extern bool wait_until(Wait *wait, double due_s);

/* Waits for the process latch, but at most timeout_ms, and resets the latch. */
extern void wait_latch(long timeout_ms);

/* Sleeps for the given number of seconds, but at most 1 ms. */
extern void wait_briefly(double seconds);

#endif							/* CLOCKTIMING_WAIT_H */
