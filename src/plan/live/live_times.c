/*
 * Times of a running execution.
 *
 * If it is observed, they are the sampler's sums so far, else those of the server's timers.
 */
#include "postgres.h"

#include <math.h>

#include "core/stats.h"
#include "plan/live/live_publish.h"
#include "plan/sampler/plan_sampler.h"

static void
put_observed_work(LiveExecution *live)
{
	int			place = observed_at_work(live->observation);

	live->image->header.innermost = place;
	for (; place >= 0; place = live->observation->nodes[place].parent)
		live->at_work[place] = true;
}

void
live_put_work(LiveExecution *live)
{
	LiveImage  *image = live->image;
	double		latest = 0;

	image->header.innermost = -1;
	for (int i = 0; i < image->header.nnodes; i++)
	{
		const NodeInstr *instr = live_state_of(live, i)->instrument;

		live->at_work[i] = instr != NULL && instr_is_timing(instr);
		if (live->at_work[i] && live->observation == NULL && instr_call_start(instr) > latest)
		{
			latest = instr_call_start(instr);
			image->header.innermost = i;
		}
	}
	if (live->observation != NULL)
		put_observed_work(live);
}

static double
whole_ns(const PlanState *node)
{
	return instr_so_far(node->instrument).total_ns + instr_call_ns(node->instrument);
}

/*
 * Takes the times from the server's timers.  A node's self time is its time minus those of the
 * nodes that it has called.
 */
static void
put_server_times(LiveExecution *live)
{
	LiveImage  *image = live->image;

	for (int i = 0; i < image->header.nnodes; i++)
	{
		const NodeInstr *instr = live_state_of(live, i)->instrument;
		const LiveNode *node = live_node(image, i);
		LiveCounts *counts = live_counts(image, i);

		if (instr == NULL || !instr_has_timer(instr) ||
			(instr_so_far(instr).loops <= 0 && !live->at_work[i]))
			continue;
		counts->total_ns = counts->self_ns = whole_ns(live_state_of(live, i));
		counts->total_margin_ns = counts->self_margin_ns = 0;

		/* a parent does not call its InitPlans and CTEs; a node below does */
		if (node->parent >= 0 && (!node->is_subplan || node->is_expression))
			live_counts(image, node->parent)->self_ns -= counts->total_ns;
	}
	for (int i = 0; i < image->header.nnodes; i++)
	{
		if (live_counts(image, i)->self_ns < 0)
			live_counts(image, i)->self_ns = 0;
	}
	if (!isnan(live_counts(image, 0)->total_ns))
		image->header.run_ns = live_counts(image, 0)->total_ns;
}

static void
put_wait(void *arg, const ObservedWait *wait)
{
	LiveExecution *live = arg;

	if (wait->place >= 0)
		live_add_wait(live_counts(live->image, wait->place), wait->event, wait->ns);
}

/*
 * Adds the time of parts that were not sampled: as at the end (treat_unseen() in plan_estimate.c),
 * to the root if there are few samples, else to all nodes in proportion.
 */
static void
put_unseen(LiveExecution *live, double samples)
{
	double		unseen_ns = live->observation->unseen_ns;
	double		all_ns = 0;

	for (int i = 0; i < live->image->header.nnodes; i++)
		all_ns += live->total_ns[i];
	if (!(unseen_ns > 0))
		return;
	if (samples < MANY_SAMPLES || all_ns <= 0)
	{
		live_counts(live->image, 0)->self_ns = live->total_ns[0] += unseen_ns;
		live->variances[0] += unseen_ns * unseen_ns / 4;
		return;
	}
	for (int i = 0; i < live->image->header.nnodes; i++)
	{
		LiveCounts *counts = live_counts(live->image, i);
		double		factor = 1 + unseen_ns / all_ns;

		counts->self_ns = live->total_ns[i] *= factor;
		counts->wait_ns *= factor;
		live->variances[i] *= factor * factor;
	}
}

/*
 * Sets times and variances from the samples, and live->total_ns to the self times.  Returns the
 * number of samples.
 */
static double
put_samples(LiveExecution *live)
{
	bool		has_sampled = observed != NULL && plan_sampler_has_sampled() &&
		observed->samples > 0;
	double		least_variance = has_sampled ? observed->squares / observed->samples :
		live->observation->mean_square;
	double		samples = 0;

	for (int i = 0; i < live->image->header.nnodes; i++)
	{
		SampleSums	sum = observed_samples(live->observation, i);
		LiveCounts *counts = live_counts(live->image, i);

		counts->self_ns = live->total_ns[i] = Max(sum.cpu_ns + sum.wait_ns, 0);
		counts->wait_ns = Max(Min(sum.wait_ns, counts->self_ns), 0);
		counts->cpu_wait_ns = Max(sum.cpu_wait_ns, 0);
		/* at least that of one sample, as in plan_estimate() */
		live->variances[i] = sum.variance + least_variance;
		samples += sum.samples;
	}
	put_unseen(live, samples);
	observed_waits(live->observation, put_wait, live);
	return samples;
}

