/*
 * The timeout's handler (live_attach.c) publishes while nodes are executed.  So the functions that
 * it calls neither allocate memory nor raise errors, and read only memory that stays mapped.
 */
#include "postgres.h"

#include <math.h>

#include "access/heapam.h"
#include "access/parallel.h"
#include "access/relscan.h"
#include "executor/hashjoin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "plan/explain/plan_shape.h"
#include "plan/live/live_plan.h"
#include "plan/live/live_publish.h"
#include "plan/sampler/plan_sampler.h"

int			live_interval_ms = 50;

static dlist_head executions = DLIST_STATIC_INIT(executions);

/* Called when the query's memory is freed, also after an error. */
static void
live_end(void *arg)
{
	LiveExecution *live = arg;

	dlist_delete(&live->link);
	live_release(live->image);
}

LiveExecution *
live_find(const QueryDesc *desc)
{
	dlist_iter	i;

	dlist_foreach(i, &executions)
	{
		LiveExecution *live = dlist_container(LiveExecution, link, i.cur);

		if (live->desc == desc)
			return live;
	}
	return NULL;
}

bool
live_any(void)
{
	return !dlist_is_empty(&executions);
}

/* Attaches and begins an observation of an execution.  "called": see live_begin(). */
static void
observe(LiveExecution *live, PlanState *called)
{
	ObserveOptions options = {.late = called != NULL, .no_workers = true};
	Observation *o;

	plan_sampler_prepare(false);
	o = observe_attach(live->desc, &options);
	/* without free numbers, there are no counters */
	if (o == NULL)
		return;
	Assert(o->nnodes == live->nodes->nnodes);
	live->nodes = live->observation = o;
	live->own = true;
	observe_begin_part(o);
	if (called != NULL)
		observe_called(o, called);
}

static void publish(LiveExecution *live, bool first);

/*
 * Occupies slots, attaches an observation unless the execution is observed or instrumented, and
 * publishes the execution for the first time.  The reset callback of the query's memory frees the
 * slots, also after an error.
 */
LiveExecution *
live_begin(QueryDesc *desc, int level, TimestampTz started_at, PlanState *called)
{
	MemoryContext old = MemoryContextSwitchTo(desc->estate->es_query_cxt);
	LiveExecution *live = palloc0(sizeof(LiveExecution));
	LiveHeader *header;

	live->desc = desc;
	live->observation = observation_of(desc);
	live->nodes = live->observation != NULL ? live->observation : observe_list(desc, NULL);
	live->at_work = palloc0(sizeof(bool) * live->nodes->nnodes);
	live->total_ns = palloc0(sizeof(double) * live->nodes->nnodes);
	live->variances = palloc0(sizeof(double) * live->nodes->nnodes);
	live->image = live_describe(desc, level, started_at, live->nodes);
	live->at_end.func = live_end;
	live->at_end.arg = live;
	if (!live_claim(live->image))
	{
		MemoryContextSwitchTo(old);
		return NULL;
	}
	dlist_push_head(&executions, &live->link);
	MemoryContextRegisterResetCallback(desc->estate->es_query_cxt, &live->at_end);
	header = &live->image->header;
	if (live->observation == NULL && desc->instrument_options == 0 && header->nnodes > 0)
	{
		observe(live, called);
		header->late = called != NULL;
	}
	else if (live->observation != NULL && live->observation->options.late)
		header->late = true;
	else
		header->since = started_at;
	header->sampled = live->observation != NULL;
	MemoryContextSwitchTo(old);
	live_write(live->image, true);
	publish(live, true);
	return live;
}

void
live_resume(LiveExecution *live)
{
	LiveHeader *header = &live->image->header;

	if (header->suspended_at != 0)
	{
		/* the counters have not changed in the meantime */
		header->as_of = GetCurrentTimestamp();
		header->suspended_us += header->as_of - header->suspended_at;
		header->suspended_at = 0;
		live_write(live->image, false);
	}
	if (live->own && !live->observation->under_way)
		observe_begin_part(live->observation);
}

void
live_pause(LiveExecution *live)
{
	if (live->own)
		observe_end_part(live->observation);
	live->image->header.suspended_at = GetCurrentTimestamp();
}

void
live_ended(LiveExecution *live)
{
	const LiveHeader *header = &live->image->header;
	LivePrediction prediction;

	if (live->ended || header->leader_pid != 0)
		return;
	live->ended = true;
	live_history_add(&header->plan, (double) live_elapsed_us(header, header->suspended_at) / 1e6,
					 live_predicted(live->image, &prediction) ? &prediction : NULL);
}

/*
 * Returns whether the memory that a Gather above shares with its workers is certainly mapped: in a
 * worker, and while the leader executes a node below the Gather.  Gather itself unmaps it.
 */
static bool
is_mapped(const LiveExecution *live, int place)
{
	int			at_work = live->image->header.innermost;

	if (IsParallelWorker())
		return true;
	while (place >= 0 && !IsA(live_state_of(live, place), GatherState) &&
		   !IsA(live_state_of(live, place), GatherMergeState))
		place = live->nodes->nodes[place].parent;
	return place >= 0 && at_work >= 0 && at_work != place && live->at_work[place];
}

/*
 * Returns the share of the relation's pages that a sequential scan has read; NAN if unknown.
 * Unless "mapped", the memory shared with parallel workers may be unmapped, so it is not read.
 */
