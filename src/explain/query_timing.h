/*
 * State of a timed plan: the calls and loops of its nodes.
 *
 * A loop of a node is what EXPLAIN counts as one.  It begins with the node's first call or with a
 * rescan.  It ends with the call that returns no tuple or with the next rescan.
 */
#ifndef CLOCKTIMING_QUERY_TIMING_H
#define CLOCKTIMING_QUERY_TIMING_H

#include "executor/execdesc.h"
#include "storage/dsm.h"

#include "core/cpu_usage.h"
#include "core/plan_estimate.h"
#include "core/sampling_policy.h"
#include "explain/plan_shape.h"
#include "explain/server_instr.h"
#include "explain/timing_clock.h"

#define NODE_SAMPLING_MAX	1000000

/* Options for timing the plan nodes of an execution. */
typedef struct NodeTimingOptions
{
	int			sampling;		/* mean sampling interval, in calls; 1: every
								 * call is timed; 0: calls are only counted */
	int			only_node;		/* plan_node_id of the only node; -1: all */
	double		max_overhead;	/* limit of the time that counting and timing
								 * add, in percent of the elapsed time */
	bool		may_stop;		/* the client may pause, or not fetch all rows */
	bool		no_workers;		/* Gather nodes start no workers */
	bool		late;			/* attached while ExecutorRun() is active */
} NodeTimingOptions;

/*
 * Largest number of nodes below a node whose calls are counted within its timed calls.  More would
 * take too long.
 */
#define MAX_BELOW		16

/* A timed call. */
typedef struct CallSample
{
	double		ticks;
	double		known;			/* increase of NodeTiming.known in the call */
	CallsBelow	below;
	struct SubplanUse *use;		/* use of a shared subplan; else NULL */
} CallSample;

/*
 * A class of similar calls of a node: the calls that begin a loop, or all other calls.  In Sort,
 * Aggregate and similar nodes the first call does all of the work.
 */
typedef struct CallClass
{
	SamplingClass policy;		/* gap 0: no call is timed */
	float		gap_scale;		/* -1 / ln(1 - 1 / gap) */
	int64		before;			/* number of calls when the gap was last set */
	int			nsamples;
	CallSample	samples[POLICY_BATCH];	/* latest timed calls; added up in
										 * batches, so that the query's data
										 * stays in the CPU caches */

	/* calls made while every call was timed: number, sum of their durations */
	int64		all_timed;
	double		all_timed_sum;
	double		latest_mean;	/* running mean of timed calls, with long gaps */

	/* randomly sampled calls: durations in ticks, without their known part */
	CallSeries	drawn;
	double		drawn_sum;		/* sum of their durations, with the known part */
	double		largest;		/* largest duration, without the part
								 * explained by the counts of calls below */
	double		second_largest;
	int			largest_gap;	/* sampling interval when "largest" was timed */
} CallClass;

/*
 * State that only timed calls use.  It is a separate struct, so that the state that every call uses
 * fits into few cache lines.  It is allocated at a node's first call, because it has five
 * kilobytes.
 */
typedef struct NodeSamples
{
	CallClass	first;
	CallClass	later;
	CallStratum known_calls;	/* calls made while every call was timed */

	/* at the latest timed call: calls, first_calls, time */
	int64		timed_at;
	int64		timed_first;
	uint64		timed_start;	/* including long gaps */

	/* decaying sums over the intervals between starts of timed calls */
	double		interval_ticks; /* including long gaps */
	double		interval_calls;
	double		interval_spread;	/* median deviation, approximately */

	/*
	 * Long gaps between clock readings.  Samples do not include them.  A
	 * certain gap was within a timed call of this node or of a node below it.
	 * In a hidden gap, an untimed call of this node may have been long.
	 */
	double		long_ticks;		/* ticks of certain gaps */
	double		long_first_ticks;	/* part of long_ticks in first calls of
									 * loops */
	double		hidden_ticks;
	double		hidden_prior_ticks; /* part of hidden_ticks, by the prior
									 * weight of this node */
	double		gap_weight;		/* result of gap_weight() in the latest gap */
	int64		long_seen;		/* see long_gap_share() */
	double		long_certain;
	double		long_expected;
} NodeSamples;

/*
 * Use of a subplan by one node.  Exists only if several nodes execute the subplan, or if it is a
 * CTE that ExecutorFinish() executes again.
 */
