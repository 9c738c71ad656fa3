/*
 * State of a timed plan: counts of its nodes' calls and loops, and durations of timed calls.
 *
 * A call is one call of a node's ExecProcNode function.  A loop is one execution of a node, as in
 * EXPLAIN's "loops".  A loop begins with the node's first call or with a rescan.  It ends with the
 * call that returns no tuple or with the next rescan.  "First calls" are the first calls of loops.
 *
 * The gap of a class of calls is its sampling interval: on average, one call in "gap" is timed.  A
 * long gap is something else: a time between two readings of the clock that is at least 20 us
 * longer than expected.
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
	int			sampling;		/* one call in this many is timed; 0: none */
	int			only_node;		/* id of the only timed node; -1: all timed */
	double		max_overhead;	/* limit of the time that counting and timing
								 * add, in percent of the elapsed time */
	bool		may_stop;		/* the caller may pause or stop fetching */
	bool		no_workers;		/* Gather nodes start no workers */
	bool		late;			/* wrappers are installed while the query runs */
} NodeTimingOptions;

/*
 * Largest number of a node's descendants whose calls are counted during each of its timed calls.
 * Counting more of them would make timing a call too slow.
 */
#define MAX_BELOW		16

/* A timed call.  Its known part was spent in calls of nodes below that had every call timed. */
typedef struct CallSample
{
	double		ticks;			/* duration */
	double		known;			/* known part of ticks */
	CallsBelow	below;			/* work of the nodes below */
	struct SubplanUse *use;		/* caller of a shared subplan; else NULL */
} CallSample;

/*
 * A class of similar calls of a node: the first calls of loops, or all other calls.  The two
 * classes are sampled separately, because in Sort, Aggregate and similar nodes the first call does
 * most of the work.
 */
typedef struct CallClass
{
	SamplingClass policy;		/* policy.gap is 0 if no call is timed */
	float		gap_scale;		/* factor for draw_gap(): -1 / ln(1 - 1 / gap) */
	int64		before;			/* number of calls when gap was last set */
	int			nsamples;
	CallSample	samples[POLICY_BATCH];	/* latest timed calls; added to the
										 * sums in batches, so that the
										 * query's data stays in the CPU
										 * caches */

	/* number and total duration of calls made while every call was timed */
	int64		all_timed;
	double		all_timed_sum;
	double		latest_mean;	/* running mean duration, with long gaps */

	/* calls sampled at random: durations in ticks, without known parts */
	CallSeries	drawn;
	double		drawn_sum;		/* sum of these durations, with known parts */
	double		largest;		/* largest duration, minus the part explained
								 * by the work of the nodes below */
	double		second_largest; /* second largest duration, likewise */
	int			largest_gap;	/* policy.gap when "largest" was timed */
} CallClass;

/*
 * State of a node that only timed calls use.  It is separate from NodeTiming, so that the fields
 * that every call uses fit into few cache lines.  Its size is five kilobytes, so it is allocated
 * only at the node's first call.
 */
typedef struct NodeSamples
{
	CallClass	first;
	CallClass	later;
	CallStratum known_calls;	/* calls made while every call was timed */

	int64		timed_at;		/* "calls" at the latest timed call */
	int64		timed_first;	/* first_calls of NodeTiming at that call */
	uint64		timed_start;	/* that call's start, by a clock that includes
								 * long gaps */

	/* decaying sums over the intervals between starts of timed calls */
	double		interval_ticks; /* including long gaps */
	double		interval_calls;
	double		interval_spread;	/* approximate median of an interval's
									 * deviation from its expected length */

	/*
	 * Long gaps, in ticks.  Durations of timed calls exclude them.  A certain
	 * gap was in a call of this node.  A hidden gap may have been in an
	 * untimed call of this node, or elsewhere.
	 */
	double		long_ticks;		/* certain gaps */
	double		long_first_ticks;	/* those in first calls of loops */
	double		hidden_ticks;	/* hidden gaps */
	double		hidden_prior_ticks; /* hidden_ticks times the probability that
									 * this node caused the gap */
	double		gap_weight;		/* prior weight as cause of the latest gap */
	int64		long_seen;		/* number of long gaps in timed calls */
	double		long_certain;	/* long_seen expected from certain gaps */
	double		long_expected;	/* long_seen expected from hidden gaps */
} NodeSamples;

