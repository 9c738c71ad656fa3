/* The granularity of a clock: the smallest step that it is seen to advance by. */
#ifndef CLOCKTIMING_GRANULARITY_H
#define CLOCKTIMING_GRANULARITY_H

#include <stdint.h>

/*
 * Returns the step, in ticks, of which nearly all n advances are multiples within the rounding of a
 * reading to whole ticks; 1: no step above one tick; 0: not known, as fewer than 16 advances are
 * positive.  Sorts the advances, which must be below 2^63 and vary.  doc/clocks.md has the method.
 */
extern double granularity(uint64_t *advances, int n);

#endif							/* CLOCKTIMING_GRANULARITY_H */
