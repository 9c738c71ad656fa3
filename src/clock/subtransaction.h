/*-------------------------------------------------------------------------
 *
 * subtransaction.h
 *	  Work in a subtransaction: that may fail, or that is undone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SUBTRANSACTION_H
#define CLOCKTIMING_SUBTRANSACTION_H

/*
 * Both call work(arg) in the caller's memory context, so that what the work
 * allocates stays, and leave that and the resource owner as they were.  Not
 * while a parallel plan is being executed.
 */

/*
 * Returns NULL, or the message of the error that the work has failed by and
 * that has undone it.  An error that is not the work's own (a cancel or a
 * shutdown, memory at an end, a failed assertion) is thrown again.
 */
extern char *subtransaction_attempt(void (*work) (void *arg), void *arg);

/* Rolls the work back, whether it fails or not; an error is thrown again. */
extern void subtransaction_undone(void (*work) (void *arg), void *arg);

#endif							/* CLOCKTIMING_SUBTRANSACTION_H */
