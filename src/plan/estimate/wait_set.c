/*
 * The algorithm is "space saving" (Metwally, Agrawal and El Abbadi, "Efficient Computation of
 * Frequent and Top-k Elements in Data Streams", ICDT 2005), with times instead of counts.
 *
 * The time of an event that has a counter is added to this counter.  An event that has none
 * replaces the event with the smallest counter: it adds its own time to that counter, and records
 * the time that was there before as the counter's error.  A counter is therefore at least its
 * event's time, and exceeds it by at most the error.  All counters together are the sum of all
 * times, so the smallest one, and with it every error, is at most 1 / WAIT_SET_SIZE of this sum.
 */
#include <math.h>
#include <stddef.h>

#include "plan/estimate/wait_set.h"

/* Returns the counter of an event; NULL if it has none. */
static WaitCounter *
counter_of(WaitSet *set, uint32_t event)
{
	for (int i = 0; i < WAIT_SET_SIZE; i++)
	{
		if (set->counters[i].ns > 0 && set->counters[i].event == event)
			return &set->counters[i];
	}
	return NULL;
}

static WaitCounter *
smallest(WaitSet *set)
{
	WaitCounter *least = &set->counters[0];

	for (int i = 1; i < WAIT_SET_SIZE; i++)
	{
		if (set->counters[i].ns < least->ns)
			least = &set->counters[i];
	}
	return least;
}

void
wait_set_add(WaitSet *set, uint32_t event, double ns)
{
	WaitCounter *counter = counter_of(set, event);

	/* also rejects NaN */
	if (!(ns > 0) || isinf(ns))
		return;
	if (counter == NULL)
	{
		counter = smallest(set);
		counter->event = event;
		counter->error_ns = (float) counter->ns;
	}
	counter->ns += ns;
}

int
wait_set_list(const WaitSet *set, NodeWait waits[WAIT_SET_SIZE])
{
	int			n = 0;

	for (int i = 0; i < WAIT_SET_SIZE; i++)
	{
		const WaitCounter *counter = &set->counters[i];
		NodeWait	wait = {.event = counter->event, .ns = counter->ns - counter->error_ns};
		int			k;

		if (!(wait.ns > 0))
			continue;
		for (k = n++; k > 0 && waits[k - 1].ns < wait.ns; k--)
			waits[k] = waits[k - 1];
		waits[k] = wait;
	}
	return n;
}

void
wait_set_replace(WaitSet *set, uint32_t event, uint32_t by)
{
	WaitCounter *from = counter_of(set, event);
	WaitCounter *to = counter_of(set, by);

	if (from == NULL || event == by)
		return;
	from->event = by;
	if (to == NULL)
		return;
	to->ns += from->ns;
	to->error_ns += from->error_ns;
	*from = (WaitCounter)
	{
		0
	};
}
