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
 *
 * A random sample may miss rare long executions.  So each execution during which the sampler has
 * ticked is measured, too (ticked_executions.h).  An execution that was measured for either reason
 * counts as 1/q executions, where q is the probability of being measured for any of them.
 *
 * All executions are counted.  The skipped ones are those by which a class's number has decreased.
 * They are added to the plan of the class's latest drawn execution, or of its first one: at least
 * at the end of the session, and at the end of a transaction if FLUSH_MS have passed since the last
 * time.  If a query has several plans, the number of executions of each is therefore an estimate.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "core/random.h"
#include "core/system_clock.h"
#include "plan/explain/execution_classes.h"
#include "plan/explain/executor_hooks.h"
#include "plan/sampler/plan_sampler.h"
#include "plan/stats/execution_counts.h"
#include "plan/stats/latest_mean.h"
#include "plan/stats/own_statements.h"
#include "plan/stats/plan_draw.h"
#include "plan/stats/plan_store.h"
#include "plan/stats/shared_gaps.h"
#include "plan/stats/ticked_executions.h"
#include "server/args.h"
#include "server/settings.h"

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

/* Executions timed as a whole per one with timed nodes, which costs ten times as much. */
#define WHOLE_PER_NODES	8

/*
 * The n-th execution of a new class is timed as a whole with a probability of at least FIRST_TIMED
 * n^FIRST_POWER: 60 of the first 1000, and 280 of the first 50000.
 */
#define FIRST_TIMED		1.5
#define FIRST_POWER		(-0.6)

/* Mean duration in ns of a class from which the nodes of all executions may be timed. */
#define ALL_NODES_NS	5e6

/* Probability above which each execution is drawn. */
#define ALWAYS			0.999999

/* Maximum of 1/p, and maximum number of executions to skip. */
#define MAX_GAP			1e6
#define MOST_SKIPPED		1e9

/* Shortest time between two flushes of the numbers of executions. */
#define FLUSH_MS		100

/*
 * More of a class.  Separate from ClassSlot, so that more slots fit into the caches.  Times in ns.
 */
typedef struct DrawHistory
{
	float		gap;			/* 1/p; p: probability of timing the nodes */
	float		nodes_chance;	/* probabilities with which the next drawn */
	float		whole_chance;	/* execution was drawn */
	bool		is_new;			/* no process had drawn it before */
	double		seen;			/* number of executions until the last draw */
	PlanKey		plan;			/* plan to which executions are added */
	double		ticked_ns;		/* estimated time of all executions, from
								 * those that were ticked but not drawn */
	float		late_debt_ns;	/* cost of observing long executions late,
								 * above what is allowed for their time */
	LatestMean	run;			/* duration of an execution that was drawn */
	LatestMean	nodes_cost;		/* cost of timing its nodes */
	LatestMean	whole_cost;		/* cost of timing it as a whole */
} DrawHistory;

double		max_overhead_percent = 1;

static bool track = false;
static bool track_everything = false;

static uint32 seen_resets = 0;
static DrawHistory histories[CLASS_SLOTS];
static uint64 random_state = 0;
static uint64 began_ns = 0;
static double spent_ns = 0;		/* ns spent on timing new classes */
static TimestampTz flushed_at = 0;

static inline DrawHistory *
history_of(const ClassSlot *slot)
{
	return &histories[slot - class_slots];
}

/* Sets the probabilities of the next draw. */
static void
choose_chances(DrawHistory *history)
{
	double		nodes = 1 / (double) history->gap;
	double		whole = Min(WHOLE_PER_NODES * nodes, 1 - nodes);

	/*
	 * a class that is new is timed more often, so that its first times have a
	 * margin
	 */
	if (history->is_new)
		whole = Max(whole, FIRST_TIMED * pow(1 + history->seen, FIRST_POWER));
	history->nodes_chance = track_everything ? 1 : (float) nodes;
	history->whole_chance = track_everything ? 0 : (float) Min(whole, 1 - nodes);
}

/* Returns the number of skipped executions of a class since the latest call. */
static int64
take_skipped(ClassSlot *slot)
{
	int64		skipped = (int64) slot->counted - slot->remaining;

	slot->counted = slot->remaining;
	return slot->key == 0 ? 0 : skipped;
}

