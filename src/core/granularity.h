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
 * Not longer than nine in ten of the advances.  Sorts "advances", which are
 * below 2^63.  Takes a millisecond or so, and no more than some ten whatever
 * the advances are.
 *
 * The advances must vary (readings at random intervals), and each should be
 * several steps long, since some processors answer a reading that comes too
 * early with the previous one plus one.
 *
 * Two searches, for the two ways in which clocks are made.  A counter that is
 * handed out as it is has an exact integer step: the greatest common divisor
 * of nearly all advances.  A counter that is scaled to nanoseconds has a step
 * that need not be an integer (differences of 20, 21, 30, 31 for 10.01 ns).
 * Differences of advances, as phases on a circle whose circumference is the
 * period, then are all near 0: the mean of their cosines is near 1 (the square
 * of the advances' mean resultant length; Mardia and Jupp, Directional
 * Statistics, 2000, 2.3).  Such a period is a candidate only.  It is the step if
 * nearly all advances are within the rounding of a multiple of it, which chance,
 * clusters of advances and a few very long ones do not bring about.
 */
extern double granularity(uint64_t *advances, int n);

#endif							/* CLOCKTIMING_GRANULARITY_H */
