/*
 * From calls that were counted and timed to the times of plan nodes.
 *
 * Knows neither the executor nor a clock.  Times are in nanoseconds.  How the
 * formulas come about is in doc/plans.md.
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
	double		outside_ns;		/* cost between the end of a call and the
								 * start of the next */
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
	NODE_PART					/* the calls of a subplan by one of several
								 * nodes */
} NodeKind;

/* Counts and times of a node in one process. */
typedef struct NodeRecord
{
	int64_t		calls;
	int64_t		timed;
	double		rows;
	double		loops;
	double		total_ns;		/* estimated intervals of all calls, including
								 * all costs of timing */
	double		first_ns;		/* those of first calls of loops */
	double		variance;		/* of total_ns, because of sampling */
	double		removed[2];		/* removed rows, counted by the server: by the
								 * condition of a join or an index; by others */
	double		part_ns;		/* of a NODE_PART: its part of the whole's
								 * total_ns; NAN if only calls are known */
	double		rare_ns;		/* time of a few long calls, or of gaps
								 * between timed calls */
} NodeRecord;

typedef struct NodeEstimate
{
	/* input */
	int			id;				/* for the caller */
	int			parent;			/* node whose calls contain this node's; -1:
								 * none */
	bool		gathers;		/* its children may also run in workers */
	bool		read_to_end;	/* its results need not be checked */
	bool		starts_parent;	/* its first call is part of its parent's
								 * first call, if they have as many loops */
	bool		is_shared;		/* several nodes call it: "parent" is one of
								 * them, and a NODE_PART represents the calls
								 * of each */
	int			whole;			/* of a NODE_PART: the subplan's root */
	NodeKind	kind;
	NodeRecord	leader;
	NodeRecord *workers;		/* one per worker of the plan; NULL if none */
	double		untimed_rows;	/* counts of workers that were not timed, for
								 * the caller */
	double		untimed_loops;
	double		triggers_ns;	/* cost of timing triggers that fire in its
								 * calls */

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
	double		total_cost_margin_ns;	/* part of these margins because of
										 * the cost of timing, which is the
										 * same in all executions */
	double		self_cost_margin_ns;
	double		total_stddev_ns;	/* between executions; NAN for a single
									 * one */
	double		first_ns;
	double		adjusted_ns;	/* change of total_ns by reconciling */
	double		leader_ns;		/* total_ns of the leader only */
	double		cost_ns;		/* cost that timing its calls has added to the
								 * nodes above */
	double		leader_cost_ns; /* the same for the leader only */
	double		below_ns;		/* cost of timing calls below it, which was
								 * subtracted */
	double		leader_below_ns;
	bool		self_unknown;	/* the margin of self_ns is larger than
								 * self_ns, and not negligible */
	double		share_percent;	/* a process's self_ns in percent of whole_ns;
								 * NAN if unknown */
	double		share_margin_percent;

	/* lists, by index; -1: none */
	int			child;
	int			sibling;
	int			nth;			/* the node at this place of the order,
								 * parents first */
	int			waits_for;		/* number of parts that have no place in the
								 * order yet */

	/* variance of total_ns: by sampling; and including that of costs */
	double		own_variance;
	double		variance;
	double		inside_margin_ns;	/* margin of the cost within its calls */
	double		part;			/* of a NODE_PART: its part of the whole's
								 * total_ns */

	/* during reconciling */
	bool		full;			/* its children take all of its time */
	double		given_ns;		/* total_ns before reconciling */
	double		joint_ns;		/* combined from its own total and its
								 * children's, if it is full */
	double		joint_variance;
	double		sum_ns;			/* sum over the children */
	double		sum_variance;
	double		parts;			/* of a shared node: sum of its parts */
	double		parts_ns;
} NodeEstimate;

typedef struct PlanEstimate
{
	int			nnodes;
	int			nparts;			/* number of NODE_PARTs, which follow the
								 * nodes */
	int			nworkers;
	NodeEstimate *nodes;		/* a parent's index is not always lower */
	int			nids;			/* for the caller: upper limit of the ids, */
	int		   *places;			/* and the index of each id; -1: none */
	void		(*check) (void);	/* called at intervals; may leave by
									 * longjmp(); may be NULL */
	CallCost	cost;
	const char *clock;

	bool		as_it_is;		/* totals are not reconciled */
	double		run_ns;			/* measured time of the run */
	double		preempted_ns;	/* part of it in which other processes had the
								 * processor; it is part of no node's time */
	double		besides_ns;		/* part of it: costs of timing other than
								 * those of calls, for asking the kernel and
								 * for readings between the root's calls */
	double		outside_ns;		/* estimated time outside of the root's calls;
								 * NAN if unknown */
	double		outside_variance;

	double		overhead_ns;	/* cost of all timing and counting in this
								 * process, part of run_ns */
	double		root_estimate_ns;	/* estimate of run_ns before reconciling */
	double		rare_ns;		/* the largest one of the leader's records */
	double		whole_ns;		/* run_ns without preempted_ns and
								 * overhead_ns; an input if above 0 and
								 * as_it_is */
} PlanEstimate;

/*
 * Returns whether the self time is unknown: its margin is larger than itself, and not negligible.
 */
extern bool node_self_unknown(const PlanEstimate *plan, const NodeEstimate *node);

/* Fills in the output.  The root is the first node. */
extern void plan_estimate(PlanEstimate *plan);

#endif							/* CLOCKTIMING_PLAN_ESTIMATE_H */
