/*-------------------------------------------------------------------------
 *
 * plan_estimate.c
 *	  From calls that were counted and timed to the times of plan nodes.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stddef.h>

#include "core/plan_estimate.h"
#include "core/stats.h"

/*
 * How workers share out the work among them differs from run to run: this is
 * the least relative standard deviation of a process's part.
 */
#define SHARING			0.1

/* Below this share of the query a node is next to nothing, however uncertain. */
#define NEXT_TO_NOTHING	0.01

/*
 * What was measured has in it that others had the processor; what is estimated
 * from a few calls has not, and gets its share of that time.  Of both a part is
 * other processes' time slices that fell into the readings: it is taken off with these, which
 * stay.
 */
void
record_add_times(NodeRecord *record, double calls, double loops, double measured_ns,
				 double estimated_ns, double variance, double first_ns, double inside_ns,
				 const Preempted *others)
{
	double		share = others->share;

	record->total_ns += measured_ns + estimated_ns * (1 + share) - calls * inside_ns * share;
	record->first_ns += first_ns - loops * inside_ns * share;
	record->variance += variance * (1 + share) * (1 + share) +
		preempted_variance(others, measured_ns, estimated_ns);
}

/* What timing and counting a node's calls adds to whatever contains them. */
static double
overhead(const PlanEstimate *plan, const NodeEstimate *node, const NodeRecord *record)
{
	if (node->kind == NODE_UNTIMED)
		return 0;
	if (node->kind == NODE_WHOLE)
		return (double) record->timed * plan->cost.server_ns;
	return (double) record->timed * plan->cost.timed_ns +
		(double) (record->calls - record->timed) *
		(node->read_to_end ? plan->cost.unseen_ns : plan->cost.counted_ns);
}

/*
 * Adds one process's times to a node's, without what timing has cost: what
 * falls into a call's own interval, and all that the calls below it have cost.
 * "variance" gets that of sampling.
 */
static void
add_record(PlanEstimate *plan, NodeEstimate *node, const NodeRecord *record, double *variance)
{
	bool		leader = record == &node->leader;
	double		inside_ns = node->kind == NODE_WHOLE ? plan->cost.whole_ns : plan->cost.inside_ns;
	double		ns = record->total_ns - (double) record->calls * inside_ns;
	double		own = overhead(plan, node, record);

	if (record->loops <= 0)
		return;
	node->processes++;
	node->calls += record->calls;
	node->timed += record->timed;
	node->rows += record->rows;
	node->loops += record->loops;
	node->total_ns += ns;
	node->leader_ns += leader ? ns : 0;
	node->first_ns += record->first_ns - record->loops * inside_ns;
	node->cost_ns += own;
	plan->overhead_ns += leader ? own : 0;
	*variance += record->variance;

	for (int a = node->parent; a >= 0; a = plan->nodes[a].parent)
	{
		NodeEstimate *ancestor = &plan->nodes[a];

		/* a worker's calls are in no interval of Gather's */
		if (!leader && ancestor->gathers)
			break;
		ancestor->total_ns -= own;
		ancestor->below_ns += own;
		ancestor->leader_ns -= leader ? own : 0;
	}
}

/* Lists of children, and the nodes of the root's tree in order: returns how many. */
static int
link_nodes(PlanEstimate *plan)
{
	NodeEstimate *nodes = plan->nodes;
	int			n = 1;

	for (int i = 0; i < plan->nnodes; i++)
		nodes[i].child = nodes[i].sibling = -1;
	for (int i = plan->nnodes - 1; i >= 0; i--)
	{
		if (nodes[i].parent < 0)
			continue;
		nodes[i].sibling = nodes[nodes[i].parent].child;
		nodes[nodes[i].parent].child = i;
	}
	nodes[0].nth = 0;
	for (int i = 0; i < n; i++)
	{
		for (int c = nodes[nodes[i].nth].child; c >= 0; c = nodes[c].sibling)
			nodes[n++].nth = c;
	}
	return n;
}

/* Two estimates of one time, weighted by the inverse of their variances. */
static void
combine(double *ns, double *variance, double other_ns, double other_variance)
{
	double		sum = *variance + other_variance;

	if (sum <= 0)
		return;
	*ns = (*ns * other_variance + other_ns * *variance) / sum;
	*variance = *variance * other_variance / sum;
}

/* Whether this node's time is part of its parent's. */
static bool
within_parent(const PlanEstimate *plan, const NodeEstimate *node)
{
	const NodeEstimate *parent = &plan->nodes[node->parent];

	return node->kind != NODE_UNTIMED && node->loops > 0 &&
		!parent->gathers && parent->kind != NODE_UNTIMED;
}