/*
 * Calls of a subplan by one of the nodes that execute it.  Exists only if several nodes execute the
 * subplan, or if it is a data-modifying CTE, which ExecutorFinish() executes to its end.
 */
typedef struct SubplanUse
{
	struct NodeTiming *subplan;
	struct NodeTiming *user;	/* NULL: calls that belong to no node */
	struct SubplanUse *next;	/* next in the query's list of uses */
	struct SubplanUse *next_of_user;
	struct SubplanUse *outer;	/* subplan->use before the user's active call */
	int64		calls;
	int64		first_calls;
	double		ticks;			/* estimated time of these calls */
	int			place;			/* index in PlanEstimate.nodes */
} SubplanUse;

#define LINE_SIZE		64

typedef struct NodeTiming
{
	/* fields that first calls use: one cache line */
	int64		first_skip;		/* first calls before the next timed one */
	int64		first_calls;	/* number of first calls */
	int64		later_due;		/* other calls are untimed until their number
								 * exceeds this value */
	int64		calls_before;	/* number of calls before the current loop */
	int64		ends;			/* number of calls that returned no tuple; not
								 * counted for INPUT_READ_TO_END, as each loop
								 * has one */
	struct QueryTiming *query;
	bool		ended;			/* the latest call is known to return no tuple */
	bool		begun;			/* the node was called */
	bool		in_loop;		/* the current loop's first call has ended */
	bool		dynamic;		/* an InitPlan: its first call sets "parent" */
	bool		is_root;
	bool		calls_vary;		/* few calls of this node or of one below may
								 * take most of the time */
	uint8		reading;		/* an InputReading, never INPUT_AS_NODE */
	uint8		kind;			/* a NodeKind */
	uint64		returned;		/* root only: time when the latest timed call
								 * returned a tuple; else 0 */

	/* fields that every call uses: next cache line, with part of "instr" */
	NodeSamples *samples;		/* NULL before the first call */
	int64		calls;			/* number of calls, with first calls */
	uintptr_t	wrapped;		/* see wrapped_node() below; 0: no wrapper */

	/* the node's "instrument" points to instr, which contains next_due() */
	NodeInstr	instr;

	double		calls_again;	/* calls after a loop's end, which begin no
								 * loop but are in first_calls */
	double		shown_rows;		/* these two: counts already added to instr,
								 * for extensions that explain the plan */
	double		shown_loops;
	ExecProcNodeMtd counted_call;	/* wrapper that counts calls */
	ExecProcNodeMtd usage_call; /* also counts buffers and WAL if needed */
	ExecProcNodeMtd call;		/* installed wrapper; also counts subplan uses */
	SubplanUse *uses;			/* uses of shared subplans by this node */
	SubplanUse *use;			/* of a shared subplan's root: its caller now */
	SubplanUse *latest_use;		/* of a shared subplan's root: latest caller */

	/*
	 * Total time, in ticks, of those calls of this node and of nodes below it
	 * that were made while every call of their node was timed.  It is exact,
	 * so it is subtracted from timed calls before the time of untimed calls
	 * is estimated.
	 */
	double		known;
	double		off_ticks;		/* NODE_WHOLE: ticks off the CPU in its calls */

	int			id;				/* plan_node_id */
	int			place;			/* index in PlanEstimate.nodes */
	PlanState  *node;
	struct NodeTiming **below;	/* descendants counted in its timed calls */
	int			nbelow;			/* at most MAX_BELOW */
	struct NodeTiming *parent;	/* node that calls this one; for a shared
								 * subplan, its user at present */
	struct NodeTiming *child;
	struct NodeTiming *sibling;
	const SubPlanState *subplan;	/* subplan whose root this is; or NULL */
	bool		rescanned;		/* root of a subplan that is rescanned before
								 * each execution */
	bool		seen;			/* wrapper checks if calls have returned rows */
	bool		was_called;		/* called before the wrapper was installed */
	int			nuses;			/* of a subplan's root: number of nodes that
								 * execute it */
	bool		is_shared;		/* root of a shared subplan, see SubplanUse */
	double		uses_ticks;		/* sum of the ticks of its uses */

	/* the timed call that is active */
	uint64		call_start;		/* its start; 0: no such call */
	double		call_known;		/* value of "known" at its start */
} NodeTiming;

