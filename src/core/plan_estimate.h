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
 * How far a calibrated cost may be off within a query whose other work hides
 * it, or is delayed by it: this share of it, either way.
 */
#define COST_UNCERTAINTY 0.5

/* What timing a call costs. */
typedef struct CallCost
{
	double		inside_ns;		/* what falls into the call's own interval */
	double		timed_ns;		/* what a timed call takes longer, in all */
	double		counted_ns;		/* what one takes longer that is only counted */
	double		unseen_ns;		/* what it takes longer if, besides, its
								 * result is not looked at */
	double		outside_ns;		/* what falls into the interval from a call's
								 * end to the start of the next */
	double		whole_ns;		/* inside, where the server times */
	double		server_ns;		/* what that takes in all */
} CallCost;

/* How a node is timed. */
typedef enum NodeKind
{
	NODE_SAMPLED,				/* by its calls */
	NODE_WHOLE,					/* each loop as a whole, by the server */
	NODE_UNTIMED,				/* not at all */
	NODE_PART					/* those calls of a subplan that one of
								 * several nodes makes */
} NodeKind;

/* What one process has counted at a node. */
typedef struct NodeRecord
{
	int64_t		calls;
	int64_t		timed;
	double		rows;
	double		loops;
	double		total_ns;		/* all calls' intervals, estimated; all that
								 * timing costs still in it */
	double		first_ns;		/* those of loops' first calls */
	double		variance;		/* of total_ns, by sampling */
	double		removed[2];		/* rows, as the server counts them: by a
								 * join's condition or an index's, and by
								 * others */
	double		part_ns;		/* of a NODE_PART: its part of total_ns of the
								 * whole; NAN if calls alone are known */
	double		rare_ns;		/* time of a few long calls, or of gaps
								 * between timed calls */
} NodeRecord;

typedef struct NodeEstimate
{
	/* in */
	int			id;				/* for whoever fills it in */
	int			parent;			/* whose calls contain this node's; -1: none */
	bool		gathers;		/* its children may run in workers, too */
	bool		read_to_end;	/* its results need not be looked at */
	bool		starts_parent;	/* its first call is part of its parent's
								 * first call, if they have as many loops */
	bool		is_shared;		/* several nodes call it: "parent" is one of
								 * them, a NODE_PART stands for the calls of
								 * each */
	int			whole;			/* of a NODE_PART: the subplan's root */
	NodeKind	kind;
	NodeRecord	leader;
	NodeRecord *workers;		/* nworkers of the plan; NULL if none */
	double		untimed_rows;	/* of workers that were not timed, for */
	double		untimed_loops;	/* whoever shows them */

	/* out: all processes together */
	int			processes;		/* that executed it */
	int64_t		calls;
	int64_t		timed;
	double		rows;
	double		loops;
	double		total_ns;
	double		total_margin_ns;	/* half of a 95 % confidence interval */
	double		self_ns;
	double		self_margin_ns;
	double		total_cost_margin_ns;	/* part of these margins because of
										 * the cost of timing: it is off alike
										 * in all executions */
	double		self_cost_margin_ns;
	double		total_stddev_ns;	/* between executions; NAN for a single
									 * one */
	double		first_ns;
	double		adjusted_ns;	/* what reconciling has added to total_ns */
	double		leader_ns;		/* total_ns of the leader alone */
	double		cost_ns;		/* that timing its calls has added to those of
								 * the nodes above */
	double		leader_cost_ns; /* the same of the leader alone */
	double		below_ns;		/* that timing calls below it has added, and
								 * is taken off */
	double		leader_below_ns;
	bool		self_unknown;	/* self_ns is not known to within itself, nor
								 * is it next to nothing */
	double		share_percent;	/* a process's self_ns, of whole_ns; NAN if
								 * unknown */
	double		share_margin_percent;

	/* lists, by index; -1: none */
	int			child;
	int			sibling;
	int			nth;			/* the one at this place, parents first */
	int			waits_for;		/* parts that have no place yet */

	/* variance of total_ns: by sampling, and with that of costs */
	double		own_variance;
	double		variance;
	double		inside_margin_ns;	/* margin of the cost inside its calls */
	double		part;			/* of a NODE_PART: of the whole's total_ns */

	/* while totals are reconciled */
	bool		full;			/* its children take all of its time */
	double		given_ns;		/* total_ns before that */
	double		joint_ns;		/* from its own total and its children's, as
								 * far as it is full */
	double		joint_variance;
	double		sum_ns;			/* of the children's */
	double		sum_variance;
	double		parts;			/* of a shared node: their sum */
	double		parts_ns;
} NodeEstimate;

typedef struct PlanEstimate
{
	int			nnodes;
	int			nparts;			/* NODE_PARTs, which follow the nodes */
	int			nworkers;
	NodeEstimate *nodes;		/* a parent's index is not always lower */
	int			nids;			/* for whoever fills them in: ids are below, */
	int		   *places;			/* and of each id the index; -1: none */
	void		(*check) (void);	/* called now and then, and may leave by
									 * longjmp; NULL: nothing to call */
	CallCost	cost;
	const char *clock;

	bool		as_it_is;		/* totals shall not be reconciled */
	double		run_ns;			/* measured, all in all */
	double		preempted_ns;	/* of it, other processes had the processor:
								 * part of no node's time */
	double		besides_ns;		/* of it, cost of timing besides that of
								 * calls: asking the kernel for that, and
								 * readings between the root's calls */
	double		outside_ns;		/* outside of the root's calls, estimated; NAN
								 * if nothing is known of it */
	double		outside_variance;

	double		overhead_ns;	/* of all that was timed and counted, in this
								 * process: in run_ns */
	double		root_estimate_ns;	/* of run_ns, before reconciling */
	double		rare_ns;		/* the largest one of the leader's records */
	double		whole_ns;		/* run_ns without preempted_ns and
								 * overhead_ns; given, if above 0, where
								 * totals are as they are */
} PlanEstimate;

/* Whether self_ns is not known to within itself, nor next to nothing. */
extern bool node_self_unknown(const PlanEstimate *plan, const NodeEstimate *node);

/* Fills in what is out.  The root is the first node, and there is one. */
extern void plan_estimate(PlanEstimate *plan);

#endif							/* CLOCKTIMING_PLAN_ESTIMATE_H */
