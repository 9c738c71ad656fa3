/*-------------------------------------------------------------------------
 *
 * node_timing.c
 *	  Times the plan nodes of one execution, a few of their calls only.
 *
 * A node's "instrument" points to a NodeTiming, which begins with what the
 * server expects there, and its ExecProcNode is sampled_call() or
 * drained_call(), or what counts down instead of up, where there is only one
 * loop.  In the common case these count the call and pass it on; when so many
 * have been counted that it is another one's turn to be timed, drawn_call() does
 * that, and draws how many are to pass until the next.  Some tens of what was
 * timed are added up at once, since a query has the caches for itself meanwhile.
 *
 * A trigger's firings are a node's calls of sorts: sampled_trigger() stands
 * before its function.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "common/pg_prng.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "storage/dsm.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/reltrigger.h"

#include "clock/instr_clock.h"
#include "compat.h"
#include "core/cpu_usage.h"
#include "core/reference.h"
#include "core/stats.h"
#include "core/system_clock.h"
#include "core/tsc.h"
#include "explain/node_timing.h"
#include "explain/yardstick.h"

/* A gap between timed calls is kept for so many of them at least. */
#define MIN_STRATUM		32

/*
 * Calls are timed more often than is asked for where that does not slow them
 * down by more than this share, or by the other once there were many of them,
 */
#define AFFORDABLE		0.001
#define AFFORDABLE_OF_MANY	0.0005

/*
 * and so many times more rarely where it does, then.  It is many earlier where
 * calls are alike, later where some of them wait, and never where few take most
 * of the time, see many_calls().
 */
#define THINNED			32
#define MANY_CALLS		8192
#define MANY_ALIKE		4096
#define MANY_GATHERED	32768

/*
 * Where so many have been timed in a query, of all nodes, and it was slowed down by
 * more than this share by that, no more than so many calls of a node that begins
 * are all timed.
 */
#define MANY_TIMED		2048
#define DEAR			0.01
#define FEW_SAMPLES		4

/* One call in so many of Gather and Gather Merge is timed at least. */
#define GATHER_SAMPLING	8

/* A gap is so many times the one before, at most. */
#define RAMP			4.0

/* Quantiles of the exponential distribution, from which gaps are drawn. */
#define N_QUANTILES		256

/* Of more nodes below the calls are not looked at, which would take too long. */
#define MAX_BELOW		16

/*
 * So many nodes find room for what is timed without allocating memory while the
 * query is being timed, which would be seen in a short one.
 */
#define SPARE_SAMPLES	32

/* Copies of what stands before nodes' functions. */
#define CALL_COPIES		16

/* More calls than there can be. */
#define NEVER			PG_INT32_MAX

/* Yardsticks before a query is planned and after each run. */
#define YARDSTICKS		4

/*
 * The relative standard deviation between runs of the same query where nothing
 * disturbs: its data comes to lie elsewhere each time.
 */
#define STEADY			0.03

/*
 * What of the cost of counting a call is seen in a query, where the processor
 * does other work at the same time, as against in a loop of calls.
 */
#define VISIBLE			0.5

/* How much more a query varies than a yardstick, which needs less memory. */
#define QUERY_DEVIATION	1.6

/* For how long others slow a processor down, at a time. */
#define MOOD_NS			3e8

/* Calibration, see calibrate(). */
#define CALIBRATION_ROUNDS	20
#define CALIBRATION_CALLS	4096
#define CALIBRATION_GAP		64
#define CALIBRATION_AGE_NS	UINT64CONST(10000000000)

/*
 * What calls may take before they are suspected to have been disturbed: more
 * than an interrupt, less than another process's turn.
 */
#define LONG_CALL_NS	20000

/* A run of so long tells the TSC's frequency well enough, to 0.1 %. */
#define LONG_RUN_NS		100000

/* A call that was timed. */
typedef struct CallSample
{
	double		ticks;
	double		known;			/* part of them that is known anyway */
	CallsBelow	below;
} CallSample;

/*
 * What is the same for all: calls that begin a loop, and those that follow.
 * The first ones of Sort, Aggregate and their like do all of the node's work.
 */
typedef struct CallClass
{
	int			gap;			/* one call of so many is timed; 0: none */
	float		gap_scale;		/* -1 / ln(1 - 1 / gap) */
	int64		before;			/* calls before the gap was chosen */
	int			nsamples;
	CallSample	samples[MIN_STRATUM];	/* the latest, not yet added up */

	int64		all_timed;		/* calls that were timed since all were */
	double		all_timed_sum;	/* of their durations */
	CallSeries	drawn;			/* those drawn, in ticks, less what is known */
	double		drawn_sum;		/* of their durations */
} CallClass;

/* As processors have it. */
#define LINE_SIZE	64

/*
 * What is known of a node's loops: whether each ends with a call that returns no
 * tuple, which need not be looked at then.
 */
typedef enum LoopKind
{
	NOT_DRAINED,				/* maybe not */
	DRAINED_OR_BEGUN,			/* or has no other call than the first */
	DRAINED,

	/*
	 * The inner side of a nested loop which a first match ends.  Hardly a
	 * loop has more than one call, so that none is told apart from others;
	 * and the loops are as many as the outer side's rows.
	 */
	MATCHED
} LoopKind;

/*
 * What is seldom looked at: apart, so that what is looked at at each call needs
 * few lines of the caches; and of nodes that are executed only, as they are five
 * kilobytes each.
 */
typedef struct NodeSamples
{
	CallClass	first;
	CallClass	later;
	CallStratum known_calls;	/* those of both that were all timed */
} NodeSamples;

typedef struct NodeTiming
{
	/* of first calls: one line of the caches */
	int64		first_skip;		/* of them, until one is timed; 0: the next,
								 * or none was yet */
	int64		first_calls;
	int64		later_due;		/* after so many other calls one is timed */
	int64		calls_before;	/* this loop */
	int64		ends;			/* calls that returned no tuple; not counted
								 * if DRAINED: each loop has one */
	struct QueryTiming *query;
	ExecProcNodeMtd counted_call;	/* what stands in place of ExecProcNode */
	bool		ended;			/* the latest call was one of those, and seen */
	bool		begun;
	bool		dynamic;		/* the parent is known when it is first called */
	bool		watch_outside;	/* the root: see below */
	bool		passes_on;		/* what others return, see is_passing_on() */
	bool		passing;		/* uncounted by now, see later_calls() */
	uint8		loop_kind;		/* a LoopKind */
	uint8		kind;			/* a NodeKind */

	/* of all calls: another line, with the beginning of what follows */
	NodeSamples *samples;		/* NULL before the first call */
	int64		calls;			/* if they are counted down: those that there
								 * will be at its end, see counted_calls() */

	/*
	 * What the server sees as the node's "instrument".  After how many calls
	 * one is timed is kept in "counter", where the server would keep ticks:
	 * it is InstrEndLoop(), called whenever a node is rescanned, that sets it
	 * to 0, and so makes the first call of each loop come to drawn_call().
	 */
	CompatNodeInstrumentation instr;

	int64	   *countdown;		/* one of the countdowns, or NULL */
	double		calls_again;	/* first calls that do not begin a loop */
	ExecProcNodeMtd call;		/* counted_call, or around it what counts
								 * usage */
	uint64		returned;		/* the root: a call that was timed, and
								 * another one follows */

	/*
	 * Time of calls that were timed for sure, of this node and below it. What
	 * the others take is estimated from those drawn, less the time known.
	 */
	double		known;

	int			id;				/* plan_node_id */
	int			place;			/* in EXPLAIN's order */
	int			sampling;		/* as in NodeTimingOptions */
	PlanState  *node;
	struct NodeTiming **below;	/* nodes that its calls call: nbelow, up to
								 * MAX_BELOW */
	int			nbelow;
	struct NodeTiming *parent;	/* whose calls contain this node's */
	struct NodeTiming *child;
	struct NodeTiming *sibling;
	struct NodeTiming *next_cte_scan;

	/* the root only: what is outside of its calls */
	uint64		started;		/* its first call */
	uint64		returned_last;	/* its last call, if that was timed, else 0 */
	double		outside_sum;
	double		outside_sum_sq;
	double		outside_long;
	int64		outside_n;
} NodeTiming;

/*
 * How far apart they are: an odd number of lines, so that those of different nodes
 * are not in the same sets of the caches.
 */
#define NODE_STRIDE (((sizeof(NodeTiming) + LINE_SIZE - 1) / LINE_SIZE | 1) * LINE_SIZE)

StaticAssertDecl(offsetof(NodeTiming, samples) == LINE_SIZE,
				 "first calls need one line of the caches");

/* Whether its calls' results need not be looked at. */
static inline bool
is_drained(const NodeTiming *t)
{
	return t->loop_kind == DRAINED || t->loop_kind == DRAINED_OR_BEGUN;
}

static inline NodeTiming *
timing(const PlanState *node)
{
	return (NodeTiming *) ((char *) node->instrument - offsetof(NodeTiming, instr));
}

#define NEXT_DRAWN(t) instr_next_drawn(&(t)->instr)

/*
 * A trigger of which some firings are timed: they are later calls of a node that
 * calls no other, and has no loops.
 */
typedef struct SampledTrigger
{
	NodeTiming	timing;
	FmgrInfo	function;		/* its own */
	CompatTriggerInstrumentation *instr;	/* the server's */
	struct SampledTrigger *next;
} SampledTrigger;

/* In shared memory. */
typedef struct SharedTiming
{
	uint32		magic;
	int			sampling;
	int			only_node;
	int			nnodes;
	int			nworkers;
	uint32		text_hash;		/* of the query; others have workers, too */
	CallCost	cost;
	bool		by_tsc;
	double		ticks_per_ns;
	NodeRecord	records[FLEXIBLE_ARRAY_MEMBER]; /* [worker][node] */
} SharedTiming;

#define SHARED_MAGIC	0x636c6b74

struct QueryTiming
{
	QueryDesc  *desc;
	NodeTimingOptions options;
	int			nnodes;			/* plan_node_ids are below */
	NodeTiming **nodes;			/* by plan_node_id; NULL: there is none */
	char	   *timings;		/* where they are: see timing_of() */
	int			nplaces;
	NodeTiming *cte_scans;		/* see next_cte_scan */
	NodeTiming **last_cte_scan; /* where the next one goes */
	int			nfunctions;		/* of nodes: see copy_before() */
	ExecProcNodeMtd functions[CALL_COPIES];
	bool		has_countdown[CALL_COPIES];
	MemoryContextCallback at_end;	/* end_timing() */
	NodeTiming *innermost;		/* in the midst of a call that was drawn */
	NodeTiming *root;
	SampledTrigger *triggers;
	MemoryContext context;		/* the query's */
	NodeSamples *spare;			/* for nodes that begin: see begin_samples() */
	int			nspare;
	CallCost	cost;
	double		ticks_per_ns;	/* about */
	int64		ntimed;			/* calls, of all nodes */
	uint64		timed_ticks;	/* when the latest was over */
	double		expensive_ticks;	/* timing a call of so long is affordable */
	double		long_ticks;		/* see call_series_add() */

	dsm_segment *segment;
	SharedTiming *shared;
	int			guc_nest_level; /* 0: no setting made */
	bool		fixed;			/* gaps are not adapted */
	bool		workers_untimed;	/* they could not be told */

