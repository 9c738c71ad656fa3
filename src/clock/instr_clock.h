/* The clock that this server reads for timing: INSTR_TIME_SET_CURRENT_FAST. */
#ifndef CLOCKTIMING_INSTR_CLOCK_H
#define CLOCKTIMING_INSTR_CLOCK_H

#include "core/sampler.h"

extern const ClockReader reader_instr_time;

/* Returns whether the server times by the TSC now: EXPLAIN ANALYZE by RDTSC, the rest by RDTSCP. */
extern bool server_times_by_tsc(void);

/* Returns whether it would do so with timing_clock_source = auto. */
extern bool server_defaults_to_tsc(void);

/*
 * Returns NULL if clocktiming times plans by the processor's counter, else the reason why not.  The
 * setting timing_clock_source of PostgreSQL 19 decides unless it is auto; then
 * tsc_judge() or arm_counter_why_not_trusted() does.
 */
extern const char *why_not_timed_by_counter(void);

/* Returns a number for the value of timing_clock_source, to detect changes. */
extern int	server_clock_setting(void);

/* Returns the TSC frequency that the server uses; 0: none. */
extern double server_tsc_hz(void);

#endif							/* CLOCKTIMING_INSTR_CLOCK_H */
