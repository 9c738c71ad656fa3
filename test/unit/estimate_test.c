/*
 * estimate_test: times of plan nodes and their margins, for processes whose times are known.
 */
#include "plan/estimate/plan_estimate.h"
#include "simulated_process.h"
#include "tap.h"

#define LENGTH(a)	((int) (sizeof(a) / sizeof((a)[0])))
#define US			1e3
#define MS			1e6

/* Numbers of the processes in the simulations: outside of the nodes, and the first of 4 nodes. */
#define OUTSIDE		1
#define FIRST_NODE	2
#define NODES		4
#define MOST_NODES	8
#define PROCESSES	2

/* Mean time between samples, in ns. */
#define DENSE		(20 * US)
static double interval = DENSE;

static uint64_t random_state = 88172645463325252;

static PlanEstimate plan;
static NodeEstimate nodes[MOST_NODES];
static NodeRecord records[MOST_NODES][PROCESSES];
static NodeTimes by_process[MOST_NODES][PROCESSES];
static NodeTimes outside_by_process[PROCESSES];
static ProcessRun runs[PROCESSES];

static bool
near(double value, double expected)
{
	return fabs(value - expected) <= 1e-6 * fmax(fabs(expected), 1);
}

/* Sets up a plan without samples, in which each node is below the one before. */
static void
new_plan(int nnodes, int nprocesses)
{
	memset(nodes, 0, sizeof(nodes));
	memset(records, 0, sizeof(records));
	memset(runs, 0, sizeof(runs));
	plan = (PlanEstimate)
	{
		.nnodes = nnodes,.nodes = nodes,.nprocesses = nprocesses,.processes = runs,
			.outside_by_process = outside_by_process
	};
	for (int i = 0; i < nnodes; i++)
	{
		nodes[i].parent = i - 1;
		nodes[i].records = records[i];
		nodes[i].by_process = by_process[i];
		for (int p = 0; p < nprocesses; p++)
			records[i][p].loops = 1;
	}
	for (int p = 0; p < nprocesses; p++)
		runs[p].pending = -2;
}

/* Adds CPU time to the samples of a node in a process. */
static void
add_cpu(int node, int process, double ns)
{
	records[node][process].samples.cpu_ns += ns;
	runs[process].run_ns += ns;
	runs[process].cpu_ns += ns;
	runs[process].samples += 10;
}

/* Returns the sum of all times of a process. */
static double
sum_of(int process)
{
	double		sum = outside_by_process[process].self_ns + outside_by_process[process].cpu_wait_ns;

	for (int i = 0; i < plan.nnodes; i++)
		sum += by_process[i][process].self_ns + by_process[i][process].cpu_wait_ns;
	return sum;
}

static bool
is_sound_time(const NodeTimes *t)
{
	return t->cpu_ns >= -1e-3 && t->wait_ns >= 0 && t->cpu_wait_ns >= 0 && t->variance >= 0 &&
		near(t->self_ns, t->cpu_ns + t->wait_ns);
}

/* Returns whether all results are numbers within their limits, and all times add up. */
static bool
is_sound(void)
{
	double		share = 0;

	for (int i = -1; i < plan.nnodes; i++)
	{
		const NodeEstimate *node = i < 0 ? &plan.outside : &nodes[i];

		if (!is_sound_time(&node->times) || !(node->times.total_ns >= 0) ||
			!(node->first_ns >= 0) ||
			!(node->self_margin_ns >= 0) || !(node->total_margin_ns >= 0))
			return false;
		if (plan.share_ns > 0)
		{
			if (!(node->share_percent >= 0) || node->share_percent > 100 * (1 + 1e-9) ||
				!(node->share_margin_percent >= 0))
				return false;
			share += node->share_percent;
		}
	}
	for (int p = 0; p < plan.nprocesses; p++)
	{
		if (plan.nnodes > 0 && !near(sum_of(p), runs[p].run_ns))
			return false;
	}
	return plan.share_ns <= 0 || near(share, 100);
}

/* ---------------------------------------------------------------------
 * Simulations
 */

typedef enum Shape
{
	CONSTANT,
	EXPONENTIAL,
	LOGNORMAL,
	RARELY_LONG,				/* one of 200 calls takes 200 times as long */
	PHASES,						/* two nodes build, one sorts, two nodes probe */
	WAITING						/* node 1 waits after one of 10 calls */
} Shape;

typedef struct Simulation
{
	const char *name;
	Shape		shape;
	double		call;			/* mean time of a call of node 0, in intervals */
	int			samples;			/* number of intervals */
	double		stop_every_ms;	/* mean time between losses of the sampler's CPU, for 2 ms; 0:
								 * never */
	double		lose_every_ms;	/* the same for the process, for "lose_ms" */
	double		tick_ms;		/* time between updates of the CPU time */
	double		least;			/* percentage of the margins that must hold */
	double		most;
	double		bias;			/* of a time, in intervals */
	bool		throttled;		/* a limit of the CPU time, with a period of 100 ms */
} Simulation;

