/* The granularity of a clock: its smallest observed step. */
#ifndef CLOCKTIMING_GRANULARITY_H
#define CLOCKTIMING_GRANULARITY_H

#include <stdint.h>

/*
 * Returns the step in ticks.  "advances" are n differences between successive readings.  Nearly all
 * are multiples of the step, apart from rounding to whole ticks.  Returns 1 if no step of more than
 * one tick is found, and 0 if fewer than 16 advances are positive.  Sorts the advances, which must
 * be below 2^63, and must vary: equal ones look like a step.
 */
extern double granularity(uint64_t *advances, int n);

#endif							/* CLOCKTIMING_GRANULARITY_H */