	uint64		start_ns;
	uint64		start_ticks;
	uint64		ran_ticks;
	uint64		stop_ns;
	uint64		stop_ticks;
	CpuUsage	start_usage;
	CpuUsage	stop_usage;
};

/* Whether RDTSC is what is read. */
static bool by_tsc = false;
static uint64 random_state = 0;
static float exponential[N_QUANTILES];

/* "handle of the segment", in a leader and its workers */
static char *worker_timing = NULL;
static ExecutorRun_hook_type previous_ExecutorRun = NULL;
static ExecutorFinish_hook_type previous_ExecutorFinish = NULL;
static QueryTiming *timed_in_worker = NULL; /* as long as its memory is there */

/*
 * Calls until one is drawn, of nodes with one loop: at an address that is known when
 * this is compiled, since a query sees that as well.  A node's is its own from
 * ExecutorStart() until the query's memory goes; nodes that find none free are
 * counted as those with several loops are.
 */
static int64 countdowns[CALL_COPIES];
static bool countdown_taken[CALL_COPIES];

/* Queries of which the memory is still there. */
static int	live_timings = 0;

static TupleTableSlot *sampled_call_with_usage(PlanState *node);

static inline uint64
now_ticks(void)
{
#ifdef CLOCKTIMING_HAVE_TSC
	if (likely(by_tsc))
		return tsc_read_rdtsc();
#endif
	return system_clock_read();
}

/*
 * After everything before has been done.  Otherwise a processor would begin a
 * call while it still waits for what came before, and the wait would fall into
 * the call's interval, or not, as chance will have it.  (The system's clock is
 * read in the same way.)
 */
static inline uint64
settled_ticks(void)
{
	if (likely(by_tsc))
		tsc_fence();
	return now_ticks();
}

/*
 * The cheapest clock that can be trusted: by the server's own rule, also where
 * the server is too old to have one, and by its setting.  It stays as it is
 * while a query is being timed, whatever a function in it sets.
 */
static void
choose_clock(void)
{
	if (live_timings == 0)
		by_tsc = why_not_timed_by_tsc() == NULL;
}

/* xorshift64* (Vigna, ACM TOMS 42(4), 2016), of which the high bits are good. */
static inline uint64
next_random(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * UINT64CONST(0x2545F4914F6CDD1D);
}

static void
prepare_random(void)
{
	if (random_state != 0)
		return;
	do
		random_state = pg_prng_uint64(&pg_global_prng_state);
	while (random_state == 0);
	for (int i = 0; i < N_QUANTILES; i++)
		exponential[i] = (float) -log(1 - (i + 0.5) / N_QUANTILES);
}

/*
 * How many calls pass until one is timed.  Geometric, the only distribution
 * that forgets: each call has the same chance, however loops begin and end.
 */
static inline int64
draw_gap(const CallClass *class)
{
	if (class->gap == 1)
		return 0;
	if (class->gap == 0)
		return NEVER;
	return (int64) (exponential[next_random() >> 56] * class->gap_scale);
}

static void
set_gap(CallClass *class, int gap)
{
	class->gap = gap;
	class->gap_scale = gap <= 1 ? 0 : (float) (-1 / log1p(-1.0 / gap));
}

/* Those that have begun. */
static inline int64
counted_calls(const NodeTiming *t)
{
	return t->countdown == NULL ? t->calls : t->calls - *t->countdown;
}

/*
 * Calls of this node that are over, but the first ones of loops.  Those of a node
 * that passes on what others return are, from some number on, not counted, but
 * told from the others': each of its tuples is one of theirs, and its loop has
 * one call without a tuple, as theirs have.
 */
static int64
later_calls(const NodeTiming *t)
{
	int64		calls = 0;

	if (!t->passing)
		return counted_calls(t) - t->first_calls;
	for (const NodeTiming *c = t->child; c != NULL; c = c->sibling)
		calls += later_calls(c);
	return calls;
}

static inline int64
all_calls(const NodeTiming *t)
{
	return t->first_calls + later_calls(t);
}

/*
 * Rows that a node has removed by now, in this process: what workers have removed
 * is added when all is done, see put_estimate().  Workers that are not timed have
 * the server add it, at any time, so that it cannot be told apart.
 */
static inline int64
removed_rows(const NodeTiming *t)
{
	if (t->query->workers_untimed)
		return 0;
	return (int64) (t->instr.nfiltered1 + t->instr.nfiltered2);
}

/*
 * How often the nodes below have been called by now, and how many rows they and
 * the node itself have removed.
 */
static inline CallsBelow
calls_below(const NodeTiming *t)
{
	CallsBelow	below = {{0, 0, removed_rows(t)}};

	for (int i = 0; i < t->nbelow; i++)
	{
		const NodeTiming *b = t->below[i];

		below.n[BELOW_FIRST] += b->first_calls;
		below.n[BELOW_LATER] += later_calls(b);
		below.n[BELOW_REMOVED] += removed_rows(b);
	}
	return below;
}

/* What has been done below since then. */
static inline CallsBelow
calls_below_since(const NodeTiming *t, const CallsBelow *before)
{
	CallsBelow	below = calls_below(t);

	for (int i = 0; i < N_BELOW; i++)
		below.n[i] -= before->n[i];
	return below;
}

/* Those of a class that are over. */
static inline int64
calls_of(const NodeTiming *t, const CallClass *class)
{
	return class == &t->samples->first ? t->first_calls : later_calls(t);
}

/* The next stratum, in which one call in "gap" is timed. */
static void
change_gap(NodeTiming *t, CallClass *class, int gap)
{
	int64		calls = calls_of(t, class);

	if (class->gap > 1)
	{
		class->drawn.now.calls = calls - class->before;
		call_series_next(&class->drawn);
	}
	class->before = calls;
	set_gap(class, gap);
}

/* Adds up what was timed. */
static void
add_samples(NodeTiming *t, CallClass *class)
{
	int			gap = class->gap;

	/* those that others' turn was waited for are fewer */
	if (t->passing && class == &t->samples->later)
		gap = (int) Min((calls_of(t, class) - class->before) /
						Max(class->drawn.now.timed + class->nsamples, 1), NEVER);
	for (int i = 0; i < class->nsamples; i++)
	{
		const CallSample *sample = &class->samples[i];
		double		ticks = sample->ticks - sample->known;

		if (class->gap == 1 && t->query->fixed)
			break;				/* there is nothing to be estimated */

		if (class->gap == 1)
			call_stratum_add(&t->samples->known_calls, ticks, &sample->below);
		else
		{
			call_series_add(&class->drawn, ticks, &sample->below, Max(gap, class->gap),
							t->query->long_ticks);
			class->drawn_sum += sample->ticks;
		}
	}
	class->nsamples = 0;
}

static bool
gathers(const PlanState *node)
{
	return IsA(node, GatherState) || IsA(node, GatherMergeState);
}

/*
 * Whether few calls of a node may take most of its time: those that begin a
 * partition, or a group to be sorted, that fetch many rows, or wait for others.
 */
static bool
is_uneven(const PlanState *node)
{
	switch (nodeTag(node))
	{
		case T_WindowAggState:
		case T_IncrementalSortState:
		case T_RecursiveUnionState:
		case T_ForeignScanState:
		case T_CustomScanState:
			return true;
		case T_AppendState:
			return ((const AppendState *) node)->as_nasyncplans > 0;
		default:
			return gathers(node);
	}
}

/* Whether a node has none below it, and its calls are much the same. */
static bool
are_alike(const NodeTiming *t)
{
	return t->nbelow == 0 && !is_uneven(t->node);
}

/*
 * After how many calls fewer are timed: of those that are uneven, or call some
 * that are, a few samples would often have none that matters.
 */
static int64
many_calls(const NodeTiming *t)
{
	if (gathers(t->node))
		return MANY_GATHERED;
	if (is_uneven(t->node))
		return PG_INT64_MAX;
	for (int i = 0; i < t->nbelow; i++)
	{
		if (is_uneven(t->below[i]->node))
			return PG_INT64_MAX;
	}
	return are_alike(t) || t->passing ? MANY_ALIKE : MANY_CALLS;
}

/* Whether timing has cost more than it should, as in a plan of many nodes. */
static inline bool
is_dear(const QueryTiming *query)
{
	return query->ntimed > MANY_TIMED && !query->fixed &&
		(double) query->ntimed * query->cost.timed_ns * query->ticks_per_ns >
		DEAR * (double) (int64) (query->timed_ticks - query->start_ticks);
}

/*
 * Whether calls shall be timed more rarely, or more often, from now on: as
 * often as is affordable, and one in "sampling" at least unless there are many.
 * A query's first calls are all timed, for those that have few.
 */
static void
adapt_gap(NodeTiming *t, CallClass *class, double mean)
{
	double		most = t->sampling;
	double		expensive_ticks = t->query->expensive_ticks;
	double		gap;

	/* more of them would tell next to nothing, beside what timing costs */
	if (calls_of(t, class) >= many_calls(t))
	{
		most *= THINNED;
		expensive_ticks *= AFFORDABLE / AFFORDABLE_OF_MANY;
	}
	gap = mean > 0 ? expensive_ticks / mean : most;
	gap = Min(gap, is_dear(t->query) ? most : Min(most, RAMP * class->gap));
	gap = Max(gap, t->passing ? 2 : 1);
	if (fabs(gap - class->gap) >= 0.25 * class->gap && (int) gap != class->gap)
		change_gap(t, class, (int) gap);
}

/* So many calls have been timed that they are worth a look. */
static pg_noinline void
use_samples(NodeTiming *t, CallClass *class)
{
	double		sum = 0;
	int			n = class->nsamples;

	for (int i = 0; i < n; i++)
		sum += class->samples[i].ticks;
	add_samples(t, class);
	if (!t->query->fixed)
		adapt_gap(t, class, sum / n);
}

/*
 * A call that took so long, and was timed since all are.  What is known of it
 * already, calls below it that were timed for the same reason, is known to the
 * nodes above, too.
 */
static inline void
add_known(NodeTiming *t, CallClass *class, double ticks, double known)
{
	class->all_timed++;
	class->all_timed_sum += ticks;
	for (NodeTiming *a = t; a != NULL; a = a->parent)
		a->known += ticks - known;
}

/* Room for what is timed: a node's calls begin, all of which are timed at first. */
static void
begin_samples(NodeTiming *t)
{
	QueryTiming *query = t->query;

	if (query->nspare > 0)
		t->samples = &query->spare[--query->nspare];
	else
		t->samples = MemoryContextAllocZero(query->context, sizeof(NodeSamples));
	set_gap(&t->samples->first, Min(t->sampling, 1));
	set_gap(&t->samples->later, Min(t->sampling, 1));
	t->later_due = draw_gap(&t->samples->later);
}

/* Something below may have put its own function in place of ours. */
static void
take_hold(NodeTiming *t)
{
	t->node->ExecProcNode = t->call;
}

/*
 * A node whose function the server has exchanged while it was being called,
 * which is a Hash Join turned into a parallel one just below Gather: its first
 * call was timed by the server.
 */
