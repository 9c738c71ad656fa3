/*
 * Chooses the executions that are timed for the statistics of plans.
 *
 * A class consists of the executions of a query with the same type of root node.  Before an
 * execution begins, its class has a probability p that the execution's nodes are timed.  Such an
 * execution stands for 1/p executions, whatever p is.  The cost of timing is measured each time,
 * and p is chosen such that this cost is clocktiming.max_overhead of the time of the class's
 * executions.
 *
 * Timing the nodes of a short execution slows it down by more than can be measured, because setting
 * up the timing evicts data from the processor's caches.  Therefore WHOLE_PER_NODES times as many
 * executions are only timed as a whole, which slows down none.  The plan's time is the mean of
 * these.
 *
 * The number of executions to skip is drawn in advance, so that a skipped execution costs one
 * comparison and one decrement.  It has a geometric distribution, which is memoryless: a backend
 * that does not know a class, or has forgotten it, may draw at any time.  Backends share p in
 * shared memory.
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

/* The first execution of a new class is timed; one in NEW_GAP if new classes cost too much. */
#define NEW_GAP			64

/* Time that a session may spend on new classes, in ns, in addition to max_overhead of its age. */
#define NEW_ALLOWANCE_NS	5e6

/*
 * Ratio of the total cost of timing an execution to its measured cost.  The rest is slower
 * execution of the following statements with colder caches.  It is an estimate on the safe side:
 * such an execution of 5 us takes twice as long.
 */
#define AFTER_EFFECT		2.5

/* Cost of a skipped execution in ns, by bench/turns; least share of the overhead for timed ones. */
#define SKIPPED_NS	60
#define LEAST_PART		0.1

/* Largest share of the allowed overhead that timing may add within an execution. */
#define PART_WITHIN		0.5

#define REMEMBERED		8

/* Executions timed as a whole per one with timed nodes.  Together they cost a tenth of that. */
#define WHOLE_PER_NODES	8

/* Duration in ns above which all executions of a class may have their nodes timed. */
#define LONG_NS			1e7

/* Largest mean number of executions per timed one, and the largest number that is drawn. */
#define MAX_GAP			1e6
#define MOST_SKIPPED		1e9

/* A class in this backend's table. */
typedef struct DrawSlot
{
	uint64		key;			/* 0: unused */
	int32		remaining;		/* including the next timed one */
	float		gap;			/* 1/p, for timing of the nodes */
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

/* A class in the shared table.  A reader may see the members of two classes, which is harmless. */
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
static double spent_ns = 0;		/* on new classes */

/*
 * Returns a hash of the query id and the type of the root node.  Without a query id the plan's cost
 * replaces it.  Classes may collide, because an execution is weighted by the p of its class,
 * whatever that is.
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

/* Returns the gap of a class that no backend knows. */
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

/* Returns whether an execution is skipped.  This is the frequent case. */
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

	/* 0 for DECLARE CURSOR and CREATE TABLE AS before PostgreSQL 18 */
	if (drawn->queryid == 0)
		drawn->queryid = drawn->planid;

	/* now, because the execution may execute the same query */
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

	/* between 1 and 2, few would be timed as a whole, with large weights */
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
	double		run_ns = plan != NULL ? plan->whole_ns + plan->preempted_ns : execution->run_ns;
	double		cost_ns;

	if (slot->key != drawn->class)
		look_up(slot, drawn->class);
	if (drawn->nodes)
		plan_store_add(execution->desc, &key, plan, drawn->weight);
	else
		plan_store_add_whole(&key, false, drawn->weight, run_ns);

	cost_ns = AFTER_EFFECT *
		(drawn->cost_ns + execution->attach_ns + (double) (reference_ns() - execution->stop_ns));
	if (plan != NULL)
		cost_ns += plan->overhead_ns;
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

static ExecutionSampler sampler = {
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

static void
assign_max_overhead(double newval, void *extra)
{
	(void) extra;
	sampler.max_overhead = newval * PART_WITHIN;
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
							 PGC_SUSET, 0, NULL, assign_max_overhead, NULL);
	DefineCustomBoolVariable("clocktiming.track_everything",
							 "For tests: has every execution timed, whatever that costs.",
							 NULL,
							 &track_everything, false,
							 PGC_SUSET,
							 GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE,
							 NULL, NULL, NULL);
}
