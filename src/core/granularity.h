/* The granularity of a clock: the smallest step that it is seen to advance by. */
#ifndef CLOCKTIMING_GRANULARITY_H
#define CLOCKTIMING_GRANULARITY_H

#include <stdint.h>

/*
 * Returns the step, in ticks, of which all n advances are multiples within the rounding of a
 * reading to whole ticks; 1: no step above one tick; 0: not known, as fewer than 16 advances are
 * positive.  Sorts the advances, which must be below 2^63.  Takes about 1 ms, at most about 10 ms.
 * The advances must vary, and each should be several steps long, because some processors answer a
 * reading that comes too early with the previous value plus one.
 *
 * The step of an unscaled counter is an integer: the greatest common divisor of nearly all
 * advances.  The step of a counter scaled to nanoseconds need not be an integer, such as 10.01 ns
 * with differences of 20, 21, 30 and 31.  If differences of advances are mapped to phases with the
 * right period, the mean of their cosines is near 1, the square of the mean resultant length
 * (Mardia and Jupp, Directional Statistics, 2000, 2.3).  Such a period is accepted if nearly all
 * advances are multiples of it within rounding, which excludes coincidence, clusters, and a few
 * very long advances.
 */
extern double granularity(uint64_t *advances, int n);

#endif							/* CLOCKTIMING_GRANULARITY_H */
