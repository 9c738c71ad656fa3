/*
 * sample_sums_test: the sums of a sampler's samples, for processes whose times are known.
 */
#include "plan/estimate/sample_sums.h"
#include "simulated_process.h"
#include "tap.h"

#define US		1000
#define MS		1000000

static Sampled s;
static SampleTable table;
static Process process;
static uint64_t now_ns;
static uint64_t cpu_ns;

static bool
near(double value, double expected, double tolerance)
{
	return fabs(value - expected) <= tolerance;
}

static void
begin(uint32_t nsums, uint32_t nwaits)
{
	memset(&s, 0, sizeof(s));
	table = table_of(&s, nsums, nwaits);
	now_ns = BEGIN_NS;
	cpu_ns = 0;
	sample_begin(&s.state, now_ns, cpu_ns, 0);
}

/* Adds a sample after a time, in which the process has used some CPU time as far as is known. */
static void
sample(uint32_t number, uint32_t event, uint64_t ns, uint64_t used_ns)
{
	now_ns += ns;
	cpu_ns += used_ns;
	sample_add(&s.state, &table, &(Sample) {now_ns, cpu_ns, number, event});
}

static void
work(uint32_t number, int n, uint64_t ns)
{
	for (int i = 0; i < n; i++)
		sample(number, 0, ns, ns);
}

static double
sum_of_all(void)
{
	double		sum = 0;

	for (int i = 0; i < NUMBERS; i++)
		sum += s.sums[i].cpu_ns + s.sums[i].wait_ns + s.sums[i].cpu_wait_ns;
	return sum;
}

static void
test_sums(void)
{
	begin(4, WAITS);
	work(1, 1, 10 * US);
	work(2, 1, 30 * US);
	work(1, 2, 5 * US);
	ok(s.sums[1].cpu_ns == 20 * US && s.sums[2].cpu_ns == 30 * US, "a sample stands for the time since the previous sample");
	ok(s.sums[1].samples == 3 && s.sums[2].samples == 1, "samples are counted");
	ok(s.squares == (100 + 900 + 25 + 25) * 1e6, "the sum of the squared times");

	work(SAMPLE_IDLE, 1, 1 * US);
	work(4, 1, 2 * US);
	work(UINT32_MAX, 1, 4 * US);
	ok(sum_of_all() == 50 * US && s.squares == 1050e6, "numbers outside of the table are ignored");
	work(2, 1, 3 * US);
	ok(s.sums[2].cpu_ns == 40 * US, "the next sample stands for their time");

	now_ns -= 100 * US;
	sample(2, 0, 0, 0);
	ok(s.sums[2].cpu_ns == 40 * US && s.sums[2].samples == 3, "a time before the previous sample counts as 0");

	begin(4, WAITS);
	s.state.head_ns = 4 * US;
	work(1, 3, 10 * US);
	ok(s.sums[1].cpu_ns == 34 * US && s.squares == (196 + 200) * 1e6, "the first sample stands for the head as well");
	sample(1, 0, 100 * US, 0);
	sample(1, 0, 10 * US, 10 * US);
	ok(near(s.sums[1].cpu_wait_ns, 100 * US, 1), "which is no time off the CPU");
	begin(4, WAITS);
	s.state.head_ns = 4 * US;
	sample(1, 7, 10 * US, 0);
	ok(s.sums[1].wait_ns == 14 * US && s.waits[0].ns == 14 * US, "a head in a wait event");
}

