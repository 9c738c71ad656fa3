#include <math.h>
#include <stddef.h>

#include "core/plan_estimate.h"
#include "core/stats.h"

/* Returns the time that timing and counting a node's calls adds to the nodes above it. */
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

/* Returns the part of a timed call's cost that is within its measured time. */
static double
inside_ns_of(const PlanEstimate *plan, const NodeEstimate *node)
{
	return node->kind == NODE_WHOLE ? plan->cost.whole_ns : plan->cost.inside_ns;
}

/* Returns the margin that an error of inside_ns_of() causes in the time of this many calls. */
static double
inside_margin_ns(const PlanEstimate *plan, const NodeEstimate *node, int64_t calls)
{
	return COST_UNCERTAINTY * inside_ns_of(plan, node) * (double) calls;
}

static double
ratio(double part, double whole)
{
	return whole > 0 ? fmin(fmax(part / whole, 0), 1) : 0;
}

/* Returns the fraction of a subplan's time that belongs to the calls by one caller. */
static double
part_of(const NodeRecord *whole, const NodeRecord *part)
{
	double		later = (double) whole->calls - whole->loops;
	double		ns = 0;

	if (!isnan(part->part_ns))
		return ratio(part->part_ns, whole->total_ns);
	if (whole->calls <= 0)
		return 0;
	if (whole->total_ns <= 0)
		return (double) part->calls / (double) whole->calls;
	/* treats first calls separately: a Sort works mainly in its first call */
	if (whole->loops > 0)
		ns += part->loops / whole->loops * whole->first_ns;
	if (later > 0)
		ns += ((double) part->calls - part->loops) / later * (whole->total_ns - whole->first_ns);
	return ns / whole->total_ns;
}

/* Sets the times of a NODE_PART to its share of the times of the subplan's root ("whole"). */
static void
complete_part(const NodeRecord *whole, NodeRecord *part)
{
	double		share = part_of(whole, part);

	part->total_ns = share * whole->total_ns;
	part->variance = share * share * whole->variance;
	part->timed = whole->calls <= 0 ? 0 :
		(int64_t) rint((double) whole->timed * (double) part->calls / (double) whole->calls);
	part->timed = part->timed < part->calls ? part->timed : part->calls;
}

/* Adds one process's record to a node's sums, without the timing cost that its times include. */
static void
add_record(PlanEstimate *plan, NodeEstimate *node, const NodeRecord *record)
{
	bool		leader = record == &node->leader;
	double		inside_ns = inside_ns_of(plan, node);
	double		ns = record->total_ns - (double) record->calls * inside_ns;
	double		own = overhead(plan, node, record);

	if (node->kind == NODE_PART ? record->calls <= 0 : record->loops <= 0)
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
	node->leader_cost_ns += leader ? own : 0;
	node->own_variance += record->variance;
}

/* Returns the record of a worker (-1: of the leader); NULL if the node has none. */
static NodeRecord *
record_of(NodeEstimate *node, int worker)
{
	if (worker < 0)
		return &node->leader;
	return node->workers == NULL ? NULL : &node->workers[worker];
}

static void
add_records(PlanEstimate *plan)
{
	plan->rare_ns = 0;
	for (int i = 0; i < plan->nnodes + plan->nparts; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		node->processes = 0;
		node->calls = node->timed = 0;
		node->rows = node->loops = 0;
		node->total_ns = node->leader_ns = node->first_ns = 0;
		node->cost_ns = node->leader_cost_ns = 0;
		node->below_ns = node->leader_below_ns = node->triggers_ns;
		node->own_variance = 0;
		for (int worker = -1; worker < plan->nworkers; worker++)
		{
			NodeRecord *record = record_of(node, worker);
			const NodeRecord *whole;

			if (record == NULL)
				continue;
			if (node->kind == NODE_PART)
			{
				whole = record_of(&plan->nodes[node->whole], worker);
				if (whole == NULL)
					continue;
				complete_part(whole, record);
			}
			add_record(plan, node, record);
		}
		plan->rare_ns = fmax(plan->rare_ns, node->leader.rare_ns);
	}
}

