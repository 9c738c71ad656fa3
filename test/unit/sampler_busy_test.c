/*
 * sampler_busy_test: simulates a busy machine, on which the process often loses the CPU, and clocks
 * with backward steps or a wrong rate.  The sampler must report no warps or lags that the clock did
 * not have, and must still find those that it had.
 */
#include <math.h>
#include <string.h>

#include "clock/sampling/sampler.h"
#include "clock/sampling/sampler_loop.h"
#include "core/random.h"
#include "tap.h"

#define RUNS			60
#define LONGEST_OFF_NS	2e8		/* longest time off the CPU */
#define SHORTEST_OFF_NS	2e3

/* The readings by which sampler_begin() measures the granularity, with delays. */
#define FIRST_DELAYED	19
#define LAST_DELAYED	1042

/* The readings of sampler_begin() after these, by which it learns the rate. */
#define READINGS_AFTER	18

/* A machine with its clock.  Times are in ns. */
typedef struct World
{
	const char *name;
	double		off_chance;		/* of losing the CPU at a reading */
	double		duration_s;
	double		rate;			/* of the clock, relative to the true one */
	double		later_rate;		/* after half of the run; 0: no change */
	uint64_t	from;			/* faults begin after this reading */
	uint64_t	period;			/* a fault at every period-th reading */
	int64_t		step;			/* of the clock, permanent */
	int64_t		once;			/* of one reading only */
	double		reading_ns;		/* additional duration of a reading */
	double		reference_ns;	/* and of one of the reference */
} World;

static const World *world;
static double now;				/* true time */
static double clock_ns;			/* time of the clock */
static double rate;
static int64_t offset;
static uint64_t readings;
static uint64_t injected;
static int64_t long_offs;		/* losses of the CPU for 5 * GAP_NS or more */
static uint64_t hidden;			/* backward steps that no reading shows */
static uint64_t latest;
static uint64_t random_state;

static double
uniform(void)
{
	return (double) (random_next(&random_state) >> 11) / (double) (UINT64_C(1) << 53);
}

/* Lets the time of a reading pass, and sometimes the time of other processes. */
static void
pass(void)
{
	double		ns = 20 + 10 * uniform();

	if (readings >= FIRST_DELAYED && readings <= LAST_DELAYED)
		ns += 200 + 200 * uniform();
	if (uniform() < world->off_chance)
	{
		double		off_ns = SHORTEST_OFF_NS * pow(LONGEST_OFF_NS / SHORTEST_OFF_NS, uniform());

		long_offs += off_ns >= 5 * GAP_NS;
		ns += off_ns;
	}
	now += ns;
	clock_ns += ns * rate;
}

/* Lets a duration pass, and up to a fifth more. */
static void
pass_slowly(double duration_ns)
{
	double		ns = duration_ns > 0 ? duration_ns * (1 + 0.2 * uniform()) : 0;

	now += ns;
	clock_ns += ns * rate;
}

static uint64_t
read_reference(void)
{
	pass();
	pass_slowly(world->reference_ns);
	return (uint64_t) now;
}

static uint64_t
read_clock(void)
{
	int64_t		once = 0;
	uint64_t	reading;

	pass();
	pass_slowly(world->reading_ns);
	readings++;
	if (world->period > 0 && readings > world->from && readings % world->period == 0)
	{
		offset += world->step;
		once = world->once;
		injected++;
	}
	reading = (uint64_t) ((int64_t) clock_ns + offset + once);
	if ((once < 0 || world->step < 0) && readings > world->from &&
		readings % world->period == 0 && reading >= latest)
		hidden++;
	latest = reading;
	return reading;
}

extern const ClockReader reader_simulated;

DEFINE_CLOCK_READER(reader_simulated, read_clock());

static void
change_rate(void *arg, double elapsed_s)
{
	(void) arg;
	if (world->later_rate > 0 && elapsed_s > world->duration_s / 2)
		rate = world->later_rate;
}

/* Totals of RUNS runs, and the number of runs with any warp or lag. */
static struct
{
	int64_t		warps;
	int64_t		lags;
	int64_t		gaps;
	int64_t		long_offs;
	int64_t		injected;
	int64_t		hidden;
	int			bad_runs;
	double		worst_rate_ppm; /* largest error of the measured rate */
} sum;

