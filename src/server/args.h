/* Checks arguments of SQL functions, and whose executions the caller may see. */
#ifndef CLOCKTIMING_ARGS_H
#define CLOCKTIMING_ARGS_H

#include "fmgr.h"
#include "utils/guc.h"

#include "core/stats.h"

extern void check_not_null(FunctionCallInfo fcinfo, int argno, const char *name);

/* Returns a double.  Raises an ERROR if it is NULL. */
extern double arg_double(FunctionCallInfo fcinfo, int argno, const char *name);

/* Returns a duration in seconds.  Raises an ERROR if it is NULL or invalid. */
extern double arg_duration(FunctionCallInfo fcinfo, int argno);

/* Converts a confidence, a numeric in percent.  Raises an ERROR unless it is in [50, 100). */
extern ConfidenceLevel arg_confidence(FunctionCallInfo fcinfo, int argno);

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

/* Notifies the reader of an empty view that nothing is recorded, because the setting is off. */
extern void notice_setting_is_off(const char *setting);

/*
 * Warns that a setting has no effect unless "ready".  For check hooks, whose argument "source" is.
 * Does not warn about values in configuration files, which each new session would repeat.
 */
extern void warn_unless_preloaded(const char *setting, bool ready, GucSource source);

#endif							/* CLOCKTIMING_ARGS_H */