static TupleTableSlot *
resumed_call(PlanState *node)
{
	NodeTiming *t = timing(node);

	if (t->instr.running)
	{
		t->calls++;
		t->ends += t->instr.tuplecount == 0;
		begin_samples(t);
		t->begun = true;
		t->first_calls++;
		add_known(t, &t->samples->first, instr_counter_ns(&t->instr) * t->query->ticks_per_ns, 0);
		t->instr.tuplecount = 0;
	}
	instr_set_need_timer(&t->instr, false);
	NEXT_DRAWN(t) = 0;
	take_hold(t);
	return t->call(node);
}

/*
 * The first call of all: by now the server has done to the nodes below whatever
 * it does when an execution begins.
 */
static void
begin(NodeTiming *t)
{
	/* as ExecProcNodeFirst() */
	check_stack_depth();

	begin_samples(t);
	t->begun = true;
	if (t->dynamic && t->query->innermost != NULL)
		t->parent = t->query->innermost;
	for (NodeTiming *c = t->child; c != NULL; c = c->sibling)
	{
		if (c->kind == NODE_SAMPLED && !c->begun && c->node->ExecProcNode != c->call)
			take_hold(c);
	}
	for (NodeTiming *p = t->parent; p != NULL && !p->begun; p = p->parent)
	{
		if (p->kind == NODE_SAMPLED && p->node->ExecProcNode != p->call)
			p->node->ExecProcNode = resumed_call;
	}
}

/* What follows a call that returned no tuple is the first call of another loop. */
static inline void
see_result(NodeTiming *t, TupleTableSlot *slot)
{
	if (likely(!TupIsNull(slot)))
		return;
	t->ends++;
	if (t->loop_kind == MATCHED)
		return;
	t->ended = true;
	NEXT_DRAWN(t) = 0;
}

/*
 * As a loop ends: the last call of a drained one was not seen if it was not
 * drawn.  (The first one always is.)
 */
static inline void
end_loop(NodeTiming *t)
{
	if (t->loop_kind == DRAINED_OR_BEGUN && !t->ended && t->calls - t->calls_before >= 2)
		t->ends++;
	t->calls_before = t->calls;
}

/* Draws which later call is timed next. */
static inline void
draw_later(NodeTiming *t)
{
	t->later_due = later_calls(t) + draw_gap(&t->samples->later);
	NEXT_DRAWN(t) = t->first_calls + t->later_due;
}

/*
 * After a loop's first call, not before: some nodes rescan themselves in it,
 * once they know the values to look for, which is no end of a loop.
 */
static inline void
begin_loop(NodeTiming *t)
{
	t->instr.running = true;
	NEXT_DRAWN(t) = t->first_calls + t->later_due;
}

/*
 * Of a node that passes on what others return, no call is counted from now on; one
 * that is timed follows one of theirs that was, once so many have passed.
 */
static inline void
pass_on(NodeTiming *t)
{
	if (t->passes_on && t->samples->later.gap > 1 && later_calls(t) >= MANY_ALIKE)
	{
		t->passing = true;
		t->node->ExecProcNode = t->node->ExecProcNodeReal;
	}
	for (NodeTiming *p = t->parent; p != NULL && p->passing; p = p->parent)
	{
		if (later_calls(p) < p->later_due)
			continue;
		NEXT_DRAWN(p) = 0;
		take_hold(p);
		/* no more than one, or its calls would have those of another in them */
		break;
	}
}

/* Keeps what a call has taken, of which so much is known, and done below. */
static inline void
keep_sample(NodeTiming *t, CallClass *class, uint64 start, uint64 stop,
			double known, CallsBelow below)
{
	QueryTiming *query = t->query;
	CallSample *sample = &class->samples[class->nsamples];

	/* a clock that goes backwards is not worth more than 0 here */
	sample->ticks = stop > start ? (double) (stop - start) : 0;
	sample->known = known;
	sample->below = below;
	if (class->gap == 1)
		add_known(t, class, sample->ticks, known);
	query->ntimed++;
	query->timed_ticks = stop;
	if (++class->nsamples == MIN_STRATUM ||
		(class->gap == 1 && class->nsamples == FEW_SAMPLES && is_dear(query)))
		use_samples(t, class);
}

/* A call that is timed. */
static pg_noinline TupleTableSlot *
timed_call(PlanState *node, NodeTiming *t, CallClass *class)
{
	QueryTiming *query = t->query;
	NodeTiming *outer = query->innermost;
	CallsBelow	below = calls_below(t);
	double		known = t->known;
	TupleTableSlot *slot;
	uint64		start;
	uint64		stop;

	query->innermost = t;
	start = settled_ticks();
	slot = node->ExecProcNodeReal(node);
	stop = settled_ticks();
	query->innermost = outer;
	if (class == &t->samples->first)
		begin_loop(t);
	see_result(t, slot);
	keep_sample(t, class, start, stop, t->known - known, calls_below_since(t, &below));

	if (class == &t->samples->first)
		t->first_skip = draw_gap(class);
	else
	{
		draw_later(t);
		pass_on(t);
	}
	if (t->ended)
		NEXT_DRAWN(t) = 0;
	if (t->watch_outside)
	{
		if (t->started == 0)
			t->started = start;
		if (t->ended)
			t->returned_last = stop;
		else
		{
			/* not "stop": what has been done since is no part of the query */
			NEXT_DRAWN(t) = 0;
			t->returned = settled_ticks();
		}
	}
	return slot;
}

static pg_noinline TupleTableSlot *
first_call(PlanState *node, NodeTiming *t)
{
	QueryTiming *query = t->query;
	NodeTiming *outer = query->innermost;
	TupleTableSlot *slot;

	end_loop(t);
	t->calls++;
	t->first_calls++;
	t->first_skip--;
	t->returned = 0;
	if (!t->begun)
		begin(t);
	t->calls_again += t->instr.running;
	t->ended = false;
	if (t->first_skip < 0)
	{
		if (t->samples->first.gap > 0)
			return timed_call(node, t, &t->samples->first);
		t->first_skip = NEVER;
	}

	query->innermost = t;
	slot = node->ExecProcNodeReal(node);
	query->innermost = outer;
	begin_loop(t);
	see_result(t, slot);
	return slot;
}

/* A call that is not drawn itself, maybe, but the end of what is outside of one. */
static pg_noinline void
see_outside(NodeTiming *t)
{
	const QueryTiming *query = t->query;
	double		outside = (double) (int64) (settled_ticks() - t->returned);

	t->returned = 0;
	t->outside_n++;
	/* what is long stands for itself, as in call_series_add() */
	if (outside > query->long_ticks)
		t->outside_long += outside;
	else
	{
		t->outside_sum += outside;
		t->outside_sum_sq += outside * outside;
	}
	NEXT_DRAWN(t) = t->first_calls + t->later_due;
}

/*
 * A call that begins a loop, or has been drawn to be timed.
 */
static pg_noinline TupleTableSlot *
drawn_call(PlanState *node)
{
	NodeTiming *t = timing(node);
	TupleTableSlot *slot;

	if (t->loop_kind == MATCHED)
	{
		if (!t->begun)
			begin(t);
	}
	else if (!t->instr.running || t->ended)
		return first_call(node, t);
	if (t->returned != 0)
		see_outside(t);
	if (t->samples->later.gap == 0)
		draw_later(t);
	t->calls++;
	if (t->calls > NEXT_DRAWN(t))
		return timed_call(node, t, &t->samples->later);
	slot = node->ExecProcNodeReal(node);
	if (!is_drained(t))
		see_result(t, slot);
	return slot;
}

/* From now on counts down to the call that is drawn next. */
static void
count_down(NodeTiming *t)
{
	int64		calls = counted_calls(t);

	*t->countdown = Max(NEXT_DRAWN(t) - calls, 0);
	t->calls = calls + *t->countdown;
}

/* At its end. */
static pg_noinline TupleTableSlot *
drawn_countdown_call(PlanState *node)
{
	NodeTiming *t = timing(node);
	TupleTableSlot *slot;

	*t->countdown = 0;			/* this call is counted now */
	slot = drawn_call(node);
	count_down(t);
	return slot;
}

/* The result of a call that was not drawn is no tuple. */
static pg_noinline void
see_countdown_end(PlanState *node, TupleTableSlot *slot)
{
	NodeTiming *t = timing(node);

	see_result(t, slot);
	count_down(t);
}

/*
 * Counts a call that begins a loop, in short: false if it has to be looked at,
 * since it is to be timed, or the very first one, in which some nodes rescan
 * themselves, or the loop before may have ended unseen, or loops are not looked
 * for (first_skip is 0 then, always).
 */
static inline bool
begin_counted(NodeTiming *t)
{
	if (t->first_skip <= 0 || t->instr.running || t->loop_kind == DRAINED_OR_BEGUN)
		return false;
	t->calls++;
	t->first_calls++;
	t->first_skip--;
	t->ended = false;
	begin_loop(t);
	return true;
}

/*
 * What stands before a node, in place of its function.  Each function has a copy
 * of its own before it, so that the processor can foretell where things go on
 * from there, which is always the same, and foretells what the copy is called
 * for as well, or as badly, as it would the function.
 */
#if defined(__GNUC__)
/* or else a compiler would find that all copies are the same */
#define COPY_IS_DIFFERENT(n) __asm__ volatile ("" : : "i" (n))
#else
#define COPY_IS_DIFFERENT(n) ((void) 0)
#endif

/*
 * sampled_call() looks at what the node returns.  drained_call() stands before one
 * that is drained: with no need to do that, nor to come back here.  The same two
 * where a countdown is, of which a copy belongs to one node.
 */
#define DEFINE_CALLS(n) \
static TupleTableSlot * \
sampled_call_##n(PlanState *node) \
{ \
	NodeTiming *t = timing(node); \
	TupleTableSlot *slot; \
\
	if (unlikely(t->calls >= NEXT_DRAWN(t))) \
	{ \
		if (!begin_counted(t)) \
			return drawn_call(node); \
	} \
	else \
		t->calls++; \
	COPY_IS_DIFFERENT(n); \
	slot = node->ExecProcNodeReal(node); \
	see_result(t, slot); \
	return slot; \
} \
\
static TupleTableSlot * \
drained_call_##n(PlanState *node) \
{ \
	NodeTiming *t = timing(node); \
\
	if (unlikely(t->calls >= NEXT_DRAWN(t))) \
	{ \
		if (!begin_counted(t)) \
			return drawn_call(node); \
	} \
	else \
		t->calls++; \
	COPY_IS_DIFFERENT(n); \
	return node->ExecProcNodeReal(node); \
} \
\
static TupleTableSlot * \
sampled_countdown_call_##n(PlanState *node) \
{ \
	TupleTableSlot *slot; \
\
	if (unlikely(--countdowns[n] < 0)) \
		return drawn_countdown_call(node); \
	slot = node->ExecProcNodeReal(node); \
	if (unlikely(TupIsNull(slot))) \
		see_countdown_end(node, slot); \
	return slot; \
} \
\
static TupleTableSlot * \
drained_countdown_call_##n(PlanState *node) \
{ \
	if (unlikely(--countdowns[n] < 0)) \
		return drawn_countdown_call(node); \
	return node->ExecProcNodeReal(node); \
}

