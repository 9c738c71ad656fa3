/*
 * State of a timed plan: the calls and loops of its nodes.
 *
 * A loop of a node is that of the server: from its first call, or from a rescan, to the call that
 * returns no tuple, or to the next rescan.
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
	int			sampling;		/* one call in this many is timed, about; 1:
								 * every call; 0: calls are only counted */
	int			only_node;		/* plan_node_id of the only node; -1: all */
	double		max_overhead;	/* limit of the time that counting and timing
								 * may add, in percent of the elapsed time;
								 * calls are timed more rarely to keep it */
	bool		may_stop;		/* the reader may pause, or skip rows */
	bool		no_workers;		/* no worker is started for a Gather */
	bool		late;			/* attached while ExecutorRun() is active */
} NodeTimingOptions;

/*
 * Number of nodes below a node whose calls are counted together with its timed calls; more would
 * take too long.
 */
#define MAX_BELOW		16

/* A timed call. */
typedef struct CallSample
{
	double		ticks;
	double		known;			/* known part, see NodeTiming.known */
	CallsBelow	below;
	struct SubplanUse *use;		/* for a shared subplan, else NULL */
} CallSample;

/*
 * A class of similar calls of a node: those that begin a loop, or the others.  In Sort, Aggregate
 * and similar nodes the first call does all of the work.
 */
typedef struct CallClass
{
	SamplingClass policy;		/* gap 0: no call is timed */
	float		gap_scale;		/* -1 / ln(1 - 1 / gap) */
	int64		before;			/* number of calls before the gap was chosen */
	int			nsamples;
	CallSample	samples[POLICY_BATCH];	/* latest times, not yet added up, so
										 * that adding up does not displace
										 * the query's data from the caches */

	/* calls that were timed while all were: number, sum of their durations */
	int64		all_timed;
	double		all_timed_sum;
	double		latest_mean;	/* of timed calls, including long gaps */

	/* calls timed at random, in ticks, without their known part */
	CallSeries	drawn;
	double		drawn_sum;		/* sum of their durations, with it */
	double		largest;		/* without what the counts below explain */
	double		second_largest;
	int			largest_gap;	/* gap of the largest one */
} CallClass;

/*
 * State that only timed calls need.  It is separate, so that the state for every call fits into few
 * cache lines.  Only executed nodes have it, because it has five kilobytes.
 */
typedef struct NodeSamples
{
	CallClass	first;
	CallClass	later;
	CallStratum known_calls;	/* calls timed while all were */

	/* the latest timed call: values of calls and first_calls, and its start */
	int64		timed_at;
	int64		timed_first;
	uint64		timed_start;	/* including long gaps */

	/* sums over the latest intervals between starts of timed calls */
	double		interval_ticks; /* including long gaps */
	double		interval_calls;
	double		interval_spread;	/* about the median of their deviations */

	/*
	 * Long gaps between readings, which are in no sample.  Certain gaps are
	 * within a timed call of this node or of one below it; in hidden gaps an
	 * untimed call may have been long.
	 */
	double		long_ticks;		/* certain */
	double		long_first_ticks;	/* part of them in loops' first calls */
	double		hidden_ticks;
	double		hidden_prior_ticks; /* part of them, by prior weights */
	double		gap_weight;		/* weight in the latest long gap */
	int64		long_seen;		/* see long_gap_share() */
	double		long_certain;
	double		long_expected;
} NodeSamples;

/*
 * Use of a subplan by one node, if several nodes execute the subplan, or if it is a CTE that is
 * executed again at the end.
 */
typedef struct SubplanUse
{
	struct NodeTiming *subplan;
	struct NodeTiming *user;	/* NULL: no node */
	struct SubplanUse *next;	/* next use in the query */
	struct SubplanUse *next_of_user;
	struct SubplanUse *outer;	/* use that the user's call has interrupted */
	int64		calls;
	int64		first_calls;
	double		ticks;			/* estimated time of all its calls */
	int			place;			/* place in the plan's estimate */
} SubplanUse;

/* Size of a cache line. */
#define LINE_SIZE		64