/* Forgets all classes if the statistics were reset. */
static void
follow_resets(void)
{
	uint32		resets = shared_gaps_resets();

	if (likely(resets == seen_resets))
		return;
	seen_resets = resets;
	memset(class_slots, 0, sizeof(class_slots));
	execution_counts_forget();
}

/*
 * Adds the numbers of executions to the plans in shared memory.  Allocates nothing and raises no
 * error, because ends of transactions call it.
 */
void
plan_draw_flush(void)
{
	if (!shared_gaps_ready() || !plan_store_ready())
		return;
	follow_resets();
	for (ClassSlot *slot = class_slots; slot < class_slots + CLASS_SLOTS; slot++)
	{
		int64		skipped = take_skipped(slot);

		if (skipped > 0)
			plan_store_count(&history_of(slot)->plan, skipped);
	}
	execution_counts_flush();
}

void
plan_draw_reset(void)
{
	shared_gaps_reset();
	follow_resets();
}

static void
at_exit(int code, Datum arg)
{
	(void) code;
	(void) arg;
	plan_draw_flush();
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	TimestampTz now;

	(void) arg;
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
		return;
	executor_hooks_forget();
	if (flushed_at == 0)
		return;
	now = GetCurrentTransactionStopTimestamp();
	/* unsigned: also flushes if the clock was set back */
	if ((uint64) (now - flushed_at) < FLUSH_MS * UINT64CONST(1000))
		return;
	flushed_at = now;
	plan_draw_flush();
}

static void
at_subtransaction_end(SubXactEvent event, SubTransactionId me, SubTransactionId parent, void *arg)
{
	(void) me;
	(void) parent;
	(void) arg;
	if (event == SUBXACT_EVENT_ABORT_SUB)
		executor_hooks_forget();
}

/* Prepares the process for counting. */
static void
begin_counting(void)
{
	began_ns = system_clock_read();
	random_state = pg_prng_uint64(&pg_global_prng_state) | 1;
	seen_resets = shared_gaps_resets();
	flushed_at = 1;				/* long ago: the first transaction flushes at
								 * its end */
	running_prepare();
	RegisterXactCallback(at_transaction_end, NULL);
	RegisterSubXactCallback(at_subtransaction_end, NULL);
	before_shmem_exit(at_exit, 0);
}

/* Returns the probability with which the next drawn execution was drawn. */
static double
chance_of(const DrawHistory *history)
{
	return (double) history->nodes_chance + (double) history->whole_chance;
}

static void
draw_next(ClassSlot *slot)
{
	DrawHistory *history = history_of(slot);
	int64		skipped = take_skipped(slot);

	count_executions(&history->plan, skipped);
	history->seen += (double) skipped;
	choose_chances(history);
	slot->remaining = 1;
	if (chance_of(history) < ALWAYS)
		slot->remaining += (int32) Min(random_exponential(&random_state) /
									   -log1p(-chance_of(history)), MOST_SKIPPED);
	slot->counted = slot->remaining;
}

/* Returns the first 1/p of a class that the shared table lacks. */
static float
new_gap(void)
{
	if (track_everything ||
		spent_ns <= NEW_ALLOWANCE_NS +
		(double) (system_clock_read() - began_ns) * max_overhead_percent / 100)
		return 1;
	return NEW_GAP;
}

/* Begins a class, for which the slot may have to forget another. */
static pg_noinline ClassSlot *
look_up(uint64 key, const QueryDesc *desc)
{
	float		gap = shared_gap(key);
	ClassSlot  *slot;

	follow_resets();
	/* an unused slot or a random one */
	slot = class_ways(key);
	for (int i = 1; i < CLASS_WAYS && slot->key != 0; i++)
		slot++;
	if (slot->key != 0)
		slot -= random_next(&random_state) >> 32 & (CLASS_WAYS - 1);
	count_executions(&history_of(slot)->plan, take_skipped(slot));
	*history_of(slot) = (DrawHistory)
	{
		.gap = gap > 0 ? gap : new_gap(), .is_new = !(gap > 0), .plan = plan_store_key(desc)
	};
	*slot = (ClassSlot)
	{
		.key = key
	};
	draw_next(slot);
	return slot;
}