typedef struct SubplanUse
{
	struct NodeTiming *subplan;
	struct NodeTiming *user;	/* NULL: calls of no node */
	struct SubplanUse *next;	/* next in the query's list of uses */
	struct SubplanUse *next_of_user;
	struct SubplanUse *outer;	/* "use" of the subplan outside of the call */
	int64		calls;
	int64		first_calls;
	double		ticks;			/* estimated time of all its calls */
	int			place;			/* index in PlanEstimate.nodes */
} SubplanUse;

/* Size of a cache line. */
#define LINE_SIZE		64

typedef struct NodeTiming
{
	/* needed by first calls: one cache line */
	int64		first_skip;		/* first calls to count until one is timed */
	int64		first_calls;
	int64		later_due;		/* later_calls() before the next timed call */
	int64		calls_before;	/* number of calls before this loop */
	int64		ends;			/* number of calls that returned no tuple; not
								 * counted if the node is read to the end:
								 * each loop then has one */
	struct QueryTiming *query;
	bool		ended;			/* the latest call was seen to return no tuple */
	bool		begun;
	bool		in_loop;		/* the loop's first call has ended */
	bool		dynamic;		/* "parent" is set at its first call */
	bool		is_root;
	bool		calls_vary;		/* plan_calls_vary(), or that of a node below */
	uint8		reading;		/* an InputReading, never INPUT_AS_NODE */
	uint8		kind;			/* a NodeKind */
	uint64		returned;		/* of the root: end of the latest timed call,
								 * if it returned a tuple; else 0 */

	/* needed by all calls: another cache line, with the start of "instr" */
	NodeSamples *samples;		/* NULL before the first call */
	int64		calls;
	uintptr_t	wrapped;		/* see wrapped_node(); 0: no wrapper */

	/* the node's "instrument" points to this field; see next_due() */
	NodeInstr	instr;

	double		calls_again;	/* first calls that do not begin a loop */
	double		shown_rows;		/* see record_show_counts() */
	double		shown_loops;
	ExecProcNodeMtd counted_call;	/* one of the wrappers of call_wrapper.c */
	ExecProcNodeMtd usage_call; /* counted_call, or its wrapper for usage */
	ExecProcNodeMtd call;		/* usage_call, or its wrapper for subplans */
	SubplanUse *uses;			/* uses of shared subplans by this node */
	SubplanUse *use;			/* of a shared subplan: its present use */
	SubplanUse *latest_use;		/* of a shared subplan: use of its latest call */

	/*
	 * Total time, in ticks, of calls of this node and of nodes below it that
	 * were made while every call was timed.  It is exact, so it is subtracted
	 * from samples before the time of untimed calls is estimated.
	 */
	double		known;
	double		off_ticks;		/* off the CPU in calls timed by the server */

	int			id;				/* plan_node_id */
	int			place;			/* place in EXPLAIN's order */
	PlanState  *node;
	struct NodeTiming **below;	/* nodes counted within its timed calls */
	int			nbelow;			/* at most MAX_BELOW */
	struct NodeTiming *parent;	/* node that calls this one; of a shared
								 * subplan: the present user */
	struct NodeTiming *child;
	struct NodeTiming *sibling;
	const SubPlanState *subplan;	/* subplan whose root it is, or NULL */
	bool		rescanned;		/* root of a subplan that is rescanned before
								 * each execution */
	bool		seen;			/* the wrapper checks the results of its calls */
	bool		was_called;		/* called before its wrapper was installed */
	int			nuses;			/* of a subplan's root: number of nodes that
								 * execute it */
	bool		is_shared;		/* calls are counted separately for each user */
	double		uses_ticks;		/* sum of the ticks of its uses */

	/* about the timed call that is active */
	uint64		call_start;		/* its start; 0: no such call */
	double		call_known;		/* value of "known" at its start */
} NodeTiming;

StaticAssertDecl(offsetof(NodeTiming, samples) == LINE_SIZE,
				 "first calls need one line of the caches");

/* Time outside of the root's calls. */
typedef struct OutsideCalls
{
	uint64		first_ticks;	/* start of the first call; 0: not timed */
	uint64		last_ticks;		/* end of the last call; 0: not timed */
	double		sum;			/* sum of times between calls, in ticks */
	double		sum_sq;
	double		long_sum;		/* sum of the long gaps outside of calls */
	double		ends;			/* sum of times from last calls to the end */
	int64		n;
} OutsideCalls;