/*
 * Subtracts from each node's time the cost of timing the calls below it.  The n nodes are ordered
 * by "nth".  A Gather's time excludes the workers' calls, so only the leader's cost is subtracted
 * from a Gather's time.
 */
static void
take_off_costs(PlanEstimate *plan, int n)
{
	plan->overhead_ns = plan->besides_ns;
	for (int i = n - 1; i >= 0; i--)
	{
		NodeEstimate *node = &plan->nodes[plan->nodes[i].nth];
		double		above_ns = node->cost_ns + node->below_ns;
		double		leader_above_ns = node->leader_cost_ns + node->leader_below_ns;
		const NodeEstimate *whole = node->kind == NODE_PART ? &plan->nodes[node->whole] : NULL;
		NodeEstimate *parent;

		if (whole != NULL)
		{
			/* below_ns has already been subtracted from whole->total_ns */
			node->below_ns = whole->below_ns *
				ratio(node->total_ns, whole->total_ns + whole->below_ns);
			node->leader_below_ns = whole->leader_below_ns *
				ratio(node->leader_ns, whole->leader_ns + whole->leader_below_ns);
			above_ns += node->below_ns;
			leader_above_ns += node->leader_below_ns;
		}
		else
			plan->overhead_ns += node->leader_cost_ns + node->triggers_ns;
		node->total_ns -= node->below_ns;
		node->leader_ns -= node->leader_below_ns;
		if (node->parent < 0 || node->is_shared)
			continue;
		parent = &plan->nodes[node->parent];
		parent->below_ns += parent->gathers ? leader_above_ns : above_ns;
		parent->leader_below_ns += leader_above_ns;
	}
}

/*
 * Links the children of each node.  Orders the nodes by setting "nth": a node follows its parent,
 * and the root of a shared subplan follows its NODE_PARTs.  Returns the number of ordered nodes.
 */
static int
link_nodes(PlanEstimate *plan)
{
	NodeEstimate *nodes = plan->nodes;
	int			n = 0;

	for (int i = 0; i < plan->nnodes + plan->nparts; i++)
	{
		nodes[i].child = nodes[i].sibling = -1;
		nodes[i].waits_for = 0;
	}
	for (int i = plan->nnodes + plan->nparts - 1; i >= 0; i--)
	{
		if (nodes[i].kind == NODE_PART)
			nodes[nodes[i].whole].waits_for++;
		if (nodes[i].parent < 0 || nodes[i].is_shared)
			continue;
		nodes[i].sibling = nodes[nodes[i].parent].child;
		nodes[nodes[i].parent].child = i;
	}
	for (int i = 0; i < plan->nnodes; i++)
	{
		if (i == 0 || (nodes[i].is_shared ? nodes[i].waits_for == 0 : nodes[i].parent < 0))
			nodes[n++].nth = i;
	}
	for (int i = 0; i < n; i++)
	{
		const NodeEstimate *node = &nodes[nodes[i].nth];

		for (int c = node->child; c >= 0; c = nodes[c].sibling)
			nodes[n++].nth = c;
		if (node->kind == NODE_PART && --nodes[node->whole].waits_for == 0)
			nodes[n++].nth = node->whole;
	}
	return n;
}

/* Replaces an estimate by its mean with another one, weighted by their inverse variances. */
static void
combine(double *ns, double *variance, double other_ns, double other_variance)
{
	double		sum = *variance + other_variance;

	if (sum <= 0)
		return;
	*ns = (*ns * other_variance + other_ns * *variance) / sum;
	*variance = *variance * other_variance / sum;
}

static bool
within_parent(const PlanEstimate *plan, const NodeEstimate *node)
{
	const NodeEstimate *parent;

	if (node->parent < 0 || node->is_shared || node->kind == NODE_UNTIMED || node->processes == 0)
		return false;
	parent = &plan->nodes[node->parent];
	return !parent->gathers && parent->kind != NODE_UNTIMED;
}

