/*-------------------------------------------------------------------------
 *
 * query_timing.h
 *	  What is kept of a plan while it is timed: its nodes' calls and loops.
 *
 * A loop of a node is what the server calls so: from its first call, or from a
 * rescan, to the call that returns no tuple, or to the next rescan.
 *
 *-------------------------------------------------------------------------
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

/* Of more nodes below, calls are not counted together with a timed one, which would take too long. */
#define MAX_BELOW		16

/* A call that was timed. */
typedef struct CallSample
{
	double		ticks;
	double		known;			/* part of them that is of calls below which
								 * were timed while all were */
	CallsBelow	below;
	struct SubplanUse *use;		/* of a shared subplan, else NULL */
} CallSample;

/*
 * Calls of a node that are alike: those that begin a loop, or those that follow.
 * The first ones of Sort, Aggregate and their like do all of the node's work.
 */
typedef struct CallClass
{
	SamplingClass policy;		/* gap 0: none is timed */
	float		gap_scale;		/* -1 / ln(1 - 1 / gap) */
	int64		before;			/* calls before the gap was chosen */
	int			nsamples;
	CallSample	samples[POLICY_BATCH];	/* the latest, not yet used: a query
										 * has the caches for itself meanwhile */

	int64		all_timed;		/* calls that were timed while all were */
	double		all_timed_sum;	/* of their durations */
	double		latest_mean;	/* of the latest timed calls, with long gaps */

	/*
	 * of the calls timed at random, less what follows from what was done
	 * below
	 */
	double		largest;
	double		second_largest;
	int			largest_gap;	/* of the largest one */
	CallSeries	drawn;			/* calls timed at random, in ticks, less what
								 * is known */
	double		drawn_sum;		/* of their durations */
} CallClass;

/*
 * What is needed for calls that are timed only.  It is apart, so that what is
 * needed at each call fits into few lines of the caches; and only nodes that are
 * executed have it, as it takes five kilobytes.
 */
typedef struct NodeSamples
{
	CallClass	first;
	CallClass	later;
	CallStratum known_calls;	/* those of both that were all timed */
	int64		timed_at;		/* NodeTiming.calls at the latest timed call, */
	int64		timed_first;	/* first_calls, */
	uint64		timed_start;	/* and its start, long gaps not taken off */

	/* from the start of a timed call to that of the next one, with long gaps */
	double		interval_ticks; /* sums over the latest ones */
	double		interval_calls;
	double		interval_spread;	/* about the 80th percentile of what they
									 * differ from that */

	/*
	 * Long gaps between readings of the clock, which are in no sample.
	 * Certain are those within a timed call, of this node or one below it;
	 * hidden are those in which an untimed call may have been long.
	 */
	double		long_ticks;		/* certain */
	double		long_first_ticks;	/* of them, in loops' first calls */
	double		hidden_ticks;
	double		hidden_prior_ticks; /* of them, the node's by first guess */
	double		gap_weight;		/* of the latest long gap */
	int64		long_seen;		/* see long_gap_share() */
	double		long_certain;
	double		long_expected;
} NodeSamples;

/*
 * Calls of a subplan that several nodes execute, or a CTE that is executed again when
 * all else is done: those made by one of the nodes.
 */
typedef struct SubplanUse
{
	struct NodeTiming *subplan;
	struct NodeTiming *user;	/* NULL: no node */
	struct SubplanUse *next;	/* of the query */
	struct SubplanUse *next_of_user;
	struct SubplanUse *outer;	/* during a call of the user: the use that the
								 * call has interrupted */
	int64		calls;
	int64		first_calls;
	double		ticks;			/* of all calls, estimated from the timed ones */
	int			place;			/* in the plan's estimate */
} SubplanUse;

/* As processors have it. */
#define LINE_SIZE		64

