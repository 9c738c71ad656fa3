/*
 * Computes the times of plan nodes from the sums of samples.
 *
 * In each process, the samples are scaled such that they add up to its measured duration.  The time
 * waiting for a CPU is not above the duration - the CPU time - the time in wait events, all of
 * which are measured (scale_of()).  Then time is moved between nodes in two cases: from the time
 * outside to the root node, because the few samples of a short execution may all be outside of the
 * nodes by chance (move_outside()); and to nodes that the server has timed, from the node above, at
 * which samples found the process (move_whole()).
 *
 * The time of parts with too few samples is the root's, because a plan without time would be wrong.
 * The statistics of plans leave it out, and divide it among the nodes like the time of all other
 * executions of the plan (leaves_unseen).
 *
 * Variances are scaled by the same factors as times, and are at least that of one sample, so that a
 * node that no sample has found has a margin, too.  The time after the last sample may belong to a
 * single node.  It belongs to a node with the probability p, the node's share of the samples, so it
 * adds p * (1 - p) of its square to the node's variance.
 *
 * A node's total is the sum of its self time and of those of the nodes below.  The errors of self
 * times are independent, so their variances add up.  But as all times together are the measured
 * duration, the error of a total is also that of all other times, and the smaller of both is used
 * (plan_estimate_shares()).
 */
#include <math.h>
#include <stddef.h>

#include "core/stats.h"
#include "plan/estimate/plan_estimate.h"

static double
ratio(double part, double whole)
{
	return whole > 0 ? fmin(fmax(part / whole, 0), 1) : 0;
}

/* Returns all times of samples: on the CPU, in wait events, and waiting for a CPU. */
static double
all_ns(const SampleSums *samples)
{
	return samples->cpu_ns + samples->wait_ns + samples->cpu_wait_ns;
}

/* Factors by which the samples of a process are multiplied. */
typedef struct ProcessScale
{
	double		time;			/* of all times */
	double		cpu_wait;		/* of the time waiting for a CPU, in addition */
	double		missing;		/* part of cpu_ns that is time waiting for a
								 * CPU */
	double		late;			/* part of wait_ns that is such time */
	double		least_variance; /* square of the time of a sample */
	double		unseen_squares; /* squares of the times for which no sample
								 * stands */
	double		all_ns;			/* sum of the samples' times */
} ProcessScale;

static SampleSums
sum_of(const PlanEstimate *plan, int process)
{
	SampleSums	sum = plan->processes[process].outside;

	for (int i = 0; i < plan->nnodes; i++)
	{
		const SampleSums *samples = &plan->nodes[i].records[process].samples;

		sum.cpu_ns += samples->cpu_ns;
		sum.wait_ns += samples->wait_ns;
		sum.cpu_wait_ns += samples->cpu_wait_ns;
	}
	return sum;
}

/*
 * Time waiting for a CPU at the end of the execution may be missing in the sums, because the
 * sampler learns of it late.  It is in the time of late samples, which is in no sum yet, or in that
 * of the node whose samples are the first since the sampler learned of the CPU time.  If there is
 * more, it is divided among all nodes.
 *
 * After a wait event, a process must often wait for a CPU until it can note that the event is over.
 * Until then, samples find it in the event.  So if the kernel counts more time without a CPU than
 * the samples, the rest belongs to wait events.
 */
