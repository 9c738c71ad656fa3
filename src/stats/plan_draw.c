/*-------------------------------------------------------------------------
 *
 * plan_draw.c
 *	  Which executions are timed for the statistics of plans.
 *
 * Executions are in classes: a query, and what its plan begins with.  Each execution of a
 * class has a chance p that its nodes are timed, which is known before it begins;
 * so that one that is timed stands for 1/p, whatever p was.  What it costs to time
 * one is measured each time, and p is chosen so that this is clocktiming.max_overhead of
 * what the class's executions take.
 *
 * Timing the nodes of a short execution makes it longer, by more than can be measured: what
 * prepares the timing pushes what the execution needs out of the processor's caches.  So
 * other executions, WHOLE_PER_NODES times as many, are timed as a whole only, which
 * changes none.  The time of a plan is theirs.
 *
 * How many executions pass until the next one is timed is drawn in advance, so that those
 * that pass pay for a counter and a comparison.  It is geometric, a distribution without
 * memory: a backend that has forgotten a class, or has never known it, may draw
 * again at any time.  What p is, backends tell each other.
 *
 *-------------------------------------------------------------------------
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
#include "core/stats.h"
#include "explain/executor_hooks.h"
#include "stats/plan_draw.h"
#include "stats/plan_store.h"

/* Classes that a backend remembers, and all of them together; powers of two. */
#define SLOTS			1024
#define CLASSES			8192

/*
 * A new class is timed at once.  A backend that meets so many that this costs too
 * much times one in so many of them.
 */
#define NEW_GAP			64

/* What a session may spend on new classes before its time is looked at. */
#define NEW_ALLOWANCE_NS	5e6

/*
 * So many times as much as timing an execution takes by itself it is taken to cost in all, as
 * the statements that follow find colder caches.  A guess, on the safe side: one such execution of
 * 5 us takes twice as long.
 */
#define AFTERWARDS		2.5

/*
 * What an execution costs that is passed over, in ns, by bench/turns, and the least part
 * of the overhead allowed that remains for timing others.
 */
#define PASSED_OVER_NS	60
#define LEAST_PART		0.1

/* Of that, this part at most is spent within an execution. */
#define PART_WITHIN		0.5

/* Of the times of a class about so many are remembered. */
#define REMEMBERED		8

/*
 * Number of executions that are timed as a whole for each one whose nodes are timed.
 * It costs a tenth of that.
 */
#define WHOLE_PER_NODES	8

/*
 * Timing the nodes of each execution of a class may leave it out if they take longer than
 * this, in ns: it hardly changes them.
 */
#define LONG_NS			1e7

/* On average no more executions than that pass before one is timed; and never more. */
#define MAX_GAP			1e6
#define MOST_PASSED		1e9

/* A class, as this backend knows it. */
typedef struct DrawSlot
{
	uint64		key;			/* 0: none */
	int32		left;			/* executions until one is timed, with it */
	float		gap;			/* 1/p, of executions whose nodes are timed */
} DrawSlot;

/* The mean of the latest values. */
typedef struct LatestMean
{
	float		n;				/* at most REMEMBERED */
	float		mean;
} LatestMean;

/* The history of a class, in ns; apart, so that many slots fit into the caches. */
typedef struct DrawHistory
{
	LatestMean	run;			/* duration of an execution */
	LatestMean	nodes_cost;		/* of timing its nodes */
	LatestMean	whole_cost;		/* of timing it as a whole */
} DrawHistory;

/* As all backends know it.  Both may be of different classes, which does no harm. */
typedef struct DrawClass
{
	pg_atomic_uint64 key;
	pg_atomic_uint32 gap;		/* a float */
} DrawClass;

static bool track = false;
static bool track_everything = false;
static double max_overhead = 1;

static DrawClass *classes = NULL;
static DrawSlot slots[SLOTS];
static DrawHistory histories[SLOTS];
static uint64 random_state = 0;
static uint64 began_ns = 0;
static double spent_ns = 0;		/* on new classes */