#define ALL_COPIES(copy) \
	copy(0) copy(1) copy(2) copy(3) copy(4) copy(5) copy(6) copy(7) \
	copy(8) copy(9) copy(10) copy(11) copy(12) copy(13) copy(14) copy(15)
#define SAMPLED_CALL(n) sampled_call_##n,
#define DRAINED_CALL(n) drained_call_##n,
#define SAMPLED_COUNTDOWN_CALL(n) sampled_countdown_call_##n,
#define DRAINED_COUNTDOWN_CALL(n) drained_countdown_call_##n,

ALL_COPIES(DEFINE_CALLS)

static const ExecProcNodeMtd sampled_calls[CALL_COPIES] = {ALL_COPIES(SAMPLED_CALL)};
static const ExecProcNodeMtd drained_calls[CALL_COPIES] = {ALL_COPIES(DRAINED_CALL)};
static const ExecProcNodeMtd sampled_countdown_calls[CALL_COPIES] = {ALL_COPIES(SAMPLED_COUNTDOWN_CALL)};
static const ExecProcNodeMtd drained_countdown_calls[CALL_COPIES] = {ALL_COPIES(DRAINED_COUNTDOWN_CALL)};

/* The same where the server shall count buffers, or WAL, at each call. */
static TupleTableSlot *
sampled_call_with_usage(PlanState *node)
{
	NodeTiming *t = timing(node);
	TupleTableSlot *slot;

	InstrStartNode(&t->instr);
	slot = t->counted_call(node);
	InstrStopNode(&t->instr, 0);
	return slot;
}

/* A firing that is timed. */
static pg_noinline Datum
timed_firing(FunctionCallInfo fcinfo, NodeTiming *t)
{
	CallsBelow	none = {{0}};
	Datum		result;
	uint64		start;
	uint64		stop;

	start = settled_ticks();
	result = FunctionCallInvoke(fcinfo);
	stop = settled_ticks();
	keep_sample(t, &t->samples->later, start, stop, 0, none);
	draw_later(t);
	return result;
}

/* What the server finds in place of a trigger's function. */
static Datum
sampled_trigger(PG_FUNCTION_ARGS)
{
	SampledTrigger *trigger = fcinfo->flinfo->fn_extra;
	NodeTiming *t = &trigger->timing;

	/* where the function keeps what it needs from one firing to the next */
	fcinfo->flinfo = &trigger->function;
	t->calls++;
	if (unlikely(t->calls > NEXT_DRAWN(t)))
		return timed_firing(fcinfo, t);
	return FunctionCallInvoke(fcinfo);
}

/* What to do with which node. */
static NodeKind
node_kind(PlanState *node)
{
	switch (nodeTag(node))
	{
		case T_HashState:
		case T_BitmapAndState:
		case T_BitmapOrState:
		case T_BitmapIndexScanState:
			/* called otherwise, and they return no tuples */
			return NODE_WHOLE;
		default:
			return node->async_capable ? NODE_UNTIMED : NODE_SAMPLED;
	}
}

/* That of a list which refers to this node, or NULL. */
static const SubPlanState *
subplan_among(const List *subplans, const PlanState *node)
{
	ListCell   *cell;

	foreach(cell, subplans)
	{
		if (lfirst_node(SubPlanState, cell)->planstate == node)
			return lfirst_node(SubPlanState, cell);
	}
	return NULL;
}

/* The only node that scans this CTE, or NULL. */
static NodeTiming *
cte_scan(const QueryTiming *query, const PlanState *cte)
{
	NodeTiming *scan = NULL;

	for (NodeTiming *t = query->cte_scans; t != NULL; t = t->next_cte_scan)
	{
		if (((const CteScanState *) t->node)->cteplanstate != cte)
			continue;
		if (scan != NULL)
			return NULL;
		scan = t;
	}
	return scan;
}

/* Whether an evaluation takes all that the subplan returns. */
static bool
is_subplan_drained(const QueryTiming *query, const SubPlanState *state)
{
	const NodeTiming *scan;

	switch (state->subplan->subLinkType)
	{
		case CTE_SUBLINK:
			scan = cte_scan(query, state->planstate);
			/* (what modifies data is called once more when all is done) */
			return scan != NULL && scan->loop_kind == DRAINED &&
				!IsA(state->planstate, ModifyTableState);
		case EXPR_SUBLINK:
		case MULTIEXPR_SUBLINK:
		case ARRAY_SUBLINK:
		case ROWCOMPARE_SUBLINK:
			return true;
		default:
			return state->subplan->useHashTable;
	}
}

/*
 * Whether the loops of a node, on the inner side of a nested loop that a match
 * ends, can be told from the outer side's rows.  Where all calls are timed, or the
 * server counts usage, which marks loops by itself, they are better seen.
 */
static bool
is_matched(const NodeTiming *t, const PlanState *join)
{
	const QueryTiming *query = t->query;
	const NodeTiming *outer = query->nodes[outerPlan(join->plan)->plan_node_id];

	return query->options.only_node < 0 && query->options.sampling != 1 &&
		outer != NULL && outer->kind == NODE_SAMPLED &&
		!instr_needs_usage(&t->instr) && !t->node->plan->parallel_aware;
}

/*
 * Whether each loop of a node ends with a call that returns no tuple: since
 * whoever calls it goes on until then, and is not kept from it.  Only where that
 * is beyond doubt.
 */
static LoopKind
kind_of_loops(const NodeTiming *t, const PlanState *node)
{
	const PlanState *parent;
	const SubPlanState *subplan;
	LoopKind	like_parent;

	/* the query as a whole is, but a worker may be told to stop */
	if (t->parent == NULL)
		return IsParallelWorker() ? NOT_DRAINED : DRAINED;
	parent = t->parent->node;
	subplan = subplan_among(parent->subPlan, node);
	if (subplan == NULL)
		subplan = subplan_among(parent->initPlan, node);
	if (subplan != NULL)
		return is_subplan_drained(t->query, subplan) ? DRAINED : NOT_DRAINED;
	like_parent = t->parent->loop_kind == DRAINED ? DRAINED : NOT_DRAINED;

	switch (nodeTag(parent))
	{
			/* in one call */
		case T_SortState:
		case T_HashState:
			return DRAINED;
		case T_AggState:
			switch (((const Agg *) parent->plan)->aggstrategy)
			{
				case AGG_PLAIN:
				case AGG_HASHED:
					return DRAINED;
				case AGG_SORTED:
					return like_parent;
				case AGG_MIXED:
					break;
			}
			return NOT_DRAINED;
		case T_SetOpState:
			return ((const SetOp *) parent->plan)->strategy == SETOP_HASHED ? DRAINED : NOT_DRAINED;
		case T_ModifyTableState:
			return ((const ModifyTable *) parent->plan)->returningLists == NIL ? DRAINED : NOT_DRAINED;

			/* as they are drained themselves */
		case T_AppendState:
		case T_MergeAppendState:
		case T_SubqueryScanState:
		case T_ResultState:
		case T_ProjectSetState:
		case T_UniqueState:
		case T_GroupState:
		case T_LockRowsState:
		case T_MaterialState:
		case T_MemoizeState:
		case T_RecursiveUnionState:
		case T_IncrementalSortState:
		case T_GatherState:
		case T_GatherMergeState:
			return like_parent;
		case T_WindowAggState:
			return ((const WindowAggState *) parent)->runcondition == NULL ? like_parent : NOT_DRAINED;
		case T_NestLoopState:
			if (outerPlanState(parent) == node ||
				(!((const NestLoopState *) parent)->js.single_match &&
				 ((const NestLoopState *) parent)->js.jointype != JOIN_ANTI))
				return like_parent;
			return is_matched(t, parent) ? MATCHED : NOT_DRAINED;

			/*
			 * It may stop after the first call of the outer node if there is
			 * nothing to join, but not later.
			 */
		case T_HashJoinState:
			return like_parent == DRAINED ? DRAINED_OR_BEGUN : NOT_DRAINED;
		default:
			return NOT_DRAINED;
	}
}

/* Whether a node has one loop at most: nothing above it begins another. */
static bool
has_one_loop(const NodeTiming *t)
{
	for (; t->parent != NULL; t = t->parent)
	{
		const PlanState *parent = t->parent->node;

		if (subplan_among(parent->subPlan, t->node) != NULL)
			return false;

		/*
		 * what depends on nothing is executed once, see
		 * ExecReScanSetParamPlan()
		 */
		if (subplan_among(parent->initPlan, t->node) != NULL)
			return bms_is_empty(t->node->plan->extParam) && !IsParallelWorker();
		switch (nodeTag(parent))
		{
			case T_NestLoopState:
			case T_RecursiveUnionState:
				if (outerPlanState(parent) != t->node)
					return false;
				break;
			case T_SortState:
			case T_IncrementalSortState:
			case T_HashState:
			case T_HashJoinState:
			case T_MergeJoinState:
			case T_AggState:
			case T_GroupState:
			case T_UniqueState:
			case T_WindowAggState:
			case T_SetOpState:
			case T_LimitState:
			case T_AppendState:
			case T_MergeAppendState:
			case T_SubqueryScanState:
			case T_ResultState:
			case T_ProjectSetState:
			case T_LockRowsState:
			case T_ModifyTableState:
				break;
			default:
				return false;
		}
	}
	return !IsParallelWorker();
}

/*
 * Whether each tuple that a node returns is one that a node below it has returned,
 * and all of those are, in one loop; and its calls are alike, as theirs are.  Of the
 * nodes below it is known already whether they pass on.
 */
static bool
is_passing_on(const NodeTiming *t)
{
	const PlanState *node = t->node;

	if (t->kind != NODE_SAMPLED || t->loop_kind != DRAINED || t->parent == NULL ||
		t->query->options.only_node >= 0 || t->query->fixed || instr_needs_usage(&t->instr) ||
		node->plan->parallel_aware || node->qual != NULL ||
		node->initPlan != NIL || node->subPlan != NIL)
		return false;
	/* it would take long to add up the calls of so many */
	if (t->nbelow == MAX_BELOW)
		return false;
	switch (nodeTag(node))
	{
		case T_AppendState:
			if (((const AppendState *) node)->as_nasyncplans > 0)
				return false;
			break;
		case T_MergeAppendState:	/* in the same call, or the one before */
		case T_SubqueryScanState:
			break;
		case T_ResultState:
			if (outerPlanState(node) == NULL || ((const ResultState *) node)->resconstantqual != NULL)
				return false;
			break;
		default:
			return false;
	}
	for (const NodeTiming *c = t->child; c != NULL; c = c->sibling)
	{
		if (c->kind != NODE_SAMPLED || c->loop_kind != DRAINED ||
			!(are_alike(c) || c->passes_on))
			return false;
	}
	return has_one_loop(t);
}

typedef struct Collection
{
	QueryTiming *query;
	NodeTiming *parent;
	int			highest_id;
	int			nworkers;
} Collection;

static bool
find_extent(PlanState *node, void *context)
{
	Collection *collection = context;

	collection->highest_id = Max(collection->highest_id, node->plan->plan_node_id);
	if (IsA(node->plan, Gather))
		collection->nworkers = Max(collection->nworkers, ((Gather *) node->plan)->num_workers);
	if (IsA(node->plan, GatherMerge))
		collection->nworkers = Max(collection->nworkers, ((GatherMerge *) node->plan)->num_workers);
	return planstate_tree_walker(node, find_extent, context);
}

