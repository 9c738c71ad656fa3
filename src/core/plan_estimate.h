/* Estimates times of plan nodes from counted and timed calls.  doc/plans.md has the formulas. */
#ifndef CLOCKTIMING_PLAN_ESTIMATE_H
#define CLOCKTIMING_PLAN_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/call_series.h"

/*
 * The cost of counting or timing a call may differ from the calibrated cost by this fraction: in a
 * query, counting and timing may overlap with other work, or delay other work.
 */
#define COST_UNCERTAINTY 0.5

/* Time that counting or timing adds to a call of a node, as measured on a dummy node. */
typedef struct CallCost
{
	double		inside_ns;		/* part of timed_ns within the measured time */
	double		timed_ns;		/* whole cost of a timed call */
	double		counted_ns;		/* cost of a call that is only counted */
	double		unseen_ns;		/* counted_ns without the check whether the
								 * call returned a row */
	double		outside_ns;		/* cost of measuring the time from a timed
								 * call's end to the next call */
	double		whole_ns;		/* inside_ns of a call timed by the server */
	double		server_ns;		/* timed_ns of a call timed by the server */
	double		ticks_per_ns;	/* approximate rate of the timing clock */
} CallCost;

/* How a node is timed. */
typedef enum NodeKind
{
	NODE_SAMPLED,				/* a sample of its calls is timed */
	NODE_WHOLE,					/* the server times its only call per loop */
	NODE_UNTIMED,				/* no call is timed */
	NODE_PART					/* not a node: a subplan's calls by a caller */
} NodeKind;

/* Counts and times of a node in one process. */
typedef struct NodeRecord
{
	int64_t		calls;
	int64_t		timed;			/* number of timed calls */
	double		rows;
	double		loops;
	double		total_ns;		/* time of all calls, with inside_ns in each */
	double		first_ns;		/* estimated time of loops' first calls */
	double		variance;		/* sampling variance of total_ns */
	double		removed[2];		/* the server's nfiltered1, nfiltered2 */
	double		part_ns;		/* NODE_PART: measured time; NAN: unknown */
	double		rare_ns;		/* margin of total_ns due to rare long calls */
} NodeRecord;

/* A node, or a NODE_PART.  Margins are halves of 95 % confidence intervals. */
typedef struct NodeEstimate
{
	/* input */
	int			id;				/* set and used by the caller only */
	int			parent;			/* index of the calling node; -1: none */
	bool		gathers;		/* workers may execute its children, too */
	bool		read_to_end;	/* counting a call costs unseen_ns */
	bool		starts_parent;	/* first call is part of its parent's first */
	bool		is_shared;		/* root of a subplan with several callers */
	int			whole;			/* NODE_PART: index of the subplan's root */
	NodeKind	kind;
	NodeRecord	leader;
	NodeRecord *workers;		/* one per worker of the plan; NULL if none */
	double		untimed_rows;	/* rows of untimed workers; not used here */
	double		untimed_loops;	/* loops of untimed workers; not used here */
	double		triggers_ns;	/* cost of timing triggers during its calls */

	/* output: sums over all processes */
	int			processes;		/* number of processes that executed it or,
								 * below a Gather, its parent */
	int64_t		calls;
	int64_t		timed;			/* number of timed calls */
	double		rows;
	double		loops;
	double		total_ns;		/* time of the node and the nodes below */
	double		total_margin_ns;
	double		self_ns;		/* time without the nodes below */
	double		self_margin_ns;
	double		waited_ns;		/* Gather: wait for workers, not in self_ns */
	double		total_cost_margin_ns;	/* margin due to errors of costs only */
	double		self_cost_margin_ns;	/* margin due to errors of costs only */
	double		total_stddev_ns;	/* stddev over several runs, else NAN */
	double		first_ns;		/* time of the first calls of loops */
	double		adjusted_ns;	/* change of total_ns so that totals add up */
	double		leader_ns;		/* total_ns of the leader only */
	double		cost_ns;		/* cost that timing it adds to nodes above */
	double		leader_cost_ns; /* cost_ns of the leader only */
	double		below_ns;		/* cost of timing calls below it */
	double		leader_below_ns;	/* below_ns of the leader only */
	double		share_percent;	/* self_ns / processes / base_ns, or NAN */
	double		share_margin_percent;

	/* indexes of nodes, set by link_nodes() in plan_estimate.c */
	int			child;			/* first child; -1: none */
	int			sibling;		/* next sibling; -1: none */
	int			nth;			/* nodes[i].nth is the index of the i-th node
								 * in an order with parents before children */
	int			waits_for;		/* is_shared: its NODE_PARTs not yet in nth */

	double		own_variance;	/* part of "variance" due to sampling */
	double		variance;		/* variance of total_ns, with errors of costs */
	double		inside_margin_ns;	/* margin due to the error of inside_ns */
	double		part;			/* NODE_PART: fraction of the subplan's time */

	/* used while reconcile() makes totals add up */
	bool		full;			/* its children take all of its time */
	double		given_ns;		/* total_ns before reconcile() */
	double		joint_ns;		/* given_ns; if full, combined with sum_ns */
	double		joint_variance;
	double		sum_ns;			/* sum of its children's joint_ns */
	double		sum_variance;	/* variance of sum_ns */
	double		parts;			/* is_shared: sum of its NODE_PARTs' "part" */
	double		parts_ns;		/* is_shared: sum of their total_ns */
} NodeEstimate;

typedef struct PlanEstimate
{
	int			nnodes;			/* number of nodes, without the NODE_PARTs */
	int			nparts;			/* number of NODE_PARTs, after the nodes */
	int			nworkers;
	NodeEstimate *nodes;		/* in any order, but the root first */
	int			nids;			/* number of ids, used by the caller only */
	int		   *places;			/* index of each id's node; -1: none */
	void		(*check) (void);	/* checks for interrupts, or NULL */
	CallCost	cost;
	const char *clock;			/* name of the timing clock */

	bool		as_it_is;		/* totals are not made to add up */
	double		run_ns;			/* measured time of the run */
	double		preempted_ns;	/* part of run_ns: other processes ran */
	double		slept_ns;		/* part of run_ns: waits, except for a CPU */
	double		besides_ns;		/* part of run_ns: cost of trigger timing etc. */
	double		outside_ns;		/* time outside of the root's calls, or NAN */
	double		outside_variance;	/* variance of outside_ns */

	double		overhead_ns;	/* cost of all timing in this process */
	double		root_estimate_ns;	/* estimate of run_ns, from sampled calls */
	double		rare_ns;		/* largest rare_ns of the leader's records */
	double		whole_ns;		/* run_ns - preempted_ns - overhead_ns */
	double		base_ns;		/* denominator of shares: whole_ns without
								 * waited_ns, with mean times below Gathers */
} PlanEstimate;

/* Fills in the output members.  nodes[0] must be the root. */
extern void plan_estimate(PlanEstimate *plan);

#endif							/* CLOCKTIMING_PLAN_ESTIMATE_H */