static Tally tally;
static SamplerRun run;

/* Begins a run; again if the real process lost the CPU for so long that the preparation ended. */
static void
begin(int number)
{
	do
	{
		random_state = number * UINT64_C(7919);
		now = clock_ns = 1e15;
		rate = world->rate;
		offset = 0;
		readings = injected = hidden = latest = 0;
		long_offs = 0;
		memset(&run, 0, sizeof(run));
		tally_init(&tally);
		run.reader = &reader_simulated;
		run.frequency_hz = 1e9;
		run.resolution_ns = 1;
		run.tally = &tally;
		run.reference = read_reference;
		run.between_blocks = change_rate;
		sampler_begin(&run);
	} while (readings <= LAST_DELAYED + READINGS_AFTER);
}

static void
simulate(const World *simulated)
{
	world = simulated;
	memset(&sum, 0, sizeof(sum));
	for (int i = 1; i <= RUNS; i++)
	{
		/* again if the real process lost the CPU for so long that the run was ended */
		do
		{
			begin(i);
			sampler_until(&run, world->duration_s);
		} while (sampler_elapsed(&run) < world->duration_s);
		sampler_end(&run);
		sum.warps += run.warps.count;
		sum.lags += run.lags.count;
		sum.gaps += run.gaps.count;
		sum.long_offs += long_offs;
		sum.injected += (int64_t) injected;
		sum.hidden += (int64_t) hidden;
		sum.bad_runs += run.warps.count + run.lags.count > 0;
		sum.worst_rate_ppm = fmax(sum.worst_rate_ppm,
								  fabs(run.advance_ns / 1e9 / run.elapsed_s - world->rate) * 1e6);
	}
}

/* A constant wrong rate: libfaketime, or a virtual machine that was moved without TSC scaling. */
static void
wrong_rates(void)
{
	static const World worlds[] = {
		{"right rate", 0.0001, 0.1, .rate = 1},
		{"0.1 % fast", 0.0001, 0.1, .rate = 1.001},
		{"0.3 % fast", 0.0001, 0.1, .rate = 1.003},
		{"0.3 % slow", 0.0001, 0.1, .rate = 0.997},
		{"4 % fast", 0.0001, 0.1, .rate = 1.04},
		{"4 % slow", 0.0001, 0.1, .rate = 0.96},
		{"4 % fast, often off the CPU", 0.001, 0.2, .rate = 1.04},
		{"4 % fast, 0.6 us per reading", 0.0001, 0.1, .rate = 1.04, .reading_ns = 600},
		{"4 % fast, 1 us per reading, often off the CPU", 0.002, 0.2, .rate = 1.04, .reading_ns = 1000},
		{"4 % fast, 3 us per reading, often off the CPU", 0.002, 0.4, .rate = 1.04, .reading_ns = 3000},
		{"4 % fast, 20 us per reading", 0.0001, 1, .rate = 1.04, .reading_ns = 20000},
		{"4 % slow, 3 us per reading", 0.0001, 0.1, .rate = 0.96, .reading_ns = 3000},
		{"10 times as fast", 0.0001, 0.1, .rate = 10},
		{"10 times as slow", 0.0001, 0.1, .rate = 0.1},
	};

	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
	{
		simulate(&worlds[i]);
		ok(sum.bad_runs == 0, "%s: %d warps and %d lags in %d of %d runs", worlds[i].name, (int) sum.warps, (int) sum.lags,
		   sum.bad_runs, RUNS);
		ok(sum.worst_rate_ppm < 100, "%s: error of the measured rate at most %.1f ppm", worlds[i].name, sum.worst_rate_ppm);
	}
}

/* While a run lasts, the rate changes from one wrong value to another. */
static void
changing_rates(void)
{
	static const World worlds[] = {
		{"faster by 4 % from now on", 0.00001, 0.2, .rate = 1, .later_rate = 1.04},
		{"slower by 10 % from now on", 0.00001, 0.2, .rate = 1.05, .later_rate = 0.95},
	};

	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
	{
		simulate(&worlds[i]);
		ok(sum.warps + sum.lags <= 2 * RUNS, "%s: %d warps, %d lags in %d runs", worlds[i].name,
		   (int) sum.warps, (int) sum.lags, RUNS);
	}
}