/* Length of a loss of the process's CPU. */
static double lose_ms = 4;

static Process process;
static Sampled sampled;

static double
call_of(Shape shape, double mean)
{
	switch (shape)
	{
		case CONSTANT:
			return mean;
		case LOGNORMAL:
			return mean * random_lognormal(&random_state, 1.5);
		case RARELY_LONG:
			mean *= uniform(&random_state) < 0.005 ? 100 : 0.5;
			return mean * random_exponential(&random_state);
		default:
			return mean * random_exponential(&random_state);
	}
}

static void
make_phases(double mean, double run_ns)
{
	double		build = run_ns * (0.2 + 0.2 * uniform(&random_state));

	while (process.run_ns < build)
	{
		process_work(&process, FIRST_NODE, call_of(PHASES, mean));
		process_work(&process, FIRST_NODE + 1, call_of(PHASES, 2 * mean));
	}
	process_work(&process, FIRST_NODE + 2, 0.2 * run_ns);
	while (process.run_ns < run_ns)
	{
		process_work(&process, OUTSIDE, call_of(PHASES, mean / 2));
		process_work(&process, FIRST_NODE + 3, call_of(PHASES, 2 * mean));
	}
}

static void
make_process(Shape shape, double mean, double run_ns)
{
	process_clear(&process);
	if (shape == PHASES)
		make_phases(mean, run_ns);
	while (process.run_ns < run_ns)
	{
		process_work(&process, OUTSIDE, call_of(shape, 0.3 * mean));
		process_work(&process, FIRST_NODE, call_of(shape, mean));
		if (shape == WAITING && uniform(&random_state) < 0.1)
			process_wait(&process, FIRST_NODE + 1, 77, 10 * call_of(shape, mean));
		process_work(&process, FIRST_NODE + 1, call_of(shape, shape == WAITING ? mean : 2 * mean));
		if (uniform(&random_state) < 0.1)
			process_work(&process, FIRST_NODE + 2, call_of(shape, mean));
		if (uniform(&random_state) < 0.3)
			process_work(&process, FIRST_NODE + 3, call_of(shape, 0.3 * mean));
	}
}

/* Estimates the times of the sampled process.  Its nodes are one below the other. */
static void
estimate_sampled(void)
{
	double		pending_ns = 0;
	double		gaps_ns = 0;
	uint32_t	pending = sample_pending(&sampled.state, &pending_ns, &gaps_ns);

	new_plan(NODES, 1);
	runs[0] = (ProcessRun)
	{
		.run_ns = process.run_ns,.cpu_ns = process.cpu_ns,.samples = sampled.samples,
			.squares = sampled.squares,
			.pending = pending == SAMPLE_IDLE ? -2 : (int) pending - FIRST_NODE,
				.pending_ns = pending_ns,.gaps_ns = gaps_ns,
			.outside = sampled.sums[OUTSIDE]
	};
	for (int i = 0; i < NODES; i++)
		records[i][0].samples = sampled.sums[FIRST_NODE + i];
	plan_estimate(&plan);
}

static double
true_self(int node)
{
	const SampleSums *truth = &process.truth[FIRST_NODE + node];

	return truth->cpu_ns + truth->wait_ns;
}

/*
 * Estimates the times of many executions, and counts the margins that contain the true times.
 * Only nodes with at least 10 samples count, because the margin of a smaller time is that of
 * one sample, and is too large on purpose.
 */
