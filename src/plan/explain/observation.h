/*
 * An observed execution: its nodes' calls are counted, and the sampler sees which node is at work.
 *
 * Nodes are numbered by the order in which a walk of the plan finds them; a node's "place" is its
 * position in this order, from 0.  Different nodes may have the same plan_node_id.
 *
 * Rows and loops are in the server's Instrumentation, which the stubs update as the server does.
 * The server also collects them from parallel workers.
 */
#ifndef CLOCKTIMING_OBSERVATION_H
#define CLOCKTIMING_OBSERVATION_H

#include "executor/execdesc.h"
#include "lib/ilist.h"
#include "storage/dsm.h"

#include "plan/estimate/plan_estimate.h"
#include "plan/explain/plan_run.h"
#include "plan/explain/probe.h"

/*
 * Number of samples that show how a time without samples is divided among the nodes, if it is
 * longer than the time with samples.  With fewer, it belongs to the root or to the time outside.
 * With 10, the proportions would be less certain; with 40, more such times would be the root's.
 */
#define MANY_SAMPLES	20

typedef struct ObserveOptions
{
	bool		asked;			/* somebody waits for the times */
	bool		late;			/* stubs are installed while the query runs */
	bool		no_workers;		/* Gather nodes start no workers */
} ObserveOptions;

typedef struct ObservedNode
{
	ProbedNode	probed;			/* probed.node is set for all nodes */
	NodeKind	kind;
	int			id;				/* plan_node_id */
	int			parent;			/* place of the node above; -1: none */
	bool		is_init_plan;	/* root of an InitPlan or CTE */
	bool		is_cte;			/* root of a CTE */
	bool		is_expression;	/* root of a subplan in an expression */
	bool		was_called;		/* called before the stub was installed */
	SampleSums	base;			/* the sampler's sums that are already in
								 * "samples" */
	SampleSums	samples;
} ObservedNode;

/* Time in a wait event.  place -1: outside of the nodes. */
typedef struct ObservedWait
{
	int			place;
	uint32		event;
	double		ns;
} ObservedWait;

typedef struct Observation
{
	QueryDesc  *desc;
	MemoryContext context;		/* context of the query */
	dlist_node	link;			/* in the list of this process's observations */
	MemoryContextCallback at_end;
	ObserveOptions options;

	int			nnodes;
	ObservedNode *nodes;		/* by place; the root is the first */
	uint32		first;			/* number of the time outside of the nodes;
								 * the numbers of the nodes follow */
	uint32		above;			/* number at work before the execution */
	bool		has_epoch;		/* the sampler's sums began with this part */
	bool		ran;			/* ExecutorRun() has ended, */
	double		ran_samples;	/* with this number of samples */
	bool		under_way;		/* within ExecutorRun() or ExecutorFinish() */
	SampleSums	outside_base;	/* like base and samples of a node */
	SampleSums	outside;
	ObservedWait *waits;
	int			nwaits;
	int			max_waits;

	uint64		part_ns;		/* time and CPU time when the part began */
	uint64		part_cpu_ns;
	double		part_delay_ns;	/* cpu_delay_ns() then; -1: unknown */
	ProcessRun	run;			/* sums of the parts so far */
	double		mean_square;	/* mean squared time of a sample, in ns^2 */
	double		unseen_ns;		/* time in parts that were not sampled, in no
								 * sum yet (record_node()) */

	/* shared with parallel workers */
	int			nworkers;		/* number of workers that may run at a time */
	dsm_segment *segment;
	struct SharedObservation *shared;
	int			guc_nest_level; /* GUC nest level of worker_observation; or 0 */
	bool		by_timeouts;	/* this process samples itself */
	bool		workers_hidden; /* no shared memory: workers are not observed */
} Observation;

/*
 * Installs the stubs.  Returns NULL if all numbers of the process are in use.  After an error, the
 * query's memory context removes the stubs.
 */
extern Observation *observe_attach(QueryDesc *desc, const ObserveOptions *options);

/*
 * Returns the nodes of a plan, without observing it, in CurrentMemoryContext.  "options" may be
 * NULL.
 */
extern Observation *observe_list(QueryDesc *desc, const ObserveOptions *options);

/* Sets the members of a node for which "first" must be set, and installs its stub. */
extern void observe_install(Observation *observation, int place);

/* Begin and end a part of the execution: an ExecutorRun() or ExecutorFinish(). */
extern void observe_begin_part(Observation *observation);
extern void observe_end_part(Observation *observation);

/*
 * Called after observe_begin_part() of an observation that begins late, with the node whose call is
 * about to begin.
 */
extern void observe_called(Observation *observation, const PlanState *called);

/*
 * Adds the time in ns and the CPU time since nodes were waited for, during which none was called,
 * and the wait event at its beginning.  "called": as above.
 */
extern void observe_uncalled(Observation *observation, const PlanState *called, double ns,
							 double cpu_ns, uint32 event);

/* Adds the sampler's sums, multiplied by a factor, to those of the observation. */
extern void observe_collect(Observation *observation, double factor);

/*
 * Return the place of the node at work, -1 if there is none; and the sums of a node so far.  A
 * signal handler may call them.
 */
extern int	observed_at_work(const Observation *observation);
extern SampleSums observed_samples(const Observation *observation, int place);

/*
 * Calls a function for the times in wait events so far.  It is called several times for some pairs
 * of a place and an event; their times add up.  A signal handler may call this.
 */
extern void observed_waits(const Observation *observation,
						   void (*add) (void *arg, const ObservedWait *wait), void *arg);

/* Returns the observation of an execution, or NULL. */
extern Observation *observation_of(const QueryDesc *desc);

/* Returns the observation's place of a node, or -1. */
extern int	observed_place(const Observation *observation, const PlanState *node);

#endif							/* CLOCKTIMING_OBSERVATION_H */
