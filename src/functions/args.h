/* Checks arguments of SQL functions, and whose executions the caller may see. */
#ifndef CLOCKTIMING_ARGS_H
#define CLOCKTIMING_ARGS_H

#include "fmgr.h"

#include "clock/source.h"
#include "core/comparison.h"

extern void check_not_null(FunctionCallInfo fcinfo, int argno, const char *name);

/* Raises an ERROR if the clock source would be its own reference clock. */
extern void check_reference(const ClockReference *reference, const ClockSource *source);

/* Each function arg_x() returns argument x.  Raises an ERROR if x is NULL or invalid. */
extern const ClockSource *arg_source(FunctionCallInfo fcinfo, int argno);
extern double arg_duration(FunctionCallInfo fcinfo, int argno);
extern double arg_every(FunctionCallInfo fcinfo, int argno, double duration_s);
extern double arg_rate(FunctionCallInfo fcinfo, int argno);
extern double arg_cutoff(FunctionCallInfo fcinfo, int argno);

/*
 * Returns the clock sources in an array.  If the array contains all sources, skips unavailable
 * sources and the reference clock (NULL: there is no reference clock).
 */
extern List *arg_sources(FunctionCallInfo fcinfo, int argno, const ClockReference *reference);

/* Converts a confidence, a numeric in percent.  Raises an ERROR unless it is in [50, 100). */
extern CompareLevel arg_confidence(FunctionCallInfo fcinfo, int argno);

/* Returns a text.  Raises an ERROR if it is NULL. */
extern char *arg_text(FunctionCallInfo fcinfo, int argno, const char *name);

/* Returns the index of a text among n words, ignoring case.  Raises an ERROR for other texts. */
extern int	arg_choice(FunctionCallInfo fcinfo, int argno, const char *name,
					   const char *const *words, int n, const char *hint);

/*
 * Returns the user whose executions the caller may see: those of statements that were executed with
 * this user's rights.  Returns InvalidOid if the caller may see the executions of all users.
 */
extern Oid	seen_user(void);

/* Raises an ERROR that clocktiming must be preloaded, unless "ready". */
extern void require_preloaded(bool ready);

#endif							/* CLOCKTIMING_ARGS_H */