static void
simulate(const Simulation *simulation)
{
	const int	executions = simulation->samples < 100 ? 1000 : 400;
	double		error[NODES + 1] = {0};
	double		square[NODES + 1] = {0};
	int			in[NODES + 1] = {0};
	int			all_in = 0;
	int			all = 0;
	int			total_in = 0;
	int			totals = 0;
	double		worst = 100;
	double		cpu_wait = 0;
	double		true_cpu_wait = 0;
	double		largest_bias = 0;
	bool		sound = true;

	for (int i = 0; i < executions; i++)
	{
		make_process(simulation->shape, simulation->call * interval, simulation->samples *
			interval);
		if (simulation->lose_every_ms > 0 || simulation->throttled)
			process_disturb(&process, &(Losses) {simulation->lose_every_ms * MS, lose_ms * MS,
							simulation->throttled ? 100 * MS : 0}, &random_state);
		sample_process(&process,
					   &(Sampler) {interval, simulation->tick_ms * MS,
					   simulation->stop_every_ms * MS, 2 * MS,
					   simulation->throttled ? 100 * MS : 0},
					   &sampled, &random_state);
		estimate_sampled();
		sound &= is_sound();
		for (int node = -1; node < NODES; node++)
		{
			const NodeEstimate *e = node < 0 ? &plan.outside : &nodes[node];
			double		off = e->times.self_ns - true_self(node);
			double		total = 0;

			error[node + 1] += off / executions;
			square[node + 1] += off * off / executions;
			in[node + 1] += fabs(off) <= e->self_margin_ns;
			cpu_wait += e->times.cpu_wait_ns;
			true_cpu_wait += process.truth[FIRST_NODE + node].cpu_wait_ns;
			for (int below = node; node >= 0 && below < NODES; below++)
				total += true_self(below);
			if (node < 0)
				continue;
			total_in += fabs(e->times.total_ns - total) <= e->total_margin_ns;
			totals++;
		}
	}
	for (int node = 0; node < NODES + 1; node++)
	{
		double		stderr_ns = sqrt((square[node] - error[node] * error[node]) / executions);
		double		bias = fmax(fabs(error[node]) - simulation->bias * interval, 0) / stderr_ns;

		if (true_self(node - 1) < 10 * interval)
			continue;
		largest_bias = fmax(largest_bias, bias);
		all_in += in[node];
		all += executions;
		worst = fmin(worst, 100.0 * in[node] / executions);
	}
	ok(all_in >= simulation->least / 100 * all && all_in <= simulation->most / 100 * all &&
	   worst >= 88,
	   "%s: %.1f %% of the margins hold, of any node at least %.1f %%", simulation->name, 100.0 * all_in / all, worst);
	ok(total_in >= (simulation->least - 1) / 100 * totals, "%s: %.1f %% of the margins of totals",
	   simulation->name, 100.0 * total_in / totals);
	ok(largest_bias < 4, "%s: bias at most %.1f intervals and %.1f standard errors", simulation->name, simulation->bias, largest_bias);
	ok(sound, "%s: the times add up", simulation->name);
	if (true_cpu_wait > 0)
		ok(fabs(cpu_wait / true_cpu_wait - 1) < (simulation->shape == WAITING ? 0.1 : 0.01),
		   "%s: time waiting for a CPU, %.1f %%", simulation->name, 100 * cpu_wait / true_cpu_wait);
}

