/*-------------------------------------------------------------------------
 *
 * throttle.h
 *	  When a throttled run takes its readings: instants at random, with
 *	  exponentially distributed gaps, so that no period of the server's own
 *	  work is seen more or less often than it occurs.
 *
 * Knows no clock and no SQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_THROTTLE_H
#define CLOCKTIMING_THROTTLE_H

#include <stdint.h>

typedef struct Throttle
{
	uint64_t	state;			/* of the random generator */
	double		mean_s;			/* of the gaps */
	double		due_s;			/* the instant to come, since the start */
} Throttle;

/* "rate" is in instants a second, above 0.  The same seed gives the same ones. */
extern void throttle_start(Throttle *throttle, double rate, uint64_t seed);

/* The next instant becomes the one to come: the schedule, whatever the time. */
extern void throttle_next(Throttle *throttle);

/* Uniform, and exponential with the mean 1; the latter is 3e-17 to 37.5. */
extern uint64_t throttle_random(Throttle *throttle);
extern double throttle_exponential(Throttle *throttle);

#endif							/* CLOCKTIMING_THROTTLE_H */
