#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"

#include "core/reference.h"
#include "explain/query_timing.h"
#include "explain/timing_clock.h"

/* Shortest run, in ns, in which the frequency of ticks can be measured to 0.1 %. */
#define LONG_RUN_NS		100000

/*
 * Least excess, in ns, of a long gap over its expected length.  An interrupt is shorter, and a time
 * slice of another process is longer.
 */
#define LONG_CALL_NS	20000

/*
 * Time between two readings, in ns, above which the kernel is always asked how long other processes
 * used the CPU.  Asking takes 2 us.
 */
#define ASK_NS			500000

/* Least excess of a long gap, in multiples of the median deviation of times between timed calls. */
#define MANY_SPREADS	15

/*
 * Prior weight of a node as the cause of a long gap if a node above it may itself work for long, as
 * a Sort does.  The node above has then probably caused the gap.  The weight of other nodes is 1.
 */
#define EXPLAINED_WEIGHT	0.1

/*
 * Ratio of the time lost to other processes to the time that these processes used the CPU.  The
 * ratio is above 1 because the caches are cold afterwards.
 */
#define TURN_COST		1.25

/*
 * Ratio of the cost of a timed call in a query to the cost that call_calibration.c measures in a
 * loop.  In a query, reading the clock also prevents out-of-order execution, see doc/diary.md.
 */
#define TIMED_IN_QUERY	3

QueryTiming *timed_in_worker = NULL;
const ExecutionWatcher *execution_watcher = NULL;

void
query_set_cost(QueryTiming *query, const CallCost *cost)
{
	double		ticks_per_ns = cost->ticks_per_ns;

	query->cost = *cost;
	query->ticks_per_ns = ticks_per_ns;
	query->long_ticks = LONG_CALL_NS * ticks_per_ns;
	query->ask_ticks = ASK_NS * ticks_per_ns;
	policy_init(&query->policy, query->max_overhead / 100,
				TIMED_IN_QUERY * cost->timed_ns * ticks_per_ns,
				Max(query->sampling, 1), query->long_ticks, now_ticks());
}

/*
 * If it took longer than ask_ticks to ask the kernel for the CPU usage, this process has waited,
 * for example for the CPU.  Then the excluded ticks are long_ticks, for asking, and "waited", the
 * part of the wait that ask_usage() has counted.  The rest belongs to the next interval between
 * readings.
 */
void
query_take_off(QueryTiming *query, double waited)
{
	uint64		asked = fenced_ticks() - query->last_reading;

	if ((double) asked > query->ask_ticks)
		asked = (uint64) Min((double) asked, query->long_ticks + waited);
	query->last_reading += asked;
	query->off_ticks += asked;
	query->asked_ticks += Min(asked, (uint64) query->long_ticks);
}

void
query_timing_start(QueryTiming *query)
{
	query->start_ns = reference_ns();
	query->start_ticks = query->last_reading = now_ticks();
	query->policy.start = query->policy.now = query->start_ticks;

	/* the run includes both requests for the CPU usage */
	query->usage = cpu_usage_before();
	query->usage_ns = reference_ns();
	query_take_off(query, 0);
}

void
query_restore_loops(QueryTiming *query, const NodeTiming *calling)
{
	for (int id = 0; id < query->nnodes; id++)
	{
		NodeTiming *t = query->nodes[id];

		if (t == NULL || !t->in_loop || instr_in_loop(&t->instr) || (t == calling && t->rescanned))
			continue;
		instr_begin_loop(&t->instr);
		instr_add_counts(&t->instr, 0, -1);
		next_due(t) = t->ended || t->returned != 0 ? 0 : t->first_calls + t->later_due;
	}
	if (!instr_in_loop(&query->root->instr))
	{
		instr_begin_loop(&query->root->instr);
		instr_add_counts(&query->root->instr, 0, -1);
	}
}

/*
 * Returns whether a node has read this input to the end in its current loop, and has begun no loop
 * since its latest timed call.
 */
static bool
input_is_over(const NodeTiming *t, const NodeTiming *input)
{
	bool		in_loop = t->kind == NODE_SAMPLED ? t->in_loop : instr_in_loop(&t->instr);

	return plan_input_reading(t->node, input->node) == INPUT_READ_TO_END && in_loop &&
		(t->samples == NULL || t->first_calls == t->samples->timed_first);
}

/*
 * Returns the prior weight of a node as the cause of a gap, see EXPLAINED_WEIGHT.  It is 0 if the
 * node cannot be the cause, for example because it had no untimed call since its latest timed one.
 * "t" is the node for whose timed call the clock was read.  "open" is the node whose timed call
 * lasted for the whole gap, or NULL.  "waited": the process has slept in the gap.
 */
