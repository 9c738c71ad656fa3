/*-------------------------------------------------------------------------
 *
 * wait.h
 *	  Waiting in a long run, with reports of progress.  All of it can be
 *	  cancelled, within 20 ms at worst.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_WAIT_H
#define CLOCKTIMING_WAIT_H

#include "clock/progress.h"

/* A long run, whose time is that of its progress. */
typedef struct Wait
{
	Progress	progress;

	/* sends a progress_report(), which is due */
	void		(*report) (void *arg, double elapsed_s);

	/*
	 * May be NULL.  Otherwise no sleep is longer than 1 ms, and this is
	 * called after each of them but the last.
	 */
	void		(*awake) (void *arg);
	void	   *arg;
} Wait;

/* Starts the run, which takes total_s at most, and sets "awake" to NULL. */
extern void wait_start(Wait *wait, const char *label, double total_s,
					   void (*report) (void *arg, double elapsed_s), void *arg);

/* To be called wherever nothing is waited for: interrupts, progress. */
extern void wait_poll(Wait *wait, double elapsed_s);

/*
 * Waits until so many seconds of the run are over.  Returns whether it had to
 * sleep.  Sleeps are some 60 us longer than they should be.
 */
extern bool wait_until(Wait *wait, double due_s);

/* Waits for the process latch, so many ms at most, and resets it. */
extern void wait_latch(long timeout_ms);

/* Sleeps for so long, but for 1 ms at most. */
extern void wait_briefly(double seconds);

#endif							/* CLOCKTIMING_WAIT_H */