/*
 * Totals such that no node's is less than the sum of its children's, nor below
 * 0, and the root's and what is outside of it are together what was measured:
 * those that differ least from what was estimated, the squares of the differences
 * divided by the variances.
 *
 * If it is known which nodes are full, that is those whose children take all
 * of their time, this is least squares on a tree: upwards, what is known of a
 * full node is combined with what is known of its children together;
 * downwards, what is left over is shared out by the variances.  A node whose
 * children take more than it has is full.  No node ceases to be full as
 * others become so: that makes its parent smaller, or its children larger.  (In
 * terms of linear complementarity, the matrix is an M-matrix: Chandrasekaran, A
 * Special Case of the Complementary Pivot Problem, Opsearch 7, 1970.)  So this
 * ends after as many rounds as there are nodes, at the latest.
 */
static void
reconcile(PlanEstimate *plan, int n, const double *variance)
{
	NodeEstimate *nodes = plan->nodes;
	bool		changed;

	for (int i = 0; i < plan->nnodes; i++)
	{
		nodes[i].given_ns = nodes[i].total_ns;
		nodes[i].full = false;
	}
	do
	{
		if (plan->check != NULL)
			plan->check();
		changed = false;
		for (int i = 0; i < n; i++)
			nodes[nodes[i].nth].sum_ns = nodes[nodes[i].nth].sum_variance = 0;
		for (int i = n - 1; i >= 0; i--)
		{
			NodeEstimate *node = &nodes[nodes[i].nth];

			node->joint_ns = node->given_ns;
			node->joint_variance = variance[node - nodes];
			if (i == 0 && !isnan(plan->outside_ns))
				combine(&node->joint_ns, &node->joint_variance,
						plan->whole_ns - plan->outside_ns, plan->outside_variance);
			if (node->full)
				combine(&node->joint_ns, &node->joint_variance, node->sum_ns, node->sum_variance);
			if (i > 0 && within_parent(plan, node))
			{
				nodes[node->parent].sum_ns += node->joint_ns;
				nodes[node->parent].sum_variance += node->joint_variance;
			}
		}
		nodes[0].total_ns = fmin(nodes[0].joint_ns, plan->whole_ns);
		for (int i = 1; i < n; i++)
		{
			NodeEstimate *node = &nodes[nodes[i].nth];
			const NodeEstimate *parent = &nodes[node->parent];

			node->total_ns = node->joint_ns;
			if (!parent->full || !within_parent(plan, node))
				continue;
			if (parent->sum_variance > 0)
				node->total_ns += (parent->total_ns - parent->sum_ns) * node->joint_variance / parent->sum_variance;
			else if (parent->sum_ns > 0)
				node->total_ns *= parent->total_ns / parent->sum_ns;
		}
		for (int i = 0; i < n; i++)
		{
			NodeEstimate *node = &nodes[nodes[i].nth];

			changed |= !node->full && node->sum_ns > node->total_ns;
			node->full |= node->sum_ns > node->total_ns;
		}
	} while (changed);

	/* what rounding has left */
	for (int i = 0; i < plan->nnodes; i++)
		nodes[i].total_ns = fmax(nodes[i].total_ns, 0);
	plan->outside_ns = plan->whole_ns - nodes[0].total_ns;
}

/*
 * The square of a standard error, from half of a confidence interval.  Where costs
 * are off, they are so for all calls alike, so that costs are added up, not squares.
 */
static double
squared_error(double ns)
{
	return ns / NORMAL_975 * ns / NORMAL_975;
}

/* By how much the node's time differs from run to run, relative to itself. */
static double
run_deviation(const PlanEstimate *plan, const NodeEstimate *node)
{
	double		deviation = plan->repeatability;

	/* at best it takes less */
	if (plan->slower > 1)
		deviation = fmax(deviation, (1 - 1 / plan->slower) / NORMAL_975);
	if (node->processes > 1)
		deviation = fmax(deviation, SHARING);
	return deviation;
}

/*
 * Half of a 95 % confidence interval of what the node takes on this machine,
 * not only of what it took in this run.
 */
static double
margin(const PlanEstimate *plan, const NodeEstimate *node, double variance, double ns)
{
	double		deviation = run_deviation(plan, node);
	double		half = NORMAL_975 * sqrt(variance + deviation * deviation * ns * ns);

	/* no process can have executed the node for longer than the run */
	return plan->as_it_is ? half : fmin(half, plan->run_ns * fmax(node->processes, 1));
}

/*
 * The self time S as a share s = S / W of the whole, where R = W - S is the rest:
 *
 *	ds = (dS - s dW) / W = ((1 - s) dS - s dR) / W
 *
 * In this run W is measured.  So an error of S by sampling or by costs is one of R the
 * other way round, and is not made smaller by the whole: ds = dS / W.  W itself is
 * in doubt by what timing has cost.  That is an error of the same sign as the
 * costs' part of dS, so that taking the two for independent gives no less than
 * there is.
 *
 * From run to run S and R differ by the same deviation d, each on its own: d S
 * and d R, which makes sqrt(2) d s (1 - s).  What slows down all nodes alike
 * changes no share, and a node that is all there is keeps its 100 %.  But if S
 * is of another run than W, W differs on its own: sqrt(2) d s.
 */
