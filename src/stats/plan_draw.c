/*
 * Chooses the executions that are timed for the statistics of plans.
 *
 * A class consists of the executions of a query with the same type of root node.  The nodes of an
 * execution are timed with the probability p of its class.  A timed execution counts as 1/p
 * executions.  The cost of each timing is measured.  From this cost, p is chosen such that timing
 * costs clocktiming.max_overhead percent of the class's execution time.
 *
 * Setting up the timing of nodes evicts data from the processor's caches.  This slows down a short
 * execution by more than the measured cost.  Therefore most of the timed executions are timed as a
 * whole: only their duration is measured, which does not slow them down.  There are WHOLE_PER_NODES
 * of them for each execution with timed nodes.  The plan's time is the mean of their times.
 *
 * The number of executions to skip is drawn in advance, so that a skipped execution costs one
 * comparison and one decrement.  Each backend has a table of these numbers, in which a class may
 * replace another.  When the replaced class returns, its number is drawn again.  This does not
 * change the probability, because the number has a geometric distribution, which is memoryless.
 * Backends share p in shared memory.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/shmem.h"
#include "utils/guc.h"

#include "compat.h"
#include "core/random.h"
#include "core/reference.h"
#include "explain/executor_hooks.h"
#include "stats/plan_draw.h"
#include "stats/plan_store.h"

/* Numbers of classes in a backend's table and in the shared table; powers of two. */
#define SLOTS			1024
#define CLASSES			8192

/* First 1/p of a new class if timing new classes has cost too much; otherwise it is 1. */
#define NEW_GAP			64

/* A session may time new classes for this time in ns, plus max_overhead percent of its duration. */
#define NEW_ALLOWANCE_NS	5e6

/*
 * Ratio of the total cost of timing an execution to the measured cost.  The total includes the
 * slowdown of later statements by cold caches.  The ratio is a conservative guess, because an
 * execution of 5 us takes twice as long when it is timed.
 */
#define AFTER_EFFECT		2.5

/* Cost in ns of a skipped execution, measured by bench/turns.  It reduces the allowed overhead. */
#define SKIPPED_NS	60

/* Approximate cost in ns of counting a call of a node (bench/instructions). */
#define CALL_NS			2

/* Fraction of the allowed overhead that is always left for timing. */
#define LEAST_PART		0.1

#define REMEMBERED		8		/* length of a running mean, in executions */

/* Executions timed as a whole per one with timed nodes, which costs ten times as much. */
#define WHOLE_PER_NODES	8

/* Duration in ns above which all executions of a class may have their nodes timed. */
#define LONG_NS			1e7

/* Maximum of 1/p, and maximum number of executions to skip. */
#define MAX_GAP			1e6
#define MOST_SKIPPED		1e9

typedef struct DrawSlot
{
	uint64		key;			/* 0: unused */
	int32		remaining;		/* executions up to the next timed one */
	float		gap;			/* 1/p; p: probability of timing the nodes */
} DrawSlot;

typedef struct LatestMean
{
	float		n;				/* number of values, at most REMEMBERED */
	float		mean;
} LatestMean;

/* History of a class, in ns.  Separate from DrawSlot, so that more slots fit into the caches. */
typedef struct DrawHistory
{
	LatestMean	run;			/* duration of an execution */
	LatestMean	nodes_cost;		/* cost of timing its nodes */
	LatestMean	whole_cost;		/* cost of timing it as a whole */
} DrawHistory;

/*
 * A class in the shared table.  Read without a lock, so a backend may read the gap of another
 * class.  This does no harm: it only changes how often the backend times executions.
 */
typedef struct DrawClass
{
	pg_atomic_uint64 key;
	pg_atomic_uint32 gap;		/* the bits of a float */
} DrawClass;

double		max_overhead_percent = 1;

static bool track = false;
static bool track_everything = false;

static DrawClass *classes = NULL;
static DrawSlot slots[SLOTS];
static DrawHistory histories[SLOTS];
static uint64 random_state = 0;
static uint64 began_ns = 0;
static double spent_ns = 0;		/* ns spent on timing new classes */

/*
 * Returns a hash of the query id and the type of the root node.  If there is no query id, uses the
 * plan's cost instead.  Collisions do no harm: they only mean that two classes share one p.
 */
static inline uint64
class_key(const QueryDesc *desc)
{
	const Plan *plan = desc->plannedstmt->planTree;
	uint64		key = (uint64) desc->plannedstmt->queryId;

	if (unlikely(key == 0))
	{
		memcpy(&key, &plan->total_cost, sizeof(key));
		key *= UINT64CONST(0x9e3779b97f4a7c15);
	}
	return (key ^ (uint64) nodeTag(plan) << 32) | 1;
}