static ProcessScale
scale_of(PlanEstimate *plan, int process)
{
	ProcessRun *run = &plan->processes[process];
	SampleSums	sum = sum_of(plan, process);
	SampleSums *samples = run->pending >= 0 && run->pending < plan->nnodes ?
		&plan->nodes[run->pending].records[process].samples : &run->outside;
	ProcessScale scale = {0};
	double		cpu_wait_ns;
	double		missing_ns;
	double		late_ns;
	double		ns;

	if (all_ns(&sum) <= 0)
	{
		scale.least_variance = run->run_ns * run->run_ns;
		return scale;
	}
	ns = run->run_ns - run->cpu_ns - sum.wait_ns - sum.cpu_wait_ns;
	ns = fmin(fmax(ns, 0), fmin(run->gaps_ns, fmax(run->run_ns - all_ns(&sum), 0)));
	samples->cpu_wait_ns += ns;
	sum.cpu_wait_ns += ns;
	scale.all_ns = all_ns(&sum);
	scale.time = run->run_ns / scale.all_ns;
	late_ns = fmin(fmax(run->delay_ns / scale.time - sum.cpu_wait_ns, 0), sum.wait_ns);
	scale.late = ratio(late_ns, sum.wait_ns);
	sum.wait_ns -= late_ns;
	sum.cpu_wait_ns += late_ns;
	scale.unseen_squares = run->unseen_squares + pow(fmax(run->run_ns - scale.all_ns, 0), 2);
	cpu_wait_ns = (run->run_ns - run->cpu_ns) / scale.time - sum.wait_ns;
	missing_ns = cpu_wait_ns - sum.cpu_wait_ns;
	if (missing_ns > 0 && run->pending >= -1 && run->pending < plan->nnodes)
	{
		ns = fmin(fmin(missing_ns, run->pending_ns), fmax(samples->cpu_ns, 0));
		samples->cpu_ns -= ns;
		samples->cpu_wait_ns += ns;
		sum.cpu_ns -= ns;
		sum.cpu_wait_ns += ns;
		missing_ns -= ns;
	}
	scale.cpu_wait = ratio(cpu_wait_ns, sum.cpu_wait_ns);
	scale.missing = ratio(missing_ns, sum.cpu_ns);
	scale.least_variance = run->samples > 0 ? scale.time * scale.time *
		run->squares / run->samples :
		run->run_ns * run->run_ns;
	return scale;
}

static NodeTimes
times_of(const SampleSums *samples, const ProcessScale *scale)
{
	NodeTimes	times = {0};
	double		raw_ns = samples->cpu_ns + samples->wait_ns;
	double		share = ratio(all_ns(samples), scale->all_ns);
	double		late_ns = scale->late * samples->wait_ns;
	double		cpu_wait_ns = samples->cpu_wait_ns + late_ns;
	double		factor;

	times.wait_ns = scale->time * (samples->wait_ns - late_ns);
	times.cpu_wait_ns = scale->time *
		(scale->cpu_wait * cpu_wait_ns + scale->missing * samples->cpu_ns);
	times.cpu_ns = scale->time * (samples->cpu_ns + cpu_wait_ns) - times.cpu_wait_ns;
	times.self_ns = times.cpu_ns + times.wait_ns;
	factor = raw_ns > 0 ? times.self_ns / raw_ns : scale->time;
	times.variance = factor * factor * samples->variance + scale->least_variance +
		share * (1 - share) * scale->unseen_squares;
	return times;
}

/* Moves a part of all times but the variance. */
static void
move_part(NodeTimes *from, NodeTimes *to, double part)
{
	to->self_ns += part * from->self_ns;
	to->cpu_ns += part * from->cpu_ns;
	to->wait_ns += part * from->wait_ns;
	to->cpu_wait_ns += part * from->cpu_wait_ns;
	from->self_ns -= part * from->self_ns;
	from->cpu_ns -= part * from->cpu_ns;
	from->wait_ns -= part * from->wait_ns;
	from->cpu_wait_ns -= part * from->cpu_wait_ns;
}

/*
 * The only samples of a short execution may be outside of the nodes, by chance.  A plan without
 * time would be wrong, so of n samples and one more, the latter is assumed to be in the root node:
 * it gets 1 / (n + 1) of the time outside (Laplace's rule of succession).  The time in
 * ExecutorFinish(), such as that of triggers, is certainly outside, so it is left there.
 */
static void
move_outside(PlanEstimate *plan, int process)
{
	const ProcessRun *run = &plan->processes[process];
	NodeTimes  *outside = &plan->outside_by_process[process];
	double		all = outside->self_ns + outside->cpu_wait_ns;

	if (plan->nnodes > 0 && plan->nodes[0].records[process].loops > 0)
		move_part(outside, &plan->nodes[0].by_process[process],
				  ratio(all - run->finish_ns, all) /
				  (fmax(run->samples - run->finish_samples, 0) + 1));
}

