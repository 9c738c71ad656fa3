/*
 * wait_set_test: the longest wait events must be in the set, whatever their number and order, with
 * times that are within the bounds of the algorithm.
 */
#include <math.h>

#include "core/random.h"
#include "plan/estimate/wait_set.h"
#include "tap.h"

#define EVENTS	40
#define RUNS	200

/* Returns the time of an event in the set; 0 if the set lacks it. */
static double
time_of(const WaitSet *set, uint32_t event)
{
	NodeWait	waits[WAIT_SET_SIZE];
	int			n = wait_set_list(set, waits);

	for (int i = 0; i < n; i++)
	{
		if (waits[i].event == event)
			return waits[i].ns;
	}
	return 0;
}

static double
sum_of(const WaitSet *set)
{
	NodeWait	waits[WAIT_SET_SIZE];
	int			n = wait_set_list(set, waits);
	double		sum = 0;

	for (int i = 0; i < n; i++)
		sum += waits[i].ns;
	return sum;
}

static bool
is_sorted(const WaitSet *set)
{
	NodeWait	waits[WAIT_SET_SIZE];
	int			n = wait_set_list(set, waits);

	for (int i = 1; i < n; i++)
	{
		if (waits[i - 1].ns < waits[i].ns)
			return false;
	}
	return true;
}

static void
few_events(void)
{
	WaitSet		set = {0};
	NodeWait	waits[WAIT_SET_SIZE];

	ok(wait_set_list(&set, waits) == 0, "an empty set");
	for (int round = 0; round < 100; round++)
	{
		for (uint32_t event = 1; event <= WAIT_SET_SIZE; event++)
			wait_set_add(&set, event, event * 1000.0);
	}
	ok(wait_set_list(&set, waits) == WAIT_SET_SIZE, "as many events as counters");
	ok(is_sorted(&set) && waits[0].event == WAIT_SET_SIZE, "the longest is first");
	for (uint32_t event = 1; event <= WAIT_SET_SIZE; event++)
		ok(time_of(&set, event) == event * 100000.0, "exact time of event %u", event);
	wait_set_add(&set, 99, 0);
	wait_set_add(&set, 99, -1);
	wait_set_add(&set, 99, NAN);
	wait_set_add(&set, 99, INFINITY);
	ok(time_of(&set, 99) == 0 && time_of(&set, 1) == 100000, "no time is added");
}

/*
 * Events in random order, some of which are much more frequent than others.  The times in the set
 * must not exceed the true times, and may be less by at most 1 / WAIT_SET_SIZE of the sum.
 */
static void
many_events(void)
{
	uint64_t	state = UINT64_C(88172645463325252);
	int			above = 0,
				below = 0,
				missing = 0,
				unsorted = 0,
				sums = 0;

	for (int run = 0; run < RUNS; run++)
	{
		WaitSet		set = {0};
		double		truth[EVENTS] = {0};
		double		sum = 0;

		for (int i = 0; i < 5000; i++)
		{
			uint32_t	event = random_next(&state) % EVENTS;
			double		ns = random_exponential(&state) * 1e6;

			if (random_next(&state) % 3 == 0)
				event = random_next(&state) % 2;
			wait_set_add(&set, event, ns);
			truth[event] += ns;
			sum += ns;
		}
		for (uint32_t event = 0; event < EVENTS; event++)
		{
			double		ns = time_of(&set, event);

			above += ns > truth[event] * (1 + 1e-6);
			below += ns < truth[event] - sum / WAIT_SET_SIZE;
			missing += truth[event] > sum / WAIT_SET_SIZE && ns == 0;
		}
		unsorted += !is_sorted(&set);
		sums += sum_of(&set) > sum * (1 + 1e-6);
	}
	ok(above == 0, "no time is too long");
	ok(below == 0, "no time is too short by more than the bound");
	ok(missing == 0, "no frequent event is missing");
	ok(unsorted == 0, "the longest are first");
	ok(sums == 0, "the times are not longer than their sum");
}

/* An event that comes late replaces those of short waits. */
static void
late_event(void)
{
	WaitSet		set = {0};

	for (uint32_t event = 1; event <= 100; event++)
		wait_set_add(&set, event, 10);
	wait_set_add(&set, 1000, 1e6);
	ok(time_of(&set, 1000) == 1e6, "a late event");
}

static void
replacement(void)
{
	WaitSet		set = {0};

	wait_set_add(&set, 1, 10);
	wait_set_add(&set, 2, 20);
	wait_set_add(&set, 3, 40);
	wait_set_replace(&set, 1, 7);
	ok(time_of(&set, 7) == 10 && time_of(&set, 1) == 0, "an event is replaced");
	wait_set_replace(&set, 2, 7);
	ok(time_of(&set, 7) == 30 && time_of(&set, 2) == 0, "by an event of the set");
	wait_set_replace(&set, 3, 3);
	wait_set_replace(&set, 4, 3);
	ok(time_of(&set, 3) == 40 && sum_of(&set) == 70, "by itself, and an event that is not in the set");
}

int
main(void)
{
	few_events();
	many_events();
	late_event();
	replacement();
	return done();
}