static void
test_simulations(void)
{
	static const Simulation simulations[] = {
		{"constant short calls, few samples", CONSTANT, 0.1, 50, 0, 0, 0, 93, 97, 0, false},
		{"constant short calls", CONSTANT, 0.1, 500, 0, 0, 0, 93, 97, 0, false},
		{"constant calls of half the interval", CONSTANT, 0.3, 500, 0, 0, 0, 93, 97, 0, false},
		{"exponential short calls, few samples", EXPONENTIAL, 0.02, 50, 0, 0, 0, 93, 97, 0, false},
		{"exponential short calls", EXPONENTIAL, 0.05, 500, 0, 0, 0, 93, 97, 0, false},
		{"lognormal short calls, few samples", LOGNORMAL, 0.02, 50, 0, 0, 0, 93, 97, 0, false},
		{"lognormal short calls", LOGNORMAL, 0.05, 500, 0, 0, 0, 93, 98, 0, false},
		{"rarely long calls, few samples", RARELY_LONG, 0.1, 50, 0, 0, 0, 93, 98, 0, false},
		{"rarely long calls", RARELY_LONG, 0.05, 500, 0, 0, 0, 93, 98, 0, false},
		{"phases of short calls, few samples", PHASES, 0.02, 50, 0, 0, 0, 93, 100, 0.1, false},
		{"phases of short calls", PHASES, 0.1, 500, 0, 0, 0, 93, 100, 0.1, false},
		{"waits", WAITING, 0.05, 500, 0, 0, 0, 93, 97, 2, false},

		/* longer calls have smaller variances than is estimated */
		{"constant long calls", CONSTANT, 5, 500, 0, 0, 0, 95, 100, 0.1, false},
		{"exponential long calls, few samples", EXPONENTIAL, 1, 50, 0, 0, 0, 95, 100, 0.1, false},
		{"exponential long calls", EXPONENTIAL, 5, 500, 0, 0, 0, 95, 100, 0.1, false},
		{"rarely very long calls", RARELY_LONG, 5, 500, 0, 0, 0, 95, 100, 0.1, false},

		{"late samples, constant calls", CONSTANT, 0.1, 500, 20, 0, 0, 93, 98, 0, false},
		{"late samples, few", EXPONENTIAL, 0.1, 50, 20, 0, 0, 93, 98, 0, false},
		{"late samples, exponential calls", EXPONENTIAL, 0.1, 500, 20, 0, 0, 93, 98, 0, false},
		{"late samples, long calls", EXPONENTIAL, 5, 500, 20, 0, 0, 93, 100, 0.1, false},
		{"late samples, lognormal calls", LOGNORMAL, 0.3, 500, 20, 0, 0, 93, 100, 0, false},
		{"late samples, rarely long calls", RARELY_LONG, 0.1, 500, 20, 0, 0, 91, 98, 0, false},
		{"late samples, phases", PHASES, 0.1, 500, 20, 0, 0, 93, 98, 8, false},
		{"late samples, waits", WAITING, 0.1, 500, 20, 0, 0, 92, 98, 8, false},

		{"process without CPU", EXPONENTIAL, 0.1, 500, 0, 20, 0, 93, 97, 0, false},
		{"process without CPU, ticks of 1 ms", EXPONENTIAL, 0.1, 500, 0, 5, 1, 93, 97, 0, false},
		{"process without CPU, ticks of 4 ms", EXPONENTIAL, 0.1, 500, 0, 20, 4, 93, 97, 0, false},
		{"process without CPU, waits", WAITING, 0.3, 500, 0, 20, 4, 93, 98, 2, false},
		{"process without CPU, phases", PHASES, 0.1, 500, 0, 20, 4, 93, 99, 0.1, false},
		{"sampler and process without CPU", EXPONENTIAL, 0.1, 500, 20, 20, 4, 92, 98, 0, false},
		{"a limit of the CPU time", EXPONENTIAL, 0.3, 3000, 0, 0, 4, 93, 98, 0, true},
		{"a limit of the CPU time, ticks of 1 ms", EXPONENTIAL, 0.3, 3000, 0, 0, 1, 91, 98, 0, true},
		{"a limit of the CPU time, phases", PHASES, 0.3, 3000, 0, 0, 4, 91, 98, 0.1, true}
	};

	/*
	 * Processes that share their CPU with others.  The sampler cannot spin there, so its samples
	 * are a millisecond apart.  Most of them find a process without its CPU.
	 */
	static const Simulation shared[] = {
		{"shared CPU", EXPONENTIAL, 0.005, 60, 0, 4, 4, 93, 97, 0.1, false},
		{"shared CPU, more samples", EXPONENTIAL, 0.005, 200, 0, 4, 4, 93, 97, 0.1, false},
		{"shared CPU, phases", PHASES, 0.005, 60, 0, 4, 4, 93, 97, 0.1, false},
		{"shared CPU, late samples", EXPONENTIAL, 0.05, 60, 10, 4, 4, 92, 97, 0.1, false},
		{"shared CPU, short slices", EXPONENTIAL, 0.01, 60, 0, 1, 4, 92, 97, 0.6, false}
	};

	for (int i = 0; i < LENGTH(simulations); i++)
		simulate(&simulations[i]);
	interval = MS;
	lose_ms = 8;
	for (int i = 0; i < LENGTH(shared); i++)
		simulate(&shared[i]);
	interval = DENSE;
	lose_ms = 4;
}

/*
 * Tests short executions, in each of which three nodes work one after the other.  A sample stands
 * for the time before it, so without the head, the first node would have 0.20 instead of 0.33.
 */
static void
test_short(void)
{
	double		share[3] = {0};
	double		all = 0;

	for (int i = 0; i < 20000; i++)
	{
		process_clear(&process);
		for (int k = 0; k < 3; k++)
			process_work(&process, FIRST_NODE + (uint32_t) k, interval);
		sample_process(&process, &(Sampler) {interval, 0, 0, 0, 0}, &sampled, &random_state);
		estimate_sampled();
		for (int k = 0; k < 3; k++)
			share[k] += nodes[k].times.self_ns / process.run_ns;
		all += 1;
	}
	ok(fabs(share[0] / all - 0.31) < 0.03 && fabs(share[1] / all - 0.36) < 0.03 &&
	   fabs(share[2] / all - 0.33) < 0.03,
	   "executions of three intervals, each at a node of its own: %.3f, %.3f, %.3f", share[0] / all,
	   share[1] / all, share[2] / all);
}

/* ---------------------------------------------------------------------
 * Certain plans
 */

