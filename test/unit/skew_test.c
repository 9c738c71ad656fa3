/*
 * skew_test: the bounds of skew_bounds.c always contain the offset between the clocks of two CPUs.
 */
#include <pthread.h>
#ifdef __linux__
#include <sched.h>
#endif
#include <stdlib.h>
#include <time.h>

#include "clock/sampling/skew_bounds.h"
#include "core/reference.h"
#include "core/tsc.h"
#include "tap.h"

#define RUN_NS			100000000
#define READINGS		500
#define MAX_SECONDS		20

/*
 * Simulated clocks, which the two sides (CPUs) read alternately.  So the expected bounds can be
 * computed.
 */

static uint64_t now_ticks = 1000000;

/* Reads a clock that is ahead by *arg.  Each reading takes 100 ticks. */
static uint64_t
made_up(const void *arg)
{
	return (now_ticks += 100) + *(const int64_t *) arg;
}

/* Variants of made_up(): a clock that stands still, a coarse clock, and a clock that returns 0. */
static uint64_t still_at;
static uint64_t quantum;

static uint64_t
made_up_still(const void *arg)
{
	now_ticks += 100;
	return still_at + *(const int64_t *) arg;
}

static uint64_t
made_up_coarse(const void *arg)
{
	return ((now_ticks += 100) + *(const int64_t *) arg) / quantum * quantum;
}

static uint64_t
made_up_zero(const void *arg)
{
	(void) arg;
	return 0;
}

static uint64_t (*made_up_clock) (const void *arg) = made_up;

static void
take_turns(SkewSide *sides, const int64_t *ahead, int turns)
{
	SkewClock	first = {made_up_clock, &ahead[0]};
	SkewClock	second = {made_up_clock, &ahead[1]};

	for (int i = 0; i < turns; i++)
	{
		skew_exchange(&sides[0], &sides[1], &first, 1);
		skew_exchange(&sides[1], &sides[0], &second, 1);
	}
}