static void
estimate_share(const PlanEstimate *plan, NodeEstimate *node, double variance)
{
	double		whole_ns = plan->whole_ns * fmax(node->processes, 1);
	double		deviation = run_deviation(plan, node);
	double		share,
				rest;

	if (whole_ns <= 0 || node->kind == NODE_UNTIMED || node->self_unknown)
	{
		node->share_percent = node->share_margin_percent = NAN;
		return;
	}
	share = node->self_ns / whole_ns;
	rest = plan->as_it_is ? 1 : fmax(1 - share, 0);
	node->share_percent = 100 * share;
	node->share_margin_percent = 100 * NORMAL_975 *
		sqrt(variance / whole_ns / whole_ns +
			 squared_error(COST_UNCERTAINTY * plan->overhead_ns / plan->whole_ns * share) +
			 2 * deviation * deviation * share * share * rest * rest);
}

bool
node_self_unknown(const PlanEstimate *plan, const NodeEstimate *node)
{
	return node->kind != NODE_UNTIMED && node->loops > 0 &&
		node->self_margin_ns > node->self_ns &&
		node->self_ns + node->self_margin_ns > NEXT_TO_NOTHING * plan->whole_ns * node->processes;
}

/*
 * A node's time without that of its children.  What timing the calls below the
 * children has cost was taken off them as well, so that an error of it is not
 * one of the difference.
 */
static void
estimate_self(const PlanEstimate *plan, NodeEstimate *node, const double *own)
{
	double		variance = own[node - plan->nodes];
	double		cost_ns = 0;

	node->self_ns = node->total_ns;
	for (int c = node->child; c >= 0; c = plan->nodes[c].sibling)
	{
		const NodeEstimate *child = &plan->nodes[c];
		const NodeRecord *leader = &child->leader;

		if (child->kind == NODE_UNTIMED)
			continue;
		/* workers' times are not in the node's */
		node->self_ns -= node->gathers ? child->leader_ns : child->total_ns;
		cost_ns += node->gathers ? overhead(plan, child, leader) : child->cost_ns;
		variance += node->gathers ? leader->variance +
			squared_error((double) leader->calls * plan->cost.margin_ns) : own[c];
	}
	node->self_ns = fmax(node->self_ns, 0);
	variance += squared_error(COST_UNCERTAINTY * cost_ns);
	node->self_margin_ns = margin(plan, node, variance, node->self_ns);
	node->self_unknown = node_self_unknown(plan, node);
	estimate_share(plan, node, variance);
}

/*
 * Raises a parent's startup time to that of the child whose first call is part of
 * the parent's first call.  Sampling estimates the two from different loops.
 */
static void
order_starts(PlanEstimate *plan, int n)
{
	for (int i = n - 1; i > 0; i--)
	{
		const NodeEstimate *node = &plan->nodes[plan->nodes[i].nth];
		NodeEstimate *parent = &plan->nodes[node->parent];

		if (node->starts_parent && within_parent(plan, node) && node->loops <= parent->loops)
			parent->first_ns = fmin(fmax(parent->first_ns, node->first_ns), parent->total_ns);
	}
}

void
plan_estimate(PlanEstimate *plan, double *work)
{
	double	   *own = work;		/* variance without that of costs below */
	double	   *variance = work + plan->nnodes;
	int			n = link_nodes(plan);

	plan->overhead_ns = 0;
	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		own[i] = 0;
		add_record(plan, node, &node->leader, &own[i]);
		for (int worker = 0; node->workers != NULL && worker < plan->nworkers; worker++)
			add_record(plan, node, &node->workers[worker], &own[i]);
	}
	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		own[i] += squared_error((double) node->calls * plan->cost.margin_ns);
		variance[i] = own[i] + squared_error(COST_UNCERTAINTY * node->below_ns);
		node->total_ns = fmax(node->total_ns, 0);
		node->first_ns = fmin(fmax(node->first_ns, 0), node->total_ns);
		node->adjusted_ns = -node->total_ns;
	}
	plan->root_estimate_ns = plan->nodes[0].total_ns + plan->overhead_ns +
		(isnan(plan->outside_ns) ? 0 : plan->outside_ns);

	if (!plan->as_it_is || plan->whole_ns <= 0)
		plan->whole_ns = fmax(plan->run_ns - plan->overhead_ns, 0);
	if (!plan->as_it_is)
		reconcile(plan, n, variance);

	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		node->adjusted_ns += node->total_ns;
		node->first_ns = fmin(node->first_ns, node->total_ns);
		node->total_margin_ns = margin(plan, node, variance[i], node->total_ns);
		estimate_self(plan, node, own);
	}
	if (!plan->as_it_is)
		order_starts(plan, n);
}