static double
gap_weight(const NodeTiming *node, const NodeTiming *t, const NodeTiming *open, bool waited)
{
	const NodeTiming *above = caller_of(node);
	double		weight = 1;

	if (node->samples == NULL || node->calls - (node == t) <= node->samples->timed_at)
		return 0;
	for (const NodeTiming *input = node; above != NULL; input = above, above = caller_of(above))
	{
		bool		works = plan_works_between(above->node, (double) input->calls);

		if (input->subplan == NULL &&
			(input_is_over(above, input) || (waited && plan_shape(above->node)->gathers) ||
			 (above == t && (IsA(above->node, SortState) || works))))
			return 0;
		if (input->subplan == NULL && works)
			weight = EXPLAINED_WEIGHT;
		if (above == open)
			return weight;
	}
	/* a worker whose tuple queue is full sleeps outside of its nodes' calls */
	return open == NULL && !(waited && IsParallelWorker()) ? weight : 0;
}

static bool
is_timed(const NodeTiming *t)
{
	return t->samples != NULL && t->calls == t->samples->timed_at;
}

/* Adds a long gap to a node that was certainly in a call during the gap. */
static void
add_long_gap(NodeTiming *t, double ticks)
{
	NodeSamples *samples = t->samples;
	int			gap = (t->in_loop ? &samples->later : &samples->first)->policy.gap;

	samples->long_ticks += ticks;
	if (!t->in_loop)
		samples->long_first_ticks += ticks;
	if (t->use != NULL)
	{
		t->use->ticks += ticks;
		t->uses_ticks += ticks;
	}
	if (gap > 1)
	{
		if (is_timed(t))
			samples->long_seen++;
		else
			samples->long_certain += 1.0 / (gap - 1);
	}
}

/* Adds a long gap to a node that may have been in a long untimed call during the gap. */
static void
add_hidden_gap(NodeSamples *samples, double ticks)
{
	int			gap = Max(samples->first.policy.gap, samples->later.policy.gap);

	samples->hidden_ticks += ticks;
	samples->long_expected += gap > 1 ? 1.0 / (gap - 1) : 0;
}

/*
 * Adds a long gap to the nodes that were certainly in a call, and to those whose untimed calls may
 * have caused it.
 */
static void
attribute_gap(QueryTiming *query, NodeTiming *t, bool within, bool waited, double ticks)
{
	const NodeTiming *open = t;
	bool		outside = true; /* the gap is outside of the root's calls */
	double		sum = 1;		/* sum of weights; it begins with 1 for "open"
								 * or time outside of calls */

	if (!within)
	{
		open = t == NULL ? NULL : caller_of(t);
		while (open != NULL && !is_timed(open))
			open = caller_of(open);
	}
	for (const NodeTiming *a = open; a != NULL; a = caller_of(a))
	{
		if (a->samples != NULL)
			add_long_gap(unconstify(NodeTiming *, a), ticks);
		outside &= a != query->root;
	}
	for (int id = 0; id < query->nnodes && query->root->returned == 0; id++)
	{
		if (query->nodes[id] != NULL && query->nodes[id]->samples != NULL)
			sum += query->nodes[id]->samples->gap_weight =
				gap_weight(query->nodes[id], t, open, waited);
	}
	for (int id = 0; id < query->nnodes && sum > 1; id++)
	{
		const NodeTiming *node = query->nodes[id];
		double		weight = node == NULL || node->samples == NULL ? 0 : node->samples->gap_weight;

		/* the time is also part of the time of the nodes above */
		for (const NodeTiming *a = node; weight > 0 && a != NULL && a != open; a = caller_of(a))
		{
			if (a->samples == NULL || a->samples->gap_weight <= 0)
				continue;
			a->samples->hidden_prior_ticks += ticks * weight / sum;
			if (a == node)
				add_hidden_gap(a->samples, ticks);
			outside &= open != NULL;
		}
	}
	if (outside)
		query->outside.long_sum += ticks;
}

/* Adds time off the CPU to the nodes that the server is timing at present. */
static void
add_off_ticks(QueryTiming *query, double ticks)
{
	for (int id = 0; id < query->nnodes; id++)
	{
		NodeTiming *node = query->nodes[id];

		if (node != NULL && node->kind == NODE_WHOLE && instr_is_timing(&node->instr))
			node->off_ticks += ticks;
	}
}

/*
 * Returns how many ns other processes used the CPU since the previous call of ask_usage().  Adds
 * the time of other waits to slept_ns.
 */
static double
ask_usage(QueryTiming *query)
{
	CpuUsage	usage = cpu_usage_after();
	uint64		now_ns = reference_ns();
	double		elapsed_ns = (double) (int64) (now_ns - query->usage_ns);
	double		ns = preempted_ns(&query->usage, &usage, elapsed_ns);

	query->slept_ns += Max(elapsed_ns - (usage.cpu_ns - query->usage.cpu_ns) - ns, 0);
	query->usage = usage;
	query->usage_ns = now_ns;
	return ns;
}

/*
 * Returns the expected time between two readings.  In a timed call it is the running mean of the
 * class.  Before a timed call it is proportional to the number of calls since the latest timed one.
 */
