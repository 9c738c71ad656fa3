/* Executes work for a query that must not write, or whose writes are rolled back. */
#ifndef CLOCKTIMING_PLAN_GUARD_H
#define CLOCKTIMING_PLAN_GUARD_H

/*
 * Calls work(arg) for the query of this text, and rolls its effects back if "undone".  Raises an
 * error if it writes without may_write.  Error positions refer to the text.
 */
extern void guarded_work(const char *text, bool may_write, bool undone,
						 void (*work) (void *arg), void *arg);

/* Error context callback: lets an error's position refer to this text. */
extern void error_in_text(void *text);

#endif							/* CLOCKTIMING_PLAN_GUARD_H */