static inline DrawSlot *
slot_of(uint64 key)
{
	return &slots[(key >> 20) % SLOTS];
}

static inline DrawHistory *
history_of(const DrawSlot *slot)
{
	return &histories[slot - slots];
}

static DrawClass *
class_of(uint64 *key)
{
	*key = hash_bytes_extended((const unsigned char *) key, sizeof(*key), MyDatabaseId) | 1;
	return &classes[(*key >> 20) % CLASSES];
}

static float
shared_gap(uint64 key)
{
	DrawClass  *class = class_of(&key);
	uint32		bits = pg_atomic_read_u64(&class->key) == key ? pg_atomic_read_u32(&class->gap) : 0;
	float		gap;

	memcpy(&gap, &bits, sizeof(gap));
	return gap;
}

static void
share_gap(uint64 key, float gap)
{
	DrawClass  *class = class_of(&key);
	uint32		bits;

	memcpy(&bits, &gap, sizeof(bits));
	pg_atomic_write_u32(&class->gap, bits);
	pg_atomic_write_u64(&class->key, key);
}

/* Returns the number of executions that are timed as a whole for each one whose nodes are timed. */
static double
whole_per_nodes(const DrawSlot *slot)
{
	return track_everything ? 0 : Min(WHOLE_PER_NODES, slot->gap - 1);
}

static void
draw_next(DrawSlot *slot)
{
	double		gap = slot->gap / (1 + whole_per_nodes(slot));

	if (gap <= 1 || track_everything)
		slot->remaining = 1;
	else
		slot->remaining = 1 +
			(int32) Min(random_exponential(&random_state) / -log1p(-1 / gap), MOST_SKIPPED);
}

/* Returns the first 1/p of a class that the shared table lacks. */
static float
new_gap(void)
{
	if (track_everything ||
		spent_ns <= NEW_ALLOWANCE_NS +
		(double) (reference_ns() - began_ns) * max_overhead_percent / 100)
		return 1;
	return NEW_GAP;
}

static pg_noinline void
look_up(DrawSlot *slot, uint64 key)
{
	float		gap = shared_gap(key);

	while (random_state == 0)
		random_state = pg_prng_uint64(&pg_global_prng_state);
	if (began_ns == 0)
		began_ns = reference_ns();
	memset(history_of(slot), 0, sizeof(DrawHistory));
	slot->key = key;
	slot->gap = gap > 0 ? gap : new_gap();
	draw_next(slot);
}

/* Returns whether an execution is skipped, and counts the skip.  Must be fast. */
static bool
passes(const QueryDesc *desc)
{
	uint64		key = class_key(desc);
	DrawSlot   *slot = slot_of(key);

	if (unlikely(slot->key != key || slot->remaining <= 1))
		return false;
	slot->remaining--;
	return true;
}

static bool
draw(const QueryDesc *desc, ExecutionDraw *drawn)
{
	uint64		key = class_key(desc);
	DrawSlot   *slot = slot_of(key);
	uint64		start_ns;
	double		whole;

	if (unlikely(slot->key != key))
		look_up(slot, key);
	drawn->class = key;
	if (likely(--slot->remaining > 0))
		return false;

	start_ns = reference_ns();
	whole = whole_per_nodes(slot);
	drawn->nodes = (double) random_next(&random_state) * (1 + whole) <= (double) PG_UINT64_MAX;
	drawn->weight = track_everything ? 1 : drawn->nodes ? slot->gap : slot->gap / whole;
	drawn->failed_weight = track_everything ? 1 : slot->gap / (1 + whole);
	drawn->userid = GetUserId();
	drawn->planid = plan_store_planid(desc->plannedstmt);
	drawn->queryid = (uint64) desc->plannedstmt->queryId;

	/* before 18, DECLARE CURSOR and CREATE TABLE AS have no query id */
	if (drawn->queryid == 0)
		drawn->queryid = drawn->planid;

	/* draws before the execution, whose functions may execute the same query */
	draw_next(slot);
	drawn->cost_ns = (double) (reference_ns() - start_ns);
	return true;
}

static void
remember(LatestMean *latest, double value)
{
	latest->n = Min(latest->n + 1, REMEMBERED);
	latest->mean += ((float) value - latest->mean) / latest->n;
}

