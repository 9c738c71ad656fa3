/*
 * Detects that two clocks are one under different names.  gVisor and some emulators return the same
 * clock for CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW and CLOCK_BOOTTIME.  Compared with itself, a clock
 * never drifts or steps.
 */
#ifndef CLOCKTIMING_CLOCK_ALIAS_H
#define CLOCKTIMING_CLOCK_ALIAS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads two clocks in turn.  Returns whether all readings are in the order of a single clock, so
 * that the clocks differ by less than the time of a reading, or not at all.
 */
extern bool clocks_seem_one(uint64_t (*first) (void), uint64_t (*second) (void));

/*
 * Returns whether a clock in ns seems to be the reference clock.  Returns false if the kernel
 * states that it does not steer its clocks: then both clocks may be equal without being the same.
 */
extern bool is_reference_clock(uint64_t (*read) (void));

#endif							/* CLOCKTIMING_CLOCK_ALIAS_H */