/* Address range of an execution's NodeTimings, beginning at the first one's "instr". */
typedef struct TimingRange
{
	uintptr_t	begin;
	Size		size;			/* in bytes */
} TimingRange;

typedef struct QueryTiming
{
	QueryDesc  *desc;
	MemoryContext context;		/* context of the query */
	dlist_node	link;			/* link in the list of timed executions */
	TimingRange timings;
	int			sampling;		/* as in NodeTimingOptions */
	int			only_node;
	double		max_overhead;
	bool		may_stop;
	bool		no_workers;
	bool		all_timed;		/* every call is timed; gap is not adapted */
	bool		late;
	const struct ExecutionWatcher *watcher; /* publishes counters; or NULL */
	uint64		publish_due;	/* reading from which publish() is called */
	struct LiveExecution *live; /* the watcher's state; or NULL */
	volatile bool publish_now;	/* next call publishes, see watch_call() */

	int			nnodes;			/* upper limit of the plan_node_ids */
	NodeTiming **nodes;			/* by plan_node_id; NULL: no such node */
	int			nplaces;
	int			nworkers;		/* maximum number of workers */
	NodeTiming *root;
	SubplanUse *uses;
	int			nparts;			/* number of uses by nodes */
	NodeSamples *spare;			/* preallocated samples for nodes' first calls */
	int			nspare;
	struct TimedTrigger *triggers;
	MemoryContextCallback at_end;

	NodeTiming *innermost;		/* innermost node known to be in a call */
	OutsideCalls outside;
	CallCost	cost;
	double		ticks_per_ns;	/* from calibration */
	double		long_ticks;		/* LONG_CALL_NS in ticks */
	double		ask_ticks;		/* ASK_NS in ticks */
	SamplingPolicy policy;

	uint64		last_reading;	/* latest reading of the clock */

	dsm_segment *segment;		/* memory shared with workers */
	struct SharedTiming *shared;
	int			guc_nest_level; /* of clocktiming.worker_timing; 0: not set */
	bool		workers_untimed;	/* no shared memory for workers' results */

	/*
	 * Time subtracted from clock readings: time of other processes, time to
	 * ask the kernel for CPU usage, time between two calls of ExecutorRun(),
	 * and long gaps.
	 */
	uint64		off_ticks;
	uint64		asked_ticks;	/* part of off_ticks: time to ask the kernel */
	uint64		long_off_ticks; /* part of off_ticks: long gaps */
	double		preempted_ns;
	CpuUsage	usage;			/* latest CPU usage reported by the kernel */
	uint64		usage_ns;		/* time of that report */
	uint64		start_ns;
	uint64		start_ticks;
	uint64		ran_ticks;
	bool		has_sentinel;	/* see query_was_read() */
	bool		rewound;		/* the root's next call begins a loop */
	/* sum of times between ExecutorRun() and the next call of the executor */
	uint64		paused_ticks;
	uint64		stop_ns;
	uint64		stop_ticks;
} QueryTiming;

/*
 * Callbacks of the module that publishes running executions. enter() is called before each
 * ExecutorRun(), and before ExecutorFinish() of statements that may have fired triggers. leave() is
 * called afterwards, also after an error, with the value that enter() has returned.
 */
typedef struct ExecutionWatcher
{
	int			(*enter) (QueryDesc *desc);
	void		(*leave) (QueryDesc *desc, int entered, bool failed);
	void		(*attached) (QueryTiming *query);	/* called after wrappers
													 * are installed */

	/* Called when a call of the node begins, or a timed one has ended. */
	void		(*publish) (QueryTiming *query, NodeTiming *t, bool begins);
	void		(*ended) (QueryTiming *query);	/* called when the query's
												 * memory is freed, also after
												 * an error */
} ExecutionWatcher;

/* NULL if no module publishes executions. */
extern const ExecutionWatcher *execution_watcher;

/* The query that this process executes as a parallel worker; NULL unless its memory exists. */
extern QueryTiming *timed_in_worker;

extern void query_set_cost(QueryTiming *query, const CallCost *cost);

/* Called immediately before ExecutorRun(), after it, and after ExecutorFinish(). */
extern void query_timing_start(QueryTiming *query);
extern void query_timing_ran(QueryTiming *query);
extern void query_timing_stop(QueryTiming *query);