/*
 * A backward step is no warp.  It is a lag only if no reading shows it, because the process was off
 * the CPU for longer than the step.  Such a step must not pass for a rate, which would cause warps.
 */
static void
backward_steps(void)
{
	static const World worlds[] = {
		{"steps of -1 s", 0.001, 2, .rate = 1, .period = 53, .step = -1000000000},
		{"steps of -50 us", 0.0003, 1, .rate = 1, .period = 1009, .step = -50000},
		{"steps of -5 us", 0.001, 3, .rate = 1, .period = 1009, .step = -5000},
		{"low readings, by 1 s", 0.0003, 1, .rate = 1, .period = 5003, .once = -1000000000},
		{"low readings, by 50 us", 0.0003, 1, .rate = 1, .period = 333, .once = -50000},
	};

	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
	{
		simulate(&worlds[i]);
		ok(sum.warps == 0 && sum.lags <= sum.hidden && sum.injected > RUNS,
		   "%s: %d warps, %d lags, %d steps, %d of them hidden", worlds[i].name, (int) sum.warps, (int) sum.lags,
		   (int) sum.injected, (int) sum.hidden);
	}
}

static void
jumps_ahead(void)
{
	static const World many = {
		"many", 0.00001, 0.2, .rate = 1, .from = 20000, .period = 109, .step = 5000
	};
	static const World worlds[] = {
		{"jumps of 5 us", 0.00001, 0.2, .rate = 1, .from = 20000, .period = 50021, .step = 5000},
		{"jumps of 5 us, 4 % fast", 0.00001, 0.2, .rate = 1.04, .from = 20000, .period = 50021, .step = 5000},
		{"several jumps in a block", 0.00001, 0.2, .rate = 1, .from = 20000, .period = 1009, .step = 5000},
		{"jumps of 50 us, 3 us per reading", 0.00001, 1, .rate = 1, .from = 20000, .period = 1009, .step = 50000,
		.reading_ns = 3000},
		{"jumps of 14 us, 5 us per reading of the reference", 0.00001, 0.2, .rate = 1, .from = 20000, .period = 1009,
		.step = 14000, .reference_ns = 5000},
		{"jumps of 50 us, busy", 0.0003, 0.2, .rate = 1, .from = 20000, .period = 1009, .step = 50000},
	};

	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
	{
		simulate(&worlds[i]);
		ok(sum.warps <= sum.injected && sum.warps >= sum.injected * 0.95 && sum.lags == 0,
		   "%s: %d of %d found", worlds[i].name, (int) sum.warps, (int) sum.injected);
	}

	/*
	 * So many jumps in each block that the sampler cannot tell them apart; yet
	 * they are no rate.  How many it counts depends on the length of the blocks,
	 * which the real process's time off the CPU changes.
	 */
	simulate(&many);
	ok(sum.bad_runs == RUNS && sum.warps > RUNS * 20, "many jumps in a block: %d warps in %d runs", (int) sum.warps,
	   sum.bad_runs);
}

/* Gaps are found, whether the clock or the reference is slow, and are few without cause. */
static void
gaps(void)
{
	static const World worlds[] = {
		{"fast clocks", 0.0001, 0.5, .rate = 1},
		{"5 us per reading of the reference", 0.0001, 0.5, .rate = 1, .reference_ns = 5000},
		{"10 us per reading of the reference", 0.0001, 0.5, .rate = 1, .reference_ns = 10000},
		{"3 us per reading", 0.001, 0.5, .rate = 1, .reading_ns = 3000},
	};

	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
	{
		simulate(&worlds[i]);
		ok(sum.long_offs > RUNS / 2 &&
		   sum.gaps >= 0.8 * sum.long_offs && sum.gaps <= 2 * sum.long_offs,
		   "%s: %d gaps, %d losses of the CPU for 50 us or more", worlds[i].name,
		   (int) sum.gaps, (int) sum.long_offs);
	}
}

int
main(void)
{
	gaps();
	wrong_rates();
	changing_rates();
	backward_steps();
	jumps_ahead();
	return done();
}
