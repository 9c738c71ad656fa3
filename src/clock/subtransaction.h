/* Executes work in a subtransaction that may fail, or is always rolled back. */
#ifndef CLOCKTIMING_SUBTRANSACTION_H
#define CLOCKTIMING_SUBTRANSACTION_H

/*
 * Both functions call work(arg) in the caller's memory context, so that its allocations survive,
 * and restore that context and the resource owner.  They must not be called during a parallel plan.
 */

/*
 * Returns NULL, or the message of the error after which the work was rolled back.  Rethrows errors
 * that are not the work's own: cancellation, shutdown, out of memory, failed assertions.
 */
extern char *subtransaction_attempt(void (*work) (void *arg), void *arg);

/* Rolls the work back in any case; rethrows its error. */
extern void subtransaction_undone(void (*work) (void *arg), void *arg);

#endif							/* CLOCKTIMING_SUBTRANSACTION_H */
