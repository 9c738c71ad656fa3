/*-------------------------------------------------------------------------
 *
 * granularity.h
 *	  The smallest step that a clock is really seen to advance by.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_GRANULARITY_H
#define CLOCKTIMING_GRANULARITY_H

#include <stdint.h>

/*
 * The step, in ticks, of which all "n" advances are multiples, to within the
 * rounding of a reading to whole ticks; 1 where there is no such step above
 * one tick, 0 where nothing can be said (fewer than 16 advances above zero).
 * Sorts "advances".
 *
 * The advances must vary (readings at random intervals), and each should be
 * several steps long, since some processors answer a reading that comes too
 * early with the previous one plus one.
 *
 * Two searches, for the two ways in which clocks are made.  A counter that is
 * handed out as it is has an exact integer step: the greatest common divisor
 * of nearly all advances.  A counter that is scaled to nanoseconds has a step
 * that need not be an integer (differences of 20, 21, 30, 31 for 10.01 ns):
 * the longest period at which the mean resultant length of the advances, as
 * phases on a circle, is near 1 (Rayleigh's statistic; Mardia and Jupp,
 * Directional Statistics, 2000, 2.3).
 */
extern double granularity(uint64_t *advances, int n);

#endif							/* CLOCKTIMING_GRANULARITY_H */
