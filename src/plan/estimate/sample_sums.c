/*
 * Adds samples to the sums of plan nodes.
 *
 * The samples of a node are proportional to its time, whatever its calls are like.  This is all
 * that is needed if samples are close and the process is on the CPU.  The rest of this file treats
 * four difficulties.
 *
 * A sample stands for the time since the one before.  Between two samples, one node stops and
 * another begins in the middle on average, but all of this time is the second node's.  Most nodes
 * get as much at their beginning as they lose at their end, but not the first node.  So the first
 * sample stands for half of an interval more (head_ns), and the time of the last node is shorter by
 * as much when the sums are scaled to the time of the execution.
 *
 * The kernel's CPU time of another process is late: Linux updates it only at timer interrupts, and
 * when the process leaves the CPU.  Until then, a sample without a wait event counts as time on the
 * CPU.  At the update, the time since the previous one is compared with the CPU time used in it.
 * For the rest of the time, the process was off the CPU.  It was not in a wait event, so it waited
 * for a CPU.  A process without a CPU stays at the same node, so this time is moved from cpu_ns to
 * cpu_wait_ns of one run of samples at the same number (take_off()).  If it is longer than the time
 * that the latest sample stands for, it began right after the previous update, which the kernel
 * made when the process left the CPU; else it is that of the latest sample (off_run()).
 *
 * The variance must be that of this execution.  It is estimated by successive differences (von
 * Neumann, Ann. Math. Stat. 12, 1941): neighbouring samples at different numbers add (a^2 + b^2) /
 * 4 to the variance of both numbers, where a and b are the times of the two samples.  A node that
 * works in one piece therefore has a small variance, and a node that alternates with others has
 * that of random sampling.  If the process was off the CPU during a run of samples, none of them
 * counts for more than the rest of the run's time.  If calls are longer than about a fifth of the
 * time between samples, the true variance is smaller than this estimate, because neighbouring
 * samples are not independent.  A single sample in each interval does not show by how much.
 *
 * The sampler itself may lose its CPU.  A sample is late if the time since the previous sample is
 * SAMPLE_LATE times the mean.  Other nodes may have worked in this time, the gap.  So it is divided
 * among the SAMPLE_RING samples before and after it.  Samples at which the process turns out to
 * have been off the CPU do not count.  If some of them are in wait events, the ratio of waits to
 * work in the gap is assumed to be theirs, without the late sample, and what is left of the time
 * off the CPU is time waiting for a CPU.  The gap is in the sums only after the samples after it,
 * and after the kernel has updated the CPU time.
 */
#include <math.h>
#include <string.h>

#include "plan/estimate/sample_sums.h"

/*
 * A sample is late if the time since the previous sample is this multiple of the mean.  The sampler
 * draws intervals between half and three halves of the mean, so usual samples are below 2.  With 4,
 * more late wake-ups of the sampler would be divided among neighbours; with 16, longer gaps would
 * belong to the late sample's node alone.
 */
#define SAMPLE_LATE		8

/*
 * Number of batches into which the samples before and after a gap are divided; at most SAMPLE_RING
 * / 2.
 */
#define GAP_BATCHES		4

/*
 * Least time off the CPU that counts as waiting for a CPU, in ns and in samples.  An interrupt is
 * shorter than this time.  The kernel's CPU time is up to one sample older than the sample.  With
 * half of the limits, interrupts and old CPU times would count as waiting for a CPU; with twice,
 * more short losses of the CPU would belong to nodes.
 */
#define LEAST_OFF_NS	20e3
#define LEAST_OFF_SAMPLES	2

/* Forgets all runs, and all gaps except for an open one. */
static void
forget_runs(SampleState *state)
{
	if (state->gap_is_open)
		state->gaps[0] = state->gaps[state->ngaps - 1];
	state->ngaps = state->gap_is_open ? 1 : 0;
	state->nruns = state->longest = 0;
}

void
sample_sums_add(SampleSums *sum, const SampleSums *samples, double factor)
{
	sum->samples += factor * samples->samples;
	sum->cpu_ns += factor * samples->cpu_ns;
	sum->wait_ns += factor * samples->wait_ns;
	sum->cpu_wait_ns += factor * samples->cpu_wait_ns;
	sum->variance += factor * samples->variance;
}