/* Returns whether an execution is skipped, and counts the skip.  Must be fast. */
static bool
passes(const QueryDesc *desc, CountedStart *start)
{
	ticked_begin(start);
	return class_skips(desc);
}

/* If the statement is clocktiming's own, sets "remaining" such that passes() returns false. */
static bool
is_own(const QueryDesc *desc)
{
	uint64		key;
	ClassSlot  *slot;

	if (likely(!is_own_statement(desc->plannedstmt)))
		return false;
	if (unlikely(began_ns == 0))
		begin_counting();
	key = class_key(desc);
	slot = find_class(key);
	if (slot == NULL)
		slot = look_up(key, desc);
	count_executions(&history_of(slot)->plan, take_skipped(slot));
	slot->remaining = slot->counted = 0;
	return true;
}

/*
 * Decides whether to time an execution that passes() has not skipped, and how.  Sets its weight to
 * the reciprocal of the probability of this decision, and draws the number of executions to skip
 * next.
 */
static bool
draw(const QueryDesc *desc, CountedStart *start, ExecutionDraw *drawn)
{
	uint64		key = class_key(desc);
	ClassSlot  *slot;
	DrawHistory *history;
	uint64		start_ns;
	int64		skipped;

	if (start->counter == 0)
		ticked_begin(start);
	if (unlikely(began_ns == 0))
	{
		begin_counting();
		start->ticks = execution_ticks->n;
	}
	follow_resets();
	slot = find_class(key);
	if (unlikely(slot == NULL))
		slot = look_up(key, desc);
	history = history_of(slot);
	if (slot->remaining <= 0)
		draw_next(slot);
	drawn->class = key;
	if (likely(--slot->remaining > 0))
		return false;

	start_ns = system_clock_read();
	drawn->nodes = (double) random_next(&random_state) * chance_of(history) <=
		(double) PG_UINT64_MAX * (double) history->nodes_chance;
	drawn->weight = Max(1 / (double) (drawn->nodes ? history->nodes_chance :
									  history->whole_chance), 1);
	drawn->chance = chance_of(history);
	drawn->whole_chance = (double) history->whole_chance;
	drawn->start = *start;

	/* the skipped executions are added to the plan of the one drawn before */
	slot->remaining++;
	skipped = take_skipped(slot);
	count_executions(&history->plan, skipped);
	history->seen += (double) skipped + 1;
	history->plan = plan_store_key(desc);
	count_executions(&history->plan, 1);
	drawn->userid = history->plan.userid;
	drawn->queryid = history->plan.queryid;
	drawn->planid = history->plan.planid;

	/* draws before the execution, whose functions may execute the same query */
	draw_next(slot);
	drawn->cost_ns = (double) (system_clock_read() - start_ns);
	return true;
}

/*
 * Chooses the mean number of executions per drawn one, so that timing costs max_overhead_percent of
 * the mean duration.
 */
static void
choose_gap(ClassSlot *slot)
{
	const DrawHistory *history = history_of(slot);
	double		run_ns = Max(Max((double) history->run.mean, history->ticked_ns /
								 Max(history->seen, 1)), 1);
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
		gap = gap > 1 || run_ns < ALL_NODES_NS ? 2 : 1;
	history_of(slot)->gap = (float) Min(gap, MAX_GAP);
}

static PlanKey
drawn_key(const ExecutionDraw *drawn)
{
	return (PlanKey)
	{
		MyDatabaseId, drawn->userid, drawn->queryid, drawn->planid
	};
}

/*
 * Returns whether the duration of an execution whose nodes were timed may be used, although timing
 * them takes time: if it is long, or if all executions of its class are drawn.
 */
static bool
may_have_nodes(double chance, double ns)
{
	return ns >= NOT_SLOWED_NS || chance >= ALWAYS;
}

/*
 * Returns the weight of a duration.  It is measured if the execution is drawn, with the
 * probability "chance" or, without timing the nodes, "whole_chance"; or if the sampler ticks during
 * the execution, with the probability "ticked".
 */
