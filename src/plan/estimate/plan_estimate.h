/*
 * Computes the times of plan nodes from a sampler's samples (plan/estimate/sample_sums.h).
 *
 * A node's self time is its time on the CPU and in wait events, without the nodes below.  Time in
 * which the process waited for a CPU is separate.  In each process, the self times of all nodes,
 * the time outside of the nodes, and the time waiting for a CPU add up to the measured time.
 *
 * All times of nodes are sums over the processes of a parallel plan.
 */
#ifndef CLOCKTIMING_PLAN_ESTIMATE_H
#define CLOCKTIMING_PLAN_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/estimate/sample_sums.h"

/* How a node is observed. */
typedef enum NodeKind
{
	NODE_SAMPLED,				/* samples find it at work */
	NODE_WHOLE,					/* samples find the node above it at work; the
								 * server times its only call per loop */
	NODE_HIDDEN					/* its time is part of the node above */
} NodeKind;

/* Number of nodes among which the calls of a subplan are divided. */
#define NODE_CALLERS	4

/* A node that calls the root of a subplan. */
typedef struct NodeCaller
{
	int			place;			/* index in PlanEstimate.nodes; -1: none */
	double		calls;
	double		loops;			/* number of these calls that began a loop */
	double		first_ns;		/* time of these */
} NodeCaller;

/* A node in one process. */
typedef struct NodeRecord
{
	SampleSums	samples;
	double		loops;			/* 0: the process did not execute the node */
	double		first_ns;		/* time of the first calls of its loops */
	double		whole_ns;		/* NODE_WHOLE: time of its calls */
	double		unseen_ns;		/* root of the process: time of parts with too
								 * few samples to divide it among the nodes */
	NodeCaller	callers[NODE_CALLERS];	/* root of a subplan: by call */
} NodeRecord;

/* Times of a node in one process or, as a sum, in all. */
typedef struct NodeTimes
{
	double		self_ns;		/* cpu_ns + wait_ns */
	double		cpu_ns;
	double		wait_ns;
	double		cpu_wait_ns;
	double		variance;		/* of self_ns */
	double		total_ns;		/* self_ns with that of the nodes below; as a
								 * sum, only of processes that executed the
								 * node */
	double		total_cpu_wait_ns;	/* by process: cpu_wait_ns with that of
									 * the nodes below */
} NodeTimes;

/* Time of a node in a wait event, in all processes. */
typedef struct NodeWait
{
	uint32_t	event;
	double		ns;
} NodeWait;

/* Margins are halves of 95 % confidence intervals. */
typedef struct NodeEstimate
{
	/* input */
	int			id;				/* plan_node_id; not used here */
	int			parent;			/* index of the node above; -1: none */
	bool		is_called;		/* subplan: "callers" replace the parent */
	NodeKind	kind;
	double		rows;			/* these two: sums over all processes */
	double		loops;
	double		calls;			/* number of calls, from rows and loops */
	bool		has_unobserved; /* workers that were not observed executed it;
								 * not used here */
	NodeRecord *records;		/* one for each process, first the leader */
	NodeWait   *waits;			/* in descending order */
	int			nwaits;

	/* output */
	NodeTimes	times;			/* sums over all processes */
	NodeTimes  *by_process;
	double		self_margin_ns;
	double		total_margin_ns;
	double		total_stddev_ns;	/* stddev over several runs, else NAN */
	double		first_ns;		/* time of the first calls of loops */
	int			processes;		/* number of processes that executed it */
	double		share_percent;	/* self time in percent of share_ns; or NAN */
	double		share_margin_percent;

	/* used during the estimation */
	double		below_variance; /* variance of the self times below and own */
	bool		has_total;
} NodeEstimate;

/* A process that executed the plan. */
typedef struct ProcessRun
{
	double		run_ns;			/* measured duration */
	double		cpu_ns;			/* measured CPU time */
	double		delay_ns;		/* time ready but not running, as the kernel
								 * counts it; 0 if unknown */
	double		samples;		/* number of samples */
	double		finish_ns;		/* part of run_ns in ExecutorFinish(), in
								 * which no node is at work, */
	double		finish_samples; /* and its samples */
	double		squares;		/* sum of the squared times of samples */
	double		unseen_squares; /* sum of the squared times after the last
								 * samples, if the samples' times contain them */
	int			pending;		/* node to which time waiting for a CPU that
								 * is in no sum yet belongs; -1: outside; -2:
								 * none */
	double		pending_ns;		/* at most this time, of its samples */
	double		gaps_ns;		/* time of late samples that is in no sum yet */
	SampleSums	outside;		/* samples outside of the nodes */
	double		sampler_cpu_ns; /* CPU time of the sampler for this process */
} ProcessRun;

typedef struct PlanEstimate
{
	/* input */
	int			nnodes;
	NodeEstimate *nodes;		/* in any order, but the root first */
	int			nprocesses;
	ProcessRun *processes;		/* first the leader */
	int		   *workers;		/* their numbers in EXPLAIN; not used here */
	NodeTimes  *outside_by_process;
	void		(*check) (void);	/* checks for interrupts, or NULL */
	bool		by_timeouts;	/* the process sampled itself */
	bool		leaves_unseen;	/* unseen_ns of records is left out of all
								 * other times; else it is the roots' */

	/* output */
	NodeEstimate outside;		/* time outside of the nodes */
	double		run_ns;			/* duration of the leader, without unseen time
								 * if leaves_unseen */
	double		unseen_ns;		/* unseen time of all processes */
	double		share_ns;		/* sum of the self times and the time outside */
	double		cpu_wait_ns;	/* sum of all times waiting for a CPU */
	double		samples;		/* number of samples of all processes */
	double		sampler_cpu_ns; /* CPU time of the sampler */
	double		throttled_ns;	/* part of cpu_wait_ns due to the container's
								 * limit; set by the caller */
} PlanEstimate;

/* Fills in the output members.  The root is nodes[0].  Changes the records. */
extern void plan_estimate(PlanEstimate *plan);

/*
 * Returns the part of a subplan's total that belongs to the calls by a node.  Requires the
 * subplan's total.
 */
extern double plan_estimate_part(const PlanEstimate *plan, int subplan, int caller);

/* Sets shares and margins from self times, variances and totals of nodes and "outside". */
extern void plan_estimate_shares(PlanEstimate *plan);

#endif							/* CLOCKTIMING_PLAN_ESTIMATE_H */
