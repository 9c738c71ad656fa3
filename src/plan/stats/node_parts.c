/*
 * Parts of the self times of a node: on the CPU, in wait events, and waiting for a CPU.
 *
 * The samples of an execution yield the variance of a node's self time, but not those of its parts.
 * They are derived from it: see variance_of_part().
 */
#include "postgres.h"

#include <math.h>

#include "plan/stats/node_parts.h"

/* Returns the number of samples in all processes. */
static double
samples_of(const PlanEstimate *plan, const NodeEstimate *node)
{
	double		n = 0;

	for (int p = 0; p < plan->nprocesses; p++)
		n += node == &plan->outside ? plan->processes[p].outside.samples :
			node->records[p].samples.samples;
	return n;
}

/*
 * Returns the variance of a part of the self time.  It follows from that of the self time, and from
 * that of the part's share p of n independent samples, which is p (1 - p) / n.  Samples in a long
 * wait are not independent, so this variance is at least the true one.  p is estimated by Laplace's
 * rule of succession, so a part that no sample has found has a variance, too.
 */
static double
variance_of_part(const NodeTimes *times, double part_ns, double n)
{
	double		share = times->self_ns > 0 ? Min(Max(part_ns / times->self_ns, 0), 1) : 0;
	double		p = (share * n + 1) / (n + 2);
	double		variance = isfinite(times->variance) ? times->variance : 0;

	return p * p * variance + times->self_ns * times->self_ns * p * (1 - p) / Max(n, 1);
}

double
busy_share(double self_ns, double cpu_wait_ns)
{
	double		all_ns = self_ns + Max(cpu_wait_ns, 0);

	return all_ns > 0 ? Min(Max(self_ns / all_ns, 0), 1) : 1;
}

double
unseen_variance(const AddScale *scale, double part_ns, double all_ns)
{
	double		p = all_ns > 0 ? Min(Max(part_ns / all_ns, 0), 1) : 0;

	return scale->squares * p * (1 - p);
}

void
long_times_add(LongTimes *sums, const NodeTimes *times, double factor)
{
	sums->total_ns += factor * times->total_ns;
	sums->self_ns += factor * times->self_ns;
	sums->cpu_ns += factor * times->cpu_ns;
	sums->wait_ns += factor * times->wait_ns;
	sums->cpu_wait_ns += factor * times->cpu_wait_ns;
}

void
long_times_multiply(LongTimes *sums, double factor)
{
	sums->total_ns *= factor;
	sums->self_ns *= factor;
	sums->cpu_ns *= factor;
	sums->wait_ns *= factor;
	sums->cpu_wait_ns *= factor;
}

/* Adds an execution with the weight w.  "node" is NULL if the execution did not reach the node. */
void
node_parts_add(NodeParts *parts, const PlanEstimate *plan, const NodeEstimate *node, double w,
			   const AddScale *scale)
{
	double		factor = scale->factor;
	const NodeTimes *times;
	double		n;

	if (node == NULL)
	{
		weighted_add(&parts->cpu, w, 0, 0);
		weighted_add(&parts->wait, w, 0, 0);
		return;
	}
	times = &node->times;
	n = samples_of(plan, node);
	weighted_add(&parts->cpu, w, factor * times->cpu_ns,
				 factor * factor * variance_of_part(times, times->cpu_ns, n) +
				 unseen_variance(scale, times->cpu_ns, plan->share_ns));
	weighted_add(&parts->wait, w, factor * times->wait_ns,
				 factor * factor * variance_of_part(times, times->wait_ns, n) +
				 unseen_variance(scale, times->wait_ns, plan->share_ns));
	parts->cpu_wait_ns += w * factor * times->cpu_wait_ns;
	for (int i = 0; i < node->nwaits; i++)
		wait_set_add(&parts->waits, node->waits[i].event, w * factor * node->waits[i].ns);
}
