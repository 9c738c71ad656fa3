/*
 * Finds executions during which the sampler has ticked.
 *
 * A random sample of executions misses rare long ones.  The sampler ticks every TICK_NS
 * (plan/sampler/plan_sampler.h).  The longer an execution lasts, the more probable is a tick during
 * it.  So an execution during which the sampler has ticked is measured, and its weight is the
 * reciprocal of that probability.
 *
 * The sampler may be late, for example on a busy machine.  So the probability is not computed from
 * TICK_NS alone, but also from the latest intervals between ticks (ticked_chance()).
 *
 * An execution's beginning is read from the processor's counter if that is trusted, which takes a
 * few ns, else from the system clock.  The counter's rate is determined by pairs of readings of the
 * counter and of the system clock, a second or more apart.
 */
#include "postgres.h"

#include "plan/sampler/plan_sampler.h"
#include "plan/stats/ticked_executions.h"

/* Time in ns after which a process wants ticks again. */
#define WANT_NS			1e9

/* Number of intervals between the latest ticks from which the probability of a tick is computed. */
#define INTERVALS		16

/*
 * Shortest duration in ns that is measured because of a tick.  The sampler may interrupt an
 * execution when it ticks, which makes a short one several times as long.  Its probability of a
 * tick would then be computed from a duration that only executions with a tick have.  In 24 trials
 * each beside other work, with 300,000 executions of 3 us, 12 margins of totals held without this
 * limit, and 21 with it.
 */
#define SHORTEST_NS		5e5

/* A pair of readings of the counter and of the system clock. */
typedef struct CounterPair
{
	uint64		counter;
	uint64		ns;
} CounterPair;

uint64		ticked_wanted = 0;
uint64		ticked_want_after = 0;

/* The latest pair, and the one before, which is older than any but the longest executions. */
static CounterPair latest =
{
	0, 0
};
static CounterPair earlier =
{
	0, 0
};

void
ticked_init(void)
{
#ifdef CLOCKTIMING_HAVE_COUNTER
	running_state.by_counter = timing_counter_why_not_trusted() == NULL;
#endif
}

/* Returns the duration of a tick of the counter in ns, or 0 if it is not known. */
static double
counter_ns(CounterPair now)
{
	if (now.counter <= earlier.counter || now.ns <= earlier.ns)
		return 0;
	return (double) (now.ns - earlier.ns) / (double) (now.counter - earlier.counter);
}

void
ticked_want(uint64 counter)
{
	CounterPair now = {.counter = counter, .ns = system_clock_read()};
	double		unit_ns;

	/* also at first, and if the counter was set back */
	earlier = latest.ns != 0 && latest.counter < counter ? latest : now;
	latest = now;
	unit_ns = counter_ns(now);
	ticked_wanted = counter;
	ticked_want_after = unit_ns > 0 ? (uint64) (WANT_NS / unit_ns) : 0;
	plan_sampler_want_ticks(now.ns);
}

double
ticked_elapsed_ns(const CountedStart *start)
{
	CounterPair now = {.counter = running_counter(), .ns = system_clock_read()};

	if (now.counter <= start->counter)
		return 0;
	return (double) (now.counter - start->counter) * counter_ns(now);
}

/*
 * If an execution begins at a random time, an interval of length I between ticks contributes
 * min(I, ns) to the probability, out of the sum of all I.  A tick that is overdue ends an interval,
 * too.
 */
double
ticked_chance(double ns)
{
	SamplerTicks *ticks;
	uint32		n,
				first;
	uint64		end = system_clock_read();
	double		hit = Min(TICK_NS, ns);
	double		all = TICK_NS;

	if (plan_sampler_shared == NULL || ns < SHORTEST_NS)
		return 0;
	ticks = &plan_sampler_shared->ticks;
	n = ticks->n;
	first = ticks->first;
	for (int i = 0; i <= INTERVALS && n - i != first - 1; i++)
	{
		uint64		start = pg_atomic_read_u64(&ticks->times_ns[(n - i) % TICKS_KEPT]);
		double		interval = (double) (int64) (end - start);

		if (i > 0 || interval > 4 * TICK_NS)
		{
			hit += Min(Max(interval, 0), ns);
			all += Max(interval, 0);
		}
		end = start;
	}
	return hit / all;
}
