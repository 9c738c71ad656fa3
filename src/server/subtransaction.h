/* Calls a function in a subtransaction, which is rolled back after an error, or always. */
#ifndef CLOCKTIMING_SUBTRANSACTION_H
#define CLOCKTIMING_SUBTRANSACTION_H

/*
 * The two functions below call work(arg) in the caller's memory context, so that its allocations
 * survive, and restore that context and the resource owner.  They must not be called during a
 * parallel plan.
 */

/*
 * Returns NULL if the work succeeded; else rolls it back and returns the error message.  Rethrows
 * errors that the work did not cause: cancellation, shutdown, failed assertions.
 */
extern char *subtransaction_attempt(void (*work) (void *arg), void *arg);

/* Rolls the work back in any case; rethrows its error. */
extern void subtransaction_undone(void (*work) (void *arg), void *arg);

#endif							/* CLOCKTIMING_SUBTRANSACTION_H */
