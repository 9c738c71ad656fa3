/* Calls functions that execute a query which must not write, or whose writes are rolled back. */
#ifndef CLOCKTIMING_PLAN_GUARD_H
#define CLOCKTIMING_PLAN_GUARD_H

/* The hint of errors about writes. */
#define ALLOW_WRITES_HINT \
	"allow_writes => true executes the statement and rolls each execution back. Changes of sequences and effects outside of the database are not rolled back."

/*
 * Calls work(arg) as this role, and rolls its effects back if "undone".  Raises an error if work()
 * writes although may_write is false.  "text" is the query's text, to which positions in error
 * messages refer.
 */
extern void guarded_work(const char *text, bool may_write, bool undone, Oid role,
						 void (*work) (void *arg), void *arg);

/*
 * Calls work(arg) as this role, with the restrictions under which a materialized view is refreshed.
 * InvalidOid: as the current role, without restrictions.  After an error, the abort of the
 * (sub)transaction ends the restrictions.
 */
extern void work_as_role(Oid role, void (*work) (void *arg), void *arg);

/* Error context callback.  Makes an error's position a position in "text", the query's text. */
extern void error_in_text(void *text);

#endif							/* CLOCKTIMING_PLAN_GUARD_H */