/* Returns the nearest node above whose samples contain the time of a NODE_WHOLE. */
static NodeEstimate *
sampled_above(PlanEstimate *plan, const NodeEstimate *node)
{
	int			parent = node->parent;

	while (parent >= 0 && plan->nodes[parent].kind != NODE_SAMPLED)
		parent = plan->nodes[parent].parent;
	return parent < 0 ? NULL : &plan->nodes[parent];
}

/*
 * Moves the times of NODE_WHOLE nodes from the nodes above.  The measured time of such a node
 * includes other such nodes below it.  It includes waits, in unknown proportions, so the parts of
 * the time above are moved in equal proportions.
 */
static void
move_whole(PlanEstimate *plan, int process)
{
	for (int i = 0; i < plan->nnodes; i++)
	{
		const NodeEstimate *node = &plan->nodes[i];
		NodeEstimate *above;

		if (node->kind != NODE_WHOLE || (above = sampled_above(plan, node)) == NULL)
			continue;
		plan->nodes[i].by_process[process].total_ns += node->records[process].whole_ns;
		if (node->parent >= 0 && plan->nodes[node->parent].kind == NODE_WHOLE)
			plan->nodes[node->parent].by_process[process].total_ns -=
				node->records[process].whole_ns;
	}
	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *above = &plan->nodes[i];
		NodeTimes  *from = &above->by_process[process];
		double		available = from->self_ns + from->cpu_wait_ns;
		double		wanted = 0;

		if (above->kind != NODE_SAMPLED || available <= 0)
			continue;
		for (int j = 0; j < plan->nnodes; j++)
		{
			if (plan->nodes[j].kind == NODE_WHOLE && sampled_above(plan, &plan->nodes[j]) == above)
				wanted += fmax(plan->nodes[j].by_process[process].total_ns, 0);
		}
		if (wanted <= 0)
			continue;
		for (int j = 0; j < plan->nnodes; j++)
		{
			NodeTimes  *to = &plan->nodes[j].by_process[process];
			double		part;

			if (plan->nodes[j].kind != NODE_WHOLE ||
				sampled_above(plan, &plan->nodes[j]) != above || to->total_ns <= 0)
				continue;
			part = to->total_ns / fmax(available, wanted);
			to->cpu_ns = part * from->cpu_ns;
			to->wait_ns = part * from->wait_ns;
			to->cpu_wait_ns = part * from->cpu_wait_ns;
			to->self_ns = to->cpu_ns + to->wait_ns;
			to->variance = part * part * from->variance;
		}
		{
			double		rest = 1 - wanted / fmax(available, wanted);

			from->cpu_ns *= rest;
			from->wait_ns *= rest;
			from->cpu_wait_ns *= rest;
			from->self_ns = from->cpu_ns + from->wait_ns;
		}
	}
	for (int i = 0; i < plan->nnodes; i++)
		plan->nodes[i].by_process[process].total_ns = 0;
}

/*
 * The first calls of loops, in which a Sort works, have their measured time.  The other calls
 * divide the rest equally.
 */
double
plan_estimate_part(const PlanEstimate *plan, int subplan, int caller)
{
	const NodeEstimate *node = &plan->nodes[subplan];
	NodeCaller	own = {0};
	NodeCaller	all = {0};
	double		rest_ns;

	for (int p = 0; p < plan->nprocesses; p++)
	{
		for (int i = 0; i < NODE_CALLERS; i++)
		{
			const NodeCaller *c = &node->records[p].callers[i];

			all.calls += c->calls;
			all.loops += c->loops;
			all.first_ns += c->first_ns;
			if (c->place != caller)
				continue;
			own.calls += c->calls;
			own.loops += c->loops;
			own.first_ns += c->first_ns;
		}
	}
	if (all.calls <= 0)
		return 0;
	rest_ns = fmax(node->times.total_ns - all.first_ns, 0);
	if (all.calls <= all.loops || all.first_ns + rest_ns <= 0)
		return ratio(own.calls, all.calls);
	return ratio(own.first_ns + rest_ns * (own.calls - own.loops) / (all.calls - all.loops),
				 all.first_ns + rest_ns);
}

