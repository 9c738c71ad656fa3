/*
 * The longest waits of many executions, in memory of a fixed size.
 *
 * The set has a few counters.  A counter is at least its event's time, and exceeds it by at most
 * the counter's error, which is at most 1 / WAIT_SET_SIZE of the sum of all times.  Events with a
 * larger part of the sum always have a counter.  With at most WAIT_SET_SIZE different events, all
 * times are exact.
 */
#ifndef CLOCKTIMING_WAIT_SET_H
#define CLOCKTIMING_WAIT_SET_H

#include <stdint.h>

#include "plan/estimate/plan_estimate.h"

/* Number of counters.  An event with more than a sixth of all times always has one. */
#define WAIT_SET_SIZE	6

typedef struct WaitCounter
{
	uint32_t	event;
	float		error_ns;		/* time that may belong to other events */
	double		ns;				/* 0: unused */
} WaitCounter;

/* All zeros are an empty set. */
typedef struct WaitSet
{
	WaitCounter counters[WAIT_SET_SIZE];
} WaitSet;

/* Adds the time of an event.  Ignores times that are not positive. */
extern void wait_set_add(WaitSet *set, uint32_t event, double ns);

/*
 * Writes the events with lower bounds of their times, longest first, and returns their number.  So
 * they are together at most the sum of all times; the rest belongs to unknown events.
 */
extern int	wait_set_list(const WaitSet *set, NodeWait waits[WAIT_SET_SIZE]);

/* Replaces an event by another one, which may be in the set. */
extern void wait_set_replace(WaitSet *set, uint32_t event, uint32_t by);

#endif							/* CLOCKTIMING_WAIT_SET_H */
