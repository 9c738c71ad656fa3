/*
 * The method "full": subtracts the cost of timing from the server's times of nodes.
 *
 * The cost of timing is the execution's duration minus that of a plain execution, divided equally
 * among all calls of nodes.  The server reads its clock before and after a call.  Half of a call's
 * cost is therefore part of the call's own time, and all of it is part of the times of the nodes
 * above.  So a node's time without the cost is its measured time minus the cost of half of its own
 * calls and of all calls below.
 *
 * Calls of different nodes do not cost exactly the same, and the two executions differ.  So the
 * results are corrected until they are possible: no node takes less time than those below it, and
 * none more than the plain execution.  If the timed execution was not longer than the plain one,
 * the machine was faster during it, and times are scaled to the plain one.
 *
 * A subplan is called by several nodes, and the server does not record by which.  A sampled
 * execution of the same plan tells the proportions.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "plan/explain/full_estimate.h"
#include "plan/explain/observation_record.h"

/* Returns whether the nodes of another execution are the same. */
static bool
same_nodes(const Observation *o, const PlanEstimate *plan)
{
	bool		same = o->nnodes == plan->nnodes;

	for (int i = 0; i < o->nnodes && same; i++)
		same = o->nodes[i].id == plan->nodes[i].id;
	return same;
}

/* Returns the part of a node's time that is part of the time of another one. */
static double
part_within(const Observation *o, const PlanEstimate *sampled, int below, int above)
{
	if (below == above)
		return 0;
	if (o->nodes[below].probed.is_called && sampled != NULL)
		return plan_estimate_part(sampled, below, above);
	return o->nodes[below].parent == above ? 1 : 0;
}

/*
 * Computes each node's calls with those below it, subtracts their cost, corrects the times from the
 * leaves to the root, and computes self times from the totals.  A plan with subplans is no tree, so
 * the correction is repeated until nothing changes, at most once for each node.
 */
PlanEstimate *
full_estimate(const Observation *o, const PlanEstimate *sampled, double run_ns, double plain_ns)
{
	PlanEstimate *plan = palloc0(sizeof(PlanEstimate));
	int			n = o->nnodes;
	double	   *own = palloc(sizeof(double) * n);	/* total times */
	double	   *calls = palloc(sizeof(double) * n); /* calls of the node and
													 * below */
	double		all_calls = 0;
	double		cost_ns;		/* of a call */
	double		scale = run_ns > 0 && run_ns < plain_ns ? plain_ns / run_ns : 1;
	bool		changed = true;

	if (sampled != NULL && !same_nodes(o, sampled))
		sampled = NULL;
	plan->nnodes = n;
	plan->nodes = palloc0(sizeof(NodeEstimate) * n);
	for (int i = 0; i < n; i++)
	{
		NodeEstimate *node = &plan->nodes[i];

		record_counts(&o->nodes[i], node);
		node->id = o->nodes[i].id;
		node->parent = o->nodes[i].parent;
		own[i] = scale * instr_so_far(o->nodes[i].probed.node->instrument).total_ns;
		calls[i] = node->calls;
		all_calls += node->calls;
	}
	/* nodes follow those above them, except for subplans */
	for (int i = n - 1; i >= 0; i--)
	{
		CHECK_FOR_INTERRUPTS();
		for (int k = 0; k < n; k++)
			calls[k] += part_within(o, sampled, i, k) * calls[i];
	}
	cost_ns = all_calls > 0 ? fmax(run_ns - plain_ns, 0) / all_calls : 0;
	for (int i = 0; i < n; i++)
		own[i] = fmax(own[i] - cost_ns * (calls[i] - plan->nodes[i].calls / 2), 0);

	/*
	 * no node takes less time than those below it, nor more than the plain
	 * execution
	 */
	for (int depth = 0; changed && depth < n; depth++)
	{
		changed = false;
		for (int i = n - 1; i >= 0; i--)
		{
			double		below_ns = 0;

			CHECK_FOR_INTERRUPTS();
			for (int k = 0; k < n; k++)
				below_ns += part_within(o, sampled, k, i) * own[k];
			changed |= below_ns > own[i] * 1.000001 && own[i] < run_ns;
			own[i] = fmax(own[i], below_ns);
		}
	}
	plan->run_ns = fmin(run_ns, plain_ns);
	if (own[0] > plan->run_ns)
	{
		double		factor = plan->run_ns / own[0];

		for (int i = 0; i < n; i++)
			own[i] *= factor;
	}
	plan->outside.times = (NodeTimes)
	{
		.cpu_ns = NAN, .wait_ns = NAN, .cpu_wait_ns = NAN, .variance = NAN,
			.self_ns = fmax(plan->run_ns - own[0], 0)
	};
	plan->outside.parent = -1;
	plan->outside.below_variance = NAN;
	for (int i = 0; i < n; i++)
	{
		NodeEstimate *node = &plan->nodes[i];
		double		self_ns = own[i];

		for (int k = 0; k < n; k++)
			self_ns -= part_within(o, sampled, k, i) * own[k];
		node->times = (NodeTimes)
		{
			.cpu_ns = NAN, .wait_ns = NAN, .cpu_wait_ns = NAN, .variance = NAN,
				.self_ns = fmax(self_ns, 0), .total_ns = own[i]
		};
		node->below_variance = NAN;
		node->first_ns = fmin(scale * instr_so_far(o->nodes[i].probed.node->instrument).first_ns,
							  own[i]);
	}
	plan_estimate_shares(plan);
	plan->cpu_wait_ns = NAN;
	return plan;
}
