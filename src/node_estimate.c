/*-------------------------------------------------------------------------
 *
 * node_estimate.c
 *	  From calls that were counted and timed to the times of plan nodes.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "node_estimate.h"

/* Below so many timed calls, a stratum says too little by itself. */
#define MIN_TIMED		16

/*
 * A call is long if it takes so many times the mean of those before it, and
 * long calls are no exception if there are so many of them.
 */
#define MANY_TIMES		16
#define MANY_LONG		8

/* Quantile of the normal distribution for a confidence of 95 %. */
#define NORMAL_975		1.959964

/*
 * How far a calibrated cost may be off within a query whose other work hides
 * it, or is delayed by it: this share of it, either way.
 */
#define COST_UNCERTAINTY 0.5

/* Rounds of reconciling, each of which halves what is left at least. */
#define MAX_PASSES		200

/* A process's part in a node's times. */
#define NOT_A_WORKER	(-1)

/*
 * A disturbance that happens to hit a call that is timed would count "gap"
 * times, and all those that hit others not at all.  So long calls stand for
 * themselves only, as outliers in surveys do (Hidiroglou and Srinath,
 * Biometrics 37(4), 1981), unless there are so many of them that they are in
 * the nature of the node.  Then each stands for "gap" calls (Horvitz and
 * Thompson, JASA 47, 1952).
 */
void
call_series_add(CallSeries *series, double ns, int gap, double long_ns)
{
	int64_t		timed = series->now.timed > 0 ? series->now.timed : 1;

	series->now.timed++;
	if (ns > long_ns && ns > MANY_TIMES * series->now.sum / (double) timed)
	{
		series->nlong++;
		series->long_sum += ns;
		series->long_total += gap * ns;
		series->long_variance += (double) gap * (gap - 1) * ns * ns;
		return;
	}
	series->now.sum += ns;
	series->now.sum_sq += ns * ns;
}

/*
 * Stratified sampling without replacement (Cochran, Sampling Techniques, 1977,
 * 5.4 and 5.6): N times the mean of the sample, with a variance of N^2 * s^2 / n
 * * (1 - n / N).
 */
static void
close_stratum(CallSeries *series, const CallStratum *stratum)
{
	double		calls = (double) stratum->calls;
	double		timed = (double) stratum->timed;
	double		mean;
	double		square;

	series->calls += stratum->calls;
	series->timed += stratum->timed;
	if (stratum->timed == 0)
		return;
	mean = stratum->sum / timed;
	series->total += mean * calls;
	if (stratum->timed >= stratum->calls)
		return;
	/* of a single one nothing is known but that it can vary by itself */
	square = stratum->timed < 2 ? mean * mean :
		fmax(stratum->sum_sq - timed * mean * mean, 0) / (timed - 1);
	series->variance += calls * calls * square / timed * (1 - timed / calls);
}

static void
merge_strata(CallStratum *into, const CallStratum *from)
{
	into->calls += from->calls;
	into->timed += from->timed;
	into->sum += from->sum;
	into->sum_sq += from->sum_sq;
}

void
call_series_next(CallSeries *series)
{
	if (series->now.timed < MIN_TIMED && series->before.calls > 0)
		merge_strata(&series->before, &series->now);
	else
	{
		close_stratum(series, &series->before);
		series->before = series->now;
	}
	memset(&series->now, 0, sizeof(CallStratum));
}

void
call_series_end(CallSeries *series)
{
	call_series_next(series);
	close_stratum(series, &series->before);
	memset(&series->before, 0, sizeof(CallStratum));
	if (series->nlong >= MANY_LONG)
	{
		series->total += series->long_total;
		series->variance += series->long_variance;
	}
	else
	{
		series->total += series->long_sum;
		series->variance += series->long_sum * series->long_sum / 4;
	}
}

static const NodeRecord *
record_of(const NodeEstimate *node, int worker)
{
	if (worker == NOT_A_WORKER)
		return &node->leader;
	return node->workers == NULL ? NULL : &node->workers[worker];
}