/* Tests that time waiting for a CPU belongs to the node that waits, also at the end. */
static void
test_cpu_wait(void)
{
	double		found = 0;
	double		lost = 0;
	double		at_end = 0;

	for (int i = 0; i < 100; i++)
	{
		process_clear(&process);
		for (int j = 0; j < 100; j++)
		{
			process_work(&process, FIRST_NODE, 20 * US * random_exponential(&random_state));
			process_work(&process, FIRST_NODE + 1, 40 * US * random_exponential(&random_state));
		}
		process_lose_cpu(&process, FIRST_NODE + 1, 10 * MS);
		process_work(&process, FIRST_NODE + 1, 50 * US);
		sample_process(&process, &(Sampler) {interval, 4 * MS, 0, 0, 0}, &sampled, &random_state);
		estimate_sampled();
		found += nodes[1].times.cpu_wait_ns;
		at_end += sampled.sums[FIRST_NODE + 1].cpu_wait_ns;
		lost += process.truth[FIRST_NODE + 1].cpu_wait_ns;
	}
	ok(at_end < 0.5 * lost && found > 0.99 * lost && found < 1.001 * lost,
	   "at the end, %.1f %% of the time waiting for a CPU are in the sums, and %.1f %% are estimated", 100 * at_end / lost, 100 * found / lost);

	new_plan(2, 1);
	add_cpu(0, 0, 600);
	add_cpu(1, 0, 400);
	runs[0].cpu_ns = 800;
	plan_estimate(&plan);
	ok(near(nodes[0].times.cpu_wait_ns, 120) && near(nodes[1].times.cpu_wait_ns, 80) &&
	   near(nodes[0].times.self_ns, 480),
	   "without a pending node, missing time waiting for a CPU is divided among all nodes");
	runs[0].pending = 1;
	runs[0].pending_ns = 100;
	plan_estimate(&plan);
	ok(near(nodes[1].times.cpu_wait_ns, 100 + 100 * 300 / 900.0) &&
	   near(nodes[0].times.cpu_wait_ns, 100 * 600 / 900.0),
	   "the pending node gets at most the pending time");
	ok(is_sound(), "and the times add up");

	new_plan(2, 1);
	add_cpu(0, 0, 500);
	records[1][0].samples.cpu_wait_ns = 300;
	records[1][0].samples.wait_ns = 200;
	runs[0].run_ns = 1000;
	runs[0].cpu_ns = 700;
	plan_estimate(&plan);
	ok(near(plan.cpu_wait_ns, 100) && near(nodes[1].times.self_ns, 400) && is_sound(),
	   "the time waiting for a CPU is not above the time without CPU time and wait events");
	ok(near(nodes[0].share_percent, 500 / 9.0) && near(plan.share_ns, 900), "shares are those of the time without it");

	/* the first call of a Sort lasts for 900 of 1000, half of which are waits */
	new_plan(2, 1);
	add_cpu(0, 0, 250);
	add_cpu(1, 0, 250);
	records[0][0].samples.cpu_wait_ns = 100;
	records[1][0].samples.cpu_wait_ns = 400;
	records[0][0].first_ns = 900;
	records[1][0].first_ns = 325;
	runs[0].run_ns = 1000;
	runs[0].cpu_ns = 500;
	plan_estimate(&plan);
	ok(near(nodes[0].times.total_ns, 500) && near(nodes[0].first_ns, 450),
	   "the first call of a node is without the time waiting for a CPU, like its total");
	ok(near(nodes[1].times.total_ns, 250) && near(nodes[1].first_ns, 125),
	   "by the share of such waits in the node and the nodes below");
}

