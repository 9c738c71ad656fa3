/*-------------------------------------------------------------------------
 *
 * instr_clock.h
 *	  The clock that this server times with: INSTR_TIME_SET_CURRENT_FAST.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_INSTR_CLOCK_H
#define CLOCKTIMING_INSTR_CLOCK_H

#include "core/sampler.h"

extern const ClockReader reader_instr_time;

/*
 * Whether the server times with the TSC at this moment: EXPLAIN ANALYZE by
 * RDTSC and everything else by RDTSCP.  If not, all of it reads the system
 * clock.
 */
extern bool server_times_by_tsc(void);

/* Whether it would if timing_clock_source were "auto". */
extern bool server_defaults_to_tsc(void);

/*
 * NULL if we time plans by the processor's counter, else the reason why not: what
 * the setting timing_clock_source says (19 and later), or where it says nothing,
 * tsc_why_not_trusted() or arm_counter_why_not_trusted().
 */
extern const char *why_not_timed_by_counter(void);

/* A number for what timing_clock_source says, to see whether it has changed. */
extern int	server_clock_setting(void);

/* The TSC frequency that the server reckons with; 0 if it has none. */
extern double server_tsc_hz(void);

#endif							/* CLOCKTIMING_INSTR_CLOCK_H */
