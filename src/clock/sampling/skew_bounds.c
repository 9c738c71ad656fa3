/*
 * Bounds of the offset between the clocks of two CPUs, whatever the time that readings take from
 * one CPU to the other.
 *
 * Each side repeats three steps, and never waits for the other one.  It loads the reading that the
 * other side has published last (s), reads its own clock (r), and publishes that.  The other side
 * took s before this side took r.  If both clocks agreed, r would be above s.  So r - s is an upper
 * bound of this side's lead, and its smallest value in the run is the strictest bound.  The other
 * side yields an upper bound of its own lead, whose negative is a lower bound of this side's.  An
 * interrupt between the steps makes r - s larger, so the bound becomes useless, but not wrong.
 *
 * If no constant offset explains the bounds, because the lower one is above the upper one, the
 * offset has changed.  Then the range of the offset is computed from the smallest r - s of each
 * batch of exchanges, as an offset hardly changes within the time of a batch.
 *
 * A clock that stands still shows r too early, so the bound would be too strict.  An exchange
 * therefore counts only if the next own reading is larger than r.  Unless the last SKEW_FRESH
 * readings were all larger than the ones before them, that next reading replaces r in the bound:
 * the clock had not reached it yet when s was loaded.
 */
#include <string.h>

#include "clock/sampling/skew_bounds.h"
#include "core/reading_fence.h"
#include "core/tsc.h"

#define MIN_OF(a, b)	((a) < (b) ? (a) : (b))
#define MAX_OF(a, b)	((a) > (b) ? (a) : (b))

/*
 * Reads the clock after the other side's reading was loaded, and before the result is stored.
 * RDTSC does not wait for earlier instructions, so without a fence, correct clocks seem to warp.
 * On x86, a fence before the reading suffices, because stores become visible in program order.
 */
static inline uint64_t
fenced_reading(const SkewClock *clock)
{
#if defined(CLOCKTIMING_HAVE_TSC)
	reading_fence();
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
	side->found.round_trip = INT64_MAX;
	side->found.least = side->found.batch_least = INT64_MAX;
	side->found.batches_greatest = INT64_MIN;
}

/*
 * Judges an own reading.  If the clock has advanced, completes the pending exchange.  The echo is
 * the own reading that the other side has seen.  The other side stores a reading before the echo,
 * and this side loads the echo first.  So the loaded reading was taken after the echo was seen, and
 * the time from the echo to the own reading contains a whole round trip.
 */
static inline void
judge(SkewFound *found, uint64_t reading, int64_t *still, int64_t *bounds)
{
	int64_t		advance = (int64_t) (reading - found->own);

	if (found->has_own && advance > 0)
	{
		uint64_t	limit = found->advances >= SKEW_FRESH ? found->own : reading;

		*still = 0;
		found->stall_run = 0;
		if (found->pending_echo != 0)
			found->round_trip = MIN_OF(found->round_trip, (int64_t) (limit - found->pending_echo));
		if (found->pending)
		{
			found->batch_least =
				MIN_OF(found->batch_least, (int64_t) (limit - found->pending_seen));
			found->batch++;
			(*bounds)++;
		}
		found->pending = false;
		found->advances++;
		return;
	}
	if (found->has_own && advance == 0)
	{
		found->stalls++;
		found->stall_run++;
		found->longest_stall = MAX_OF(found->longest_stall, found->stall_run);
	}
	else
	{
		/* the clock went backwards: the pending exchange is invalid */
		found->pending = false;
		found->stall_run = 0;
	}
	(*still)++;
	found->advances = 0;
}

/*
 * Performs a number of exchanges.  Loads the echo before the reading, and stores them in the
 * reverse order, with acquire and release semantics: judge() depends on this order.
 */
void
skew_exchange(SkewSide *mine, const SkewSide *theirs, const SkewClock *clock,
			  int readings)
{
	/* local copies: the compiler need not reload them after other stores */
	SkewFound	found = mine->found;
	int64_t		still = mine->still;
	int64_t		bounds = mine->bounds;

	for (int i = 0; i < readings; i++)
	{
		uint64_t	echo = __atomic_load_n(&theirs->echo, __ATOMIC_ACQUIRE);
		uint64_t	seen = __atomic_load_n(&theirs->reading, __ATOMIC_ACQUIRE);
		uint64_t	reading = fenced_reading(clock);
		int64_t		difference = (int64_t) (reading - seen);

		/* publishes the reading at once, and judges it later */
		__atomic_store_n(&mine->reading, reading, __ATOMIC_RELEASE);
		__atomic_store_n(&mine->echo, seen, __ATOMIC_RELEASE);

		judge(&found, reading, &still, &bounds);
		found.own = reading;
		found.has_own = true;
		found.pending_echo = echo;

		if (seen == found.seen)
			continue;
		found.seen = seen;
		found.exchanges++;

		/* the latest reading seen gives the strictest bound */
		if (!found.pending || (int64_t) (seen - found.pending_seen) > 0)
			found.pending_seen = seen;
		found.pending = true;
		if (difference < 0)
		{
			found.warps++;
			found.warp_max = MAX_OF(found.warp_max, -difference);
		}
	}
	found.least = MIN_OF(found.least, found.batch_least);
	if (found.batch >= SKEW_BATCH)
	{
		found.batches_greatest = MAX_OF(found.batches_greatest, found.batch_least);
		found.batch = 0;
		found.batch_least = INT64_MAX;
	}
	mine->found = found;
	__atomic_store_n(&mine->bounds, bounds, __ATOMIC_RELAXED);
	__atomic_store_n(&mine->still, still, __ATOMIC_RELAXED);
	__atomic_store_n(&mine->readings, mine->readings + readings, __ATOMIC_RELAXED);
}

/* Returns batches_greatest, or batch_least if no batch is complete. */
static int64_t
greatest_of_batches(const SkewFound *found)
{
	return found->batches_greatest == INT64_MIN ? found->batch_least :
		found->batches_greatest;
}

/*
 * Combines the bounds of both sides.  The first side's upper bound of its own lead is, with the
 * opposite sign, a lower bound of the second clock's lead.
 */
SkewResult
skew_result(const SkewSide *first, const SkewSide *second)
{
	const SkewFound *a = &first->found;
	const SkewFound *b = &second->found;
	SkewResult	result = {
		.known = a->least != INT64_MAX && b->least != INT64_MAX,
		.steady = true,
		.round_trip = a->round_trip,
		.exchanges = a->exchanges + b->exchanges,
		.still = MAX_OF(first->still, second->still),
		.stalls = a->stalls + b->stalls,
		.longest_stall = MAX_OF(a->longest_stall, b->longest_stall),
		.warps = a->warps + b->warps,
		.warp_max = MAX_OF(a->warp_max, b->warp_max)
	};

	if (result.known)
	{
		int64_t		from_below = -a->least;
		int64_t		from_above = b->least;

		result.steady = from_below <= from_above;
		if (!result.steady)
		{
			from_below = -greatest_of_batches(a);
			from_above = greatest_of_batches(b);
		}
		/* if the offset changes, from_below may be above from_above */
		result.offset_min = MIN_OF(from_below, from_above);
		result.offset_max = MAX_OF(from_below, from_above);
	}
	return result;
}