static void
test_edges(void)
{
	new_plan(3, 1);
	runs[0].run_ns = runs[0].cpu_ns = 1000;
	plan_estimate(&plan);
	ok(nodes[0].times.self_ns == 1000 && nodes[0].share_percent == 100 &&
	   nodes[1].times.self_ns == 0 && is_sound(),
	   "without samples, the root has all the time");
	ok(nodes[0].self_margin_ns >= 1000 && nodes[1].self_margin_ns >= 1000, "and each margin contains it");

	new_plan(3, 1);
	runs[0].run_ns = runs[0].cpu_ns = runs[0].outside.cpu_ns = 1000;
	runs[0].samples = 1;
	runs[0].squares = 1000 * 1000;
	plan_estimate(&plan);
	ok(near(nodes[0].times.self_ns, 500) && near(plan.outside.times.self_ns, 500) && is_sound(),
	   "if the only sample is outside of the nodes, the root has half of the time");
	ok(nodes[0].self_margin_ns >= 1000 && plan.outside.self_margin_ns >= 500, "and the margins contain all of it");
	runs[0].samples = 999;
	plan_estimate(&plan);
	ok(near(plan.outside.times.self_ns, 999), "with many samples, hardly any");

	/* a run of 1000 ns without samples, and triggers of 9000 ns with 3 samples */
	new_plan(3, 1);
	runs[0].run_ns = runs[0].cpu_ns = 10000;
	records[0][0].samples.cpu_ns = 1000;
	runs[0].outside.cpu_ns = runs[0].finish_ns = 9000;
	runs[0].samples = runs[0].finish_samples = 3;
	runs[0].squares = 3 * 3000 * 3000;
	plan_estimate(&plan);
	ok(near(nodes[0].times.self_ns, 1000) && near(plan.outside.times.self_ns, 9000) && is_sound(),
	   "triggers that fire after a short run are outside of the nodes");
	runs[0].finish_ns = 8000;
	plan_estimate(&plan);
	ok(near(nodes[0].times.self_ns, 2000) && near(plan.outside.times.self_ns, 8000) && is_sound(),
	   "but not the time before them, which has no samples");

	/* the kernel has counted 500 ns without a CPU, of which 100 were not in a wait event */
	new_plan(2, 1);
	add_cpu(0, 0, 300);
	records[0][0].samples.wait_ns = 200;
	records[0][0].samples.cpu_wait_ns = 100;
	add_cpu(1, 0, 100);
	records[1][0].samples.wait_ns = 600;
	runs[0].run_ns += 900;
	plan_estimate(&plan);
	ok(near(nodes[1].times.wait_ns, 600) && near(nodes[0].times.cpu_wait_ns, 100) && is_sound(),
	   "waits are those of the samples");
	runs[0].delay_ns = 500;
	plan_estimate(&plan);
	ok(near(nodes[0].times.wait_ns, 100) && near(nodes[1].times.wait_ns, 300) &&
	   near(nodes[0].times.cpu_wait_ns, 200) && near(nodes[1].times.cpu_wait_ns, 300) && is_sound(),
	   "if the kernel counts more time without a CPU, a part of the waits is such time");
	ok(near(nodes[0].times.cpu_ns, 300) && near(nodes[1].times.cpu_ns, 100), "the CPU time remains the same");
	runs[0].delay_ns = 5000;
	plan_estimate(&plan);
	ok(near(nodes[0].times.wait_ns, 0) && near(nodes[1].times.cpu_wait_ns, 600) && is_sound(), "at most all waits");

	new_plan(3, 1);
	plan_estimate(&plan);
	ok(is_sound() && isnan(nodes[0].share_percent) && nodes[0].times.total_ns == 0, "an execution without time has no shares");
	new_plan(0, 1);
	runs[0].run_ns = runs[0].cpu_ns = runs[0].samples = runs[0].outside.cpu_ns = 1000;
	plan_estimate(&plan);
	ok(near(plan.outside.times.self_ns, 1000) && near(plan.outside.share_percent, 100), "a plan without nodes");
	new_plan(1, 0);
	plan_estimate(&plan);
	ok(nodes[0].times.total_ns == 0 && plan.run_ns == 0, "a plan without processes");

	new_plan(2, 1);
	add_cpu(0, 0, 300);
	add_cpu(1, 0, 100);
	runs[0].run_ns = runs[0].cpu_ns = 500;
	plan_estimate(&plan);
	ok(near(nodes[0].times.self_ns, 375) && near(nodes[1].times.self_ns, 125), "times are scaled to the duration");
	ok(near(nodes[1].times.variance, 100 * 100 * 0.25 * 0.75), "the time after the last sample has a variance");
	runs[0].unseen_squares = 1e6;
	plan_estimate(&plan);
	ok(near(nodes[1].times.variance, (1e6 + 1e4) * 0.25 * 0.75), "so have such times that are already in the sums");
	runs[0].squares = 20 * 64;
	records[1][0].samples.variance = 1000;
	plan_estimate(&plan);
	ok(near(nodes[1].times.variance, (1e6 + 1e4) * 0.25 * 0.75 + (64 + 1000) * 1.25 * 1.25), "the variance of samples is scaled, and at least that of one sample");
	ok(near(nodes[1].self_margin_ns, 1.959963984540054 * sqrt(nodes[1].times.variance)), "margins are 1.96 standard deviations");

	new_plan(3, 1);
	for (int i = 0; i < 3; i++)
	{
		add_cpu(i, 0, 100);
		records[i][0].samples.variance = i == 2 ? 900 : 100;
	}
	plan_estimate(&plan);
	ok(near(nodes[0].total_margin_ns, 0) &&
	   near(nodes[1].total_margin_ns, nodes[0].self_margin_ns) &&
	   near(nodes[2].total_margin_ns, 1.959963984540054 * sqrt(200)), "the margin of a total is that of the nodes below or, if smaller, of all others");
	ok(near(nodes[0].times.total_ns, 300) && near(nodes[1].times.total_ns, 200), "totals contain the nodes below");
}