void
sample_begin(SampleState *state, uint64_t ns, uint64_t cpu_ns, double head_ns)
{
	state->ring.n = state->ring.next = 0;
	state->mean_ns = state->weight_ns = 0;
	state->gap_is_open = false;
	state->settled.off_ns = 0;
	state->ns = ns;
	state->cpu_ns = cpu_ns;
	state->head_ns = head_ns;
	state->number = SAMPLE_IDLE;
	state->off_ns = 0;
	forget_runs(state);
}

static void
add_wait(const SampleTable *table, uint32_t number, uint32_t event, double ns)
{
	for (uint32_t i = 0; i < table->nwaits; i++)
	{
		SampleWait *wait = &table->waits[i];

		if (wait->number == SAMPLE_IDLE)
		{
			wait->event = event;
			wait->ns = 0;
			/* last, because the observed process may read the table meanwhile */
			__atomic_store_n(&wait->number, number, __ATOMIC_RELEASE);
		}
		if (wait->number == number && wait->event == event)
		{
			wait->ns += ns;
			return;
		}
	}
}

/* Returns the gap whose time is not in the sums yet; or NULL. */
static SampleGap *
current_gap(SampleState *state)
{
	return state->gap_is_open ? &state->gaps[state->ngaps - 1] : NULL;
}

static void
remember(SampleRing *ring, SamplePlace place)
{
	ring->places[ring->next] = place;
	ring->next = (ring->next + 1) % SAMPLE_RING;
	if (ring->n < SAMPLE_RING)
		ring->n++;
}

static uint32_t
waits_in(const SampleGap *gap)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i < gap->n; i++)
		n += gap->places[i].event != 0;
	return n;
}

/*
 * Returns the variance of a number's share of a gap.  It is estimated by the means of batches
 * of successive samples (Law, Simulation Modeling and Analysis, 2015, section 9.5.3), because
 * samples at one long call are not independent.  As few batches may agree by chance, the variance
 * of independent samples is added.
 */
static double
variance_of_share(const SampleGap *gap, uint32_t number)
{
	double		share = 0;
	double		squares = 0;
	double		n[GAP_BATCHES] = {0};
	double		same[GAP_BATCHES] = {0};

	if (gap->n < GAP_BATCHES)
		return 0.25;
	for (uint32_t i = 0; i < gap->n; i++)
	{
		uint32_t	batch = i * GAP_BATCHES / gap->n;

		n[batch]++;
		if (gap->places[i].number == number)
		{
			same[batch]++;
			share += 1.0 / gap->n;
		}
	}
	for (int i = 0; i < GAP_BATCHES; i++)
		squares += pow(same[i] / n[i] - share, 2);
	return squares / (GAP_BATCHES * (GAP_BATCHES - 1)) + share * (1 - share) / gap->n;
}

/*
 * Returns the part of a gap's time off the CPU that was spent in wait events.  The samples
 * before and after it show the ratio of waits to work; the remaining time was spent waiting for
 * a CPU.  The late sample does not count, because without a wait event it is no random sample: a
 * process that sleeps, and that a timer wakes, would have worked for the time of a sample.
 */
static double
gap_wait_ns(const SampleGap *gap)
{
	uint32_t	nwaits = waits_in(gap);
	uint32_t	n = gap->n - (gap->n > gap->before ? 1 : 0);

	if (nwaits == 0)
		return 0;
	if (nwaits >= n)
		return gap->off_ns;
	return fmin(gap->off_ns, gap->ns * nwaits / (n - nwaits));
}

/*
 * Adds the time of a gap to the sums, divided among its samples: the CPU time among those without a
 * wait event, if any.  With factor -1, takes it out again.
 */