/* What timing and counting a node's calls adds to whatever contains them. */
static double
overhead(const PlanEstimate *plan, const NodeEstimate *node, const NodeRecord *record)
{
	switch (node->kind)
	{
		case NODE_SAMPLED:
			return (double) record->timed * plan->cost.timed_ns +
				(double) (record->calls - record->timed) * plan->cost.counted_ns;
		case NODE_WHOLE:
			return (double) record->timed * plan->cost.server_ns;
		case NODE_UNTIMED:
			break;
	}
	return 0;
}

static double
inside(const PlanEstimate *plan, const NodeEstimate *node)
{
	return node->kind == NODE_WHOLE ? plan->cost.whole_ns : plan->cost.inside_ns;
}

/*
 * Adds one process's times to the nodes', without what timing has cost: what
 * falls into a call's own interval, and all that the calls below it have cost.
 * variance[] gets those of total_ns.
 */
static void
add_process(PlanEstimate *plan, int worker, double *variance)
{
	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];
		const NodeRecord *record = record_of(node, worker);
		double		own;
		double		ns;

		if (record == NULL || record->loops <= 0)
			continue;
		node->processes++;
		node->calls += record->calls;
		node->timed += record->timed;
		node->rows += record->rows;
		node->loops += record->loops;

		ns = inside(plan, node);
		node->total_ns += record->total_ns - (double) record->calls * ns;
		node->first_ns += record->first_ns - record->loops * ns;
		variance[i] += record->variance;
		if (worker == NOT_A_WORKER)
			node->leader_ns += record->total_ns - (double) record->calls * ns;

		/* a worker's calls are in no interval of Gather's */
		own = overhead(plan, node, record);
		for (int a = node->parent; a >= 0; a = plan->nodes[a].parent)
		{
			NodeEstimate *ancestor = &plan->nodes[a];
			double		off = COST_UNCERTAINTY * own / NORMAL_975;

			if (worker != NOT_A_WORKER && ancestor->gathers)
				break;
			ancestor->total_ns -= own;
			variance[a] += off * off;
			if (worker == NOT_A_WORKER)
				ancestor->leader_ns -= own;
		}
		if (worker == NOT_A_WORKER)
			plan->overhead_ns += own;
	}
}

/* Whether this node's time is part of its parent's. */
static bool
within_parent(const PlanEstimate *plan, const NodeEstimate *node)
{
	return node->parent >= 0 && node->kind != NODE_UNTIMED && node->loops > 0 &&
		!plan->nodes[node->parent].gathers &&
		plan->nodes[node->parent].kind != NODE_UNTIMED;
}

/* Lists of children. */
static void
link_children(PlanEstimate *plan)
{
	for (int i = 0; i < plan->nnodes; i++)
		plan->nodes[i].child = plan->nodes[i].sibling = -1;
	for (int i = plan->nnodes - 1; i >= 0; i--)
	{
		NodeEstimate *node = &plan->nodes[i];

		if (node->parent < 0)
			continue;
		node->sibling = plan->nodes[node->parent].child;
		plan->nodes[node->parent].child = i;
	}
}

/*
 * Makes a node's total no less than those of its children together: what is
 * missing is taken from the node and from them by their variances, which is
 * the least change in terms of the margins (a projection, in the metric of the
 * inverse variances, onto the half-space where the node is large enough).
 * Returns what was missing.
 */
static double
reconcile_node(PlanEstimate *plan, int i, const double *variance)
{
	NodeEstimate *node = &plan->nodes[i];
	double		missing = -node->total_ns;
	double		sum = variance[i];

	for (int c = node->child; c >= 0; c = plan->nodes[c].sibling)
	{
		if (!within_parent(plan, &plan->nodes[c]))
			continue;
		missing += plan->nodes[c].total_ns;
		sum += variance[c];
	}
	if (missing <= 0 || sum <= 0)
		return 0;
	node->total_ns += missing * variance[i] / sum;
	for (int c = node->child; c >= 0; c = plan->nodes[c].sibling)
	{
		if (within_parent(plan, &plan->nodes[c]))
			plan->nodes[c].total_ns -= missing * variance[c] / sum;
	}
	return missing;
}

/*
 * Makes the root's total and what is outside of it what was measured, in the
 * same way.  Returns by how much they were not.
 */