/* Which copy stands before this function: the last ones share one. */
static int
copy_before(QueryTiming *query, ExecProcNodeMtd function)
{
	int			i = 0;

	while (i < query->nfunctions && query->functions[i] != function)
		i++;
	if (i == CALL_COPIES)
		return i - 1;
	if (i == query->nfunctions)
		query->functions[query->nfunctions++] = function;
	return i;
}

/* Called when the query's memory goes, after an error, too. */
static void
end_timing(void *arg)
{
	const QueryTiming *query = arg;

	live_timings--;
	for (int i = 0; i < CALL_COPIES; i++)
		countdown_taken[i] &= !query->has_countdown[i];
	if (timed_in_worker == query)
		timed_in_worker = NULL;
}

/*
 * Counts a node's calls down, if it has one loop, and a countdown is free.  Not
 * below a Merge Append, which calls now this node and now that from the same place:
 * where that goes cannot be foretold if each has code of its own.
 */
static void
take_countdown(NodeTiming *t)
{
	if (t->passes_on || instr_needs_usage(&t->instr) || t->node->plan->parallel_aware ||
		(t->parent != NULL && IsA(t->parent->node, MergeAppendState)) || !has_one_loop(t))
		return;
	for (int i = 0; i < CALL_COPIES; i++)
	{
		if (countdown_taken[i])
			continue;
		countdown_taken[i] = true;
		t->query->has_countdown[i] = true;
		t->countdown = &countdowns[i];
		*t->countdown = 0;
		t->counted_call = (is_drained(t) ? drained_countdown_calls : sampled_countdown_calls)[i];
		return;
	}
}

/* Where a node's timing is. */
static NodeTiming *
timing_of(const QueryTiming *query, int id)
{
	return (NodeTiming *) (query->timings + NODE_STRIDE * id);
}

static bool
take_node(PlanState *node, void *context)
{
	Collection *collection = context;
	Collection	below = *collection;
	QueryTiming *query = collection->query;
	int			id = node->plan->plan_node_id;
	NodeTiming *t;

	/* a subplan may be referred to more than once */
	if (id < 0 || id >= query->nnodes || query->nodes[id] != NULL)
		return false;

	t = timing_of(query, id);
	query->nodes[id] = t;
	t->id = id;
	t->place = query->nplaces++;
	t->query = query;
	t->node = node;
	t->kind = node_kind(node);
	if (IsA(node, CteScanState))
	{
		*query->last_cte_scan = t;
		query->last_cte_scan = &t->next_cte_scan;
	}
	t->parent = collection->parent;
	if (t->parent != NULL)
	{
		/* an InitPlan is executed by whichever node first needs what it gives */
		if (subplan_among(t->parent->node->initPlan, node) != NULL)
			t->dynamic = true;
		t->sibling = t->parent->child;
		t->parent->child = t;
	}
	t->sampling = query->options.sampling;
	/* now and then they wait for others, which a sample of few calls misses */
	if (gathers(node))
		t->sampling = Min(t->sampling, GATHER_SAMPLING);
	if (node->instrument != NULL)
		t->instr = *node->instrument;

	if (query->options.only_node < 0 || query->options.only_node == id)
	{
		node->instrument = &t->instr;
		/* see resumed_call() */
		if (query->options.sampling > 0 &&
			(t->kind == NODE_WHOLE ||
			 (t->kind == NODE_SAMPLED && IsA(node, HashJoinState) && node->plan->parallel_aware)))
			instr_set_need_timer(&t->instr, true);
	}
	else
		t->kind = NODE_UNTIMED;

	below.parent = t;
	return planstate_tree_walker(node, take_node, &below);
}

/* Puts functions of ours before all nodes', knowing now which of them are drained. */
static void
take_all_calls(QueryTiming *query)
{
	bool		changed;

	do
	{
		changed = false;
		for (int id = 0; id < query->nnodes; id++)
		{
			NodeTiming *t = query->nodes[id];
			LoopKind	kind = t == NULL ? NOT_DRAINED : kind_of_loops(t, t->node);

			CHECK_FOR_INTERRUPTS();
			if (t == NULL || kind == t->loop_kind)
				continue;
			t->loop_kind = kind;
			changed = true;
		}
	} while (changed);

	/* a node's id is lower than those of the nodes below it */
	for (int id = query->nnodes - 1; id >= 0; id--)
	{
		NodeTiming *t = query->nodes[id];

		if (t == NULL || t->kind != NODE_SAMPLED)
			continue;
		t->passes_on = is_passing_on(t);
		t->counted_call = (is_drained(t) ? drained_calls : sampled_calls)
			[copy_before(query, t->node->ExecProcNodeReal)];
		take_countdown(t);
		t->call = instr_needs_usage(&t->instr) ? sampled_call_with_usage : t->counted_call;
		take_hold(t);
	}
}

/*
 * A node's calls go with what those above take: with all of them, as a rare
 * long call may be one of a node further down.
 */
static void
put_below(NodeTiming *t, NodeTiming *above)
{
	for (; above != NULL; above = above->parent)
	{
		bool		known = above == t;

		for (int i = 0; i < above->nbelow; i++)
			known |= above->below[i] == t;
		if (known || above->nbelow == MAX_BELOW)
			continue;
		if (above->below == NULL)
			above->below = palloc(sizeof(NodeTiming *) * MAX_BELOW);
		above->below[above->nbelow++] = t;
	}
}

/*
 * The same for all nodes.  A CTE is called by the node that scans it; if there
 * are several, none can tell what the others have called.
 */
static void
put_all_below(QueryTiming *query)
{
	for (int id = 0; id < query->nnodes; id++)
	{
		NodeTiming *t = query->nodes[id];

		if (t != NULL && t->kind == NODE_SAMPLED)
			put_below(t, t->parent);
	}
	for (NodeTiming *t = query->cte_scans; t != NULL; t = t->next_cte_scan)
	{
		PlanState  *cte;
		NodeTiming *called;

		CHECK_FOR_INTERRUPTS();
		if (t->kind != NODE_SAMPLED)
			continue;
		cte = ((CteScanState *) t->node)->cteplanstate;
		called = cte == NULL ? NULL : query->nodes[cte->plan->plan_node_id];
		if (called == NULL || cte_scan(query, cte) != t)
			continue;
		put_below(called, t);
		for (int i = 0; i < called->nbelow; i++)
			put_below(called->below[i], t);
	}
}

/* The plan's nodes. */
static QueryTiming *
take_nodes(QueryDesc *desc, const NodeTimingOptions *options, int *nworkers)
{
	MemoryContext old = MemoryContextSwitchTo(desc->estate->es_query_cxt);
	QueryTiming *query = palloc0(sizeof(QueryTiming));
	Collection	collection = {.query = query};

	query->desc = desc;
	query->options = *options;
	query->last_cte_scan = &query->cte_scans;
	query->context = CurrentMemoryContext;
	query->fixed = options->sampling == 1;
	(void) find_extent(desc->planstate, &collection);
	query->nnodes = collection.highest_id + 1;
	query->nodes = palloc0(sizeof(NodeTiming *) * query->nnodes);
	query->timings = (char *) CACHELINEALIGN(palloc0(NODE_STRIDE * query->nnodes + PG_CACHE_LINE_SIZE));
	query->at_end.func = end_timing;
	query->at_end.arg = query;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &query->at_end);
	live_timings++;
	(void) take_node(desc->planstate, &collection);
	query->root = query->nodes[desc->planstate->plan->plan_node_id];
	query->nspare = Min(query->nplaces, SPARE_SAMPLES);
	query->spare = palloc0(sizeof(NodeSamples) * query->nspare);
	put_all_below(query);
	take_all_calls(query);
	*nworkers = collection.nworkers;
	MemoryContextSwitchTo(old);
	return query;
}

/*
 * Whether a statement may have a trigger fire.  (An UPDATE that moves a row to
 * another partition deletes and inserts it.)
 */
static bool
may_fire(const ModifyTable *plan, const Trigger *trigger)
{
	if (trigger->tgenabled == TRIGGER_DISABLED)
		return false;
	switch (plan->operation)
	{
		case CMD_INSERT:
			return TRIGGER_FOR_INSERT(trigger->tgtype) ||
				(plan->onConflictAction == ONCONFLICT_UPDATE && TRIGGER_FOR_UPDATE(trigger->tgtype));
		case CMD_DELETE:
			return TRIGGER_FOR_DELETE(trigger->tgtype);
		default:
			return true;
	}
}

/*
 * Puts sampled_trigger() before a trigger's function.  The server would look the
 * function up when it fires first; but how it is to be tracked by
 * pg_stat_user_functions is asked for before anything of ours is called, so that it
 * is to be known now.  A function is there as long as its trigger is: the lookup
 * fails where a firing would fail as well.
 */
static void
take_trigger(QueryTiming *query, PlanState *node, const Trigger *trigger,
			 FmgrInfo *function, CompatTriggerInstrumentation *instr)
{
	SampledTrigger *sampled = palloc0(sizeof(SampledTrigger));
	NodeTiming *t = &sampled->timing;

	t->query = query;
	t->node = node;
	t->kind = NODE_SAMPLED;
	t->sampling = query->options.sampling;
	begin_samples(t);
	t->begun = true;
	draw_later(t);

	fmgr_info_cxt(trigger->tgfoid, &sampled->function, CurrentMemoryContext);
	*function = sampled->function;
	function->fn_addr = sampled_trigger;
	function->fn_extra = sampled;
	sampled->instr = instr;
	trigger_set_need_timer(instr, false);
	sampled->next = query->triggers;
	query->triggers = sampled;
}

/*
 * A relation's triggers.  Those that are not taken are timed by the server; and so
 * are all where calls are only counted, since other runs tell the nodes' times.
 */
static void
take_triggers_of(QueryTiming *query, ModifyTableState *state, ResultRelInfo *relation)
{
	const ModifyTable *plan = (const ModifyTable *) state->ps.plan;

	for (int i = 0; relation->ri_TrigInstrument != NULL &&
		 i < relation->ri_TrigDesc->numtriggers; i++)
	{
		const Trigger *trigger = &relation->ri_TrigDesc->triggers[i];
		FmgrInfo   *function = &relation->ri_TrigFunctions[i];

		if (query->options.sampling > 0 && query->options.only_node < 0 &&
			function->fn_oid == InvalidOid && may_fire(plan, trigger))
			take_trigger(query, &state->ps, trigger, function, &relation->ri_TrigInstrument[i]);
		else
			trigger_set_need_timer(&relation->ri_TrigInstrument[i], true);
	}
}

/*
 * Those of all relations that are written to.  Others, of partitions that are
 * opened when a row is to go there, and for what fires after rows of any
 * partition, the server makes while it is at work: they are only counted.
 */
static void
take_triggers(QueryTiming *query)
{
	MemoryContext old = MemoryContextSwitchTo(query->desc->estate->es_query_cxt);

	for (int id = 0; id < query->nnodes; id++)
	{
		ModifyTableState *state;

		if (query->nodes[id] == NULL || !IsA(query->nodes[id]->node, ModifyTableState))
			continue;
		state = (ModifyTableState *) query->nodes[id]->node;
		for (int i = 0; i < state->mt_nrels; i++)
			take_triggers_of(query, state, &state->resultRelInfo[i]);
		if (state->rootResultRelInfo != state->resultRelInfo)
			take_triggers_of(query, state, state->rootResultRelInfo);
	}
	MemoryContextSwitchTo(old);
}