typedef struct NodeTiming
{
	/* needed by first calls: one line of the caches */
	int64		first_skip;		/* of them, until one is timed; 0: the next,
								 * or none was yet */
	int64		first_calls;
	int64		later_due;		/* after so many other calls one is timed */
	int64		calls_before;	/* this loop */
	int64		ends;			/* calls that returned no tuple; not counted
								 * if read to the end: each loop has one */
	struct QueryTiming *query;
	bool		ended;			/* the latest call was one of those, and seen */
	bool		begun;
	bool		in_loop;		/* of a loop the first call is over; also
								 * after a rescan */
	bool		dynamic;		/* the parent is known when it is first called */
	bool		is_root;
	bool		calls_vary;		/* or those of a node below */
	uint8		reading;		/* an InputReading, never INPUT_AS_NODE */
	uint8		kind;			/* a NodeKind */
	uint64		returned;		/* the root: when a call that was timed was
								 * over, and another one follows */

	/* needed by all calls: another line, with the beginning of "instr" */
	NodeSamples *samples;		/* NULL before the first call */
	int64		calls;
	uintptr_t	wrapped;		/* the node and its kind of wrapper, see
								 * wrapped_node(); 0: no wrapper */

	/* the server sees this as the node's "instrument"; see next_due() */
	NodeInstr	instr;

	double		calls_again;	/* first calls that do not begin a loop */
	double		shown_rows;		/* see record_show_counts() */
	double		shown_loops;
	ExecProcNodeMtd counted_call;	/* one of call_wrapper.c's */
	ExecProcNodeMtd usage_call; /* counted_call, or around it what counts
								 * usage */
	ExecProcNodeMtd call;		/* usage_call, or around it what tells shared
								 * subplans' callers apart */
	SubplanUse *uses;			/* of shared subplans by this node */
	SubplanUse *use;			/* of this shared subplan: the one that calls
								 * it now */
	SubplanUse *latest_use;		/* and the one of the latest call */

	/*
	 * Time of calls while all were timed, of this node and below it.  What
	 * the others take is estimated from those drawn, less the time known.
	 */
	double		known;
	double		off_ticks;		/* while the server has timed the node */

	int			id;				/* plan_node_id */
	int			place;			/* in EXPLAIN's order */
	PlanState  *node;
	struct NodeTiming **below;	/* nodes that its calls call: nbelow, up to
								 * MAX_BELOW */
	int			nbelow;
	struct NodeTiming *parent;	/* whose calls contain this node's; of a
								 * shared subplan the user that calls it now */
	struct NodeTiming *child;
	struct NodeTiming *sibling;
	const SubPlanState *subplan;	/* whose root it is, or NULL */
	bool		rescanned;		/* the root of one that is rescanned before
								 * each evaluation */
	bool		seen;			/* results of its calls are looked at */
	int			nuses;			/* nodes that execute this subplan */
	bool		is_shared;		/* they are told apart */
	double		uses_ticks;		/* sum of the uses' ticks */

	/* of the timed call that is under way */
	uint64		call_start;		/* its start; 0: no timed call is under way */
	double		call_known;		/* value of "known" at its start */
} NodeTiming;

StaticAssertDecl(offsetof(NodeTiming, samples) == LINE_SIZE,
				 "first calls need one line of the caches");

/* What is outside of the root's calls. */
typedef struct OutsideCalls
{
	uint64		first_ticks;	/* the first call began; 0: it was not timed */
	uint64		last_ticks;		/* the last call ended; 0: it was not timed */
	double		sum;			/* of times between calls, in ticks */
	double		sum_sq;
	double		long_sum;		/* of those that count once */
	double		ends;			/* from a last call to the end of
								 * ExecutorRun() */
	int64		n;
} OutsideCalls;

/* The addresses of an execution's NodeTimings, from the first one's "instr". */
typedef struct TimingRange
{
	uintptr_t	begin;
	Size		size;			/* in bytes */
} TimingRange;