StaticAssertDecl(offsetof(NodeTiming, samples) == LINE_SIZE,
				 "first calls need one line of the caches");

/* Time outside of the root's calls, in ticks.  Of the times between calls, "n" were measured. */
typedef struct OutsideCalls
{
	uint64		first_ticks;	/* start of the first call; 0: not timed */
	uint64		last_ticks;		/* end of the last call; 0: not timed */
	double		sum;			/* sum of these n times */
	double		sum_sq;			/* sum of their squares */
	double		long_sum;		/* sum of long gaps outside of calls */
	double		ends;			/* sum of times from the root's last call to
								 * ExecutorRun()'s end, and of
								 * ExecutorFinish() */
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
	int			sampling;		/* these five: see NodeTimingOptions */
	int			only_node;
	double		max_overhead;
	bool		may_stop;
	bool		no_workers;
	bool		all_timed;		/* sampling is 1: every call is timed */
	bool		late;
	const struct ExecutionWatcher *watcher; /* publishes the query; or NULL */
	uint64		publish_due;	/* time from which timed calls publish */
	struct LiveExecution *live; /* used only by the watcher; or NULL */
	volatile bool publish_now;	/* the next call publishes, whatever the time */

	int			nnodes;			/* largest plan_node_id + 1 */
	NodeTiming **nodes;			/* by plan_node_id; NULL: no such node */
	int			nplaces;		/* number of nodes */
	int			nworkers;		/* maximum number of workers */
	NodeTiming *root;
	SubplanUse *uses;
	int			nparts;			/* number of SubplanUses in "uses" */
	NodeSamples *spare;			/* NodeSamples allocated in advance */
	int			nspare;
	struct TimedTrigger *triggers;
	MemoryContextCallback at_end;	/* ends the timing */

	NodeTiming *innermost;		/* innermost node in a timed or first call */
	OutsideCalls outside;
	CallCost	cost;
	double		ticks_per_ns;	/* as calibrated */
	double		long_ticks;		/* shortest long gap */
	double		ask_ticks;		/* time between readings above which the
								 * kernel is always asked for CPU usage */
	SamplingPolicy policy;

	uint64		last_reading;	/* latest reading of the clock */

	dsm_segment *segment;		/* memory shared with workers */
	struct SharedTiming *shared;
	int			guc_nest_level; /* GUC nest level of worker_timing; or 0 */
	bool		workers_untimed;	/* no shared memory: workers are not timed */

	/*
	 * Ticks that are subtracted from readings of the clock: time of other
	 * processes, time to ask the kernel for CPU usage, pauses between calls
	 * of ExecutorRun(), and long gaps.
	 */
	uint64		off_ticks;
	uint64		asked_ticks;	/* part of off_ticks: time to ask the kernel */
	uint64		long_off_ticks; /* part of off_ticks: long gaps */
	double		preempted_ns;	/* time of other processes */
	double		slept_ns;		/* time of waits, except for a CPU */
	CpuUsage	usage;			/* latest answer of the kernel about CPU usage */
	uint64		usage_ns;		/* time of that answer */
	uint64		start_ns;		/* start of the run, by reference_ns() */
	uint64		start_ticks;	/* the same, by the clock for timed calls */
	uint64		ran_ticks;		/* end of the latest ExecutorRun() */
	bool		has_sentinel;	/* root was called: query_was_read() works */
	bool		rewound;		/* cursor rewound: root will begin a loop */
	/* sum of pauses between ExecutorRun() and the executor's next call */
	uint64		paused_ticks;
	uint64		stop_ns;		/* end of the run, by reference_ns() */
	uint64		stop_ticks;		/* the same, by the clock for timed calls */
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

	/* called when a call of the node begins, or a timed call has ended */
	void		(*publish) (QueryTiming *query, NodeTiming *t, bool begins);
	void		(*ended) (QueryTiming *query);	/* called when the query's
												 * memory is freed, also after
												 * an error */
} ExecutionWatcher;