static void
divide_gap(const SampleGap *gap, const SampleTable *table, double factor)
{
	uint32_t	nwaits = waits_in(gap);
	bool		all = nwaits == gap->n;
	double		wait_ns = gap_wait_ns(gap);
	double		square = factor * pow(gap->ns + wait_ns, 2);

	*table->squares += square;
	table->sums[gap->number].cpu_wait_ns += factor * (gap->off_ns - wait_ns);
	for (uint32_t i = 0; i < gap->n; i++)
	{
		const SamplePlace *place = &gap->places[i];
		SampleSums *sums = &table->sums[place->number];
		bool		is_first = true;

		if (all || place->event == 0)
			sums->cpu_ns += factor * gap->ns / (all ? gap->n : gap->n - nwaits);
		if (place->event != 0)
		{
			sums->wait_ns += factor * wait_ns / nwaits;
			add_wait(table, place->number, place->event, factor * wait_ns / nwaits);
		}
		for (uint32_t j = 0; j < i; j++)
			is_first &= gap->places[j].number != place->number;
		if (is_first)
			sums->variance += square * variance_of_share(gap, place->number);
	}
}

static void
put_gap(SampleState *state, const SampleTable *table, const SampleGap *gap)
{
	divide_gap(gap, table, 1);
	state->settled = *gap;
}

/* Ends the samples after a gap. */
static void
close_gap(SampleState *state, const SampleTable *table)
{
	const SampleGap *gap = current_gap(state);

	state->gap_is_open = false;
	if (gap != NULL && gap->known)
		put_gap(state, table, gap);
}

/* Called when the time off the CPU in the gaps since the previous update is known. */
static void
settle_gaps(SampleState *state, const SampleTable *table)
{
	for (uint32_t i = 0; i < state->ngaps; i++)
	{
		SampleGap  *gap = &state->gaps[i];

		if (!gap->known && gap != current_gap(state))
			put_gap(state, table, gap);
		gap->known = true;
	}
}

/* Opens a gap before a late sample, with the samples before it. */
static void
open_gap(SampleState *state, uint32_t number, double ns)
{
	const SampleRing *ring = &state->ring;
	SampleGap  *gap = &state->gaps[state->ngaps++];

	gap->number = number;
	gap->ns = ns;
	gap->off_ns = 0;
	gap->known = false;
	gap->before = gap->n = ring->n;
	for (uint32_t i = 0; i < ring->n; i++)
		gap->places[i] = ring->places[(ring->next + SAMPLE_RING - ring->n + i) % SAMPLE_RING];
	state->gap_is_open = true;
}

/* Adds a sample after it to an open gap. */
static void
continue_gap(SampleState *state, const SampleTable *table, SamplePlace place)
{
	SampleGap  *gap = current_gap(state);

	if (gap == NULL)
		return;
	gap->places[gap->n++] = place;
	if (gap->n == 2 * SAMPLE_RING)
		close_gap(state, table);
}

/*
 * Returns the run during which the process was off the CPU.  The kernel updates the CPU time
 * when the process leaves the CPU, so if more time is missing than the latest sample stands for
 * (last_ns), the process has been off the CPU since the previous update: the runs are searched
 * in order of time.
 */
static SampleRun *
off_run(SampleState *state, double last_ns)
{
	SampleRun  *last = state->nruns > 0 ? &state->runs[state->nruns - 1] : NULL;

	if (last != NULL && state->off_ns <= last_ns && !last->waits && last->ns > 0)
		return last;
	for (uint32_t i = 0; i < state->nruns; i++)
	{
		if (!state->runs[i].waits && state->runs[i].ns > 0)
			return &state->runs[i];
	}
	return NULL;
}

/*
 * Takes samples out of a gap that found the process without a CPU: they would make their number
 * look too large.  "after": those after the gap, else those before.
 */
static void
drop_samples(SampleGap *gap, bool after)
{
	if (after ? gap->before == 0 : gap->n == gap->before)
		return;
	if (after)
		gap->n = gap->before;
	else
	{
		gap->n -= gap->before;
		memmove(gap->places, &gap->places[gap->before], sizeof(gap->places[0]) * gap->n);
		gap->before = 0;
	}
}

/* Return the runs directly before and after a run; or NULL. */
static const SampleRun *
run_before(const SampleState *state, const SampleRun *run)
{
	return run->follows && run > state->runs ? run - 1 : NULL;
}

static const SampleRun *
run_after(const SampleState *state, const SampleRun *run)
{
	const SampleRun *next = run + 1;

	return next < state->runs + state->nruns && next->follows ? next : NULL;
}

/* A run was off the CPU: the gaps beside it are divided without its samples. */
static void
drop_run(SampleState *state, const SampleRun *run)
{
	const SampleRun *before = run_before(state, run);
	const SampleRun *after = run_after(state, run);

	if (after != NULL && after->gap >= 0)
		drop_samples(&state->gaps[after->gap], false);
	if (before != NULL && before->gap >= 0)
		drop_samples(&state->gaps[before->gap], true);
}

