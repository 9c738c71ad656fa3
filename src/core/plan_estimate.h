/*-------------------------------------------------------------------------
 *
 * plan_estimate.h
 *	  From calls that were counted and timed to the times of plan nodes.
 *
 * Knows neither the executor nor a clock.  Times are in nanoseconds.  How the
 * formulas come about is in doc/explain.md.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLAN_ESTIMATE_H
#define CLOCKTIMING_PLAN_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cpu_usage.h"

/*
 * What has been counted, besides time, while a call lasted: each of these costs
 * something, and not all the same.
 */
typedef enum CountBelow
{
	BELOW_FIRST,				/* first calls of loops of the nodes below */
	BELOW_LATER,				/* other calls of these */
	BELOW_REMOVED				/* rows removed, by them and the node itself */
} CountBelow;

#define N_BELOW (BELOW_REMOVED + 1)

typedef struct CallsBelow
{
	int64_t		n[N_BELOW];
} CallsBelow;

/*
 * Calls that are timed with the same chance.  What is added up is a call's
 * time less the part of it that is known anyway, and what was counted below,
 * which is known of all calls together.
 */
typedef struct CallStratum
{
	int64_t		calls;
	int64_t		timed;
	double		sum;			/* of the timed ones */
	double		sum_sq;
	double		below_sum[N_BELOW];
	double		products[N_BELOW][N_BELOW]; /* of counts below: their sums */
	double		cross[N_BELOW]; /* the same of counts and times */
} CallStratum;

/*
 * Strata that follow each other.  A stratum of few timed calls is thrown
 * together with the one before it.
 */
typedef struct CallSeries
{
	CallStratum now;
	CallStratum before;
	int64_t		calls;			/* of all strata, and so on */
	int64_t		timed;
	double		total;			/* estimate of the strata before "before" */
	double		variance;		/* of it: 1.96 times its root is the margin */

	/*
	 * What a call takes goes with what is done below: sums of products of
	 * deviations over strata, plain and weighted for the variance, and how
	 * much is done below if the sample is right.
	 */
	double		products[N_BELOW][N_BELOW];
	double		cross[N_BELOW];
	double		weighted_products[N_BELOW][N_BELOW];
	double		weighted_cross[N_BELOW];
	double		expected[N_BELOW];

	/* calls that took much longer than others, and what they stand for */
	int64_t		nlong;
	double		long_sum;
	double		long_total;
	double		long_variance;
	double		disturbances;	/* in: so many of them are others' turns */
	double		timed_sum;		/* of all that were timed */
	double		measured;		/* of total: not estimated, or with others'
								 * turns in it as they come */
} CallSeries;

/*
 * A timed call, one of "gap" calls, in which so much was done below.
 * "long_ns" is what no call takes as a rule: something else may have had the
 * processor.  Where much more is done below than as a rule, that explains as
 * much.
 */
extern void call_series_add(CallSeries *series, double ns, const CallsBelow *below,
							int gap, double long_ns);

extern void call_series_next(CallSeries *series);	/* a new stratum begins */

/* Closes the last stratum: calls, timed, total and variance are complete. */
extern void call_series_end(CallSeries *series);

/* Adds what is known of other calls, both being closed. */
extern void call_series_join(CallSeries *series, const CallSeries *other);

/*
 * How much has really been done below while these calls lasted.  "known" are
 * calls of the same node that were all timed.
 */
extern void call_series_regress(CallSeries *series, const CallStratum *known,
								const CallsBelow *below);

/* One more timed call. */
extern void call_stratum_add(CallStratum *stratum, double ns, const CallsBelow *below);

/* What timing a call costs. */
typedef struct CallCost
{
	double		inside_ns;		/* what falls into the call's own interval */
	double		timed_ns;		/* what a timed call takes longer, in all */
	double		counted_ns;		/* what one takes longer that is only counted */
	double		drained_ns;		/* the same where the node is drained */
	double		outside_ns;		/* what falls into the interval from a call's
								 * end to the start of the next */
	double		whole_ns;		/* inside, where the server times */
	double		server_ns;		/* what that takes in all */
	double		error_ns;		/* how far inside_ns may be from the truth, at
								 * 95 % */
} CallCost;

/* How a node is timed. */
typedef enum NodeKind
{
	NODE_SAMPLED,				/* by its calls */
	NODE_WHOLE,					/* each loop as a whole, by the server */
	NODE_UNTIMED				/* not at all */
} NodeKind;

/* What one process has counted at a node. */
typedef struct NodeRecord
{
	int64_t		calls;
	int64_t		uncounted;		/* of them, with nothing before the node */
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
} NodeRecord;

/*
 * Adds so many calls' times to a record, the readings in each still in them:
 * what was measured, and what was estimated from calls that were timed.
 */
extern void record_add_times(NodeRecord *record, double calls, double loops,
							 double measured_ns, double estimated_ns, double variance,
							 double first_ns, double inside_ns, const Preempted *others);

typedef struct NodeEstimate
{
	/* in */
	int			id;				/* for whoever fills it in */
	int			parent;			/* whose calls contain this node's; -1: none */
	bool		gathers;		/* its children may run in workers, too */
	bool		drained;		/* its calls cost drained_ns when counted */
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
	double		total_error_ns; /* half of a 95 % confidence interval */
	double		self_ns;
	double		self_error_ns;
	double		first_ns;
	double		adjusted_ns;	/* what reconciling has added to total_ns */
	double		leader_ns;		/* total_ns of the leader alone */
	double		cost_ns;		/* that timing its calls has added to those of
								 * the nodes above */
	double		below_ns;		/* that timing calls below it has added, and
								 * is taken off */
	bool		self_unknown;	/* self_ns is not known to within itself, nor
								 * is it next to nothing */

	/* lists, by index; -1: none */
	int			child;
	int			sibling;

	/* while totals are reconciled */
	bool		full;			/* its children take all of its time */
	double		given_ns;		/* total_ns before that */
	double		joint_ns;		/* from its own total and its children's, as
								 * far as it is full */
	double		joint_variance;
} NodeEstimate;

typedef struct PlanEstimate
{
	int			nnodes;
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
	double		preempted_ns;	/* of it, others had the processor */
	double		outside_ns;		/* outside of the root's calls, estimated; NAN
								 * if nothing is known of it */
	double		outside_variance;
	double		repeatability;	/* relative standard deviation of runs */
	double		slower;			/* so many times as long as at best took what
								 * never changes; NAN: unknown */

	double		overhead_ns;	/* of all that was timed and counted, in this
								 * process: in run_ns */
	double		root_estimate_ns;	/* of run_ns, before reconciling */
	double		whole_ns;		/* run_ns without overhead_ns */
} PlanEstimate;

/*
 * Fills in what is out.  The root is the first node, and there is one.  "work"
 * has room for 2 * nnodes numbers.
 */
extern void plan_estimate(PlanEstimate *plan, double *work);

#endif							/* CLOCKTIMING_PLAN_ESTIMATE_H */
