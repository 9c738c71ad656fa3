/*-------------------------------------------------------------------------
 *
 * skew_bounds.c
 *	  The offset between the clocks of two CPUs, from readings that two
 *	  processes or threads, one on each, show each other in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "core/skew_bounds.h"
#include "core/tsc.h"

#define MIN_OF(a, b)	((a) < (b) ? (a) : (b))
#define MAX_OF(a, b)	((a) > (b) ? (a) : (b))

/*
 * A reading must neither begin before the other side's has been seen nor be
 * shown before it is taken.  RDTSC waits for nothing before it: without a
 * fence, clocks that agree seem to warp.  On x86 the fence before is enough,
 * since stores there become visible in the order of the program.
 */
static inline uint64_t
fenced_reading(const SkewClock *clock)
{
#if defined(CLOCKTIMING_HAVE_TSC)
	tsc_fence();
	return clock->read(clock->arg);
#else
	uint64_t	reading;

#ifdef __aarch64__
#define FENCE() __asm__ volatile ("dsb ish\n\tisb":::"memory")
#else
#define FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif
	FENCE();
	reading = clock->read(clock->arg);
	FENCE();
	return reading;
#endif
}

void
skew_init(SkewSide *side)
{
	memset(side, 0, sizeof(*side));
	side->round_trip = INT64_MAX;
	side->least = side->batch_least = INT64_MAX;
	side->batches_greatest = INT64_MIN;
}

void
skew_exchange(SkewSide *mine, const SkewSide *theirs, const SkewClock *clock,
			  int readings)
{
	uint64_t	last = mine->echo;
	uint64_t	own = mine->own;
	bool		has_own = mine->readings > 0;
	int64_t		advances = mine->advances;
	bool		pending = mine->pending;
	uint64_t	pending_seen = mine->pending_seen;
	uint64_t	pending_echo = mine->pending_echo;
	int64_t		still = mine->still;
	int64_t		bounds = mine->bounds;
	int64_t		batch = mine->batch;
	int64_t		least = mine->batch_least;
	int64_t		round_trip = mine->round_trip;
	int64_t		exchanges = mine->exchanges;

	for (int i = 0; i < readings; i++)
	{
		uint64_t	echo = __atomic_load_n(&theirs->echo, __ATOMIC_ACQUIRE);
		uint64_t	seen = __atomic_load_n(&theirs->reading, __ATOMIC_ACQUIRE);
		uint64_t	reading = fenced_reading(clock);
		int64_t		difference = (int64_t) (reading - seen);
		int64_t		advance = (int64_t) (reading - own);

		/* accounting comes later: the reading should be seen while it is new */
		__atomic_store_n(&mine->reading, reading, __ATOMIC_RELEASE);
		__atomic_store_n(&mine->echo, seen, __ATOMIC_RELEASE);

		/*
		 * What the reading before has to say.
		 *
		 * The echo is never newer than the reading beside it.  So both ways
		 * of a round trip are judged as differences, too, and the bounds of
		 * clocks that always advance are no farther apart than the shortest
		 * one took.
		 */
		if (has_own && advance > 0)
		{
			uint64_t	limit = advances >= SKEW_FRESH ? own : reading;

			still = 0;
			mine->stall_run = 0;
			if (pending_echo != 0)
				round_trip = MIN_OF(round_trip, (int64_t) (limit - pending_echo));
			if (pending)
			{
				least = MIN_OF(least, (int64_t) (limit - pending_seen));
				bounds++;
				batch++;
			}
			pending = false;
			advances++;
		}
		else
		{
			if (has_own && advance == 0)
			{
				mine->stalls++;
				mine->stall_run++;
				mine->longest_stall = MAX_OF(mine->longest_stall, mine->stall_run);
			}
			else
			{
				/* that clock is not the one that was read before */
				pending = false;
				mine->stall_run = 0;
			}
			still++;
			advances = 0;
		}
		own = reading;
		has_own = true;
		pending_echo = echo;

		if (seen == last)
			continue;
		last = seen;
		exchanges++;
		/* of several that wait, the latest reading seen is the strictest */
		if (!pending || (int64_t) (seen - pending_seen) > 0)
			pending_seen = seen;
		pending = true;
		if (difference < 0)
		{
			mine->warps++;
			mine->warp_max = MAX_OF(mine->warp_max, -difference);
		}
	}
	mine->own = own;
	mine->advances = advances;
	mine->pending = pending;
	mine->pending_seen = pending_seen;
	mine->pending_echo = pending_echo;
	mine->least = MIN_OF(mine->least, least);
	if (batch >= SKEW_BATCH)
	{
		mine->batches_greatest = MAX_OF(mine->batches_greatest, least);
		batch = 0;
		least = INT64_MAX;
	}
	mine->batch = batch;
	mine->batch_least = least;
	mine->round_trip = round_trip;
	mine->exchanges = exchanges;
	__atomic_store_n(&mine->bounds, bounds, __ATOMIC_RELAXED);
	__atomic_store_n(&mine->still, still, __ATOMIC_RELAXED);
	__atomic_store_n(&mine->readings, mine->readings + readings, __ATOMIC_RELAXED);
}

bool
skew_has_bound(const SkewSide *side)
{
	return __atomic_load_n(&side->bounds, __ATOMIC_RELAXED) > 0;
}

int64_t
skew_readings(const SkewSide *side)
{
	return __atomic_load_n(&side->readings, __ATOMIC_RELAXED);
}

int64_t
skew_still(const SkewSide *side)
{
	return __atomic_load_n(&side->still, __ATOMIC_RELAXED);
}

/*
 * The greatest of the differences of a side's batches; of the only one, if
 * there has not been a complete one.
 */
static int64_t
greatest_of_batches(const SkewSide *side)
{
	return side->batches_greatest == INT64_MIN ? side->batch_least :
		side->batches_greatest;
}

SkewResult
skew_result(const SkewSide *first, const SkewSide *second)
{
	SkewResult	result = {.known = false};

	result.known = first->least != INT64_MAX && second->least != INT64_MAX;
	result.steady = true;
	if (result.known)
	{
		int64_t		from_below = -first->least;
		int64_t		from_above = second->least;

		result.steady = from_below <= from_above;
		if (!result.steady)
		{
			from_below = -greatest_of_batches(first);
			from_above = greatest_of_batches(second);
		}
		/* crossed if both sides have seen the offset at different times only */
		result.offset_min = MIN_OF(from_below, from_above);
		result.offset_max = MAX_OF(from_below, from_above);
	}
	result.round_trip = first->round_trip;
	result.exchanges = first->exchanges + second->exchanges;
	result.still = MAX_OF(first->still, second->still);
	result.stalls = first->stalls + second->stalls;
	result.longest_stall = MAX_OF(first->longest_stall, second->longest_stall);
	result.warps = first->warps + second->warps;
	result.warp_max = MAX_OF(first->warp_max, second->warp_max);
	return result;
}