static bool
is_caller(const NodeEstimate *subplan, int nprocesses, int place)
{
	for (int p = 0; p < nprocesses; p++)
	{
		for (int i = 0; i < NODE_CALLERS; i++)
		{
			if (subplan->records[p].callers[i].calls > 0 &&
				subplan->records[p].callers[i].place == place)
				return true;
		}
	}
	return false;
}

/*
 * First calls of loops are timed by the clock, so their times include waits for a CPU, while totals
 * do not.  Removes the share of these waits in all calls of the node.
 */
static void
remove_cpu_wait(NodeRecord *record, const NodeTimes *times)
{
	double		factor = times->total_cpu_wait_ns > 0 ?
		ratio(times->total_ns, times->total_ns + times->total_cpu_wait_ns) : 1;

	record->first_ns *= factor;
	for (int i = 0; i < NODE_CALLERS; i++)
		record->callers[i].first_ns *= factor;
}

/*
 * Sets a node's totals: its self time and the totals of the nodes that it calls.  If several nodes
 * call a subplan, each contains the part of its total that corresponds to its calls.  The total of
 * Gather contains the leader's part of the nodes below, as in EXPLAIN.
 */
static void
set_total(PlanEstimate *plan, int place)
{
	NodeEstimate *node = &plan->nodes[place];

	if (plan->check != NULL)
		plan->check();
	if (node->has_total)
		return;
	node->has_total = true;
	node->below_variance = node->times.variance;
	for (int p = 0; p < plan->nprocesses; p++)
	{
		node->by_process[p].total_ns = node->by_process[p].self_ns;
		node->by_process[p].total_cpu_wait_ns = node->by_process[p].cpu_wait_ns;
	}
	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *below = &plan->nodes[i];
		double		part = 1;

		if (i == place || (!below->is_called && below->parent != place) ||
			(below->is_called && !is_caller(below, plan->nprocesses, place)))
			continue;
		set_total(plan, i);
		if (below->is_called)
			part = plan_estimate_part(plan, i, place);
		node->below_variance += part * part * below->below_variance;
		for (int p = 0; p < plan->nprocesses; p++)
		{
			node->by_process[p].total_ns += part * below->by_process[p].total_ns;
			node->by_process[p].total_cpu_wait_ns +=
				part * below->by_process[p].total_cpu_wait_ns;
		}
	}
	for (int p = 0; p < plan->nprocesses; p++)
		remove_cpu_wait(&node->records[p], &node->by_process[p]);
	node->times.total_ns = 0;
	node->processes = 0;
	for (int p = 0; p < plan->nprocesses; p++)
	{
		if (node->records[p].loops <= 0)
			continue;
		node->times.total_ns += node->by_process[p].total_ns;
		node->processes++;
	}
}

static void
add_times(NodeTimes *sum, const NodeTimes *times)
{
	sum->self_ns += times->self_ns;
	sum->cpu_ns += times->cpu_ns;
	sum->wait_ns += times->wait_ns;
	sum->cpu_wait_ns += times->cpu_wait_ns;
	sum->variance += times->variance;
}

static void
sum_processes(PlanEstimate *plan, NodeEstimate *node)
{
	node->times = (NodeTimes)
	{
		0
	};
	for (int p = 0; p < plan->nprocesses; p++)
		add_times(&node->times, &node->by_process[p]);
}

/*
 * The margin of a total is that of the self times below it or, if smaller, that of all other times,
 * because all times add up to the measured duration.
 */