static double
ordinary_ticks(const QueryTiming *query, const NodeTiming *t, bool within, double ticks)
{
	const NodeSamples *samples = t->samples;
	double		interval;
	double		excess;

	if (within)
		return (t->in_loop ? &samples->later : &samples->first)->latest_mean;
	if (samples->interval_calls <= 0)
		return 0;
	interval = (double) (int64) (query->last_reading - query->off_ticks + query->long_off_ticks -
								 samples->timed_start);
	excess = interval - (double) (t->calls - samples->timed_at) * samples->interval_ticks /
		samples->interval_calls;
	return Max(ticks - excess, 0);
}

/*
 * Handles a long time since the previous reading.  Subtracts the time of other processes, and
 * assigns the rest to nodes if the rest is a long gap.  Returns the reading minus off_ticks.
 */
static uint64
end_gap(QueryTiming *query, NodeTiming *t, bool within, double ticks)
{
	bool		known = t != NULL && t->samples != NULL;
	double		ordinary = known ? ordinary_ticks(query, t, within, ticks) : 0;
	double		least =
		Max(query->long_ticks, known ? MANY_SPREADS * t->samples->interval_spread : 0);
	double		waits = query->usage.waits;
	double		own;
	double		off;
	double		ns;

	if (ticks <= query->ask_ticks && ticks - ordinary <= least)
		return query->last_reading - query->off_ticks;
	ns = ask_usage(query);
	off = Min(ns * query->ticks_per_ns, ticks);
	own = ticks - TURN_COST * off - ordinary;
	if (own > least)
		attribute_gap(query, t, within, waits < query->usage.waits, own);
	else
		own = 0;
	if (off > 0)
		add_off_ticks(query, off);
	query->preempted_ns += ns;
	query->off_ticks += (uint64) off + (uint64) own;
	query->long_off_ticks += (uint64) own;
	query_take_off(query, ns * query->ticks_per_ns - off);
	return query->last_reading - query->off_ticks;
}

uint64
query_reading(QueryTiming *query, NodeTiming *t, bool within)
{
	uint64		now = fenced_ticks();
	double		ticks = (double) (int64) (now - query->last_reading);

	query->last_reading = now;
	if (unlikely(ticks > query->long_ticks))
		return end_gap(query, t, within, ticks);
	return now - query->off_ticks;
}

void
query_timing_ran(QueryTiming *query)
{
	NodeTiming *root = query->root;

	query->ran_ticks = query_reading(query, NULL, false);
	if (query->outside.last_ticks != 0 && query->ran_ticks > query->outside.last_ticks)
		query->outside.ends += (double) (query->ran_ticks - query->outside.last_ticks);
	query->outside.last_ticks = 0;

	/* the time until the root's next call is not part of the query */
	if (root->returned != 0)
	{
		root->returned = 0;
		next_due(root) = root->first_calls + root->later_due;
	}
}

void
query_timing_resume(QueryTiming *query, bool again)
{
	uint64		pause = now_ticks() - query->last_reading;
	double		slept_ns = query->slept_ns;

	/* CPU usage during a cursor's pause is not part of the query's */
	if ((double) pause > query->ask_ticks)
		(void) ask_usage(query);
	query->slept_ns = slept_ns;
	pause = now_ticks() - query->last_reading;
	query->last_reading += pause;
	query->paused_ticks += pause;
	query->policy.start += pause;
	query->policy.now += pause;
	query->off_ticks += pause;

	/* true if the cursor was rewound, or an extension explained the plan */
	if (query_was_read(query))
	{
		query->rewound = again && (query->desc->estate->es_top_eflags & EXEC_FLAG_REWIND) != 0;
		if (query->rewound)
			instr_begin_loop(&query->root->instr);
		else
			query_restore_loops(query, NULL);
	}
}

void
query_timing_stop(QueryTiming *query)
{
	/* firing triggers may take long: query_reading() handles such a gap */
	uint64		stop = query_reading(query, NULL, false);
	double		ns = ask_usage(query);

	query->outside.ends += (double) (int64) (stop - query->ran_ticks);
	query->preempted_ns += ns;
	query_take_off(query, ns * query->ticks_per_ns);
	query->stop_ticks = now_ticks();
	query->stop_ns = reference_ns();
	query->outside.ends += (double) (query->stop_ticks - query->last_reading);
}

double
query_ns_per_tick(const QueryTiming *query)
{
	double		ticks = (double) (int64) (query->stop_ticks - query->start_ticks);
	double		ns = (double) (query->stop_ns - query->start_ns);

	if (!timing_by_counter)
		return 1;
	if (ns >= LONG_RUN_NS && ticks > 0)
		return ns / ticks;
	return 1 / query->ticks_per_ns;
}

double
query_run_ns(const QueryTiming *query)
{
	double		ticks =
		(double) (int64) (query->stop_ticks - query->start_ticks - query->paused_ticks);

	/* by ticks, because reading the reference clock may be a system call */
	return Max(ticks, 0) * query_ns_per_tick(query);
}