/* Adds the variance of a switch between two numbers, for a square of a sample's time. */
static void
add_switch(const SampleTable *table, uint32_t from, uint32_t to, double square)
{
	if (from == SAMPLE_IDLE || from == to)
		return;
	table->sums[from].variance += square / 4;
	table->sums[to].variance += square / 4;
}

/*
 * Reduces the time of a run by "ns" off the CPU.  No sample of the run then stands for more than
 * the rest, and the variance is that of these samples.
 */
static void
shorten_run(SampleState *state, const SampleTable *table, SampleRun *run, double ns)
{
	const SampleRun *after = run_after(state, run);
	double		left = run->ns - ns;
	double		first = fmin(run->first_ns, left);
	double		last = fmin(run->last_ns, left);

	add_switch(table, run->previous, run->number, first * first - run->first_ns * run->first_ns);
	if (after != NULL && after->gap < 0)
		add_switch(table, run->number, after->number, last * last - run->last_ns * run->last_ns);
	else if (run == &state->runs[state->nruns - 1])
		state->weight_ns = last;
	run->ns = left;
	run->first_ns = first;
	run->last_ns = last;
}

/*
 * When a gap ends, the kernel may not have added the time since the process got its CPU back.
 * It is in the next update, which is then longer than the time that has passed.
 */
static void
give_back(SampleState *state, const SampleTable *table)
{
	SampleGap  *gap = current_gap(state);
	bool		in_sums = gap == NULL || !gap->known;
	double		ns;

	if (in_sums)
		gap = &state->settled;
	ns = fmin(-state->off_ns, gap->off_ns);
	if (ns < LEAST_OFF_NS || ns < LEAST_OFF_SAMPLES * state->mean_ns)
		return;
	if (in_sums)
		divide_gap(gap, table, -1);
	gap->ns += ns;
	gap->off_ns -= ns;
	if (in_sums)
		divide_gap(gap, table, 1);
	state->off_ns += ns;
}

/* Moves the time off the CPU from cpu_ns to cpu_wait_ns. */
static void
take_off(SampleState *state, const SampleTable *table, double last_ns)
{
	SampleRun  *run;

	if (state->off_ns > LEAST_OFF_NS && state->off_ns > LEAST_OFF_SAMPLES * state->mean_ns)
	{
		while (state->off_ns > 0 && (run = off_run(state, last_ns)) != NULL)
		{
			double		ns = fmin(state->off_ns, run->ns);

			if (run->gap < 0)
			{
				table->sums[run->number].cpu_ns -= ns;
				table->sums[run->number].cpu_wait_ns += ns;
				if (ns > SAMPLE_RING * state->mean_ns)
					drop_run(state, run);
				shorten_run(state, table, run, ns);
			}
			else
			{
				state->gaps[run->gap].ns -= ns;
				state->gaps[run->gap].off_ns += ns;
				run->ns -= ns;
			}
			state->off_ns -= ns;
		}
	}
	else
		give_back(state, table);
	state->settled.off_ns = 0;
	/* the CPU time includes that of system calls within wait events */
	state->off_ns = fmax(state->off_ns, -LEAST_OFF_SAMPLES * state->mean_ns);
	settle_gaps(state, table);
	forget_runs(state);
}

/* Adds a sample to the latest run, or begins another one. */
static void
add_run(SampleState *state, uint32_t number, bool waits, bool late, double ns)
{
	SampleRun  *run = state->nruns > 0 ? &state->runs[state->nruns - 1] : NULL;
	bool		follows = run != NULL;

	if (run == NULL || run->number != number || run->waits != waits || run->gap >= 0 || late)
	{
		/* without space, only the longest run is kept */
		if (state->nruns == SAMPLE_RUNS)
		{
			follows = state->longest == state->nruns - 1;
			state->runs[0] = state->runs[state->longest];
			state->runs[0].follows = false;
			state->longest = 0;
			state->nruns = 1;
		}
		run = &state->runs[state->nruns++];
		*run = (SampleRun)
		{
			.number = number, .waits = waits, .gap = late ? (int) state->ngaps - 1 : -1,
				.previous = late ? SAMPLE_IDLE : state->number, .follows = follows, .first_ns = ns
		};
	}
	run->ns += ns;
	run->last_ns = ns;
	if (!waits && (state->runs[state->longest].waits || run->ns > state->runs[state->longest].ns))
		state->longest = (uint32_t) (run - state->runs);
}

