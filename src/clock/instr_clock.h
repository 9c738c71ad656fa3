/* The clock that this server reads for timing: INSTR_TIME_SET_CURRENT_FAST. */
#ifndef CLOCKTIMING_INSTR_CLOCK_H
#define CLOCKTIMING_INSTR_CLOCK_H

#include "core/sampler.h"

extern const ClockReader reader_instr_time;

/* Returns whether the server times by the TSC now: EXPLAIN ANALYZE by RDTSC, the rest by RDTSCP. */
extern bool server_times_by_tsc(void);

/* Returns whether the server would time by the TSC if timing_clock_source were auto. */
extern bool server_defaults_to_tsc(void);

/*
 * Returns NULL if clocktiming times plans by the processor's counter, else the reason why not.
 * PostgreSQL 19's timing_clock_source = system forbids the counter; with tsc, the TSC need only be
 * usable.  Otherwise tsc_judge() or, on Arm, arm_counter_why_not_trusted() must accept the counter.
 */
extern const char *why_not_timed_by_counter(void);

/* Returns a number for the value of timing_clock_source, to detect changes. */
extern int	server_clock_setting(void);

/* Returns the TSC frequency that the server uses; 0: none. */
extern double server_tsc_hz(void);

#endif							/* CLOCKTIMING_INSTR_CLOCK_H */
