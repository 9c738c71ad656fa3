/*
 * Publishes the counters and times of running executions.  Times are estimated by the same method
 * as after the end of an execution.  The method changes counters, so it is applied to copies.
 */
#include "postgres.h"

#include <math.h>

#include "access/heapam.h"
#include "access/parallel.h"
#include "access/relscan.h"
#include "executor/hashjoin.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "core/reference.h"
#include "explain/node_timing.h"
#include "explain/plan_record.h"
#include "explain/timing_clock.h"
#include "live/live_memory.h"
#include "live/live_plan.h"
#include "live/live_publish.h"

/* A node's call that was in progress at the latest publication. */
typedef struct NodeCall
{
	int64		number;			/* NodeTiming.calls during the call */
	uint64		seen;			/* time of the first publication during the
								 * call, in ticks; 0: no call */
	double		known;			/* value of NodeTiming.known at that time */
} NodeCall;

typedef struct LiveExecution
{
	QueryTiming *query;
	dlist_node	link;			/* link in live_executions */
	bool		own;			/* timed only in order to be published */
	MemoryContext scratch;		/* reset after each publication */
	LiveImage  *image;
	NodeCall   *calls;			/* by plan_node_id */
} LiveExecution;

int			live_interval_ms = 50;

static dlist_head live_executions = DLIST_STATIC_INIT(live_executions);

QueryTiming *
live_find(const QueryDesc *desc, bool *own)
{
	dlist_iter	i;

	dlist_foreach(i, &live_executions)
	{
		LiveExecution *live = dlist_container(LiveExecution, link, i.cur);

		if (live->query->desc == desc)
		{
			*own = live->own;
			return live->query;
		}
	}
	return NULL;
}