void
plan_estimate_shares(PlanEstimate *plan)
{
	double		variance = plan->outside.times.variance;

	plan->share_ns = plan->outside.times.self_ns;
	plan->cpu_wait_ns = plan->outside.times.cpu_wait_ns;
	for (int i = 0; i < plan->nnodes; i++)
	{
		variance += plan->nodes[i].times.variance;
		plan->share_ns += plan->nodes[i].times.self_ns;
		plan->cpu_wait_ns += plan->nodes[i].times.cpu_wait_ns;
	}
	for (int i = -1; i < plan->nnodes; i++)
	{
		NodeEstimate *node = i < 0 ? &plan->outside : &plan->nodes[i];
		double		rest = fmax(variance - node->below_variance, 0);

		node->self_margin_ns = NORMAL_975 * sqrt(node->times.variance);
		node->total_margin_ns = isnan(node->below_variance) ? NAN :
			NORMAL_975 * sqrt(fmin(node->below_variance, rest));
		node->total_stddev_ns = NAN;
		node->share_percent = plan->share_ns > 0 ? node->times.self_ns / plan->share_ns * 100 : NAN;
		node->share_margin_percent = plan->share_ns > 0 ? node->self_margin_ns / plan->share_ns *
			100 : NAN;
	}
}

/*
 * Adds the time of parts with too few samples to that of the process's root.  Its error is that of
 * the sum, because the errors of the parts are not independent.  Or else takes it out of the
 * measured times.  Without samples, that is all of the time.
 */
static void
treat_unseen(PlanEstimate *plan, int process)
{
	ProcessRun *run = &plan->processes[process];
	SampleSums	sum = sum_of(plan, process);
	double		unseen_ns = 0;
	double		part;

	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeRecord *record = &plan->nodes[i].records[process];
		SampleSums	unseen = {
			.cpu_ns = record->unseen_ns, .variance = record->unseen_ns * record->unseen_ns / 4
		};

		unseen_ns += record->unseen_ns;
		if (!plan->leaves_unseen)
			sample_sums_add(&record->samples, &unseen, 1);
	}
	part = all_ns(&sum) > 0 ? ratio(unseen_ns, unseen_ns + all_ns(&sum)) : 1;
	plan->unseen_ns += part * run->run_ns;
	if (plan->leaves_unseen)
	{
		run->run_ns *= 1 - part;
		run->cpu_ns *= 1 - part;
		run->delay_ns *= 1 - part;
	}
}

/* Scales the samples of each process, then adds up processes, then subtrees. */
void
plan_estimate(PlanEstimate *plan)
{
	plan->samples = plan->sampler_cpu_ns = plan->unseen_ns = 0;
	for (int p = 0; p < plan->nprocesses; p++)
		treat_unseen(plan, p);
	plan->run_ns = plan->nprocesses > 0 ? plan->processes[0].run_ns : 0;
	for (int p = 0; p < plan->nprocesses; p++)
	{
		const ProcessRun *run = &plan->processes[p];
		ProcessScale scale = scale_of(plan, p);

		plan->samples += run->samples;
		plan->sampler_cpu_ns += run->sampler_cpu_ns;
		for (int i = 0; i < plan->nnodes; i++)
		{
			NodeEstimate *node = &plan->nodes[i];

			node->by_process[p] = times_of(&node->records[p].samples, &scale);
			if (node->kind != NODE_SAMPLED)
				node->by_process[p].variance = 0;
		}
		plan->outside_by_process[p] = times_of(&run->outside, &scale);

		/*
		 * without samples, the whole time is the root's, and unknown by as
		 * much
		 */
		if (scale.time == 0 && plan->nnodes > 0)
			plan->nodes[0].by_process[p].self_ns = plan->nodes[0].by_process[p].cpu_ns =
				run->run_ns;
		move_outside(plan, p);
		move_whole(plan, p);
	}
	plan->outside.by_process = plan->outside_by_process;
	sum_processes(plan, &plan->outside);
	plan->outside.times.total_ns = plan->outside.times.self_ns;
	plan->outside.below_variance = plan->outside.times.variance;
	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		sum_processes(plan, node);
		node->has_total = false;
	}
	for (int i = 0; i < plan->nnodes; i++)
		set_total(plan, i);
	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		node->first_ns = 0;
		for (int p = 0; p < plan->nprocesses; p++)
			node->first_ns += node->records[p].first_ns;
		node->first_ns = fmin(node->first_ns, node->times.total_ns);
	}
	plan_estimate_shares(plan);
}
