/* Checks arguments of SQL functions about clocks. */
#ifndef CLOCKTIMING_CLOCK_ARGS_H
#define CLOCKTIMING_CLOCK_ARGS_H

#include "fmgr.h"

#include "clock/measure/source.h"

/* Raises an ERROR if the clock source would be its own reference clock. */
extern void check_reference(const ClockReference *reference, const ClockSource *source);

/* Each function arg_x() returns argument x.  Raises an ERROR if x is NULL or invalid. */
extern const ClockSource *arg_source(FunctionCallInfo fcinfo, int argno);
extern double arg_every(FunctionCallInfo fcinfo, int argno, double duration_s);
extern double arg_rate(FunctionCallInfo fcinfo, int argno);
extern double arg_cutoff(FunctionCallInfo fcinfo, int argno);

/*
 * Returns the clock sources in an array.  If the array contains all sources, skips unavailable
 * sources and the reference clock (NULL: there is no reference clock).
 */
extern List *arg_sources(FunctionCallInfo fcinfo, int argno, const ClockReference *reference);

/*
 * Replaces argument "argno", a text that names clock sources, by an array of these names.  The text
 * is a list separated by commas, with or without the braces of an array literal.
 */
extern void split_sources(FunctionCallInfo fcinfo, int argno);

#endif							/* CLOCKTIMING_CLOCK_ARGS_H */