static void
test_waits(void)
{
	begin(4, 3);
	sample(1, 7, 10 * US, 0);
	sample(1, 8, 20 * US, 0);
	sample(2, 7, 40 * US, 0);
	sample(1, 7, 1 * US, 0);
	sample(1, 0, 3 * US, 3 * US);
	ok(s.sums[1].wait_ns == 31 * US && s.sums[1].cpu_ns == 3 * US &&
	   s.sums[2].wait_ns == 40 * US, "times in wait events");
	ok(s.waits[0].number == 1 && s.waits[0].event == 7 && s.waits[0].ns == 11 * US &&
	   s.waits[1].event == 8 && s.waits[1].ns == 20 * US &&
	   s.waits[2].number == 2 && s.waits[2].event == 7 && s.waits[2].ns == 40 * US, "the table of waits has the time of each number and event");
	sample(2, 9, 5 * US, 0);
	sample(2, 7, 2 * US, 0);
	ok(s.sums[2].wait_ns == 47 * US && s.waits[2].ns == 42 * US &&
	   s.waits[3].number == SAMPLE_IDLE, "a full table of waits lacks another event, whose time is in the sum");
	ok(s.sums[1].cpu_wait_ns == 0 && s.sums[2].cpu_wait_ns == 0, "a wait event is no time waiting for a CPU");

	begin(4, 0);
	sample(1, 7, 10 * US, 0);
	ok(s.sums[1].wait_ns == 10 * US, "a table without waits");
}

static void
test_variance(void)
{
	begin(4, WAITS);
	work(1, 100, 10 * US);
	ok(s.sums[1].variance == 0, "a node that works all the time has no variance");
	work(2, 50, 30 * US);
	ok(s.sums[1].variance == (100 + 900) * 1e6 / 4 && s.sums[2].variance == s.sums[1].variance, "a change between nodes adds to the variance of both");
	sample(2, 5, 30 * US, 0);
	ok(s.sums[2].variance == s.sums[1].variance, "a change between waiting and work does not");
}