/*
 * Changes the totals to meet two conditions.  A node's total is not negative, and not less than the
 * sum of its children's.  The root's total and the time outside of it add up to the measured time.
 * The sum of squared changes, each divided by the total's variance, is minimal.
 *
 * A node is full if its children take all of its time.  For a given set of full nodes, this is a
 * least-squares problem on a tree, solved in two passes.  From the leaves to the root, the total of
 * a full node is combined with the sum of its children's totals.  From the root to the leaves, the
 * remaining difference is divided among the children in proportion to their variances.  Then each
 * node whose children take more than its total becomes full, and another round begins.  A full node
 * remains full, because the matrix of this linear complementarity problem is an M-matrix
 * (Chandrasekaran, A Special Case of the Complementary Pivot Problem, Opsearch 7, 1970).  So there
 * are at most as many rounds as nodes.
 */
static void
reconcile(PlanEstimate *plan, int n)
{
	NodeEstimate *nodes = plan->nodes;
	bool		changed;

	for (int i = 0; i < n; i++)
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
			nodes[i].sum_ns = nodes[i].sum_variance = nodes[i].parts_ns = 0;
		for (int i = n - 1; i >= 0; i--)
		{
			NodeEstimate *node = &nodes[nodes[i].nth];

			node->joint_ns = node->given_ns;
			node->joint_variance = node->variance;
			if (i == 0 && !isnan(plan->outside_ns))
				combine(&node->joint_ns, &node->joint_variance,
						plan->whole_ns - plan->outside_ns, plan->outside_variance);
			if (node->kind == NODE_PART)
			{
				node->joint_ns = node->part * nodes[node->whole].joint_ns;
				node->joint_variance = node->part * node->part * nodes[node->whole].joint_variance;
			}
			if (node->full)
				combine(&node->joint_ns, &node->joint_variance, node->sum_ns, node->sum_variance);
			if (within_parent(plan, node))
			{
				nodes[node->parent].sum_ns += node->joint_ns;
				nodes[node->parent].sum_variance += node->joint_variance;
			}
		}
		for (int i = 0; i < n; i++)
		{
			NodeEstimate *node = &nodes[nodes[i].nth];
			const NodeEstimate *parent = &nodes[node->parent < 0 ? 0 : node->parent];

			node->total_ns = node->joint_ns;
			if (i == 0)
				node->total_ns = fmin(node->joint_ns, plan->whole_ns);
			else if (node->is_shared)
				node->total_ns = fmin(node->parts_ns + (1 - node->parts) * node->joint_ns,
									  plan->whole_ns * fmax(node->processes, 1));
			else if (parent->full && within_parent(plan, node))
			{
				if (parent->sum_variance > 0)
					node->total_ns += (parent->total_ns - parent->sum_ns) * node->joint_variance /
						parent->sum_variance;
				else if (parent->sum_ns > 0)
					node->total_ns *= parent->total_ns / parent->sum_ns;
			}
			if (node->kind == NODE_PART)
				nodes[node->whole].parts_ns += node->total_ns;
		}
		for (int i = 0; i < n; i++)
		{
			NodeEstimate *node = &nodes[i];

			changed |= !node->full && node->sum_ns > node->total_ns;
			node->full |= node->sum_ns > node->total_ns;
		}
	} while (changed);

	/* the root's total is whole_ns - outside_ns, so it has their errors */
	if (!isnan(plan->outside_ns))
	{
		nodes[0].own_variance = fmin(nodes[0].own_variance, nodes[0].joint_variance);
		nodes[0].inside_margin_ns = COST_UNCERTAINTY * nodes[0].leader_cost_ns;
		nodes[0].total_cost_margin_ns = COST_UNCERTAINTY * plan->overhead_ns;
	}

	/* totals below 0 are rounding errors; outside_ns is the rest of the run */
	plan->outside_ns = plan->whole_ns;
	for (int i = 0; i < n; i++)
	{
		nodes[i].total_ns = fmax(nodes[i].total_ns, 0);
		if (nodes[i].is_shared)
			plan->outside_ns -= fmax(nodes[i].total_ns - nodes[i].parts_ns, 0);
		else if (nodes[i].parent < 0)
			plan->outside_ns -= nodes[i].total_ns;
	}
	plan->outside_ns = fmax(plan->outside_ns, 0);
}