/*
 * The query, and the type of its plan's root.  Without a query id the plan's cost stands for the
 * query.  Two plans may be of one class: which p an execution has does not matter.
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
	union
	{
		uint32		bits;
		float		gap;
	}			value;

	if (pg_atomic_read_u64(&class->key) != key)
		return 0;
	value.bits = pg_atomic_read_u32(&class->gap);
	return value.gap;
}

static void
share_gap(uint64 key, float gap)
{
	DrawClass  *class = class_of(&key);
	union
	{
		uint32		bits;
		float		gap;
	}			value = {.gap = gap};

	pg_atomic_write_u32(&class->gap, value.bits);
	pg_atomic_write_u64(&class->key, key);
}

/* Number of executions that are timed as a whole for each one whose nodes are timed. */
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
		slot->left = 1;
	else
		slot->left = 1 + (int32) Min(random_exponential(&random_state) / -log1p(-1 / gap), MOST_PASSED);
}

/* Of a class that nobody has seen. */
static float
new_gap(void)
{
	if (track_everything ||
		spent_ns <= NEW_ALLOWANCE_NS + (double) (reference_ns() - began_ns) * max_overhead / 100)
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

/* Most do. */
static bool
passes(const QueryDesc *desc)
{
	uint64		key = class_key(desc);
	DrawSlot   *slot = slot_of(key);

	if (unlikely(slot->key != key || slot->left <= 1))
		return false;
	slot->left--;
	return true;
}

static bool
draw(const QueryDesc *desc, ExecutionDraw *drawn)
{
	uint64		key;
	DrawSlot   *slot;
	uint64		start_ns;
	double		whole;

	key = class_key(desc);
	slot = slot_of(key);
	if (unlikely(slot->key != key))
		look_up(slot, key);
	drawn->class = key;
	if (likely(--slot->left > 0))
		return false;

	start_ns = reference_ns();
	whole = whole_per_nodes(slot);
	drawn->nodes = (double) random_next(&random_state) * (1 + whole) <= (double) PG_UINT64_MAX;
	drawn->weight = track_everything ? 1 : drawn->nodes ? slot->gap : slot->gap / whole;
	drawn->failed_weight = track_everything ? 1 : slot->gap / (1 + whole);
	drawn->userid = GetUserId();
	drawn->planid = plan_store_planid(desc->plannedstmt);
	drawn->queryid = (uint64) desc->plannedstmt->queryId;
	/* as of DECLARE CURSOR and CREATE TABLE AS before 18 */
	if (drawn->queryid == 0)
		drawn->queryid = drawn->planid;
	/* now, as a function in it may execute the same query */
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

/* Sets how rarely the nodes of such executions are timed. */
static void
choose_gap(DrawSlot *slot)
{
	const DrawHistory *history = history_of(slot);
	double		run_ns = Max((double) history->run.mean, 1);
	double		cost_ns = (double) history->nodes_cost.mean + WHOLE_PER_NODES * (double) history->whole_cost.mean;
	double		share = max_overhead / 100;
	double		gap;

	/* a backend that has not timed nodes of the class yet */
	if (history->nodes_cost.n == 0)
		return;
	share = Max(share - PASSED_OVER_NS / run_ns, share * LEAST_PART);
	gap = cost_ns / (share * run_ns);

	/*
	 * between 1 and 2 few would be timed as a whole, each of which stood for
	 * many
	 */
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

	cost_ns = AFTERWARDS * (drawn->cost_ns + execution->attach_ns + (double) (reference_ns() - execution->stop_ns));
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

	/* nothing is learned of what always fails: it would be timed each time */
	if (slot->key == execution->drawn.class && slot->gap < NEW_GAP)
	{
		spent_ns += AFTERWARDS * execution->attach_ns;
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
	/* the setting was read before there was shared memory */
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
							 gettext_noop("Has a random part of all executions timed, for the statistics of plans and their nodes."),
							 gettext_noop("It has no effect unless clocktiming is in shared_preload_libraries."),
							 &track, false,
							 PGC_SUSET, 0, NULL, assign_track, NULL);
	DefineCustomRealVariable("clocktiming.max_overhead",
							 gettext_noop("Percent of the elapsed time that statistics of plans may add."),
							 gettext_noop("Where timing each execution would add more, a part of them is timed."),
							 &max_overhead, 1, 0.01, 100,
							 PGC_SUSET, 0, NULL, assign_max_overhead, NULL);
	DefineCustomBoolVariable("clocktiming.track_everything",
							 "For tests: has every execution timed, whatever that costs.",
							 NULL,
							 &track_everything, false,
							 PGC_SUSET,
							 GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE,
							 NULL, NULL, NULL);
}