void
live_begin(QueryTiming *query, int level, TimestampTz started_at, bool own)
{
	MemoryContext old = MemoryContextSwitchTo(query->context);
	LiveExecution *live = palloc0(sizeof(LiveExecution));
	LiveImage  *image = live_describe(query->desc, level, started_at, NULL);
	LiveHeader *header = &image->header;

	Assert(header->nnodes == query->nplaces || header->nnodes == 0);
	header->late = query->late;
	live->query = query;
	live->own = own;
	live->image = image;
	live->calls = palloc0(sizeof(NodeCall) * query->nnodes);
	live->scratch = AllocSetContextCreate(query->context, "clocktiming live", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(old);
	dlist_push_head(&live_executions, &live->link);
	query->live = live;
	if (!live_claim(image))
		return;
	live_write(image, true);
	/* the first publication is due after a tenth of the interval, because calls may be long */
	query->publish_due = query->late ? 0 :
		now_ticks() + (uint64) (live_interval_ms * 1e5 * query->ticks_per_ns);
}

void
live_end(QueryTiming *query)
{
	dlist_delete(&query->live->link);
	live_release(query->live->image);
	query->live = NULL;
}

/* Returns, by plan_node_id, whether a node is in a call: t's callers, and t if its call begins. */
static bool *
nodes_in_call(const QueryTiming *query, const NodeTiming *t, bool begins)
{
	bool	   *in_call = palloc0(sizeof(bool) * query->nnodes);

	if (begins)
		in_call[t->id] = true;
	while (t != NULL && (t = caller_of(t)) != NULL && !in_call[t->id])
		in_call[t->id] = true;
	return in_call;
}

/* Records in NodeCall whether a call of a node is in progress, and since when. */
static void
see_call(const NodeTiming *t, bool in_call)
{
	NodeCall   *call = &t->query->live->calls[t->id];

	if (!in_call)
		call->seen = 0;
	else if (call->seen == 0 || call->number != t->calls)
	{
		call->number = t->calls;
		call->seen = t->query->stop_ticks - t->query->off_ticks;
		call->known = t->known;
	}
}

/*
 * Adds the time so far of a node's call that is in progress.  If the node has not been called since
 * the wrappers were installed, the call began before.  In this case, adds the time since then,
 * without that of other processes.
 */
static void
add_current_call(const NodeTiming *t, const NodeTiming *copy, double scale, NodeEstimate *estimate)
{
	NodeRecord *record = &estimate->leader;
	const QueryTiming *query = t->query;
	double		call_ns = t->kind == NODE_WHOLE ? instr_call_ns(&t->instr) : 0;

	if (t->kind == NODE_SAMPLED && !t->begun)
		call_ns = Max(query_run_ns(query) - query->preempted_ns -
					  (double) query->asked_ticks * scale, 0);
	if (call_ns > 0)
	{
		record->calls++;
		record->timed++;
		record->loops++;
		record->total_ns += call_ns;
		record->first_ns += call_ns;
	}
	else
	{
		const NodeCall *call = &query->live->calls[t->id];
		uint64		start = t->call_start != 0 ? t->call_start : call->seen;
		double		known = t->call_start != 0 ? t->call_known : call->known;

		record->total_ns += scale *
			Max((double) (int64) (query->stop_ticks - query->off_ticks - start) -
				(copy->known - known), 0);
	}
}

/* Prevents that the times in a copy are added to the sums of nodes that call a shared subplan. */
static void
forget_uses(CallClass *class)
{
	for (int i = 0; i < class->nsamples; i++)
		class->samples[i].use = NULL;
}

/* Callback of node_timing_record(): estimates times so far.  "in_call" is from nodes_in_call(). */
static void
estimate_so_far(NodeTiming *t, NodeEstimate *estimate, void *in_call)
{
	NodeTiming	copy = *t;

	if (t->samples != NULL)
	{
		copy.samples = palloc(sizeof(NodeSamples));
		memcpy(copy.samples, t->samples, sizeof(NodeSamples));
		forget_uses(&copy.samples->first);
		forget_uses(&copy.samples->later);
	}
	/* for NODE_UNTIMED, record_estimate() would end the node's current loop */
	if (t->kind == NODE_UNTIMED)
		copy.kind = NODE_WHOLE;
	else if (t->kind == NODE_WHOLE)
		instr_set_timer(&copy.instr, false);
	record_estimate(&copy, 0, NULL, estimate);
	estimate->kind = t->kind;
	see_call(t, ((bool *) in_call)[t->id]);
	if (((bool *) in_call)[t->id] && t->kind != NODE_UNTIMED)
		add_current_call(t, &copy, query_ns_per_tick(t->query), estimate);
}

/* Returns whether a Gather above has unmapped the memory that it shared with its workers. */
static bool
workers_are_gone(const NodeTiming *t)
{
	while ((t = t->parent) != NULL)
	{
		if (IsA(t->node, GatherState))
			return ((const GatherState *) t->node)->pei == NULL;
		if (IsA(t->node, GatherMergeState))
			return ((const GatherMergeState *) t->node)->pei == NULL;
	}
	return false;
}

double
share_scanned(const PlanState *node, bool unmapped)
{
	TableScanDesc scan;
	const HeapScanDescData *heap;
	double		blocks;

	if (!IsA(node, SeqScanState))
		return NAN;
	scan = ((const SeqScanState *) node)->ss.ss_currentScanDesc;
	if (scan == NULL || scan->rs_rd->rd_tableam != GetHeapamTableAmRoutine())
		return NAN;
	heap = (const HeapScanDescData *) scan;
	blocks = heap->rs_nblocks;
	if (scan->rs_parallel != NULL)
	{
		ParallelBlockTableScanDesc shared = (ParallelBlockTableScanDesc) scan->rs_parallel;

		if (unmapped || shared->phs_nblocks == 0)
			return NAN;
		return Min((double) pg_atomic_read_u64(&shared->phs_nallocated) / shared->phs_nblocks, 1);
	}
	if (!heap->rs_inited || blocks == 0 || heap->rs_cblock == InvalidBlockNumber)
		return NAN;
	return fmod((double) heap->rs_cblock + blocks - heap->rs_startblock, blocks) / blocks;
}

static void
put_batches(const PlanState *node, LiveCounts *counts)
{
	HashJoinTable table = IsA(node, HashJoinState) ? ((const HashJoinState *) node)->hj_HashTable :
		NULL;
	bool		several = table != NULL && table->nbatch > 1;

	counts->batches = several ? table->nbatch : 0;
	counts->batch = !several ? 0 : table->parallel_state != NULL ? -1 : table->curbatch;
}

/* Returns whether a node's latest loop has returned all its rows. */
static bool
loop_is_over(const NodeTiming *t, bool in_call)
{
	if (t->ended || t->seen || in_call)
		return t->ended;
	if (!instr_in_loop(&t->instr))
		return t->reading == INPUT_READ_TO_END || t->calls - t->calls_before >= 2;
	return plan_is_at_end(t->node);
}

/* Returns the number of calls that have returned no row or have not ended. */
static int64
calls_without_row(const NodeTiming *t, bool in_call)
{
	bool		over = !in_call && !t->seen && loop_is_over(t, false);

	/* each earlier loop had one such call */
	if (!t->seen && t->reading == INPUT_READ_TO_END)
		return t->first_calls - (!in_call && !over);
	return t->ends + in_call + (over && !t->ended);
}

/* Returns whether MultiExecProcNode() has executed a node for the node above. */
static bool
has_given_whole(const NodeTiming *t)
{
	const NodeTiming *above = t->parent;

	if (IsA(t->node, HashState))
		return ((const HashState *) t->node)->hashtable != NULL;
	while (above != NULL && !IsA(above->node, BitmapHeapScanState))
		above = above->parent;
	return above != NULL && ((const BitmapHeapScanState *) above->node)->initialized;
}

/* Returns whether the node is a hash join's outer input, of which the join holds the first row. */
static bool
has_first_row(const NodeTiming *t)
{
	const PlanState *above = t->parent == NULL ? NULL : t->parent->node;

	return above != NULL && IsA(above, HashJoinState) && outerPlanState(above) == t->node &&
		((const HashJoinState *) above)->hj_FirstOuterTupleSlot != NULL;
}

/* Returns the state of a node that was not called after the wrappers were installed. */
static LiveState
state_before(const NodeTiming *t, const bool *in_call)
{
	const NodeTiming *above = t->parent;
	const LiveNode *shown = live_node(t->query->live->image, t->place);

	if (plan_shape(t->node)->output == OUTPUT_WHOLE)
		return has_given_whole(t) ? LIVE_FINISHED : LIVE_NOT_STARTED;
	if (!t->was_called)
		return LIVE_NOT_STARTED;
	if (shown->is_subplan && !shown->is_cte && !shown->is_expression)
		return LIVE_FINISHED;	/* an InitPlan has a value after its first call */
	if (has_first_row(t))
		return LIVE_RUNNING;
	if (above == NULL || t->subplan != NULL || in_call[above->id])
		return LIVE_UNKNOWN;
	switch (plan_input_reading(above->node, t->node))
	{
		case INPUT_READ_TO_END:
			return LIVE_FINISHED;
		case INPUT_IF_BEGUN:
		case INPUT_AS_NODE:
			return live_counts(t->query->live->image, above->place)->state == LIVE_FINISHED ?
				LIVE_FINISHED : LIVE_UNKNOWN;
		default:
			return LIVE_UNKNOWN;
	}
}

static LiveState
node_state(const NodeTiming *t, const bool *in_calls, double loops)
{
	bool		in_call = in_calls[t->id];

	if (in_call || (t->kind == NODE_WHOLE && instr_call_ns(&t->instr) > 0))
		return LIVE_RUNNING;
	if (t->kind != NODE_SAMPLED || !t->begun)
		return loops > 0 ? LIVE_FINISHED : state_before(t, in_calls);
	if (loop_is_over(t, in_call))
		return LIVE_FINISHED;
	return t->in_loop && instr_in_loop(&t->instr) ? LIVE_RUNNING : LIVE_RESCANNING;
}

static void
put_counts(const NodeTiming *t, const bool *in_calls, const NodeEstimate *estimate,
		   LiveCounts *counts)
{
	bool		in_call = in_calls[t->id];
	/* the first publication of late counters has no times, because it covers few calls */
	bool		unknown = t->kind == NODE_UNTIMED || estimate->loops <= 0 ||
		(t->query->late && t->query->live->image->header.run_ns <= 0);

	if (t->kind == NODE_SAMPLED && t->begun)
	{
		counts->rows = (double) (t->calls - calls_without_row(t, in_call));
		if (plan_shape(t->node)->counts_rows)
			counts->rows += instr_own_rows(&t->instr) - t->shown_rows;
		counts->loops = (double) t->first_calls - t->calls_again;
		counts->calls = t->calls;
	}
	else
	{
		NodeRecord	server = instr_so_far(&t->instr);

		counts->rows = server.rows;
		counts->loops = server.loops + in_call;
		counts->calls = t->kind == NODE_UNTIMED ? -1 : (int64) counts->loops;
	}
	counts->state = node_state(t, in_calls, counts->loops);
	counts->scanned = (float) (counts->state == LIVE_FINISHED ? NAN :
							   share_scanned(t->node, workers_are_gone(t)));
	put_batches(t->node, counts);
	counts->total_ns = unknown ? NAN : estimate->total_ns;
	counts->total_margin_ns = unknown ? NAN : estimate->total_margin_ns;
	counts->self_ns = unknown ? NAN : estimate->self_ns;
	counts->self_margin_ns = unknown ? NAN : estimate->self_margin_ns;
}

/* Stores the state at the first publication, for live_progress() if the counters began late. */
static void
keep_first(LiveCounts *counts)
{
	counts->first_state = counts->state;
	counts->first_scanned = counts->scanned;
	counts->first_batch = counts->batch;
}

void
live_remind(QueryTiming *query)
{
	if (live_interval_ms == 0 ||
		(int64) (now_ticks() - query->off_ticks - query->publish_due) < 0 ||
		query->publish_due == PG_UINT64_MAX)
		return;
	query->publish_now = true;
	for (int i = 0; i < query->nnodes; i++)
	{
		if (query->nodes[i] != NULL && query->nodes[i]->begun)
			next_due(query->nodes[i]) = 0;
	}
}

void
live_publish(QueryTiming *query, NodeTiming *t, bool begins)
{
	LiveExecution *live = query->live;
	LiveHeader *header = &live->image->header;
	MemoryContext old = MemoryContextSwitchTo(live->scratch);
	const NodeTiming *innermost = t == NULL || begins ||
		(t->in_loop && !loop_is_over(t, false)) ? t : caller_of(t);

	if (header->nnodes > 0)
	{
		bool	   *in_call = nodes_in_call(query, t, begins);
		PlanEstimate *plan;

		query->stop_ticks = now_ticks();
		query->stop_ns = reference_ns();
		plan = node_timing_record(query, estimate_so_far, in_call);
		for (int i = 0; i < query->nnodes; i++)
		{
			const NodeTiming *node = query->nodes[i];

			if (node == NULL)
				continue;
			put_counts(node, in_call, &plan->nodes[node->place],
					   live_counts(live->image, node->place));
			if (header->run_ns <= 0)
				keep_first(live_counts(live->image, node->place));
		}
		header->run_ns = plan->run_ns;
	}
	header->innermost = innermost == NULL ? -1 : innermost->place;
	header->as_of = GetCurrentTimestamp();
	live_write(live->image, false);
	MemoryContextSwitchTo(old);
	MemoryContextReset(live->scratch);
	query_take_off(query, INFINITY);
	query->publish_now = false;
	/* publish_due is compared with clock readings minus off_ticks */
	query->publish_due = live_interval_ms == 0 ? 0 :
		query->last_reading - query->off_ticks +
		(uint64) (live_interval_ms * 1e6 * query->ticks_per_ns);
}