static double
weight_of(double chance, double whole_chance, double ticked, double ns)
{
	double		drawn = may_have_nodes(chance, ns) ? chance : whole_chance;

	drawn = drawn < ALWAYS ? drawn : 1;
	return 1 / (drawn + ticked - drawn * ticked);
}

/* Returns the weight of a drawn execution's duration; 0: the duration is not used. */
static double
duration_weight(const ExecutionDraw *drawn, double ns)
{
	double		ticked = drawn->complete ? ticked_chance(ns) : 0;
	bool		found = ticked > 0 && ticked_since(&drawn->start);

	if (drawn->nodes && !found && !may_have_nodes(drawn->chance, ns))
		return 0;
	return weight_of(drawn->chance, drawn->whole_chance, ticked, ns);
}

/* Returns the slot of an execution's class, which may have been forgotten. */
static ClassSlot *
found_slot(const QueryDesc *desc)
{
	uint64		key = class_key(desc);
	ClassSlot  *slot = find_class(key);

	return slot != NULL ? slot : look_up(key, desc);
}

/*
 * Adds the duration of an execution that was not drawn, and during which the sampler has ticked.
 * Long executions make the mean duration longer, so more executions are drawn.
 */
static void
add_ticked(const QueryDesc *desc, const PlanKey *key, double ns)
{
	double		chance = ticked_chance(ns);
	DrawHistory *history;
	double		weight;

	if (chance <= 0)
		return;
	history = history_of(found_slot(desc));
	weight = weight_of(chance_of(history), (double) history->whole_chance, chance, ns);
	plan_store_add_time(key, ns, weight);
	history->ticked_ns += weight * ns;
}

/*
 * The following functions are about long executions, which are observed from the time at which they
 * turn out to be long, and count as one execution each.  The others are a stratum of its own: the
 * nodes of one of them were timed with the probability with which it was drawn.  Executions of a
 * tick or more are long, too, although they may end before they are observed.
 *
 * Stubs may cost more than clocktiming.max_overhead percent of the time of a long execution.  Then
 * some are not observed, and their time is divided like that of the next one that is
 * (plan_store.c).
 */
static bool
is_long(const CountedStart *start, double ns)
{
	return ns >= TICK_NS && ticked_since(start);
}

static bool
joins(const QueryDesc *desc)
{
	const ClassSlot *slot = find_class(class_key(desc));

	return slot == NULL || history_of(slot)->late_debt_ns <= 0;
}

/* Returns the cost of observing a long execution.  Its end costs as much as its beginning. */
static double
late_cost_ns(const TimedExecution *execution)
{
	const PlanEstimate *plan = execution->run.plan;
	double		cost_ns = 2 * execution->attach_ns;

	for (int i = 0; plan != NULL && i < plan->nnodes; i++)
		cost_ns += plan->nodes[i].calls * CALL_NS;
	return cost_ns;
}

static void
pay_late(DrawHistory *history, double ns, double cost_ns)
{
	double		debt = (double) history->late_debt_ns + cost_ns - ns * max_overhead_percent / 100;

	history->late_debt_ns = (float) Max(debt, 0);
}

/* Adds the times of the nodes of an execution. */
static void
add_nodes(const TimedExecution *execution, const PlanKey *key)
{
	const ObservedRun *run = &execution->run;

	if (run->plan != NULL && execution->is_long)
		plan_store_add_nodes(run, key, 1, execution->run_ns);
	else if (run->plan != NULL)
		plan_store_add_nodes(run, key, execution->drawn.weight, 0);
	else if (execution->is_long)
		plan_store_add_unseen(key, execution->run_ns);
}

/*
 * Adds a long execution that was not drawn, but observed because it is long, or for EXPLAIN's or
 * auto_explain's output.  In the second case, the statistics do not cause the cost of observing it.
 */
static void
finished_late(const TimedExecution *execution)
{
	const QueryDesc *desc = execution->desc;
	PlanKey		key = plan_store_key(desc);

	add_nodes(execution, &key);
	add_ticked(desc, &key, execution->run_ns);
	pay_late(history_of(found_slot(desc)), execution->run_ns,
			 execution->run.options.late ? late_cost_ns(execution) : 0);
}

