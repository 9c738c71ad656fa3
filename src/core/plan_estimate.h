/*
 * Estimates the times of plan nodes, in nanoseconds, from counted and timed calls. doc/plans.md
 * has the formulas.
 */
#ifndef CLOCKTIMING_PLAN_ESTIMATE_H
#define CLOCKTIMING_PLAN_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/call_series.h"

/*
 * Uncertainty of a calibrated cost within a query, relative to the cost, in either direction: other
 * work may hide the cost, or be delayed by it.
 */
#define COST_UNCERTAINTY 0.5

/* Costs of timing a call. */
typedef struct CallCost
{
	double		inside_ns;		/* cost within the call's own interval */
	double		timed_ns;		/* whole cost of a timed call */
	double		counted_ns;		/* cost of a call that is only counted */
	double		unseen_ns;		/* the same if its result is not checked */
	double		outside_ns;		/* cost between two calls */
	double		whole_ns;		/* inside_ns if the server times */
	double		server_ns;		/* timed_ns if the server times */
	double		ticks_per_ns;	/* of the clock that times calls, approximate */
} CallCost;

/* How a node is timed. */
typedef enum NodeKind
{
	NODE_SAMPLED,				/* a sample of its calls */
	NODE_WHOLE,					/* each loop as a whole, by the server */
	NODE_UNTIMED,				/* not at all */
	NODE_PART					/* one caller's calls of a shared subplan */
} NodeKind;

/* Counts and times of a node in one process. */
typedef struct NodeRecord
{
	int64_t		calls;
	int64_t		timed;
	double		rows;
	double		loops;
	double		total_ns;		/* estimate of all calls, costs included */
	double		first_ns;		/* those of first calls of loops */
	double		variance;		/* of total_ns, because of sampling */
	double		removed[2];		/* rows removed by joins, indexes; others */
	double		part_ns;		/* NODE_PART: of the whole; NAN: unknown */
	double		rare_ns;		/* of a few long calls, or gaps */
} NodeRecord;

typedef struct NodeEstimate
{
	/* input */
	int			id;				/* for the caller */
	int			parent;			/* its calls contain this; -1: none */
	bool		gathers;		/* its children may also run in workers */
	bool		read_to_end;	/* its results need not be checked */
	bool		starts_parent;	/* first call within that of its parent */
	bool		is_shared;		/* called by several nodes: see NODE_PART */
	int			whole;			/* of a NODE_PART: the subplan's root */
	NodeKind	kind;
	NodeRecord	leader;
	NodeRecord *workers;		/* one per worker of the plan; NULL if none */
	double		untimed_rows;	/* for the caller: of workers not timed */
	double		untimed_loops;
	double		triggers_ns;	/* cost of timing triggers in its calls */

	/* output: all processes together */
	int			processes;		/* number of processes that executed it */
	int64_t		calls;
	int64_t		timed;
	double		rows;
	double		loops;
	double		total_ns;
	double		total_margin_ns;	/* half of a 95 % confidence interval */
	double		self_ns;
	double		self_margin_ns;
	double		total_cost_margin_ns;	/* its part by the cost of timing */
	double		self_cost_margin_ns;	/* the same of self_margin_ns */
	double		total_stddev_ns;	/* between executions; NAN: only one */
	double		first_ns;
	double		adjusted_ns;	/* change of total_ns by reconciling */
	double		leader_ns;		/* total_ns of the leader only */
	double		cost_ns;		/* cost of timing it, in the nodes above */
	double		leader_cost_ns; /* the same for the leader only */
	double		below_ns;		/* cost of timing calls below it */
	double		leader_below_ns;
	bool		self_unknown;	/* see node_self_unknown() */
	double		share_percent;	/* of one process; NAN: unknown */
	double		share_margin_percent;

	/* lists, by index; -1: none */
	int			child;
	int			sibling;
	int			nth;			/* node at this place, parents first */
	int			waits_for;		/* parts without a place so far */

	/* variance of total_ns: by sampling; and including that of costs */
	double		own_variance;
	double		variance;
	double		inside_margin_ns;	/* margin of the cost within its calls */
	double		part;			/* NODE_PART: its part of the whole */

	/* during reconciling */
	bool		full;			/* its children take all of its time */
	double		given_ns;		/* total_ns before reconciling */
	double		joint_ns;		/* combined with that of its children */
	double		joint_variance;
	double		sum_ns;			/* sum over the children */
	double		sum_variance;
	double		parts;			/* of a shared node: sum of its parts */
	double		parts_ns;
} NodeEstimate;

typedef struct PlanEstimate
{
	int			nnodes;
	int			nparts;			/* NODE_PARTs, which follow the nodes */
	int			nworkers;
	NodeEstimate *nodes;		/* a parent's index is not always lower */
	int			nids;			/* for the caller: number of ids */
	int		   *places;			/* index of each id; -1: none */
	void		(*check) (void);	/* may longjmp(); may be NULL */
	CallCost	cost;
	const char *clock;

	bool		as_it_is;		/* totals are not reconciled */
	double		run_ns;			/* measured time of the run */
	double		preempted_ns;	/* part of it: others had the processor */
	double		besides_ns;		/* part of it: timing other than of calls */
	double		outside_ns;		/* outside of root's calls; NAN: unknown */
	double		outside_variance;

	double		overhead_ns;	/* cost of all timing in this process */
	double		root_estimate_ns;	/* estimate of run_ns before reconciling */
	double		rare_ns;		/* the largest one of the leader's records */
	double		whole_ns;		/* run_ns without preemption and overhead */
} PlanEstimate;

/*
 * Returns whether the self time is unknown: its margin is larger than itself, and not negligible.
 */
extern bool node_self_unknown(const PlanEstimate *plan, const NodeEstimate *node);

/* Fills in the output.  The root is the first node. */
extern void plan_estimate(PlanEstimate *plan);

#endif							/* CLOCKTIMING_PLAN_ESTIMATE_H */