/* Moves the measured times of NODE_WHOLE nodes from the nodes above, whose samples contain them. */
static void
move_whole(LiveExecution *live)
{
	LiveImage  *image = live->image;

	for (int i = image->header.nnodes - 1; i > 0; i--)
	{
		LiveCounts *counts = live_counts(image, i);
		LiveCounts *above = live_counts(image, live_node(image, i)->parent);
		double		ns;

		if (live->observation->nodes[i].kind != NODE_WHOLE)
			continue;
		ns = whole_ns(live_state_of(live, i));
		/* a negative time: that of nodes below, which it includes */
		counts->self_ns = Max(counts->self_ns + ns, 0);
		live->variances[i] = 0;
		above->self_ns -= ns;
	}
}

/*
 * Moves the same share of the waits as of the self times, because nothing shows which of the nodes
 * has waited.  live->total_ns has the self times before move_whole().  The wait events stay.
 */
static void
move_waits(LiveExecution *live)
{
	LiveImage  *image = live->image;
	const ObservedNode *nodes = live->observation->nodes;

	for (int i = 1; i < image->header.nnodes; i++)
	{
		LiveCounts *counts = live_counts(image, i);
		int			above = nodes[i].parent;
		double		share;

		if (nodes[i].kind != NODE_WHOLE)
			continue;
		while (above > 0 && nodes[above].kind != NODE_SAMPLED)
			above = nodes[above].parent;
		share = live->total_ns[above] <= 0 ? 0 : Min(counts->self_ns / live->total_ns[above], 1);
		counts->wait_ns = share * live_counts(image, above)->wait_ns;
		counts->cpu_wait_ns = share * live_counts(image, above)->cpu_wait_ns;
	}
	for (int i = 0; i < image->header.nnodes; i++)
	{
		LiveCounts *counts = live_counts(image, i);
		double		rest = Max(counts->self_ns / live->total_ns[i], 0);

		if (nodes[i].kind != NODE_SAMPLED || counts->self_ns >= live->total_ns[i])
			continue;
		counts->wait_ns *= rest;
		counts->cpu_wait_ns *= rest;
		for (int k = 0; k < LIVE_WAITS; k++)
			counts->waits[k].ns *= (float) rest;
	}
}

/*
 * Takes the times from the samples so far, as plan_estimate() does at the end, but in memory that
 * was allocated before, because this may be called in a signal handler.
 */
static void
put_sampled_times(LiveExecution *live)
{
	LiveImage  *image = live->image;
	int			n = image->header.nnodes;
	double		samples = put_samples(live);
	double		all_variance = 0;

	move_whole(live);
	move_waits(live);
	for (int i = 0; i < n; i++)
	{
		LiveCounts *counts = live_counts(image, i);

		counts->self_ns = Max(counts->self_ns, 0);
		counts->self_margin_ns = NORMAL_975 * sqrt(live->variances[i]);
		live->total_ns[i] = counts->self_ns;
		all_variance += live->variances[i];
	}
	for (int i = n - 1; i > 0; i--)
	{
		live->total_ns[live_node(image, i)->parent] += live->total_ns[i];
		live->variances[live_node(image, i)->parent] += live->variances[i];
	}
	image->header.run_ns = samples > 0 ? live->total_ns[0] : 0;
	for (int i = 0; i < n; i++)
	{
		LiveCounts *counts = live_counts(image, i);

		counts->total_ns = live->total_ns[i];

		/* as all times add up to the duration, their margins do not add up */
		counts->total_margin_ns = NORMAL_975 *
			sqrt(Max(Min(live->variances[i], all_variance - live->variances[i]), 0));
		if (samples <= 0 || counts->loops <= 0 || live->observation->nodes[i].kind == NODE_HIDDEN)
			live_forget_times(counts);
	}
}

void
live_put_times(LiveExecution *live, bool unknown)
{
	LiveImage  *image = live->image;

	image->header.run_ns = 0;
	for (int i = 0; i < image->header.nnodes; i++)
		live_forget_times(live_counts(image, i));
	if (unknown || image->header.nnodes == 0)
		return;
	if (live->observation != NULL)
		put_sampled_times(live);
	else
		put_server_times(live);
}