typedef struct QueryTiming
{
	QueryDesc  *desc;
	MemoryContext context;		/* the query's */
	dlist_node	link;			/* in the list of executions that are timed */
	TimingRange timings;
	int			sampling;		/* as in NodeTimingOptions */
	int			only_node;
	double		max_overhead;
	bool		may_stop;
	bool		no_workers;
	bool		all_timed;		/* and gaps are not adapted */
	bool		late;			/* as in NodeTimingOptions */
	const struct ExecutionWatcher *watcher; /* publishes the counters while it
											 * runs, so that all nodes are
											 * "seen"; or NULL */
	uint64		publish_due;	/* publish() is due from this reading of the
								 * clock on */
	struct LiveExecution *live; /* for the watcher; or NULL */
	volatile bool publish_now;	/* the next call publishes, see watch_call() */

	int			nnodes;			/* plan_node_ids are below */
	NodeTiming **nodes;			/* by plan_node_id; NULL: there is none */
	int			nplaces;
	int			nworkers;		/* that the plan may have */
	NodeTiming *root;
	SubplanUse *uses;
	int			nparts;			/* uses by nodes */
	NodeSamples *spare;			/* for nodes that begin */
	int			nspare;
	struct TimedTrigger *triggers;
	MemoryContextCallback at_end;

	NodeTiming *innermost;		/* whose call is executed, of those looked at */
	OutsideCalls outside;
	CallCost	cost;
	double		ticks_per_ns;	/* about */
	double		long_ticks;		/* shorter gaps are not long */
	double		ask_ticks;		/* after a gap that is longer, the kernel is
								 * always asked for the CPU usage */
	SamplingPolicy policy;

	uint64		last_reading;	/* of the clock */

	dsm_segment *segment;		/* what the workers share; see
								 * parallel_timing.c */
	struct SharedTiming *shared;
	int			guc_nest_level; /* 0: no setting made */
	bool		workers_untimed;	/* they could not be told */

	/*
	 * Readings that follow the start are without off_ticks: time in which
	 * other processes had the processor, in which the kernel was asked for
	 * that, between two calls of ExecutorRun(), and in long gaps.
	 */
	uint64		off_ticks;
	uint64		asked_ticks;	/* part of it: asking the kernel */
	uint64		long_off_ticks; /* part of it: long gaps */
	double		preempted_ns;
	CpuUsage	usage;			/* the latest one, */
	uint64		usage_ns;		/* and when that was */
	uint64		start_ns;
	uint64		start_ticks;
	uint64		ran_ticks;
	bool		has_sentinel;	/* see query_was_read() */
	bool		rewound;		/* the root will begin another loop */
	uint64		paused_ticks;	/* between ExecutorRun() and what follows it */
	uint64		stop_ns;
	uint64		stop_ticks;
} QueryTiming;

/*
 * Callbacks of the module that publishes running executions.  enter() is called before
 * each ExecutorRun() and returns a value for leave(), which is called after it and after an
 * error.
 */
typedef struct ExecutionWatcher
{
	int			(*enter) (QueryDesc *desc);
	void		(*leave) (QueryDesc *desc, int entered, bool failed);
	void		(*attached) (QueryTiming *query);	/* wrappers are installed */

	/* A call of the node begins, or a timed one has ended. */
	void		(*publish) (QueryTiming *query, NodeTiming *t, bool begins);
	void		(*ended) (QueryTiming *query);	/* its memory is freed, also
												 * after an error */
} ExecutionWatcher;

/* NULL: no module publishes executions. */
extern const ExecutionWatcher *execution_watcher;

/* The query of which this process is a worker, as long as its memory is there. */
extern QueryTiming *timed_in_worker;

extern void query_set_cost(QueryTiming *query, const CallCost *cost, double ticks_per_ns);

/* Before ExecutorRun(), after it, and after ExecutorFinish(), without delay. */
extern void query_timing_start(QueryTiming *query);
extern void query_timing_ran(QueryTiming *query);
extern void query_timing_stop(QueryTiming *query);

/* Some time after ExecutorRun(), before another one ("again") or ExecutorFinish(). */
extern void query_timing_resume(QueryTiming *query, bool again);