/* Called after a pause, before another ExecutorRun() ("again") or ExecutorFinish(). */
extern void query_timing_resume(QueryTiming *query, bool again);

/*
 * Reads the clock for a timed call of the node "t", or, if "t" is NULL, between two calls of the
 * root. "within" is true if the time since the previous reading belongs to the timed call.  Returns
 * the reading minus off_ticks.
 *
 * Two readings precede a timed call, see doc/plans.md.  The first one loads this function into the
 * caches for the other readings.  So it must not be inlined.
 */
extern uint64 query_reading(QueryTiming *query, NodeTiming *t, bool within);

/* Returns the duration of the run, without interruptions. */
extern double query_run_ns(const QueryTiming *query);

/* Returns ns per tick: measured in this run if it was long enough, else from calibration. */
extern double query_ns_per_tick(const QueryTiming *query);

/* Subtracts the time since the latest reading from later readings.  It was spent on timing. */
extern void query_take_off(QueryTiming *query);

/* Returns the NodeTiming of a node that has one of our wrappers. */
static inline NodeTiming *
node_timing_of(const PlanState *node)
{
	return (NodeTiming *) ((char *) node->instrument - offsetof(NodeTiming, instr));
}

/*
 * Returns the value of NodeTiming.wrapped: a node's address, with the wrapper's kind as lowest bit.
 */
static inline uintptr_t
wrapped_node(const PlanState *node, bool unseen)
{
	return (uintptr_t) node + !unseen;
}

/* Sets the present use of a shared subplan. */
static inline void
subplan_set_use(SubplanUse *use)
{
	use->subplan->use = use;
	use->subplan->parent = use->user;
}

/* Returns the node that has called this one; for a shared subplan, the latest such node. */
static inline NodeTiming *
caller_of(const NodeTiming *t)
{
	return t->parent == NULL && t->latest_use != NULL ? t->latest_use->user : t->parent;
}

/* Returns the NodeTiming of a plan node, NULL if there is none. */
static inline NodeTiming *
query_node(const QueryTiming *query, const PlanState *node)
{
	return query->nodes[node->plan->plan_node_id];
}

/*
 * Value of "calls" at which due_call() handles the node's next call; see call_wrapper.c.  It is
 * stored in a field that a rescan sets to 0, so that due_call() handles the first call of each
 * loop.
 */
#define next_due(t)		instr_spare_counter(&(t)->instr)

/*
 * Returns whether another extension has explained the plan during its execution.  Explaining calls
 * InstrEndLoop() for each node, as a rescan does.  The root is never rescanned during
 * ExecutorRun(), so if its loop has ended, the plan was explained.
 */
static inline bool
query_was_read(const QueryTiming *query)
{
	return query->has_sentinel && !instr_in_loop(&query->root->instr);
}

/* Returns whether due_call() must handle a call although it is not to be timed. */
static inline bool
query_needs_attention(const QueryTiming *query)
{
	return query_was_read(query) || query->publish_now;
}

/*
 * Marks the loops that explaining the plan has ended as active again.  The loop of the node
 * "calling" stays ended if "calling" is the root of a subplan that is rescanned before each
 * execution.
 */
extern void query_restore_loops(QueryTiming *query, const NodeTiming *calling);

/* Returns whether a node is read to its end, so that results of its calls need not be checked. */
static inline bool
is_read_to_end(const NodeTiming *t)
{
	return t->reading == INPUT_READ_TO_END || t->reading == INPUT_IF_BEGUN;
}

/* Returns the number of calls begun, without first calls of loops. */
static inline int64
later_calls(const NodeTiming *t)
{
	return t->calls - t->first_calls;
}

/*
 * Returns the number of rows that a node has removed so far in this process.  Returns 0 if workers
 * are not timed, because the server may then add the workers' rows to the counter at any time.
 */
static inline int64
removed_rows(const NodeTiming *t)
{
	return t->query->workers_untimed ? 0 : instr_removed_rows(&t->instr);
}

/*
 * Called at the end of a loop.  If the node is read to its end, the last call returned no tuple.
 * That result was checked only if the call was timed or was the loop's first one.
 */
static inline void
end_loop(NodeTiming *t)
{
	if (t->reading == INPUT_IF_BEGUN && !t->ended && t->calls - t->calls_before >= 2)
		t->ends++;
	t->calls_before = t->calls;
}

#endif							/* CLOCKTIMING_QUERY_TIMING_H */
