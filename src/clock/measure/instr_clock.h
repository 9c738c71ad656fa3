/* The clock that this server reads for timing: INSTR_TIME_SET_CURRENT_FAST. */
#ifndef CLOCKTIMING_INSTR_CLOCK_H
#define CLOCKTIMING_INSTR_CLOCK_H

#include "clock/sampling/sampler.h"

extern const ClockReader reader_instr_time;

/* Returns whether the server times by the TSC now: EXPLAIN ANALYZE by RDTSC, the rest by RDTSCP. */
extern bool server_times_by_tsc(void);

/* Returns whether the server would time by the TSC if timing_clock_source were auto. */
extern bool server_defaults_to_tsc(void);

/* Returns the TSC frequency that the server uses; 0: none. */
extern double server_tsc_hz(void);

#endif							/* CLOCKTIMING_INSTR_CLOCK_H */