/*
 * Reads the clock before a timed call of the node "t", after it ("within"), or, if "t"
 * is NULL, between two calls of the root.  The reading is without off_ticks.
 *
 * A timed call reads twice before it begins, and uses the second reading.  The first one brings code
 * and data into the caches, also for the reading after the call, which is therefore the same function, not
 * an inline one.  With one reading, calls of which one in 100 is timed seemed to take 8 to 30 ns
 * longer than the same calls if all are timed.
 */
extern uint64 query_reading(QueryTiming *query, NodeTiming *t, bool within);

/* How long the run has taken, without what was between. */
extern double query_run_ns(const QueryTiming *query);

/* Of this very run, if it was long enough to tell. */
extern double query_ns_per_tick(const QueryTiming *query);

/* Takes the time since the latest reading of the clock off the run: it was spent on timing. */
extern void query_take_off(QueryTiming *query);

/* The NodeTiming of a node that has a wrapper of ours. */
static inline NodeTiming *
node_timing_of(const PlanState *node)
{
	return (NodeTiming *) ((char *) node->instrument - offsetof(NodeTiming, instr));
}

/* Value of NodeTiming.wrapped for a node and its kind of wrapper. */
static inline uintptr_t
wrapped_node(const PlanState *node, bool unseen)
{
	return (uintptr_t) node + !unseen;
}

/* Makes calls of a shared subplan those of another use. */
static inline void
subplan_set_use(SubplanUse *use)
{
	use->subplan->use = use;
	use->subplan->parent = use->user;
}

/* The node that has called this one, of a shared subplan the latest one. */
static inline NodeTiming *
caller_of(const NodeTiming *t)
{
	return t->parent == NULL && t->latest_use != NULL ? t->latest_use->user : t->parent;
}

/* That of a plan node, NULL if there is none. */
static inline NodeTiming *
query_node(const QueryTiming *query, const PlanState *node)
{
	return query->nodes[node->plan->plan_node_id];
}

/*
 * After how many calls one is timed.  It is kept where a rescan sets it to 0, so
 * that the first call of each loop comes to due_call(), see call_wrapper.c.
 */
#define next_due(t)		instr_spare_counter(&(t)->instr)

/*
 * Whether another extension has explained the plan while it was executed.  That ends each node's
 * loop for the server, as a rescan does.  The root is never rescanned during
 * ExecutorRun(), so that its instrumentation tells.
 */
static inline bool
query_was_read(const QueryTiming *query)
{
	return query->has_sentinel && !instr_in_loop(&query->root->instr);
}

/* Whether a call has more to do than to be counted, although it is not due. */
static inline bool
query_needs_attention(const QueryTiming *query)
{
	return query_was_read(query) || query->publish_now;
}

/*
 * Marks the loops that the reader has ended as going on.  The loop of the node "calling"
 * stays ended if that node is the root of a subplan, which is rescanned before each call.
 */
extern void query_restore_loops(QueryTiming *query, const NodeTiming *calling);

/* Whether its calls' results need not be looked at. */
static inline bool
is_read_to_end(const NodeTiming *t)
{
	return t->reading == INPUT_READ_TO_END || t->reading == INPUT_IF_BEGUN;
}

/* Calls of this node that have begun, but the first ones of loops. */
static inline int64
later_calls(const NodeTiming *t)
{
	return t->calls - t->first_calls;
}

/*
 * Rows that a node has removed by now, in this process; those of workers are
 * added when all is done.  Where workers are not timed, the server adds theirs at
 * any time, so that they cannot be told apart.
 */
static inline int64
removed_rows(const NodeTiming *t)
{
	return t->query->workers_untimed ? 0 : instr_removed_rows(&t->instr);
}

/*
 * As a loop ends: the last call of one that is read to its end was not looked at if
 * it was not timed.  (The first one always is looked at.)
 */
static inline void
end_loop(NodeTiming *t)
{
	if (t->reading == INPUT_IF_BEGUN && !t->ended && t->calls - t->calls_before >= 2)
		t->ends++;
	t->calls_before = t->calls;
}

#endif							/* CLOCKTIMING_QUERY_TIMING_H */
