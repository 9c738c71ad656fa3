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

/* Sums over the long executions.  All of them are observed, so their weight is 1. */
typedef struct LongTimes
{
	double		total_ns;
	double		self_ns;
	double		cpu_ns;
	double		wait_ns;
	double		cpu_wait_ns;
} LongTimes;

/*
 * How the times of an execution are added: multiplied by a factor.  The factor divides time in
 * which no node was observed in proportion to the other times.
 */
typedef struct AddScale
{
	double		factor;
	double		squares;		/* sum of squares in ns^2 of the pieces of
								 * this time, of which each may belong to a
								 * single node; without time waiting for a CPU */
	bool		is_long;		/* the execution is a long one */
} AddScale;

/* Adds times, multiplied by a factor; multiplies sums by a factor. */
extern void long_times_add(LongTimes *sums, const NodeTimes *times, double factor);
extern void long_times_multiply(LongTimes *sums, double factor);

/* Returns the share of the self times in all times, which include those waiting for a CPU. */
extern double busy_share(double self_ns, double cpu_wait_ns);

/* Returns the variance that the unobserved time adds to a part of the times, whose share is p. */
extern double unseen_variance(const AddScale *scale, double part_ns, double all_ns);

/*
 * Adds an execution of weight w.  "node" is a node of the plan, or plan->outside; NULL if the
 * execution did not execute the node.
 */
extern void node_parts_add(NodeParts *parts, const PlanEstimate *plan, const NodeEstimate *node,
						   double w, const AddScale *scale);

#endif							/* CLOCKTIMING_NODE_PARTS_H */