/* Tests times of parts with too few samples. */
static void
test_unseen(void)
{
	for (int leaves = 0; leaves <= 1; leaves++)
	{
		new_plan(3, 2);
		plan.leaves_unseen = leaves;
		add_cpu(1, 0, 200);
		records[0][0].unseen_ns = 600;
		add_cpu(2, 1, 100);
		records[2][1].unseen_ns = 300;
		runs[0].run_ns = runs[0].cpu_ns = 1600;
		runs[1].run_ns = runs[1].cpu_ns = 400;
		plan_estimate(&plan);
		ok(near(plan.unseen_ns, 1200 + 300) && is_sound(), "the unseen time is scaled like the other");
		if (leaves)
			ok(near(plan.run_ns, 400) && near(nodes[0].times.self_ns, 0) &&
			   near(nodes[1].times.self_ns, 400) && near(nodes[2].times.self_ns, 100), "and left out");
		else
			ok(near(plan.run_ns, 1600) && near(nodes[0].times.self_ns, 1200) &&
			   near(nodes[1].times.self_ns, 400) && near(nodes[2].times.self_ns, 400),
			   "and that of the root of each process");

		new_plan(2, 1);
		plan.leaves_unseen = leaves;
		runs[0].run_ns = runs[0].cpu_ns = 1000;
		plan_estimate(&plan);
		ok(near(plan.unseen_ns, 1000) && near(nodes[0].times.self_ns, leaves ? 0 : 1000),
		   "without samples, all of the time is unseen");
	}
	plan.leaves_unseen = false;
}

/* Tests nodes that the server times as a whole. */
static void
test_whole(void)
{
	/* a BitmapAnd with two Bitmap Index Scans, below a Bitmap Heap Scan, below an Aggregate */
	new_plan(5, 1);
	nodes[3].parent = nodes[4].parent = 2;
	for (int i = 2; i < 5; i++)
		nodes[i].kind = NODE_WHOLE;
	add_cpu(0, 0, 100);
	add_cpu(1, 0, 700);
	records[1][0].samples.wait_ns = 200;
	runs[0].run_ns += 200;
	runs[0].squares = 2000;
	records[2][0].whole_ns = 300;
	records[3][0].whole_ns = 150;
	records[4][0].whole_ns = 60;
	plan_estimate(&plan);
	ok(near(nodes[1].times.self_ns, 600) && near(nodes[2].times.self_ns, 90) &&
	   near(nodes[3].times.self_ns, 150) &&
	   near(nodes[4].times.self_ns, 60), "a node that is timed as a whole takes its time from the node above");
	ok(near(nodes[2].times.total_ns, 300) && near(nodes[1].times.total_ns, 900) && is_sound(), "and totals are unchanged");
	ok(near(nodes[3].times.wait_ns, 150 * 200 / 900.0), "it takes waits in proportion");

	records[2][0].whole_ns = 3000;
	plan_estimate(&plan);
	ok(near(nodes[1].times.self_ns, 0) && near(nodes[1].times.total_ns, 900) && is_sound(), "it takes at most the time of the node above");

	records[2][0].whole_ns = 100;
	plan_estimate(&plan);
	ok(nodes[2].times.self_ns == 0 && near(nodes[1].times.self_ns, 690) && is_sound(), "a node that is shorter than those below has no time of its own");

	nodes[4].kind = NODE_HIDDEN;
	plan_estimate(&plan);
	ok(nodes[4].times.self_ns == 0 && nodes[4].self_margin_ns == 0 && is_sound(), "a hidden node has neither a time nor a margin");
	nodes[4].kind = NODE_WHOLE;

	records[1][0].samples = (SampleSums) {0};
	runs[0].run_ns = runs[0].cpu_ns = 100;
	plan_estimate(&plan);
	ok(nodes[3].times.self_ns == 0 && near(nodes[0].times.self_ns, 100) && is_sound(), "without samples at the node above, it has no time");
	nodes[0].kind = nodes[1].kind = NODE_WHOLE;
	plan_estimate(&plan);
	ok(is_sound(), "a root that is timed as a whole");
}

/* Tests a CTE that two nodes read. */
static void
test_callers(void)
{
	NodeCaller *callers = records[3][0].callers;

	/* a join of two scans of the CTE, whose root has a node below */
	new_plan(5, 1);
	nodes[2].parent = 0;
	nodes[3].parent = 0;
	nodes[3].is_called = true;
	for (int i = 0; i < 5; i++)
		add_cpu(i, 0, 100 * (i + 1));
	callers[0] = (NodeCaller) {.place = 1,.calls = 31,.loops = 1,.first_ns = 300};
	callers[1] = (NodeCaller) {.place = 2,.calls = 10};
	plan_estimate(&plan);
	ok(near(plan_estimate_part(&plan, 3, 1), (300 + 600 * 0.75) / 900) &&
	   near(plan_estimate_part(&plan, 3, 2), 600 * 0.25 / 900),
	   "the first call has its own time, the others divide the rest");
	ok(near(nodes[1].times.total_ns, 200 + 750) && near(nodes[2].times.total_ns, 300 + 150) &&
	   near(nodes[0].times.total_ns, 1500) && is_sound(), "two callers of a CTE divide its total");
	ok(plan_estimate_part(&plan, 3, 0) == 0, "another node has no part");

	records[3][0].first_ns = callers[0].first_ns = 5000;
	plan_estimate(&plan);
	ok(near(plan_estimate_part(&plan, 3, 1), 1) && near(nodes[1].times.total_ns, 1100) &&
	   nodes[3].first_ns <= nodes[3].times.total_ns &&
	   is_sound(), "a first call that is longer than the total has all of it");
	callers[0] = (NodeCaller) {.place = 1,.calls = 1,.loops = 1};
	callers[1] = (NodeCaller) {.place = 2,.calls = 3,.loops = 3};
	plan_estimate(&plan);
	ok(near(plan_estimate_part(&plan, 3, 2), 0.75), "first calls without times are divided by number");
	callers[0].calls = callers[1].calls = 0;
	plan_estimate(&plan);
	ok(plan_estimate_part(&plan, 3, 1) == 0 && near(nodes[0].times.total_ns, 600) &&
	   is_sound(), "a CTE without calls belongs to no total");
}