static void
test_made_up(void)
{
	static SkewSide sides[2];
	static const int64_t offsets[] =
		{0, 1, -1, 99, 100, 101, -100, -101, 5000, -5000, 1000000007, -900000};

	for (unsigned int i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
	{
		int64_t		ahead[2] = {0, offsets[i]};
		int64_t		o = offsets[i];
		int64_t		size = o < 0 ? -o : o;
		SkewResult	r;

		skew_init(&sides[0]);
		skew_init(&sides[1]);
		r = skew_result(&sides[0], &sides[1]);
		ok(!r.known && r.exchanges == 0, "simulated clock, offset %+ld: no result before the first exchange", (long) o);
		ok(skew_shared(&sides[0].bounds) == 0, "no bound before the first exchange");
		take_turns(sides, ahead, 50);
		ok(skew_shared(&sides[0].bounds) > 0 && skew_shared(&sides[1].bounds) > 0, "after 50 exchanges, each side has bounds");
		r = skew_result(&sides[0], &sides[1]);
		ok(r.known && r.steady, "a constant offset is steady");
		ok(r.offset_min == o - 100 && r.offset_max == o + 100,
		   "bounds %ld, %ld", (long) r.offset_min, (long) r.offset_max);
		ok(r.round_trip == 200, "round trip %ld", (long) r.round_trip);
		ok(r.exchanges == 99, "exchanges %ld", (long) r.exchanges);
		ok(r.warps == (size <= 100 ? 0 : o > 0 ? 49 : 50), "warps %ld", (long) r.warps);
		ok(r.warp_max == (size <= 100 ? 0 : size - 100), "the largest warp %ld", (long) r.warp_max);
	}
}

static void
test_unsteady(void)
{
	static SkewSide sides[2];
	int64_t		ahead[2] = {0, 0};
	SkewResult	r;

	/* The offset changes slowly, and returns to its first value. */
	skew_init(&sides[0]);
	skew_init(&sides[1]);
	for (int i = 0; i < 16; i++)
	{
		ahead[1] = 300 * (i < 8 ? i : 15 - i);
		take_turns(sides, ahead, 2 * SKEW_BATCH);
	}
	r = skew_result(&sides[0], &sides[1]);
	ok(r.known && !r.steady, "an offset that drifts is not steady");
	ok(r.offset_min <= 0 && r.offset_max >= 2100, "the bounds contain all offsets");
	ok(r.offset_min >= -200 && r.offset_max <= 2300, "the bounds are at most 200 wider than the range of the offsets: %ld, %ld",
	   (long) r.offset_min, (long) r.offset_max);

	/* The offset jumps, and one reading is 1000000 ticks late.  The bounds contain both offsets. */
	skew_init(&sides[0]);
	skew_init(&sides[1]);
	ahead[1] = 700;
	take_turns(sides, ahead, 3 * SKEW_BATCH);
	now_ticks += 1000000;
	ahead[1] = -5000;
	take_turns(sides, ahead, 3 * SKEW_BATCH);
	r = skew_result(&sides[0], &sides[1]);
	ok(r.known && !r.steady && r.offset_min == -5100 && r.offset_max == 800, "an offset that jumps is not steady: bounds %ld, %ld",
	   (long) r.offset_min, (long) r.offset_max);

	/* The offset jumps before the end of the first batch. */
	skew_init(&sides[0]);
	skew_init(&sides[1]);
	ahead[1] = 0;
	take_turns(sides, ahead, 10);
	ahead[1] = -5000;
	take_turns(sides, ahead, 10);
	r = skew_result(&sides[0], &sides[1]);
	ok(r.known && !r.steady && r.offset_min <= r.offset_max, "a jump in the first batch: not steady, bounds %ld, %ld",
	   (long) r.offset_min, (long) r.offset_max);

	/* One side never sees a reading of the other side. */
	skew_init(&sides[1]);
	r = skew_result(&sides[0], &sides[1]);
	ok(!r.known, "one side's readings alone have no result");
}

/* Tests clocks that stand still for a while or for ever, and coarse clocks. */
static void
test_still(void)
{
	static SkewSide sides[2];
	static const int64_t offsets[] = {0, 500, -500, 1000000};
	static const int64_t none[2] = {0, 0};

	for (unsigned int i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
	{
		int64_t		o = offsets[i];
		int64_t		ahead[2] = {0, o};
		SkewResult	r;

		/*
		 * Both clocks stand still for some time, at equal or different readings, and then continue.
		 */
		for (int each = 0; each < 2; each++)
		{
			skew_init(&sides[0]);
			skew_init(&sides[1]);
			for (int j = 0; j < 3; j++)
			{
				take_turns(sides, ahead, 2 * SKEW_BATCH);
				made_up_clock = made_up_still;
				still_at = now_ticks;
				take_turns(sides, each ? ahead : none, 3 * SKEW_BATCH + 7);
				made_up_clock = made_up;
			}
			take_turns(sides, ahead, 2);
			r = skew_result(&sides[0], &sides[1]);
			ok(r.known && r.steady, "clocks that stand still for a while, offset %+ld: steady", (long) o);
			ok(r.offset_min <= o && r.offset_max >= o && r.offset_min < r.offset_max,
			   "the offset is within the bounds %ld, %ld", (long) r.offset_min, (long) r.offset_max);
			ok(r.offset_max - r.offset_min <= 400, "the bounds differ by at most 400");
			ok(r.round_trip > 0, "the round trip is above 0");
			ok(r.stalls >= 6 * 3 * SKEW_BATCH && r.longest_stall >= 3 * SKEW_BATCH,
			   "stalls: %ld, the longest %ld", (long) r.stalls, (long) r.longest_stall);
		}

		/*
		 * Both clocks stand still for ever, at some reading, or at 0, which also means "no
		 * reading".
		 */
		for (int zero = 0; zero < 2; zero++)
		{
			made_up_clock = zero ? made_up_zero : made_up_still;
			skew_init(&sides[0]);
			skew_init(&sides[1]);
			take_turns(sides, ahead, 50);
			r = skew_result(&sides[0], &sides[1]);
			ok(!r.known, "clocks that never advance: no result");
			ok(skew_shared(&sides[0].bounds) == 0 && skew_shared(&sides[1].bounds) == 0, "clocks that never advance: no bounds");
			ok(skew_shared(&sides[0].readings) == 50 && skew_shared(&sides[0].still) == 50 &&
			   skew_shared(&sides[1].still) == 50,
			   "all 50 readings of each side count as readings without advance");
			ok(r.stalls == 98 && r.longest_stall == 49, "stalls: %ld, the longest %ld",
			   (long) r.stalls, (long) r.longest_stall);
			made_up_clock = made_up;
		}

		/* The offset of a coarse clock is known only to within its step. */
		made_up_clock = made_up_coarse;
		for (quantum = 300; quantum <= 30000; quantum *= 10)
		{
			skew_init(&sides[0]);
			skew_init(&sides[1]);
			take_turns(sides, ahead, 1000);
			r = skew_result(&sides[0], &sides[1]);
			ok(r.known && r.steady, "coarse clocks, offset %+ld: steady", (long) o);
			ok(r.offset_min <= o && r.offset_max >= o, "the offset is within the bounds %ld, %ld",
			   (long) r.offset_min, (long) r.offset_max);
			ok(r.offset_max - r.offset_min <= 2 * (int64_t) quantum + 400, "the bounds differ by at most two steps and 400");
		}
		made_up_clock = made_up;
	}
}

/* Tests with real clocks, which two threads on different CPUs read. */

#ifdef __linux__

static SkewSide sides[2];
static int	cpus[2];
static volatile bool stop;

/* number of ticks that are added to each side's readings */
static int64_t ahead[2];

static uint64_t
reference(const void *arg)
{
	return reference_ns() + *(const int64_t *) arg;
}

#ifdef CLOCKTIMING_HAVE_TSC
static uint64_t
rdtsc(const void *arg)
{
	return tsc_read_rdtsc() + *(const int64_t *) arg;
}
#endif

static uint64_t (*read_clock) (const void *arg);

static bool
pin(int side)
{
	cpu_set_t	set;

	CPU_ZERO(&set);
	CPU_SET(cpus[side], &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

static void *
second_side(void *arg)
{
	SkewClock	clock = {read_clock, &ahead[1]};

	(void) arg;
	if (!pin(1))
		return NULL;
	while (!stop)
		skew_exchange(&sides[1], &sides[0], &clock, READINGS);
	return NULL;
}

static SkewResult
run(void)
{
	SkewClock	clock = {read_clock, &ahead[0]};
	uint64_t	start;
	pthread_t	thread;

	skew_init(&sides[0]);
	skew_init(&sides[1]);
	stop = false;
	if (!pin(0) || pthread_create(&thread, NULL, second_side, NULL) != 0)
		exit(1);
	start = reference_ns();
	for (;;)
	{
		uint64_t	passed;

		skew_exchange(&sides[0], &sides[1], &clock, READINGS);
		passed = reference_ns() - start;
		if ((passed > RUN_NS &&
			 skew_shared(&sides[0].bounds) > 0 && skew_shared(&sides[1].bounds) > 0) ||
			passed > MAX_SECONDS * UINT64_C(1000000000))
			break;
	}
	stop = true;
	pthread_join(thread, NULL);
	return skew_result(&sides[0], &sides[1]);
}

static void
test_threads(const char *name, uint64_t (*clock) (const void *arg), double tick_ns)
{
	static const double injected_ns[] = {0, 30, 100, 1000, 10000, 1e9};

	read_clock = clock;
	for (unsigned int i = 0; i < sizeof(injected_ns) / sizeof(injected_ns[0]); i++)
	{
		for (int side = 0; side < 2; side++)
		{
			int64_t		ticks = (int64_t) (injected_ns[i] / tick_ns);
			int64_t		truth = side == 1 ? ticks : -ticks;
			int64_t		least = 0;
			int64_t		most = 0;
			int64_t		slack;
			SkewResult	r;

			/*
			 * Both threads read the same clock, so the true offset should be the added number of
			 * ticks.  But once, the clocks of a virtual machine's CPUs differed by 5 to 45 ns.  A
			 * run without added ticks detects this.  If its bounds exclude 0, the checks below
			 * allow for an offset between these bounds, but for none of 100 ns or more.
			 */
			ahead[0] = ahead[1] = 0;
			r = run();
			if (r.known && (r.offset_min > 0 || r.offset_max < 0))
			{
				least = r.offset_min;
				most = r.offset_max;
				printf("# the CPUs' clocks differ by %.1f to %.1f ns\n", least * tick_ns, most * tick_ns);
			}
			ahead[side] = ticks;
			r = run();
			ok(r.known, "%s, %+.0f ns on side %d: readings were exchanged", name, injected_ns[i], side);
			printf("# %.1f to %.1f ns, width %.1f, round trip %.1f, exchanges %ld\n", r.offset_min * tick_ns,
				   r.offset_max * tick_ns, (r.offset_max - r.offset_min) * tick_ns,
				   	r.round_trip * tick_ns,
				   (long) r.exchanges);
			ok(r.offset_min <= truth + most && r.offset_max >= truth + least, "the offset is within the bounds");
			ok(r.steady, "the offset is steady");
			ok(r.round_trip > 0 && r.offset_max - r.offset_min <= r.round_trip, "the bounds differ by at most a round trip");
			/*
			 * If the offset is larger than the round trip, the bounds must exclude 0.
			 */
			slack = most > -least ? most : -least;
			ok(slack * tick_ns < 100, "the CPUs' clocks differ by less than 100 ns");
			if (ticks > r.round_trip + slack)
			{
				ok(truth > 0 ? r.offset_min > 0 : r.offset_max < 0, "0 is not within the bounds");
				ok(r.warps > 0 && r.warp_max <= ticks + slack &&
				   r.warp_max >= ticks - slack - r.round_trip,
				   "warps: %ld, the largest %.1f ns", (long) r.warps, r.warp_max * tick_ns);
			}
			if (ticks == 0 && slack == 0)
				ok(r.warps == 0, "no warp");
		}
	}
}

#endif							/* __linux__ */

int
main(void)
{
	test_made_up();
	test_unsteady();
	test_still();
#ifdef __linux__
	{
		cpu_set_t	set;
		int			found = 0;

		CPU_ZERO(&set);
		(void) sched_getaffinity(0, sizeof(set), &set);
		for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		{
			if (CPU_ISSET(cpu, &set))
				cpus[found++] = cpu;
		}
		if (found < 2)
			ok(true, "threads # SKIP fewer than two CPUs");
		else
		{
			test_threads("reference clock", reference, 1);
#ifdef CLOCKTIMING_HAVE_TSC
			if (tsc_why_no_rdtsc() == NULL)
			{
				uint64_t	ns = reference_ns();
				uint64_t	ticks = tsc_read_rdtsc();

				while (reference_ns() - ns < 10000000)
					;
				test_threads("rdtsc", rdtsc,
							 (double) (reference_ns() - ns) / (tsc_read_rdtsc() - ticks));
			}
#endif
		}
	}
#endif
	return done();
}