typedef struct NodeTiming
{
	/* needed by first calls: one cache line */
	int64		first_skip;		/* number of first calls before a timed one */
	int64		first_calls;
	int64		later_due;		/* number of the next timed later call */
	int64		calls_before;	/* number of calls before this loop */
	int64		ends;			/* number of calls without a tuple; not if
								 * read to the end: each loop has one then */
	struct QueryTiming *query;
	bool		ended;			/* seen: the latest call returned no tuple */
	bool		begun;
	bool		in_loop;		/* the loop's first call has ended */
	bool		dynamic;		/* its parent is determined at its first call */
	bool		is_root;
	bool		calls_vary;		/* or those of a node below */
	uint8		reading;		/* an InputReading, never INPUT_AS_NODE */
	uint8		kind;			/* a NodeKind */
	uint64		returned;		/* the root: end of the latest timed call,
								 * after which another one follows */

	/* needed by all calls: another cache line, with the start of "instr" */
	NodeSamples *samples;		/* NULL before the first call */
	int64		calls;
	uintptr_t	wrapped;		/* see wrapped_node(); 0: no wrapper */

	/* the node's "instrument" points here; see next_due() */
	NodeInstr	instr;

	double		calls_again;	/* first calls that do not begin a loop */
	double		shown_rows;		/* see record_show_counts() */
	double		shown_loops;
	ExecProcNodeMtd counted_call;	/* one of the wrappers of call_wrapper.c */
	ExecProcNodeMtd usage_call; /* this, or a wrapper that counts usage */
	ExecProcNodeMtd call;		/* that, or one for shared subplans */
	SubplanUse *uses;			/* uses of shared subplans by this node */
	SubplanUse *use;			/* of this shared subplan: its present use */
	SubplanUse *latest_use;		/* use of its latest call */

	/*
	 * Time of calls while all were timed, of this node and below it.  The
	 * time of other calls is estimated without known parts.
	 */
	double		known;
	double		off_ticks;		/* off the CPU while the server timed it */

	int			id;				/* plan_node_id */
	int			place;			/* place in EXPLAIN's order */
	PlanState  *node;
	struct NodeTiming **below;	/* nodes called within its calls */
	int			nbelow;			/* at most MAX_BELOW */
	struct NodeTiming *parent;	/* node whose calls contain this node's; of a
								 * shared subplan the present user */
	struct NodeTiming *child;
	struct NodeTiming *sibling;
	const SubPlanState *subplan;	/* subplan whose root it is, or NULL */
	bool		rescanned;		/* the root of a subplan that is rescanned */
	bool		seen;			/* results of its calls are checked */
	bool		was_called;		/* called before its wrapper was installed */
	int			nuses;			/* number of nodes that execute this subplan */
	bool		is_shared;		/* calls are counted by user */
	double		uses_ticks;		/* sum of the ticks of its uses */

	/* of the current timed call */
	uint64		call_start;		/* its start; 0: there is none */
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
	double		long_sum;		/* sum of those that occur once */
	double		ends;			/* sum of times from last calls to the end */
	int64		n;
} OutsideCalls;

/* Addresses of an execution's NodeTimings, from the first "instr" on. */
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
	bool		all_timed;		/* gaps are not adapted */
	bool		late;
	const struct ExecutionWatcher *watcher; /* publishes the counters; or NULL */
	uint64		publish_due;	/* reading from which on publish() is due */
	struct LiveExecution *live; /* state of the watcher; or NULL */
	volatile bool publish_now;	/* the next call publishes, see watch_call() */

	int			nnodes;			/* upper limit of the plan_node_ids */
	NodeTiming **nodes;			/* by plan_node_id; NULL: no such node */
	int			nplaces;
	int			nworkers;		/* maximum number of workers */
	NodeTiming *root;
	SubplanUse *uses;
	int			nparts;			/* number of uses by nodes */
	NodeSamples *spare;			/* samples for nodes that begin */
	int			nspare;
	struct TimedTrigger *triggers;
	MemoryContextCallback at_end;

	NodeTiming *innermost;		/* innermost "seen" node in a call */
	OutsideCalls outside;
	CallCost	cost;
	double		ticks_per_ns;	/* approximate */
	double		long_ticks;		/* LONG_CALL_NS in ticks */
	double		ask_ticks;		/* ASK_NS in ticks */
	SamplingPolicy policy;

	uint64		last_reading;	/* latest reading of the clock */

	dsm_segment *segment;		/* memory shared with workers */
	struct SharedTiming *shared;
	int			guc_nest_level; /* 0: the setting was not made */
	bool		workers_untimed;	/* the setting could not be made */

	/*
	 * Sum of times that readings since the start do not include: time of
	 * other processes, time of asking the kernel for that, time between two
	 * calls of ExecutorRun(), and long gaps.
	 */
	uint64		off_ticks;
	uint64		asked_ticks;	/* part of it: time of asking the kernel */
	uint64		long_off_ticks; /* part of it: long gaps */
	double		preempted_ns;
	CpuUsage	usage;			/* latest answer of the kernel */
	uint64		usage_ns;		/* its time */
	uint64		start_ns;
	uint64		start_ticks;
	uint64		ran_ticks;
	bool		has_sentinel;	/* see query_was_read() */
	bool		rewound;		/* the root will begin another loop */
	/* sum of times between ExecutorRun() and the next call of the executor */
	uint64		paused_ticks;
	uint64		stop_ns;
	uint64		stop_ticks;
} QueryTiming;