/* Tests samples after times in which the sampler has lost its CPU. */
static void
test_gaps(void)
{
	const double gap = 2 * MS;

	begin(4, WAITS);
	work(1, 16, 20 * US);
	sample(2, 0, 2 * MS, 2 * MS);
	ok(sum_of_all() == 16 * 20 * US, "the time before a late sample is not divided at once");
	work(2, 15, 20 * US);
	ok(near(s.sums[1].cpu_ns, 16 * 20 * US + gap / 2, 1) &&
	   near(s.sums[2].cpu_ns, 15 * 20 * US + gap / 2, 1),
	   "it is divided among 16 samples before and after it");
	ok(near(s.sums[1].variance, gap * gap * (1.0 / 12 + 0.25 / 32), 1e6) &&
	   s.sums[1].variance == s.sums[2].variance,
	   "a change at an unknown time of the gap has the variance of a uniform distribution");
	work(2, 100, 20 * US);
	ok(near(sum_of_all(), 131 * 20 * US + gap, 1), "no time is lost");

	begin(4, WAITS);
	for (int i = 0; i < 16; i++)
		work(1 + i % 2, 1, 20 * US);
	sample(1, 0, 2 * MS, 2 * MS);
	for (int i = 1; i < 16; i++)
		work(1 + i % 2, 1, 20 * US);
	ok(near(s.sums[1].cpu_ns, 15 * 20 * US + gap / 2, 1) &&
	   s.sums[1].variance > gap * gap * 0.25 / 32 &&
	   s.sums[1].variance < gap * gap * 0.25 / 32 * 1.3, "nodes that alternate have the variance of independent samples");

	begin(4, WAITS);
	work(1, 16, 20 * US);
	sample(2, 0, 2 * MS, 2 * MS);
	work(2, 2, 20 * US);
	sample(3, 0, 1 * MS, 1 * MS);
	ok(near(sum_of_all(), 18 * 20 * US + gap, 1) && s.sums[2].cpu_ns > 40 * US, "another late sample ends the gap before");
	work(3, 15, 20 * US);
	ok(near(sum_of_all(), 33 * 20 * US + gap + 1 * MS, 1), "and its own gap ends after 16 samples");

	begin(4, WAITS);
	work(1, 7, 20 * US);
	sample(2, 0, 2 * MS, 2 * MS);
	ok(s.sums[2].cpu_ns == gap, "after less than 8 samples, none is late");
	begin(4, WAITS);
	work(1, 16, 20 * US);
	sample(2, 0, 150 * US, 150 * US);
	ok(s.sums[2].cpu_ns == 150 * US, "a sample after 7.5 times the mean is not late");
	sample(2, 5, 2 * MS, 0);
	work(2, 16, 20 * US);
	ok(s.sums[2].wait_ns == gap && sum_of_all() == 32 * 20 * US + 150 * US + gap, "a sample in a wait event is not late");

	/* the process has lost its CPU, too */
	begin(4, WAITS);
	work(1, 16, 20 * US);
	sample(1, 0, 2 * MS, 0);
	work(2, 15, 20 * US);
	ok(near(s.sums[1].cpu_wait_ns, gap, 1) && near(s.sums[1].cpu_ns, 16 * 20 * US, 1), "time of a gap off the CPU");
	begin(4, WAITS);
	work(1, 16, 20 * US);
	sample(1, 0, 2 * MS, 0);
	sample(1, 0, 20 * US, 0);
	for (int i = 0; i < 50; i++)
		sample(2, 0, 20 * US, 0);
	sample(2, 0, 20 * US, 52 * 20 * US);
	ok(near(s.sums[1].cpu_wait_ns, gap, 1) && near(sum_of_all(), 68 * 20 * US + gap, 1), "it is found later if the kernel updates the CPU time later");

	/* the process waits half of the time before the gap, so a quarter of the time around it */
	begin(4, WAITS);
	for (int i = 0; i < 16; i++)
		sample(1, i % 2 == 0 ? 9 : 0, 20 * US, i % 2 == 0 ? 0 : 20 * US);
	sample(2, 0, 2 * MS, 1 * MS);
	work(2, 15, 20 * US);
	ok(near(s.sums[1].wait_ns, 8 * 20 * US + gap / 2 * 8 / 23, 1) &&
	   near(s.waits[0].ns, s.sums[1].wait_ns, 1) &&
	   near(s.sums[2].cpu_wait_ns, gap / 2 * 15 / 23, 1), "in a gap, the ratio of waits to work is that of the samples around it");
	ok(near(sum_of_all(), 31 * 20 * US + gap, 1), "and no time is lost");

	/* the process sleeps; a timer wakes it at the late sample */
	begin(4, WAITS);
	for (int i = 0; i < 16; i++)
		sample(1, 9, 1 * MS, 0);
	sample(1, 0, 58 * MS, 30 * US);
	for (int i = 0; i < 15; i++)
		sample(1, 9, 1 * MS, 0);
	ok(near(s.sums[1].wait_ns, 89 * MS - 30 * US, 1) && s.sums[1].cpu_wait_ns == 0 &&
	   near(s.waits[0].ns, s.sums[1].wait_ns, 1) && near(s.sums[1].cpu_ns, 30 * US, 1), "a sleep from which the process wakes at a late sample is a wait");

	/* many gaps before an update of the CPU time */
	begin(4, WAITS);
	work(1, 16, 20 * US);
	for (int i = 0; i < 20; i++)
	{
		sample(1, 0, 1 * MS, 0);
		for (int j = 0; j < 20; j++)
			sample(2, 0, 20 * US, 0);
	}
	sample(2, 0, 20 * US, 20 * MS);
	ok(near(sum_of_all(), 16 * 20 * US + 20 * 1400 * US + 20 * US, 5) && s.sums[1].cpu_ns >= -1 &&
	   s.sums[2].cpu_ns >= -1, "more gaps than are remembered");
	ok(near(s.sums[1].cpu_wait_ns + s.sums[2].cpu_wait_ns, 8020 * US, 5), "still find all of the time off the CPU");
}

