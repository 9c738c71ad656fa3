/*
 * Compares simultaneous readings of two clocks.
 *
 * The second clock is read between two readings of the first.  If it is the first clock, its
 * reading lies between the other two, each time.  So each round bounds its lead over the first
 * clock, and a bound that excludes 0 proves that the clocks differ.
 */
#include "core/clock_alias.h"
#include "core/reference.h"
#include "core/system_state.h"

/* Number of readings of the second clock, each between two readings of the first one. */
#define ROUNDS		32

/* Narrows the bounds of the lead round by round, until they exclude 0. */
bool
clocks_seem_one(uint64_t (*first) (void), uint64_t (*second) (void))
{
	int64_t		least = INT64_MIN;	/* bounds of the second clock's lead */
	int64_t		most = INT64_MAX;
	uint64_t	before = first();

	for (int i = 0; i < ROUNDS; i++)
	{
		uint64_t	between = second();
		uint64_t	after = first();
		int64_t		above = (int64_t) (between - after);
		int64_t		below = (int64_t) (between - before);

		if (above > least)
			least = above;
		if (below < most)
			most = below;
		/* a single clock leads itself by 0 */
		if (least > 0 || most < 0)
			return false;
		before = after;
	}
	return true;
}

bool
is_reference_clock(uint64_t (*read) (void))
{
	SystemSync	sync;

	if (!clocks_seem_one(reference_ns, read))
		return false;
#ifdef __linux__

	/*
	 * without a steered rate, the difference of Linux's clocks is the one at
	 * the start, often 0
	 */
	sync = system_sync();
	return !sync.known || sync.frequency_ppm != 0;
#else
	(void) sync;
	return true;
#endif
}
