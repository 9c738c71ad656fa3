/*-------------------------------------------------------------------------
 *
 * plan_guard.h
 *	  Work for a query that may write nothing, or is undone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLAN_GUARD_H
#define CLOCKTIMING_PLAN_GUARD_H

/*
 * Calls work(arg) for the query of this text, and rolls it back if "undone".
 * ERROR if it writes, unless it may.  Errors point into the text.
 */
extern void guarded_work(const char *text, bool may_write, bool undone,
						 void (*work) (void *arg), void *arg);

#endif							/* CLOCKTIMING_PLAN_GUARD_H */
