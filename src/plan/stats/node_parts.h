/* Parts of the self times of a node, or of the time outside of the nodes, over many executions. */
#ifndef CLOCKTIMING_NODE_PARTS_H
#define CLOCKTIMING_NODE_PARTS_H

#include "plan/estimate/wait_set.h"
#include "plan/estimate/weighted_sums.h"

/* Each execution is multiplied by its weight.  "cpu" and "wait" add up to the self times. */
typedef struct NodeParts
{
	WeightedSums cpu;			/* ns */
	WeightedSums wait;			/* ns, in wait events */
	double		cpu_wait_ns;	/* waiting for a CPU */
	WaitSet		waits;
} NodeParts;

/*
 * Adds an execution of weight w, whose times are multiplied by a factor.  "node" is a node of the
 * plan, or plan->outside; NULL if the execution did not execute the node.
 */
extern void node_parts_add(NodeParts *parts, const PlanEstimate *plan, const NodeEstimate *node,
						   double w, double factor);

#endif							/* CLOCKTIMING_NODE_PARTS_H */