/*
 * Callbacks of the module that publishes running executions.  enter() is called before each
 * ExecutorRun(), and ExecutorFinish() of statements that may have fired triggers, and returns a
 * value for leave(), which is called after it and after an error.
 */
typedef struct ExecutionWatcher
{
	int			(*enter) (QueryDesc *desc);
	void		(*leave) (QueryDesc *desc, int entered, bool failed);
	void		(*attached) (QueryTiming *query);	/* called when wrappers
													 * are installed */

	/* Called when a call of the node begins, or a timed one has ended. */
	void		(*publish) (QueryTiming *query, NodeTiming *t, bool begins);
	void		(*ended) (QueryTiming *query);	/* called when its memory is
												 * freed, also after an error */
} ExecutionWatcher;

/* NULL: no module publishes executions. */
extern const ExecutionWatcher *execution_watcher;

/* The query that this process executes as a worker, while its memory exists. */
extern QueryTiming *timed_in_worker;

extern void query_set_cost(QueryTiming *query, const CallCost *cost);

/* To be called without delay before ExecutorRun(), after it, and after ExecutorFinish(). */
extern void query_timing_start(QueryTiming *query);
extern void query_timing_ran(QueryTiming *query);
extern void query_timing_stop(QueryTiming *query);

/* To be called some time after ExecutorRun(), before another one ("again") or ExecutorFinish(). */
extern void query_timing_resume(QueryTiming *query, bool again);

/*
 * Reads the clock before a timed call of the node "t", after it ("within"), or, if "t" is NULL,
 * between two calls of the root.  The reading does not include off_ticks.
 *
 * Two readings precede a timed call, see doc/plans.md.  The first one loads code into the caches
 * also for the reading after the call, which is therefore the same function, not an inline one.
 */
extern uint64 query_reading(QueryTiming *query, NodeTiming *t, bool within);

/* Returns the duration of the run, without interruptions. */
extern double query_run_ns(const QueryTiming *query);

/* Returns the frequency measured in this run, if it was long enough. */
extern double query_ns_per_tick(const QueryTiming *query);

/* Subtracts the time since the latest reading of the clock, which was spent on timing. */
extern void query_take_off(QueryTiming *query);

/* Returns the NodeTiming of a node that has one of our wrappers. */
static inline NodeTiming *
node_timing_of(const PlanState *node)
{
	return (NodeTiming *) ((char *) node->instrument - offsetof(NodeTiming, instr));
}

/* Returns the value of NodeTiming.wrapped for a node and its kind of wrapper. */
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

/* Returns the node that has called this one; of a shared subplan the latest one. */
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
 * Number of the next timed call.  It is stored in a field that a rescan sets to 0, so that
 * due_call() handles the first call of each loop; see call_wrapper.c.
 */
#define next_due(t)		instr_spare_counter(&(t)->instr)

/*
 * Returns whether another extension has explained the plan during its execution.  That ends each
 * node's loop for the server, as a rescan does.  The root is never rescanned during ExecutorRun(),
 * so its instrumentation shows it.
 */
static inline bool
query_was_read(const QueryTiming *query)
{
	return query->has_sentinel && !instr_in_loop(&query->root->instr);
}

/* Returns whether a call that is not due needs more than counting. */
static inline bool
query_needs_attention(const QueryTiming *query)
{
	return query_was_read(query) || query->publish_now;
}

/*
 * Marks the loops that the explanation has ended as active.  The loop of the node "calling" stays
 * ended if that node is the root of a subplan, which is rescanned before each call.
 */
extern void query_restore_loops(QueryTiming *query, const NodeTiming *calling);

/* Returns whether the results of its calls need not be checked. */
static inline bool
is_read_to_end(const NodeTiming *t)
{
	return t->reading == INPUT_READ_TO_END || t->reading == INPUT_IF_BEGUN;
}

/* Returns the number of calls of this node that have begun, without first calls of loops. */
static inline int64
later_calls(const NodeTiming *t)
{
	return t->calls - t->first_calls;
}

/*
 * Returns the number of rows that a node has removed so far, in this process; those of workers are
 * added at the end.  If workers are not timed, the server adds theirs at any time, so they are
 * included.
 */
static inline int64
removed_rows(const NodeTiming *t)
{
	return t->query->workers_untimed ? 0 : instr_removed_rows(&t->instr);
}

/*
 * Called at the end of a loop.  If the node is read to its end, the result of the last call was not
 * checked unless it was timed.  (That of the first one always is.)
 */
static inline void
end_loop(NodeTiming *t)
{
	if (t->reading == INPUT_IF_BEGUN && !t->ended && t->calls - t->calls_before >= 2)
		t->ends++;
	t->calls_before = t->calls;
}

#endif							/* CLOCKTIMING_QUERY_TIMING_H */