static uint32
text_hash(const char *text)
{
	uint32		hash = 2166136261u;

	/* FNV-1a */
	for (; *text != '\0'; text ++)
		hash = (hash ^ (unsigned char) *text) *16777619u;
	return hash;
}

/* Tells parallel workers what to do, and where to put what comes out. */
static void
share(QueryTiming *query, int nworkers)
{
	Size		size = offsetof(SharedTiming, records) +
		sizeof(NodeRecord) * (Size) query->nnodes * (Size) nworkers;
	char		value[32];

	/* the query has to go on where there is no room for another one */
	query->segment = dsm_create(size, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	query->workers_untimed = query->segment == NULL;
	if (query->workers_untimed)
		return;
	query->shared = dsm_segment_address(query->segment);
	memset(query->shared, 0, size);
	query->shared->magic = SHARED_MAGIC;
	query->shared->sampling = query->options.sampling;
	query->shared->only_node = query->options.only_node;
	query->shared->nnodes = query->nnodes;
	query->shared->nworkers = nworkers;
	query->shared->text_hash = text_hash(query->desc->sourceText);
	query->shared->cost = query->cost;
	query->shared->by_tsc = by_tsc;
	query->shared->ticks_per_ns = query->ticks_per_ns;

	query->guc_nest_level = NewGUCNestLevel();
	snprintf(value, sizeof(value), "%u", dsm_segment_handle(query->segment));
	(void) set_config_option("clocktiming.worker_timing", value, PGC_SUSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}


/* Limits of durations, in ticks. */
static void
set_limits(QueryTiming *query)
{
	query->expensive_ticks = query->cost.timed_ns / AFFORDABLE * query->ticks_per_ns;
	query->long_ticks = LONG_CALL_NS * query->ticks_per_ns;
}

static TupleTableSlot dummy_slot;

static TupleTableSlot *
dummy_call(PlanState *node)
{
	(void) node;
	return &dummy_slot;
}

/*
 * Not known to the compiler, which would see that no other function of this file
 * ever is a node's, and compare each node's with it at each call.
 */
static volatile ExecProcNodeMtd dummy_function = dummy_call;

/* Ticks that calling takes. */
static double
calling_ticks(PlanState *node, ExecProcNodeMtd call)
{
	uint64		start;

	node->ExecProcNode = call;
	start = now_ticks();
	for (int i = 0; i < CALIBRATION_CALLS; i++)
		(void) ExecProcNode(node);
	return (double) (int64) (now_ticks() - start);
}

/* A fresh node whose calls do nothing. */
static void
init_dummy(QueryTiming *query, NodeTiming *t, NodeSamples *samples, PlanState *node, int gap)
{
	memset(query, 0, sizeof(QueryTiming));
	memset(t, 0, sizeof(NodeTiming));
	memset(samples, 0, sizeof(NodeSamples));
	t->samples = samples;
	memset(node, 0, sizeof(PlanState));
	t->query = query;
	t->begun = true;
	t->counted_call = sampled_calls[0];
	t->instr.running = true;
	query->long_ticks = LONG_CALL_NS;
	query->fixed = true;
	set_gap(&t->samples->later, gap);
	draw_later(t);
	node->instrument = &t->instr;
	node->ExecProcNodeReal = dummy_function;
}

/* The mean of later calls that were timed, and how many they are. */
static double
mean_ticks(NodeTiming *t, double *n)
{
	const CallClass *class = &t->samples->later;

	add_samples(t, &t->samples->later);
	*n = (double) Max(class->all_timed + class->drawn.now.timed, 1);
	return (class->all_timed_sum + class->drawn_sum) / *n;
}

/*
 * What calls that are counted and timed cost: calls of a node that does
 * nothing, by turns with calls that are neither.  One in "gap" is timed: each
 * costs less if all are.
 */
static CallCost
calibrate(int gap, double *ticks_per_ns)
{
	double		direct[CALIBRATION_ROUNDS];
	double		counted[CALIBRATION_ROUNDS];
	double		drained[CALIBRATION_ROUNDS];
	double		timed[CALIBRATION_ROUNDS];
	double		inside[CALIBRATION_ROUNDS];
	double		dense[CALIBRATION_ROUNDS];	/* the same if all are timed */
	double		dense_outside[CALIBRATION_ROUNDS];
	double		outside[CALIBRATION_ROUNDS];
	double		whole[CALIBRATION_ROUNDS];
	double		server[CALIBRATION_ROUNDS];
	uint64		start_ns = reference_ns();
	uint64		start_ticks = now_ticks();
	double		tick_ns;
	double		direct_ticks;
	CallCost	cost;

	for (int i = 0; i < CALIBRATION_ROUNDS; i++)
	{
		QueryTiming query;
		NodeTiming	t;
		NodeSamples samples;
		PlanState	node;
		uint64		start;
		double		ntimed;

		CHECK_FOR_INTERRUPTS();
		if (i % 2 == 0)
			yardstick_take(1);
		init_dummy(&query, &t, &samples, &node, 0);
		direct[i] = calling_ticks(&node, dummy_call) / CALIBRATION_CALLS;
		counted[i] = calling_ticks(&node, sampled_calls[0]) / CALIBRATION_CALLS;
		drained[i] = calling_ticks(&node, drained_calls[0]) / CALIBRATION_CALLS;

		init_dummy(&query, &t, &samples, &node, gap);
		timed[i] = calling_ticks(&node, sampled_calls[0]) - counted[i] * CALIBRATION_CALLS;
		inside[i] = mean_ticks(&t, &ntimed);
		timed[i] /= ntimed;
		init_dummy(&query, &t, &samples, &node, 1);
		t.watch_outside = true;
		(void) calling_ticks(&node, sampled_calls[0]);
		dense[i] = mean_ticks(&t, &ntimed);
		dense_outside[i] = t.outside_sum / (double) Max(t.outside_n, 1);

		init_dummy(&query, &t, &samples, &node, gap);
		t.watch_outside = true;
		(void) calling_ticks(&node, sampled_calls[0]);
		outside[i] = t.outside_sum / (double) Max(t.outside_n, 1);

		memset(&t.instr, 0, sizeof(t.instr));
		instr_set_need_timer(&t.instr, true);
		start = now_ticks();
		for (int j = 0; j < CALIBRATION_GAP; j++)
		{
			InstrStartNode(&t.instr);
			InstrStopNode(&t.instr, 0);
		}
		server[i] = (double) (int64) (now_ticks() - start) / CALIBRATION_GAP;
		whole[i] = instr_counter_ns(&t.instr) / CALIBRATION_GAP;
	}
	tick_ns = 1;
	if (by_tsc)
		tick_ns = (double) (reference_ns() - start_ns) /
			Max((double) (int64) (now_ticks() - start_ticks), 1);
	*ticks_per_ns = 1 / tick_ns;

	direct_ticks = stats_min(direct, CALIBRATION_ROUNDS);
	cost.counted_ns = (stats_min(counted, CALIBRATION_ROUNDS) - direct_ticks) * tick_ns * VISIBLE;
	cost.drained_ns = (stats_min(drained, CALIBRATION_ROUNDS) - direct_ticks) * tick_ns * VISIBLE;
	cost.timed_ns = cost.counted_ns + stats_median(timed, CALIBRATION_ROUNDS) * tick_ns;

	/*
	 * Where one in many is timed, branches may be mispredicted within it,
	 * here or in a query: in some sessions only, and by more than a reading
	 * costs.
	 */
	cost.inside_ns = Min(stats_median(inside, CALIBRATION_ROUNDS),
						 stats_median(dense, CALIBRATION_ROUNDS));
	cost.inside_ns = (cost.inside_ns - direct_ticks) * tick_ns;
	cost.outside_ns = Min(stats_median(outside, CALIBRATION_ROUNDS),
						  stats_median(dense_outside, CALIBRATION_ROUNDS));
	cost.outside_ns = (cost.outside_ns - direct_ticks) * tick_ns;
	cost.whole_ns = stats_median(whole, CALIBRATION_ROUNDS);
	cost.server_ns = stats_median(server, CALIBRATION_ROUNDS) * tick_ns;
	cost.counted_ns = Max(cost.counted_ns, 0);
	cost.drained_ns = Max(cost.drained_ns, 0);
	cost.inside_ns = Max(cost.inside_ns, 0);
	cost.outside_ns = Max(cost.outside_ns, 0);
	cost.timed_ns = Max(cost.timed_ns, cost.inside_ns);
	cost.error_ns = cost.inside_ns / 2;
	elog(DEBUG1, "calls timed by %s, one in %d: %.2f ns counted, %.2f drained, %.2f timed, %.2f inside, %.2f outside; %.2f by the server, %.2f inside; direct %.2f",
		 by_tsc ? "RDTSC" : SYSTEM_CLOCK_NAME, gap, cost.counted_ns, cost.drained_ns, cost.timed_ns,
		 cost.inside_ns, cost.outside_ns, cost.server_ns, cost.whole_ns,
		 direct_ticks * tick_ns);
	return cost;
}

/* The same, which is kept for a while. */
static const CallCost *
call_cost(double *ticks_per_ns, bool all)
{
	static CallCost costs[2];
	static double kept_ticks_per_ns[2];
	static uint64 calibrated_ns[2] = {0, 0};
	static bool calibrated_tsc[2];

	if (calibrated_ns[all] == 0 || calibrated_tsc[all] != by_tsc ||
		reference_ns() - calibrated_ns[all] > CALIBRATION_AGE_NS)
	{
		costs[all] = calibrate(all ? 1 : CALIBRATION_GAP, &kept_ticks_per_ns[all]);
		calibrated_ns[all] = reference_ns();
		calibrated_tsc[all] = by_tsc;
	}
	*ticks_per_ns = kept_ticks_per_ns[all];
	return &costs[all];
}

void
node_timing_prepare(const NodeTimingOptions *options)
{
	double		ticks_per_ns;

	prepare_random();
	choose_clock();
	(void) call_cost(&ticks_per_ns, options->sampling == 1);
	yardstick_take(YARDSTICKS);
}

QueryTiming *
node_timing_attach(QueryDesc *desc, const NodeTimingOptions *options)
{
	QueryTiming *query;
	int			nworkers;

	prepare_random();
	choose_clock();
	query = take_nodes(desc, options, &nworkers);
	query->cost = *call_cost(&query->ticks_per_ns, options->sampling == 1);
	set_limits(query);
	take_triggers(query);
	if (query->root->kind == NODE_SAMPLED)
		query->root->watch_outside = true;
	if (nworkers > 0)
		share(query, nworkers);
	return query;
}

/* For how long others have had the processor, of the run. */
static Preempted
preempted(const QueryTiming *query)
{
	return preempted_between(&query->start_usage, &query->stop_usage,
							 (double) (query->stop_ns - query->start_ns));
}

/* The same in proportion to the rest. */
static double
preempted_share(const QueryTiming *query)
{
	return preempted(query).share;
}

void
node_timing_start(QueryTiming *query)
{
	query->start_usage = cpu_usage_before();
	query->start_ns = reference_ns();
	query->start_ticks = now_ticks();
}

void
node_timing_ran(QueryTiming *query)
{
	query->ran_ticks = now_ticks();
}

void
node_timing_stop(QueryTiming *query)
{
	query->stop_ticks = now_ticks();
	query->stop_ns = reference_ns();
	query->stop_usage = cpu_usage_after();
}

/* Of this very run, if it was long enough to tell. */
static double
ns_per_tick(const QueryTiming *query)
{
	double		ticks = (double) (int64) (query->stop_ticks - query->start_ticks);
	double		ns = (double) (query->stop_ns - query->start_ns);

	if (!by_tsc)
		return 1;
	if (ns >= LONG_RUN_NS && ticks > 0)
		return ns / ticks;
	return 1 / query->ticks_per_ns;
}

/* How many turns of others fall into what has taken so long by itself. */
static double
expected_turns(const QueryTiming *query, double ticks)
{
	Preempted	others = preempted(query);
	double		by_itself = others.run_ns - others.ns;

	if (others.ns <= 0 || by_itself <= 0)
		return 0;
	return others.turns * Max(ticks, 0) * ns_per_tick(query) / by_itself;
}

/*
 * Closes a class.  If none was timed of a few calls after those that all were,
 * they are taken to be like them.
 */
static void
end_class(NodeTiming *t, CallClass *class)
{
	CallSeries *drawn = &class->drawn;
	const CallStratum *known = &t->samples->known_calls;

	add_samples(t, class);
	change_gap(t, class, 1);
	drawn->disturbances = expected_turns(t->query, class->drawn_sum - drawn->long_sum);
	call_series_end(drawn);
	if (drawn->timed == 0 && drawn->calls > 0 && class->all_timed > 0)
	{
		double		calls = (double) drawn->calls;
		double		ticks = class->all_timed_sum / (double) class->all_timed * calls;

		drawn->total += ticks;
		drawn->variance += ticks * ticks / 4;
		for (int i = 0; i < N_BELOW; i++)
			drawn->expected[i] += known->below_sum[i] / (double) Max(known->timed, 1) * calls;
	}
}

/* Both classes, of calls that were not all timed. */
static CallSeries
end_classes(NodeTiming *t)
{
	CallsBelow	below = calls_below(t);
	CallSeries	drawn;

	end_class(t, &t->samples->first);
	end_class(t, &t->samples->later);
	for (int i = 0; i < N_BELOW; i++)
		below.n[i] -= (int64) t->samples->known_calls.below_sum[i];
	drawn = t->samples->later.drawn;
	call_series_join(&drawn, &t->samples->first.drawn);
	call_series_regress(&drawn, &t->samples->known_calls, &below);
	return drawn;
}

/* Rows that a node has returned. */
static double
returned_rows(const NodeTiming *t)
{
	return (double) (all_calls(t) - (t->loop_kind == DRAINED ? t->first_calls : t->ends));
}

/* Whether it may do so: see the next. */
static bool
counts_by_itself(const NodeTiming *t)
{
	return IsA(t->node, ForeignScanState) || IsA(t->node, CustomScanState);
}

/*
 * Rows that whoever implements a scan has counted in the server's instrumentation
 * itself, since it does not return them: those that a foreign server has changed
 * without handing them out.  Where loops are not told apart, none of theirs has
 * ended.
 */
static double
provided_rows(const NodeTiming *t)
{
	return counts_by_itself(t) ? t->instr.ntuples + t->instr.tuplecount : 0;
}

/* Its loops. */
static double
loops_of(const NodeTiming *t)
{
	if (t->loop_kind == MATCHED)
	{
		const PlanState *outer = outerPlanState(t->parent->node);

		return returned_rows(t->query->nodes[outer->plan->plan_node_id]);
	}
	return (double) t->first_calls - t->calls_again;
}

/* Adds what this process has counted and timed to a record. */
static void
put_record(NodeTiming *t, double scale, double share, NodeRecord *record)
{
	Preempted	others = preempted(t->query);
	CallSeries	drawn;
	double		drawn_ns;
	double		known_ns;
	double		first_ns;

	t->calls = counted_calls(t);
	if (t->countdown != NULL)
		*t->countdown = 0;
	if (t->instr.running)
		end_loop(t);
	InstrEndLoop(&t->instr);

	/*
	 * A parallel Hash Join of which nothing else was touched, so that nobody
	 * saw its function exchanged: the server has counted and timed its calls.
	 */
	if (t->query->desc->instrument_options == 0 && t->kind == NODE_SAMPLED &&
		!t->begun && t->instr.nloops > 0)
	{
		record->calls += (int64) (t->instr.ntuples + t->instr.nloops);
		record->timed += (int64) (t->instr.ntuples + t->instr.nloops);
		record->rows += t->instr.ntuples;
		record->loops += t->instr.nloops;
		record->total_ns += instr_total_s(&t->instr) * 1e9;
		record->first_ns += instr_startup_s(&t->instr) * 1e9;
		return;
	}
	if (t->kind == NODE_SAMPLED && !t->begun)
		return;
	if (t->kind == NODE_WHOLE)
	{
		double		ns = instr_total_s(&t->instr) * 1e9;

		record->calls += (int64) t->instr.nloops;
		record->timed += (int64) t->instr.nloops;
		record->rows += t->instr.ntuples;
		record->loops += t->instr.nloops;
		record_add_times(record, t->instr.nloops, t->instr.nloops, ns, 0, 0, ns,
						 t->query->cost.whole_ns, &others);
		return;
	}
	record->removed[0] += t->instr.nfiltered1;
	record->removed[1] += t->instr.nfiltered2;
	drawn = end_classes(t);
	record->calls += all_calls(t);
	record->uncounted += all_calls(t) - t->calls;
	record->timed += t->samples->first.all_timed + t->samples->later.all_timed + drawn.timed;
	record->rows += returned_rows(t) + provided_rows(t);
	record->loops += loops_of(t);
	known_ns = scale * t->known + scale * drawn.measured;
	drawn_ns = scale * (drawn.total - drawn.measured);
	first_ns = scale * t->samples->first.all_timed_sum;
	if (t->samples->first.drawn.timed > 0)
		first_ns += scale * t->samples->first.drawn_sum *
			(double) t->samples->first.drawn.calls / (double) t->samples->first.drawn.timed;
	if (t->loop_kind == MATCHED && t->calls > 0)
		first_ns += (known_ns + drawn_ns * (1 + share)) * Min(loops_of(t) / (double) t->calls, 1);
	record_add_times(record, (double) all_calls(t), loops_of(t), known_ns, drawn_ns,
					 scale * scale * drawn.variance, first_ns, t->query->cost.inside_ns, &others);
}

static void
show_to_server(CompatNodeInstrumentation *instr, double rows, double loops,
			   double first_ns, double total_ns)
{
	instr->ntuples = rows;
	instr->nloops = loops;
	instr_set_times(instr, first_ns / 1e9, total_ns / 1e9);
}

static void
release(QueryTiming *query)
{
	if (query->guc_nest_level != 0)
		AtEOXact_GUC(true, query->guc_nest_level);
	query->guc_nest_level = 0;
	if (query->segment != NULL)
		dsm_detach(query->segment);
	query->segment = NULL;
}

/*
 * Where the server itself counts, it has added up its workers by now, which have
 * counted so much.
 */
static void
take_off_worker(const NodeTiming *t, const NodeRecord *worker, NodeRecord *leader)
{
	if (t->kind == NODE_WHOLE)
	{
		leader->calls -= worker->calls;
		leader->timed -= worker->timed;
		leader->rows -= worker->rows;
		leader->loops -= worker->loops;
		leader->total_ns -= worker->total_ns;
		leader->first_ns -= worker->first_ns;
	}
	else if (counts_by_itself(t))
		leader->rows -= worker->rows;
}

/* A node that is not timed: what the server has counted, if it has. */
static void
put_untimed(CompatNodeInstrumentation *instr, NodeEstimate *estimate)
{
	if (instr == NULL)
		return;
	InstrEndLoop(instr);
	estimate->leader.rows = instr->ntuples;
	estimate->leader.loops = instr->nloops;
}

/* Workers in which a node is not timed: what the server has counted there. */
static void
put_untimed_workers(const NodeTiming *t, NodeEstimate *estimate)
{
	const		CompatWorkerInstrumentation *workers = t->node->worker_instrument;
	bool		timed;

	for (int i = 0; workers != NULL && i < workers->num_workers; i++)
	{
		NodeRecord	worker = {
			.rows = workers->instrument[i].ntuples,
			.loops = workers->instrument[i].nloops
		};

		if (worker.loops <= 0 ||
			(estimate->workers != NULL && i < t->query->shared->nworkers && estimate->workers[i].loops > 0))
			continue;
		if (t->kind == NODE_WHOLE)
			worker.calls = worker.timed = (int64) worker.loops;
		take_off_worker(t, &worker, &estimate->leader);
		estimate->untimed_rows += worker.rows;
		estimate->untimed_loops += worker.loops;
	}
	timed = estimate->leader.loops > 0;
	for (int i = 0; estimate->workers != NULL && i < t->query->shared->nworkers; i++)
		timed |= estimate->workers[i].loops > 0;
	if (!timed && estimate->untimed_loops > 0)
	{
		estimate->kind = NODE_UNTIMED;
		estimate->leader.rows = estimate->untimed_rows;
		estimate->leader.loops = estimate->untimed_loops;
		estimate->untimed_rows = estimate->untimed_loops = 0;
	}
}

static void
put_estimate(QueryTiming *query, NodeTiming *t, double scale, double share,
			 NodeEstimate *estimate)
{
	SharedTiming *shared = query->shared;

	estimate->id = t->id;
	estimate->parent = t->parent == NULL ? -1 : t->parent->place;
	estimate->gathers = gathers(t->node);
	estimate->kind = t->kind;
	estimate->drained = is_drained(t);
	if (t->kind == NODE_UNTIMED)
	{
		put_untimed(t->node->instrument, estimate);
		return;
	}
	put_record(t, scale, share, &estimate->leader);
	if (shared != NULL)
		estimate->workers = palloc(sizeof(NodeRecord) * shared->nworkers);
	for (int i = 0; shared != NULL && i < shared->nworkers; i++)
	{
		NodeRecord *record = &shared->records[(Size) i * shared->nnodes + t->id];

		estimate->workers[i] = *record;
		t->instr.nfiltered1 += record->removed[0];
		t->instr.nfiltered2 += record->removed[1];
		if (query->desc->instrument_options != 0)
			take_off_worker(t, record, &estimate->leader);
	}
	put_untimed_workers(t, estimate);
}

/* Of the nodes that scan this CTE the one that has taken longest. */
static int
longest_cte_scan(const QueryTiming *query, const PlanEstimate *plan, const PlanState *cte)
{
	int			longest = -1;

	for (const NodeTiming *t = query->cte_scans; t != NULL; t = t->next_cte_scan)
	{
		if (((const CteScanState *) t->node)->cteplanstate == cte &&
			(longest < 0 || plan->nodes[t->place].leader.total_ns > plan->nodes[longest].leader.total_ns))
			longest = t->place;
	}
	return longest;
}

/*
 * A CTE is called by the nodes that scan it, wherever EXPLAIN shows it.  Of several
 * the one that takes longest is taken to have made all the calls, not the
 * first one, which may have read a single row and left the rest to others.  One
 * that modifies data and may not be read to its end is called again when all
 * is done, which is in no node.
 */
void
node_timing_choose_cte_parents(const QueryTiming *query, PlanEstimate *plan)
{
	for (const NodeTiming *t = query->cte_scans; t != NULL; t = t->next_cte_scan)
	{
		const NodeTiming *only_scan;
		const NodeTiming *called;
		PlanState  *cte;

		CHECK_FOR_INTERRUPTS();
		cte = ((CteScanState *) t->node)->cteplanstate;
		called = cte == NULL ? NULL : query->nodes[cte->plan->plan_node_id];
		if (called == NULL)
			continue;
		only_scan = cte_scan(query, cte);
		if (IsA(cte, ModifyTableState) && (only_scan == NULL || only_scan->loop_kind != DRAINED))
			plan->nodes[called->place].parent = -1;
		else
			plan->nodes[called->place].parent = longest_cte_scan(query, plan, cte);
	}
}

/*
 * What is outside of the root's calls: what comes before the first and after
 * the last, as far as these were timed, which is where workers end and triggers
 * fire; and what is between them.
 */
static void
estimate_outside(const QueryTiming *query, PlanEstimate *plan, double scale, double share)
{
	const NodeTiming *root = query->root;
	double		calls = (double) root->calls;
	double		n = (double) root->outside_n;
	double		ends = (double) (query->stop_ticks - query->ran_ticks);
	double		mean;
	double		square;

	if (root->started > query->start_ticks)
		ends += (double) (root->started - query->start_ticks);
	if (root->returned_last != 0 && query->ran_ticks > root->returned_last)
		ends += (double) (query->ran_ticks - root->returned_last);
	plan->outside_ns = (ends + root->outside_long) * scale;
	plan->outside_variance = 0;
	if (n < 1 || calls < 2)
		return;
	mean = root->outside_sum / n;
	square = n < 2 ? mean * mean : Max(root->outside_sum_sq - n * mean * mean, 0) / (n - 1);
	plan->outside_ns += Max((mean * scale - query->cost.outside_ns) * (calls - 1), 0) *
		(1 + share);
	plan->outside_variance = calls * calls * square * scale * scale / n +
		pow(query->cost.error_ns / 2 * calls, 2);
}

/* Tells the server what triggers' firings have taken, without what timing costs. */
static void
show_triggers(const QueryTiming *query, double scale, double share)
{
	for (SampledTrigger *trigger = query->triggers; trigger != NULL; trigger = trigger->next)
	{
		NodeRecord	record = {0};

		put_record(&trigger->timing, scale, share, &record);
		record.total_ns -= (double) record.calls * query->cost.inside_ns;
		trigger_set_total(trigger->instr, Max(record.total_ns, 0) / 1e9);
	}
}

static void
check_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

PlanEstimate *
node_timing_detach(QueryTiming *query)
{
	PlanEstimate *plan = palloc0(sizeof(PlanEstimate));
	double		scale = ns_per_tick(query);
	double		share = preempted_share(query);
	double		deviation;

	plan->nnodes = query->nplaces;
	plan->nworkers = query->shared == NULL ? 0 : query->shared->nworkers;
	plan->nodes = palloc0(sizeof(NodeEstimate) * plan->nnodes);
	plan->nids = query->nnodes;
	plan->places = palloc(sizeof(int) * plan->nids);
	plan->cost = query->cost;
	/* others have the processor while calls are timed, as well */
	plan->cost.timed_ns *= 1 + share;
	plan->cost.counted_ns *= 1 + share;
	plan->cost.drained_ns *= 1 + share;
	plan->cost.server_ns *= 1 + share;
	plan->cost.error_ns *= 1 + share;
	plan->clock = by_tsc ? "RDTSC" : SYSTEM_CLOCK_NAME;
	plan->run_ns = (double) (query->stop_ns - query->start_ns);
	plan->preempted_ns = preempted(query).ns;
	yardstick_take(YARDSTICKS);
	deviation = yardstick_deviation();
	/* a run that is longer than the machine's moods has seen several of them */
	deviation *= QUERY_DEVIATION * sqrt(MOOD_NS / (MOOD_NS + plan->run_ns));
	plan->slower = yardstick_factor();
	plan->repeatability = isnan(deviation) ? STEADY : Max(deviation, STEADY);
	for (int i = 0; i < query->nnodes; i++)
	{
		NodeTiming *t = query->nodes[i];

		plan->places[i] = t == NULL ? -1 : t->place;
		if (t != NULL)
			put_estimate(query, t, scale, share, &plan->nodes[t->place]);
	}

	show_triggers(query, scale, share);

	node_timing_choose_cte_parents(query, plan);
	estimate_outside(query, plan, scale, share);
	plan->check = check_for_interrupts;
	plan_estimate(plan, palloc(sizeof(double) * 2 * plan->nnodes));

	release(query);
	return plan;
}

int
node_estimate_place(const PlanEstimate *plan, int id)
{
	return id >= 0 && id < plan->nids ? plan->places[id] : -1;
}

NodeEstimate *
node_timing_estimate(const PlanEstimate *plan, PlanState *node)
{
	int			place = node_estimate_place(plan, node->plan->plan_node_id);

	return place < 0 ? NULL : &plan->nodes[place];
}

static bool
show_node(PlanState *node, void *context)
{
	const PlanEstimate *plan = context;
	const NodeEstimate *estimate = node_timing_estimate(plan, node);

	if (estimate != NULL && node->instrument != NULL && estimate->kind != NODE_UNTIMED)
	{
		/*
		 * of loops that were not timed it is taken that they are like the
		 * others
		 */
		double		factor = estimate->loops <= 0 ? 1 :
			(estimate->loops + estimate->untimed_loops) / estimate->loops;

		InstrEndLoop(node->instrument);
		show_to_server(node->instrument, estimate->rows + estimate->untimed_rows,
					   estimate->loops + estimate->untimed_loops,
					   estimate->first_ns * factor, estimate->total_ns * factor);
	}
	return planstate_tree_walker(node, show_node, context);
}

void
node_timing_show(QueryDesc *desc, const PlanEstimate *plan)
{
	(void) show_node(desc->planstate, unconstify(PlanEstimate *, plan));
}

/*
 * In a parallel worker: the query that the leader times, not one that a function
 * of it executes.
 */
static void
attach_in_worker(QueryDesc *desc)
{
	dsm_segment *segment = dsm_attach((dsm_handle) strtoul(worker_timing, NULL, 10));
	SharedTiming *shared;
	NodeTimingOptions options;
	int			nworkers;

	if (segment == NULL)
		return;
	shared = dsm_segment_address(segment);
	if (dsm_segment_map_length(segment) < sizeof(SharedTiming) ||
		shared->magic != SHARED_MAGIC ||
		shared->text_hash != text_hash(desc->sourceText) ||
		ParallelWorkerNumber >= shared->nworkers ||
		(shared->by_tsc && tsc_why_no_rdtsc() != NULL))
	{
		dsm_detach(segment);
		return;
	}
	prepare_random();
	by_tsc = shared->by_tsc;
	options.sampling = shared->sampling;
	options.only_node = shared->only_node;
	timed_in_worker = take_nodes(desc, &options, &nworkers);
	timed_in_worker->segment = segment;
	timed_in_worker->shared = shared;
	timed_in_worker->cost = shared->cost;
	timed_in_worker->ticks_per_ns = shared->ticks_per_ns;
	set_limits(timed_in_worker);
	node_timing_start(timed_in_worker);
}

static void
report_from_worker(QueryTiming *query)
{
	SharedTiming *shared = query->shared;
	double		scale;
	double		share;

	node_timing_stop(query);
	scale = ns_per_tick(query);
	share = preempted_share(query);
	for (int i = 0; i < Min(query->nnodes, shared->nnodes); i++)
	{
		NodeTiming *t = query->nodes[i];
		NodeRecord	record = {0};
		NodeRecord *sum = &shared->records[(Size) ParallelWorkerNumber * shared->nnodes + i];

		if (t == NULL || t->kind == NODE_UNTIMED)
			continue;
		put_record(t, scale, share, &record);
		if (query->desc->instrument_options != 0)
		{
			show_to_server(&t->instr, record.rows, record.loops,
						   record.first_ns, record.total_ns);

			/*
			 * The server adds these to the leader's as soon as Gather shuts
			 * down, which may be before the leader's estimates are made, or
			 * within a call that is timed, and a Limit above it does so.
			 */
			t->instr.nfiltered1 = 0;
			t->instr.nfiltered2 = 0;
		}
		/* workers of a Gather that is rescanned come one after the other */
		sum->calls += record.calls;
		sum->uncounted += record.uncounted;
		sum->timed += record.timed;
		sum->rows += record.rows;
		sum->loops += record.loops;
		sum->total_ns += record.total_ns;
		sum->first_ns += record.first_ns;
		sum->variance += record.variance;
		sum->removed[0] += record.removed[0];
		sum->removed[1] += record.removed[1];
	}
	release(query);
}

#if PG_VERSION_NUM >= 180000
#define EXECUTOR_RUN_PARAMETERS QueryDesc *desc, ScanDirection direction, uint64 count
#define EXECUTOR_RUN_ARGUMENTS desc, direction, count
#else
#define EXECUTOR_RUN_PARAMETERS QueryDesc *desc, ScanDirection direction, uint64 count, bool execute_once
#define EXECUTOR_RUN_ARGUMENTS desc, direction, count, execute_once
#endif

static void
timing_ExecutorRun(EXECUTOR_RUN_PARAMETERS)
{
	if (unlikely(IsParallelWorker()) && worker_timing != NULL &&
		worker_timing[0] != '\0' && timed_in_worker == NULL)
		attach_in_worker(desc);
	if (previous_ExecutorRun != NULL)
		previous_ExecutorRun(EXECUTOR_RUN_ARGUMENTS);
	else
		standard_ExecutorRun(EXECUTOR_RUN_ARGUMENTS);
}

static void
timing_ExecutorFinish(QueryDesc *desc)
{
	if (previous_ExecutorFinish != NULL)
		previous_ExecutorFinish(desc);
	else
		standard_ExecutorFinish(desc);
	if (unlikely(timed_in_worker != NULL) && timed_in_worker->desc == desc)
		report_from_worker(timed_in_worker);
}

void
node_timing_init(void)
{
	DefineCustomStringVariable("clocktiming.worker_timing",
							   "Tells parallel workers that their plan nodes are being timed.",
							   "Set by clocktiming itself while a query is executed.",
							   &worker_timing, "",
							   PGC_SUSET,
							   GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE |
							   GUC_DISALLOW_IN_FILE,
							   NULL, NULL, NULL);
	previous_ExecutorRun = ExecutorRun_hook;
	ExecutorRun_hook = timing_ExecutorRun;
	previous_ExecutorFinish = ExecutorFinish_hook;
	ExecutorFinish_hook = timing_ExecutorFinish;
}