/*
 * Returns the margin of a node's time, from its sampling variance and the margin due to costs.  The
 * margin is at least the size of change_ns, the change of the time by reconcile().
 */
static double
margin(const PlanEstimate *plan, const NodeEstimate *node, double variance, double cost_margin_ns,
	   double change_ns)
{
	double		half = fmax(hypot(NORMAL_975 * sqrt(variance), cost_margin_ns), fabs(change_ns));

	/* no process can have executed the node for longer than the run */
	return plan->as_it_is ? half : fmin(half, plan->run_ns * fmax(node->processes, 1));
}

/*
 * Sets the share s = S / W of a self time S in the whole time W (base_ns), and its margin.  With
 * errors dS and dW, the error of the share is ds = (dS - s dW) / W.  W is measured, except below a
 * Gather, so only the cost of timing makes it uncertain.  This error has the same sign in dS and
 * dW.  The margin assumes that the two are independent, and so is rather too large.
 */
static void
estimate_share(const PlanEstimate *plan, NodeEstimate *node)
{
	double		base_ns = plan->base_ns * fmax(node->processes, 1);
	double		share;

	if (base_ns <= 0 || node->kind == NODE_UNTIMED)
	{
		node->share_percent = node->share_margin_percent = NAN;
		return;
	}
	share = node->self_ns / base_ns;
	node->share_percent = 100 * share;
	node->share_margin_percent = 100 * hypot(node->self_margin_ns / base_ns,
											 COST_UNCERTAINTY * plan->overhead_ns / plan->base_ns *
											 share);
}

/*
 * Sets a node's self time.  The cost of timing the calls below the children was subtracted from the
 * children, too, so its error cancels out.
 */
static void
estimate_self(const PlanEstimate *plan, NodeEstimate *node)
{
	double		variance = node->own_variance;
	double		inside_ns = node->inside_margin_ns;
	double		cost_ns = node->triggers_ns;
	double		change_ns = node->adjusted_ns;

	node->self_ns = node->total_ns;
	for (int c = node->child; c >= 0; c = plan->nodes[c].sibling)
	{
		const NodeEstimate *child = &plan->nodes[c];
		const NodeRecord *leader = &child->leader;

		if (child->kind == NODE_UNTIMED)
			continue;
		/* the workers' times are not part of the node's */
		node->self_ns -= node->gathers ? child->leader_ns : child->total_ns;
		change_ns -= node->gathers ? 0 : child->adjusted_ns;
		cost_ns += node->gathers ? child->leader_cost_ns : child->cost_ns;
		variance += node->gathers ? leader->variance : child->own_variance;
		inside_ns = hypot(inside_ns, node->gathers ?
						  inside_margin_ns(plan, child, leader->calls) : child->inside_margin_ns);
	}
	node->self_ns = fmax(node->self_ns, 0);
	node->self_cost_margin_ns = hypot(inside_ns, COST_UNCERTAINTY * cost_ns);

	/*
	 * Ignores changes below half of the self time.  With them, the margins of
	 * bench/truth were a quarter wider, but contained hardly more true times.
	 */
	if (fabs(change_ns) < node->self_ns / 2)
		change_ns = 0;
	node->self_margin_ns = margin(plan, node, variance, node->self_cost_margin_ns, change_ns);
}

/*
 * Subtracts the leader's sleep, which is assumed to be a wait for workers, from the self times of
 * Gathers.  Divides the sleep among them in proportion; no self time becomes negative.  Sets
 * base_ns, so that the shares of all nodes add up to 100 %.
 */
