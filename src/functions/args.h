/*-------------------------------------------------------------------------
 *
 * args.h
 *	  Arguments of SQL functions, with an ERROR for those that make no sense.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_ARGS_H
#define CLOCKTIMING_ARGS_H

#include "fmgr.h"

#include "clock/source.h"

/* ERROR if the argument is NULL, which "name" calls it. */
extern void check_not_null(FunctionCallInfo fcinfo, int argno, const char *name);

/* ERROR unless it is a number of seconds that makes sense for a run. */
extern void check_duration(double duration_s);

/* ERROR unless it is an interval, in seconds, that such a run can have. */
extern void check_every(double every_s, double duration_s);

/* ERROR if the reference is the source itself. */
extern void check_reference(const ClockReference *reference, const ClockSource *source);

/* Columns of a picture in text. */
#define MIN_PLOT_WIDTH	60
#define MAX_PLOT_WIDTH	1000

/* ERROR unless it is between these. */
extern void check_plot_width(int64 width);

/* The arguments that have these names, checked, and not null. */
extern const ClockSource *arg_source(FunctionCallInfo fcinfo, int argno);
extern double arg_duration(FunctionCallInfo fcinfo, int argno);
extern double arg_every(FunctionCallInfo fcinfo, int argno, double duration_s);
extern double arg_rate(FunctionCallInfo fcinfo, int argno);
extern double arg_cutoff(FunctionCallInfo fcinfo, int argno);

/* A text that is not null. */
extern char *arg_text(FunctionCallInfo fcinfo, int argno, const char *name);

/* ERROR unless the library was preloaded, so that there is shared memory. */
extern void require_preloaded(bool ready);

#endif							/* CLOCKTIMING_ARGS_H */