/* Tests the time that a process waits for a CPU. */
static void
test_cpu_waits(void)
{
	uint64_t	random = 4711;
	double		numbers = 0;

	for (int tick = 0; tick <= 4; tick += tick == 0 ? 1 : 3)
	{
		double		wrong = 0;
		double		total = 0;
		double		lost = 0;

		for (int i = 0; i < 50; i++)
		{
			process_clear(&process);
			for (int k = 0; k < 5; k++)
			{
				for (int j = 0; j < 200; j++)
				{
					process_work(&process, 1, 20 * US * random_exponential(&random));
					process_work(&process, 2, 40 * US * random_exponential(&random));
				}
				process_lose_cpu(&process, 2, 5 * MS + 10 * MS * uniform(&random));
				process_work(&process, 2, 50 * US);
				process_work(&process, 1, 8 * MS);
			}
			sample_process(&process, &(Sampler) {20 * US, tick * MS, 0, 0, 0}, &s, &random);
			wrong += s.sums[1].cpu_wait_ns;
			total += s.sums[2].cpu_wait_ns;
			lost += process.truth[2].cpu_wait_ns;
			numbers += s.sums[3].samples;
		}
		ok(near(total, lost, lost * 0.01) && wrong < lost * 0.005 && numbers == 0,
		   "CPU time updated every %d ms: %.2f %% of the time without a CPU found at its node, %.2f %% at the other",
		   tick, 100 * total / lost, 100 * wrong / lost);
	}

	begin(4, WAITS);
	work(1, 10, 20 * US);
	sample(1, 0, 35 * US, 20 * US);
	work(1, 10, 20 * US);
	ok(s.sums[1].cpu_wait_ns == 0, "an interrupt is no time waiting for a CPU");
	begin(4, WAITS);
	work(1, 10, 5 * US);
	sample(1, 0, 20 * US, 5 * US);
	work(1, 10, 5 * US);
	ok(s.sums[1].cpu_wait_ns == 0, "also between dense samples");

	begin(4, WAITS);
	for (int i = 0; i < 1000; i++)
		sample(1, 5, 20 * US, 5 * US);
	for (int i = 0; i < 5; i++)
		sample(1, 0, 20 * US, 0);
	ok(s.sums[1].cpu_wait_ns == 0, "no update of the CPU time, no time waiting for a CPU");
	sample(1, 0, 20 * US, 1 * US);
	ok(s.sums[1].cpu_wait_ns >= 75 * US && s.sums[1].cpu_wait_ns < 120 * US, "CPU time within wait events does not hide it");
	ok(sum_of_all() == 1006 * 20 * US, "the sum of all times is unchanged");

	begin(4, WAITS);
	for (int i = 0; i < 5; i++)
		sample(1, 0, 20 * US, 0);
	sample(2, 5, 500 * US, 0);
	sample(1, 0, 20 * US, 20 * US);
	ok(near(s.sums[1].cpu_wait_ns, 100 * US, 1) && s.sums[2].cpu_wait_ns == 0 &&
	   s.sums[2].wait_ns == 500 * US,
	   "time in a wait event is not time waiting for a CPU");

	/* more runs than are remembered */
	begin(4, WAITS);
	for (int i = 0; i < 10; i++)
		sample(1 + i % 2, 0, 20 * US, 0);
	sample(3, 0, 100 * US, 0);
	for (int i = 0; i < 3 * SAMPLE_RUNS; i++)
		sample(1 + i % 2, 0, 20 * US, 0);
	sample(1, 0, 20 * US, (3 * SAMPLE_RUNS + 10) * 20 * US);
	ok(near(s.sums[3].cpu_wait_ns, 100 * US, 1), "the longest of many runs is remembered");

	/* the longest run, and after 511 others, which are forgotten, a gap */
	begin(4, WAITS);
	sample(3, 0, 5 * MS, 0);
	for (int i = 0; i < SAMPLE_RUNS - 1; i++)
		sample(1 + i % 2, 0, 20 * US, 0);
	sample(1, 0, 1 * MS, (SAMPLE_RUNS - 1) * 20 * US + 1 * MS);
	work(3, 2 * SAMPLE_RING, 20 * US);
	ok(near(s.sums[3].cpu_wait_ns, 5 * MS, 1), "the process was off the CPU in the longest run");
	ok(near(s.sums[2].cpu_ns, (SAMPLE_RUNS / 2 - 1) * 20 * US + 1 * MS / 4, 1 * US),
	   "that run is not taken for the one before the gap");
}