static void
take_off_waits(PlanEstimate *plan)
{
	double		gathers_ns = 0;
	double		waited;

	plan->base_ns = plan->whole_ns;
	for (int i = 0; i < plan->nnodes; i++)
		gathers_ns += plan->nodes[i].gathers ? plan->nodes[i].self_ns : 0;
	waited = ratio(plan->slept_ns, gathers_ns);
	for (int i = 0; i < plan->nnodes; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		node->waited_ns = node->gathers ? waited * node->self_ns : 0;
		node->self_ns -= node->waited_ns;
		plan->base_ns -= node->waited_ns;
		for (int c = node->gathers ? node->child : -1; c >= 0; c = plan->nodes[c].sibling)
			plan->base_ns += plan->nodes[c].total_ns / fmax(plan->nodes[c].processes, 1) -
				plan->nodes[c].leader_ns;
	}
}

/*
 * Raises a parent's startup time to the startup time of a child whose first call is part of the
 * parent's first call.  The parent's estimate may be lower, because other loops were timed.
 */
static void
order_starts(PlanEstimate *plan, int n)
{
	for (int i = n - 1; i > 0; i--)
	{
		const NodeEstimate *node = &plan->nodes[plan->nodes[i].nth];
		NodeEstimate *parent;

		if (!node->starts_parent || !within_parent(plan, node))
			continue;
		parent = &plan->nodes[node->parent];
		if (node->loops <= parent->loops)
			parent->first_ns = fmin(fmax(parent->first_ns, node->first_ns), parent->total_ns);
	}
}

/* Sets the fraction of a shared node's time that belongs to each NODE_PART. */
static void
find_parts(PlanEstimate *plan)
{
	NodeEstimate *nodes = plan->nodes;

	for (int i = 0; i < plan->nnodes; i++)
		nodes[i].parts = 0;
	for (int i = plan->nnodes; i < plan->nnodes + plan->nparts; i++)
	{
		NodeEstimate *whole = &nodes[nodes[i].whole];

		nodes[i].part = fmin(ratio(nodes[i].total_ns, whole->total_ns), 1 - whole->parts);
		whole->parts += nodes[i].part;
	}
}

void
plan_estimate(PlanEstimate *plan)
{
	int			n = link_nodes(plan);

	add_records(plan);
	for (int i = 0; i < n; i++)
	{
		NodeEstimate *node = &plan->nodes[plan->nodes[i].nth];

		/* means below a Gather are over all processes, also those that did not execute the node */
		if (within_parent(plan, node))
			node->processes = (int) fmax(node->processes, plan->nodes[node->parent].processes);
	}
	take_off_costs(plan, n);
	for (int i = 0; i < n; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		node->inside_margin_ns = inside_margin_ns(plan, node, node->calls);
		node->total_cost_margin_ns =
			hypot(node->inside_margin_ns, COST_UNCERTAINTY * node->below_ns);
		/* errors of costs are the same for all calls, so they add up */
		node->variance = node->own_variance +
			node->total_cost_margin_ns / NORMAL_975 * node->total_cost_margin_ns / NORMAL_975;
		node->total_ns = fmax(node->total_ns, 0);
		node->first_ns = fmin(fmax(node->first_ns, 0), node->total_ns);
		node->adjusted_ns = -node->total_ns;
	}
	find_parts(plan);
	plan->root_estimate_ns = plan->nodes[0].total_ns + plan->preempted_ns + plan->overhead_ns +
		(isnan(plan->outside_ns) ? 0 : plan->outside_ns);

	if (!plan->as_it_is || plan->whole_ns <= 0)
		plan->whole_ns = fmax(plan->run_ns - plan->preempted_ns - plan->overhead_ns, 0);
	if (!plan->as_it_is)
		reconcile(plan, n);

	for (int i = 0; i < n; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		node->adjusted_ns += node->total_ns;
		node->first_ns = fmin(node->first_ns, node->total_ns);
		node->total_stddev_ns = NAN;
		/* the root's total is measured, so its change is no error */
		node->total_margin_ns = margin(plan, node, node->own_variance, node->total_cost_margin_ns,
									   i > 0 ? node->adjusted_ns : 0);
	}
	for (int i = 0; i < plan->nnodes; i++)
		estimate_self(plan, &plan->nodes[i]);
	take_off_waits(plan);
	for (int i = 0; i < plan->nnodes; i++)
		estimate_share(plan, &plan->nodes[i]);
	if (!plan->as_it_is)
		order_starts(plan, n);
}