static void
test_processes(void)
{
	new_plan(3, 2);
	add_cpu(0, 0, 100);
	add_cpu(1, 0, 200);
	add_cpu(2, 0, 300);
	add_cpu(1, 1, 1000);
	add_cpu(2, 1, 3000);
	records[0][1].loops = 0;
	runs[0].sampler_cpu_ns = 5;
	runs[1].sampler_cpu_ns = 7;
	plan_estimate(&plan);
	ok(near(nodes[1].times.self_ns, 1200) && near(nodes[2].times.self_ns, 3300), "times are sums over the processes");
	ok(near(nodes[0].times.total_ns, 600) && nodes[0].processes == 1, "a total is without the processes that did not execute the node");
	ok(near(nodes[1].times.total_ns, 4500) && nodes[1].processes == 2 &&
	   near(by_process[1][1].total_ns, 4000), "and with all others");
	ok(near(plan.share_ns, 4600) && near(nodes[2].share_percent, 3300 / 46.0) &&
	   plan.run_ns == 600 && plan.samples == 50 &&
	   plan.sampler_cpu_ns == 12 && is_sound(), "shares are those of all processes");
}

/* Tests plans with random times, most of which contradict each other. */
static void
test_random(void)
{
	int			unsound = 0;

	for (int i = 0; i < 20000; i++)
	{
		int			nnodes = 1 + (int) (uniform(&random_state) * MOST_NODES);

		new_plan(nnodes, 1 + i % PROCESSES);
		for (int j = 1; j < nnodes; j++)
		{
			nodes[j].kind = uniform(&random_state) < 0.3 ? NODE_WHOLE : NODE_SAMPLED;
			nodes[j].is_called = uniform(&random_state) < 0.2;
		}
		for (int p = 0; p < plan.nprocesses; p++)
		{
			double		most = uniform(&random_state) < 0.1 ? 0 : 1000;

			runs[p].run_ns = most * uniform(&random_state) * nnodes;
			runs[p].cpu_ns = 2 * most * uniform(&random_state) * nnodes;
			runs[p].samples = floor(5 * uniform(&random_state));
			runs[p].squares = runs[p].samples * uniform(&random_state);
			runs[p].unseen_squares = most * uniform(&random_state);
			runs[p].pending = (int) (uniform(&random_state) * (nnodes + 4)) - 3;
			runs[p].pending_ns = most * uniform(&random_state);
			runs[p].outside.cpu_ns = most * uniform(&random_state);
			for (int j = 0; j < nnodes; j++)
			{
				NodeRecord *record = &records[j][p];
				double		own = uniform(&random_state) < 0.3 ? 0 : most;

				/* samples do not find a NODE_WHOLE at work */
				if (nodes[j].kind == NODE_SAMPLED)
				{
					record->samples.cpu_ns = own * uniform(&random_state);
					record->samples.wait_ns = own * uniform(&random_state);
					record->samples.cpu_wait_ns = own * uniform(&random_state);
					record->samples.variance = own * uniform(&random_state);
				}
				record->loops = floor(3 * uniform(&random_state));
				record->first_ns = own * uniform(&random_state);
				record->whole_ns = 3 * most * uniform(&random_state);
				if (nodes[j].is_called)
				{
					record->callers[0].place = (int) (uniform(&random_state) * j);
					record->callers[0].calls = floor(4 * uniform(&random_state));
					record->callers[0].loops = floor(4 * uniform(&random_state));
					record->callers[0].first_ns = own * uniform(&random_state);
				}
			}
		}
		plan_estimate(&plan);
		unsound += !is_sound();
	}
	ok(unsound == 0, "any times give sound estimates: %d do not", unsound);
}

int
main(void)
{
	test_simulations();
	test_short();
	test_cpu_wait();
	test_edges();
	test_unseen();
	test_whole();
	test_callers();
	test_processes();
	test_random();
	return done();
}