static void
choose_gap(DrawSlot *slot)
{
	const DrawHistory *history = history_of(slot);
	double		run_ns = Max((double) history->run.mean, 1);
	double		cost_ns = (double) history->nodes_cost.mean +
		WHOLE_PER_NODES * (double) history->whole_cost.mean;
	double		share = max_overhead_percent / 100;
	double		gap;

	/* this backend has not timed nodes of the class yet */
	if (history->nodes_cost.n == 0)
		return;
	share = Max(share - SKIPPED_NS / run_ns, share * LEAST_PART);
	gap = cost_ns / (share * run_ns);

	/* with gaps from 1 to 2, too few executions would be timed as a whole */
	if (gap < 2)
		gap = gap > 1 || run_ns < LONG_NS ? 2 : 1;
	slot->gap = (float) Min(gap, MAX_GAP);
}

static PlanKey
plan_key(const ExecutionDraw *drawn)
{
	PlanKey		key = {MyDatabaseId, drawn->userid, drawn->queryid, drawn->planid};

	return key;
}

static void
finished(TimedExecution *execution)
{
	PlanEstimate *plan = execution->run.plan;
	PlanKey		key = plan_key(&execution->drawn);
	const ExecutionDraw *drawn = &execution->drawn;
	DrawSlot   *slot = slot_of(drawn->class);
	DrawHistory *history = history_of(slot);
	double		run_ns = plan != NULL ? plan->run_ns : execution->run_ns;
	double		cost_ns;

	if (slot->key != drawn->class)
		look_up(slot, drawn->class);
	if (plan != NULL)
		plan_store_add(execution->run.observation, &key, plan, drawn->weight);
	else
		plan_store_add_whole(&key, false, drawn->weight, run_ns);

	cost_ns = AFTER_EFFECT *
		(drawn->cost_ns + execution->attach_ns + (double) (reference_ns() - execution->stop_ns));
	for (int i = 0; plan != NULL && i < plan->nnodes; i++)
		cost_ns += plan->nodes[i].calls * CALL_NS;
	if (history->nodes_cost.n == 0 && drawn->weight <= 1)
		spent_ns += cost_ns;
	remember(&history->run, run_ns);
	remember(drawn->nodes ? &history->nodes_cost : &history->whole_cost, cost_ns);
	choose_gap(slot);
	share_gap(slot->key, slot->gap);
	draw_next(slot);
}

static void
failed(TimedExecution *execution)
{
	PlanKey		key = plan_key(&execution->drawn);
	DrawSlot   *slot = slot_of(execution->drawn.class);

	/* a class that always fails must not be timed each time */
	if (slot->key == execution->drawn.class && slot->gap < NEW_GAP)
	{
		spent_ns += AFTER_EFFECT * execution->attach_ns;
		slot->gap = NEW_GAP;
		draw_next(slot);
	}
	plan_store_add_whole(&key, true, execution->drawn.failed_weight, 0);
}

static const ExecutionSampler sampler = {
	.passes = passes, .draw = draw, .finished = finished, .failed = failed
};

Size
plan_draw_shmem_size(void)
{
	return sizeof(DrawClass) * CLASSES;
}

void
plan_draw_shmem_init(void)
{
	bool		found;

	classes = ShmemInitStruct("clocktiming draws", sizeof(DrawClass) * CLASSES, &found);
	for (int i = 0; i < CLASSES && !found; i++)
	{
		pg_atomic_init_u64(&classes[i].key, 0);
		pg_atomic_init_u32(&classes[i].gap, 0);
	}
	/* the setting may have been assigned before shared memory existed */
	execution_sampler = track ? &sampler : NULL;
}

static void
assign_track(bool newval, void *extra)
{
	(void) extra;
	if (newval)
	{
		EnableQueryId();
		executor_hooks_take();
	}
	execution_sampler = newval && classes != NULL ? &sampler : NULL;
}

void
plan_draw_init(void)
{
	DefineCustomBoolVariable("clocktiming.track",
							 gettext_noop("Collects statistics of plans and their nodes from a random sample of executions."),
							 gettext_noop("It has no effect unless clocktiming is in shared_preload_libraries."),
							 &track, false,
							 PGC_SUSET, 0, NULL, assign_track, NULL);
	DefineCustomRealVariable("clocktiming.max_overhead",
							 gettext_noop("Maximum overhead of the statistics of plans, in percent of the elapsed time."),
							 gettext_noop("If timing every execution would add more, a random sample is timed. If counting a statement's rows would add more, clock_running does not show it from its start."),
							 &max_overhead_percent, 1, 0.01, 100,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("clocktiming.track_everything",
							 "For tests: times every execution, regardless of the overhead.",
							 NULL,
							 &track_everything, false,
							 PGC_SUSET,
							 GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE,
							 NULL, NULL, NULL);
}