static double
share_scanned(const PlanState *node, bool mapped)
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

		if (!mapped || shared->phs_nblocks == 0)
			return NAN;
		return Min((double) pg_atomic_read_u64(&shared->phs_nallocated) / shared->phs_nblocks, 1);
	}
	if (!heap->rs_inited || blocks == 0 || heap->rs_cblock == InvalidBlockNumber)
		return NAN;
	return fmod((double) heap->rs_cblock + blocks - heap->rs_startblock, blocks) / blocks;
}

/*
 * Publishes in how many batches a node handles its rows, and the current one: those of a hash join,
 * or how often an aggregate with grouping sets sorts and reads its rows.  Its phase 0 returns the
 * groups of hash tables, at the end.
 */
static void
put_batches(const PlanState *node, LiveCounts *counts)
{
	HashJoinTable table = IsA(node, HashJoinState) ? ((const HashJoinState *) node)->hj_HashTable :
		NULL;
	bool		several = table != NULL && table->nbatch > 1;

	if (IsA(node, AggState))
	{
		const AggState *agg = (const AggState *) node;
		int			passes = agg->numphases - 1;

		counts->batches = passes > 1 ? passes : 0;
		counts->batch = passes <= 1 ? 0 :
			agg->current_phase > 0 ? agg->current_phase - 1 : passes - 1;
		return;
	}
	counts->batches = several ? table->nbatch : 0;
	counts->batch = !several ? 0 : table->parallel_state != NULL ? -1 : table->curbatch;
}

/*
 * Returns the number of rows that a node will have returned at the end of its loop, if the rows are
 * in its memory; NAN if unknown.  A bound, if the node has a condition (HAVING).
 */
static double
rows_in_memory(const PlanState *node)
{
	switch (nodeTag(node))
	{
		case T_AggState:
			{
				const AggState *agg = (const AggState *) node;

				return agg->aggstrategy == AGG_HASHED && agg->table_filled &&
					!agg->hash_ever_spilled ? (double) agg->hash_ngroups_current : NAN;
			}
		case T_SetOpState:
			{
				const SetOpState *setop = (const SetOpState *) node;

				return setop->table_filled && setop->hashtable != NULL &&
					setop->hashtable->hashtab != NULL ? setop->hashtable->hashtab->members : NAN;
			}
		case T_CteScanState:
			{
				const CteScanState *leader = ((const CteScanState *) node)->leader;

				return leader != NULL && leader->eof_cte && leader->cte_table != NULL ?
					(double) tuplestore_tuple_count(leader->cte_table) : NAN;
			}
		case T_SortState:
			{
				const SortState *sort = (const SortState *) node;

				return sort->sort_Done && sort->bounded ? (double) sort->bound : NAN;
			}
		default:
			return NAN;
	}
}

/*
 * Returns the share of a CTE's rows that a CTE Scan has read in its only loop; NAN if the CTE has
 * not ended, and its number of rows is therefore unknown.
 */
static double
share_of_cte(const PlanState *node, const LiveCounts *counts)
{
	double		rows = rows_in_memory(node);

	if (!IsA(node, CteScanState) || isnan(rows) || node->instrument == NULL || counts->loops > 1)
		return NAN;
	return rows > 0 ? Min((counts->rows + instr_removed(node->instrument)) / rows, 1) : 1;
}

/* Sets the nodes' rows and loops. */
static void
put_rows(LiveExecution *live)
{
	for (int i = 0; i < live->image->header.nnodes; i++)
	{
		const PlanState *node = live_state_of(live, i);
		LiveCounts *counts = live_counts(live->image, i);
		ServerCounts so_far = {0};

		/* without free numbers for an observation, there are no counters */
		if (node->instrument != NULL)
			so_far = instr_so_far(node->instrument);
		counts->rows = so_far.rows;
		counts->loops = so_far.loops;
		counts->includes_workers = node->worker_instrument != NULL;
	}
}

/* Sets what depends on the states. */
static void
put_positions(LiveExecution *live)
{
	for (int i = 0; i < live->image->header.nnodes; i++)
	{
		const PlanState *node = live_state_of(live, i);
		LiveCounts *counts = live_counts(live->image, i);
		bool		whole = plan_shape(node)->output == OUTPUT_WHOLE;

		counts->calls = live->observation == NULL ? -1 :
			(int64) (counts->loops + (whole ? 0 : counts->rows));
		counts->scanned = (float) (counts->state == LIVE_FINISHED ? NAN :
								   IsA(node, CteScanState) ? share_of_cte(node, counts) :
								   share_scanned(node, is_mapped(live, i)));
		counts->known_rows = (float) rows_in_memory(node);
		put_batches(node, counts);
	}
}

/* Stores the state when counting began, for live_progress(). */
static void
keep_first(LiveExecution *live)
{
	for (int i = 0; i < live->image->header.nnodes; i++)
	{
		LiveCounts *counts = live_counts(live->image, i);

		counts->first_state = counts->state;
		counts->first_scanned = counts->scanned;
		counts->first_batch = counts->batch;
	}
}

static void
publish(LiveExecution *live, bool first)
{
	LiveImage  *image = live->image;

	put_rows(live);
	live_put_work(live);
	image->header.event = *(volatile uint32 *) my_wait_event_info;
	live_put_states(live);
	put_positions(live);
	/* an observation that has just begun has no times */
	live_put_times(live, first && live->own);
	if (first)
		keep_first(live);
	image->header.as_of = GetCurrentTimestamp();
	live_write(image, false);
}

void
live_publish(LiveExecution *live, bool always)
{
	if (always ||
		GetCurrentTimestamp() - live->image->header.as_of >= live_interval_ms * INT64CONST(1000))
		publish(live, false);
}