/* Adds a drawn execution to the statistics, and chooses the probability of the next draws. */
static void
finished(TimedExecution *execution)
{
	PlanEstimate *plan = execution->run.plan;
	const ExecutionDraw *drawn = &execution->drawn;
	PlanKey		key = drawn_key(drawn);
	ClassSlot  *slot = find_class(drawn->class);
	DrawHistory *history;
	double		cost_ns;

	if (execution->late)
	{
		if (isnan(execution->run_ns))
			execution->run_ns = ticked_elapsed_ns(&drawn->start);
		finished_late(execution);
		return;
	}
	if (slot == NULL)
		slot = look_up(drawn->class, execution->desc);
	history = history_of(slot);
	execution->is_long |= drawn->complete && is_long(&drawn->start, execution->run_ns);
	plan_store_add_time(&key, execution->run_ns, duration_weight(drawn, execution->run_ns));
	add_nodes(execution, &key);
	if (execution->run.options.late)
	{
		pay_late(history, execution->run_ns, late_cost_ns(execution));
		draw_next(slot);
		return;
	}

	cost_ns = AFTER_EFFECT * (drawn->cost_ns + execution->attach_ns +
							  (double) (system_clock_read() - execution->stop_ns));
	for (int i = 0; plan != NULL && i < plan->nnodes; i++)
		cost_ns += plan->nodes[i].calls * CALL_NS;
	if (history->nodes_cost.n == 0 && drawn->weight <= 1)
		spent_ns += cost_ns;
	remember(&history->run, execution->run_ns);
	remember(drawn->nodes ? &history->nodes_cost : &history->whole_cost, cost_ns);
	choose_gap(slot);
	share_gap(slot->key, history->gap);
	draw_next(slot);
}

static void
failed(TimedExecution *execution)
{
	PlanKey		key = drawn_key(&execution->drawn);
	ClassSlot  *slot = find_class(execution->drawn.class);

	/* a class that always fails must not be timed each time */
	if (slot != NULL && history_of(slot)->gap < NEW_GAP)
	{
		spent_ns += AFTER_EFFECT * execution->attach_ns;
		history_of(slot)->gap = NEW_GAP;
		draw_next(slot);
	}
	plan_store_add_failed(&key, execution->drawn.chance < ALWAYS ? 1 / execution->drawn.chance : 1);
}

/*
 * Adds an execution that was neither drawn nor joined, during which the sampler has ticked.  If it
 * is long, its nodes have not been observed, unless EXPLAIN or auto_explain has observed them.
 */
static void
ticked(const QueryDesc *desc, const CountedStart *start, bool noted, TimedExecution *observed)
{
	PlanKey		key = plan_store_key(desc);
	double		ns = instr_query_ns(desc);

	if (isnan(ns))
		ns = ticked_elapsed_ns(start);
	noted |= is_long(start, ns);
	if (noted && observed != NULL)
	{
		/* its nodes are known: finished() adds them */
		observed->late = observed->is_long = true;
		observed->drawn.start = *start;
		observed->drawn.complete = true;
		return;
	}
	add_ticked(desc, &key, ns);
	if (!noted)
		return;
	plan_store_add_unseen(&key, ns);
	pay_late(history_of(found_slot(desc)), ns, 0);
}

static const ExecutionSampler sampler = {
	.passes = passes, .is_own = is_own, .draw = draw, .finished = finished, .failed = failed,
	.joins = joins, .ticked = ticked
};

void
plan_draw_start(void)
{
	ticked_init();
	/* the setting may have been assigned before shared memory existed */
	execution_sampler = track ? &sampler : NULL;
}

bool
plan_draw_tracks(void)
{
	return track;
}

static bool
check_track(bool *newval, void **extra, GucSource source)
{
	(void) extra;
	warn_unless_preloaded("clocktiming.track", !*newval || shared_gaps_ready(), source);
	return true;
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
	execution_sampler = newval && shared_gaps_ready() ? &sampler : NULL;
}

void
plan_draw_init(void)
{
	setting_define_bool(SETTING_TRACK, &track, check_track, assign_track);
	setting_define_real(SETTING_MAX_OVERHEAD, &max_overhead_percent);
	setting_define_bool(SETTING_TRACK_EVERYTHING, &track_everything, NULL, NULL);
}