static void
test_variance_off_cpu(void)
{
	begin(4, WAITS);
	work(1, 10, 20 * US);
	for (int i = 0; i < 10; i++)
		sample(2, 0, 100 * US, 0);
	sample(1, 0, 20 * US, 20 * US);
	ok(near(s.sums[2].cpu_wait_ns, 1 * MS, 1) && near(s.sums[2].cpu_ns, 0, 1), "a run off the CPU");
	ok(near(s.sums[2].variance, 200e6, 1) && near(s.sums[1].variance, 200e6, 1),
	   "its samples have no variance");
	work(1, 10, 20 * US);
	for (int i = 0; i < 10; i++)
		sample(2, 0, 100 * US, 0);
	sample(2, 0, 100 * US, 130 * US);
	work(1, 1, 20 * US);
	ok(near(s.sums[2].variance, 200e6 + (400 + 100 * 100 + 100 * 100 + 400) * 1e6 / 4, 1),
	   "a sample counts for at most the rest of the run's time");
}

static void
test_pending(void)
{
	double		ns = -1;
	double		gaps_ns = -1;

	begin(4, WAITS);
	ok(sample_pending(&s.state, &ns, &gaps_ns) == SAMPLE_IDLE, "nothing is pending at first");
	sample(3, 9, 90 * US, 0);
	sample(2, 0, 20 * US, 0);
	sample(2, 0, 20 * US, 0);
	sample(1, 0, 60 * US, 0);
	ok(sample_pending(&s.state, &ns, &gaps_ns) == 2 && ns == 40 * US, "the first samples without a wait are pending");
	ok(gaps_ns == 0, "without a late sample, no time is missing in the sums");
	sample(3, 0, 20 * US, 100 * US);
	ok(sample_pending(&s.state, &ns, &gaps_ns) == SAMPLE_IDLE, "until the kernel updates the CPU time");
	sample(3, 9, 90 * US, 0);
	ok(sample_pending(&s.state, &ns, &gaps_ns) == SAMPLE_IDLE, "a wait event is not pending");

	/* a late sample, and the samples after it */
	begin(4, WAITS);
	for (int i = 0; i < SAMPLE_RING; i++)
		sample(1, 0, 20 * US, 20 * US);
	sample(2, 0, 5 * MS, 0);
	for (int i = 0; i < 2 * SAMPLE_RING; i++)
		sample(2, 0, 20 * US, 0);
	ok(sample_pending(&s.state, &ns, &gaps_ns) == 2 && ns == 0 && gaps_ns == 5 * MS,
	   "the time of a late sample is in no sum until the kernel updates the CPU time");
	sample(2, 0, 20 * US, 2 * MS);
	ok(sample_pending(&s.state, &ns, &gaps_ns) == SAMPLE_IDLE && gaps_ns == 0, "then it is");
}

static void
test_pace(void)
{
	SamplePace	pace = {.cpu_is_idle = true,.sleep_cpu_ns = 20e3};

	ok(sample_interval_ns(&pace, 0) == SAMPLE_DENSE_NS &&
	   sample_interval_ns(&pace, SAMPLE_DENSE_FOR_NS) == SAMPLE_DENSE_NS, "samples are dense at first");
	ok(near(sample_interval_ns(&pace, 10e9), 2e6, 1), "after 10 s, the sampler uses 1 %% of a CPU");
	pace.cpu_is_idle = false;
	ok(sample_interval_ns(&pace, 0) == SAMPLE_SPARSE_NS &&
	   near(sample_interval_ns(&pace, 10e9), 2e6, 1), "without an idle CPU, they are sparse");
	pace.processes = 3;
	ok(near(sample_interval_ns(&pace, 0), SAMPLE_SPARSE_NS / 3, 1), "three processes are sampled together");
	pace.processes = 100;
	ok(near(sample_interval_ns(&pace, 0), SAMPLE_SPARSE_NS / 4, 1), "the sampler wakes 4000 times a second at most");
	pace.processes = 1;
	pace.cpu_is_idle = true;
	pace.max_share = 0.01;
	ok(near(sample_interval_ns(&pace, 0), 2e6, 1), "the CPU time has a limit");
}

int
main(void)
{
	test_sums();
	test_waits();
	test_variance();
	test_gaps();
	test_cpu_waits();
	test_variance_off_cpu();
	test_pending();
	test_pace();
	return done();
}