/* NULL if no module publishes executions. */
extern const ExecutionWatcher *execution_watcher;

/* The query that this parallel worker executes.  NULL in other processes and after the query. */
extern QueryTiming *timed_in_worker;

extern void query_set_cost(QueryTiming *query, const CallCost *cost);

/* Record, in this order, the start of the run, the end of ExecutorRun(), of ExecutorFinish(). */
extern void query_timing_start(QueryTiming *query);
extern void query_timing_ran(QueryTiming *query);
extern void query_timing_stop(QueryTiming *query);

/*
 * Ends a cursor's pause before ExecutorFinish() or, if "again" is true, before ExecutorRun().  The
 * pause is no part of the run.
 */
extern void query_timing_resume(QueryTiming *query, bool again);

/*
 * Reads the clock for a timed call of the node "t", or, if "t" is NULL, between two calls of the
 * root.  "within" is true if the time since the previous reading belongs to the timed call.
 * Returns the reading minus off_ticks.
 *
 * The clock is read twice before a timed call, and once after it, see doc/plans.md.  The first
 * reading loads this function, which must not be inlined, into the CPU caches for the two others.
 */
extern uint64 query_reading(QueryTiming *query, NodeTiming *t, bool within);

/* Returns the duration of the run without a cursor's pauses. */
extern double query_run_ns(const QueryTiming *query);

/* Returns ns per tick: measured in this run if it was long enough, else as calibrated before it. */
extern double query_ns_per_tick(const QueryTiming *query);

/* Excludes the ticks since the latest reading; of a long wait only "waited" (INFINITY: all). */
extern void query_take_off(QueryTiming *query, double waited);

/* Returns the NodeTiming of a node that has one of our wrappers. */
static inline NodeTiming *
node_timing_of(const PlanState *node)
{
	return (NodeTiming *) ((char *) node->instrument - offsetof(NodeTiming, instr));
}

/* Returns the value of NodeTiming.wrapped: the node's address, plus 1 if results are checked. */
static inline uintptr_t
wrapped_node(const PlanState *node, bool unseen)
{
	return (uintptr_t) node + !unseen;
}

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
 * Value of NodeTiming.calls from which on the wrapper calls call_if_due() instead of only counting
 * the call.  A rescan sets next_due() to 0, so call_if_due() handles the first call of each loop.
 */
#define next_due(t)		instr_spare_counter(&(t)->instr)

/*
 * Returns whether another extension has explained the plan during its execution.  EXPLAIN calls
 * InstrEndLoop() for each node, as a rescan does.  The root's loop is active from its first call
 * on, and the root is never rescanned during ExecutorRun().  So if its loop has ended, the plan was
 * explained.
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
 * Makes the loops active again that explaining the plan has ended.  One loop stays ended: that of
 * "calling", the node being called, if it is the root of a subplan rescanned before each execution.
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
 * Called at the end of a loop.  With INPUT_IF_BEGUN, a loop of two calls is read to its end, but
 * only the results of timed calls and of the first one are checked.  If no checked call ended it,
 * counts the end now.
 */
static inline void
end_loop(NodeTiming *t)
{
	if (t->reading == INPUT_IF_BEGUN && !t->ended && t->calls - t->calls_before >= 2)
		t->ends++;
	t->calls_before = t->calls;
}

#endif							/* CLOCKTIMING_QUERY_TIMING_H */