/*
 * Adds the time since the latest sample to the sums, or opens a gap if the sample is late.  Then
 * settles the time since the kernel's previous update of the CPU time, if it has updated it.  The
 * executing process may call this in a signal handler, so it neither allocates memory nor waits.
 */
void
sample_add(SampleState *state, const SampleTable *table, const Sample *sample)
{
	double		passed_ns = sample->ns > state->ns ? (double) (sample->ns - state->ns) : 0;
	double		ns = passed_ns + state->head_ns;
	bool		waits = sample->event != 0;
	bool		late = !waits && ns > SAMPLE_LATE * state->mean_ns &&
		state->ring.n >= SAMPLE_RING / 2 &&
		state->ngaps < SAMPLE_GAPS;
	SamplePlace place = {sample->number, sample->event};
	SampleSums *sums;

	if (sample->number == SAMPLE_IDLE || sample->number >= table->nsums)
		return;
	sums = &table->sums[sample->number];
	sums->samples++;
	if (late)
	{
		close_gap(state, table);
		open_gap(state, sample->number, ns);
	}
	remember(&state->ring, place);
	continue_gap(state, table, place);
	if (waits)
	{
		sums->wait_ns += ns;
		add_wait(table, sample->number, sample->event, ns);
	}
	else if (!late)
		sums->cpu_ns += ns;
	if (!waits)
		state->off_ns += passed_ns;
	add_run(state, sample->number, waits, late, ns);
	if (!late)
	{
		add_switch(table, state->number, sample->number,
				   ns * ns + state->weight_ns * state->weight_ns);
		*table->squares += ns * ns;
	}

	/*
	 * late samples increase the mean by little, but if all samples become
	 * late, it follows
	 */
	state->mean_ns += ((state->ring.n == 1 ? ns : fmin(ns, (SAMPLE_LATE + 1) * state->mean_ns)) -
					   state->mean_ns) / state->ring.n;
	state->ns = sample->ns;
	state->head_ns = 0;
	state->number = sample->number;
	state->weight_ns = late ? 0 : ns;
	if (sample->cpu_ns > state->cpu_ns)
	{
		state->off_ns -= (double) (sample->cpu_ns - state->cpu_ns);
		state->cpu_ns = sample->cpu_ns;
		take_off(state, table, waits ? 0 : ns);
	}
}

uint32_t
sample_pending(const SampleState *state, double *ns, double *gaps_ns)
{
	*gaps_ns = 0;
	for (uint32_t i = 0; i < state->ngaps; i++)
		*gaps_ns += state->gaps[i].known ? 0 : state->gaps[i].ns;
	for (uint32_t i = 0; i < state->nruns; i++)
	{
		const SampleRun *run = &state->runs[i];

		if (run->waits)
			continue;
		*ns = run->gap < 0 ? run->ns : 0;
		return run->number;
	}
	return SAMPLE_IDLE;
}

/*
 * An interval that is proportional to the elapsed time leads to a number of samples that grows with
 * its logarithm.  So the relative precision hardly depends on the duration, which is unknown in
 * advance.  Without an idle CPU, each sample needs a wake-up, which costs the same, however many
 * processes are sampled after it.
 */
double
sample_interval_ns(const SamplePace *pace, double elapsed_ns)
{
	double		interval_ns = pace->cpu_is_idle ? SAMPLE_DENSE_NS :
		SAMPLE_SPARSE_NS / fmin(fmax(pace->processes, 1), SAMPLE_TOGETHER);

	if (elapsed_ns > SAMPLE_DENSE_FOR_NS)
		interval_ns = fmax(interval_ns, pace->sleep_cpu_ns * elapsed_ns / SAMPLE_DENSE_FOR_NS);
	if (pace->max_share > 0)
		interval_ns = fmax(interval_ns, pace->sleep_cpu_ns / pace->max_share);
	return interval_ns;
}