static double
reconcile_root(PlanEstimate *plan, double variance, double run_ns, double *outside_ns)
{
	NodeEstimate *root = &plan->nodes[0];
	double		off = run_ns - root->total_ns;
	double		sum = variance + plan->outside_variance;

	if (isnan(*outside_ns))
	{
		/* nothing is known of it but that it is not below 0 */
		if (off >= 0)
			return 0;
		root->total_ns = run_ns;
		return -off;
	}
	off -= *outside_ns;
	if (sum > 0)
	{
		root->total_ns += off * variance / sum;
		*outside_ns += off * plan->outside_variance / sum;
	}
	if (*outside_ns < 0)
	{
		root->total_ns += *outside_ns;
		*outside_ns = 0;
	}
	return fabs(off);
}

/*
 * What is left when the passes have come near enough, or were too many: the
 * children of each node, from the root downwards, are scaled to fit.
 */
static void
fit_children(PlanEstimate *plan, int i)
{
	NodeEstimate *node = &plan->nodes[i];
	double		sum = 0;

	node->total_ns = fmax(node->total_ns, 0);
	for (int c = node->child; c >= 0; c = plan->nodes[c].sibling)
	{
		if (within_parent(plan, &plan->nodes[c]))
			sum += fmax(plan->nodes[c].total_ns, 0);
	}
	for (int c = node->child; c >= 0; c = plan->nodes[c].sibling)
	{
		if (sum > node->total_ns && within_parent(plan, &plan->nodes[c]))
			plan->nodes[c].total_ns *= node->total_ns / sum;
		fit_children(plan, c);
	}
}

/*
 * Totals that satisfy all conditions, by alternating projections (Bauschke and
 * Borwein, On Projection Algorithms for Solving Convex Feasibility Problems,
 * SIAM Review 38(3), 1996).
 */
static void
reconcile(PlanEstimate *plan, const double *variance)
{
	double		outside_ns = plan->outside_ns;

	for (int pass = 0; pass < MAX_PASSES; pass++)
	{
		double		missing = reconcile_root(plan, variance[0], plan->whole_ns, &outside_ns);

		for (int i = 0; i < plan->nnodes; i++)
			missing += reconcile_node(plan, i, variance);
		if (missing < 1e-6 * plan->run_ns)
			break;
	}
	fit_children(plan, 0);
	plan->outside_ns = plan->whole_ns - plan->nodes[0].total_ns;
}

void
plan_estimate(PlanEstimate *plan, double *work)
{
	double	   *variance = work;
	double	   *before = work + plan->nnodes;

	plan->overhead_ns = 0;
	for (int i = 0; i < plan->nnodes; i++)
		variance[i] = 0;
	for (int worker = NOT_A_WORKER; worker < plan->nworkers; worker++)
		add_process(plan, worker, variance);

	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];
		double		systematic = (double) node->calls * plan->cost.error_ns / NORMAL_975;

		variance[i] += systematic * systematic;
		node->total_ns = fmax(node->total_ns, 0);
		node->first_ns = fmin(fmax(node->first_ns, 0), node->total_ns);
		before[i] = node->total_ns;
	}
	plan->root_estimate_ns = plan->nodes[0].total_ns + plan->overhead_ns +
		(isnan(plan->outside_ns) ? 0 : plan->outside_ns);

	plan->whole_ns = fmax(plan->run_ns - plan->overhead_ns, 0);
	link_children(plan);
	if (!plan->as_it_is)
		reconcile(plan, variance);

	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];
		double		sum = variance[i];

		node->adjusted_ns = node->total_ns - before[i];
		node->total_error_ns = NORMAL_975 * sqrt(variance[i]);
		node->self_ns = node->total_ns;
		for (int c = node->child; c >= 0; c = plan->nodes[c].sibling)
		{
			const NodeEstimate *child = &plan->nodes[c];

			if (child->kind == NODE_UNTIMED)
				continue;
			node->self_ns -= node->gathers ? child->leader_ns : child->total_ns;
			sum += variance[c];
		}
		node->self_ns = fmax(node->self_ns, 0);
		node->self_error_ns = NORMAL_975 * sqrt(sum);
	}
}
