/*
 * Times plan nodes in parallel workers.  The leader creates a segment of shared memory with the
 * options, and space for the workers' counts and times.  The setting clocktiming.worker_timing,
 * which every worker inherits from the leader, contains the segment's handle.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "utils/guc.h"

#include "clock/subtransaction.h"
#include "compat.h"
#include "explain/call_samples.h"
#include "explain/parallel_timing.h"
#include "explain/plan_attach.h"
#include "explain/plan_record.h"
#include "explain/timing_clock.h"

#define SHARED_MAGIC	0x636c6b74

typedef struct SharedTiming
{
	uint32		magic;
	NodeTimingOptions options;
	int			nnodes;			/* largest plan_node_id + 1 */
	int			nparts;			/* number of SharedUses at the end */
	int			nworkers;		/* maximum number of workers */
	uint32		text_hash;		/* of the text of the query to be timed */
	CallCost	cost;
	bool		by_counter;
	NodeRecord	records[FLEXIBLE_ARRAY_MEMBER]; /* for each worker: one for
												 * each node, then one for
												 * each SharedUse */
	/* followed by nparts SharedUses */
} SharedTiming;

/* The plan_node_ids of a node and of a subplan that it calls and shares with other nodes. */
typedef struct SharedUse
{
	int			user;
	int			subplan;
} SharedUse;

/* Setting clocktiming.worker_timing: handle of the segment; empty if there is none. */
static char *worker_timing = NULL;
static void (*need_executor_hooks) (void);

static uint32
text_hash(const char *text)
{
	return hash_bytes((const unsigned char *) text, (int) strlen(text));
}

static size_t
records_of_worker(const SharedTiming *shared)
{
	return (size_t) shared->nnodes + (size_t) shared->nparts;
}

static SharedUse *
shared_uses(SharedTiming *shared)
{
	return (SharedUse *) &shared->records[records_of_worker(shared) * (size_t) shared->nworkers];
}

static Size
shared_size(const QueryTiming *query)
{
	return offsetof(SharedTiming, records) +
		sizeof(NodeRecord) * (Size) (query->nnodes + query->nparts) * (Size) query->nworkers +
		sizeof(SharedUse) * (Size) query->nparts;
}

/* Creates the segment.  Called in a subtransaction, which the segment outlives. */
static void
create_segment(void *arg)
{
	QueryTiming *query = arg;

	query->segment = dsm_create(shared_size(query), DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (query->segment != NULL)
		dsm_pin_mapping(query->segment);
}

void
parallel_timing_share(QueryTiming *query)
{
	SharedTiming *shared;
	char		value[32];

	if (query->nworkers == 0 || query->no_workers)
		return;

	/* without a segment, nodes are not timed in workers */
	if (!IsInParallelMode())
		(void) subtransaction_attempt(create_segment, query);
	query->workers_untimed = query->segment == NULL;
	if (query->workers_untimed)
		return;
	dsm_unpin_mapping(query->segment);
	query->shared = shared = dsm_segment_address(query->segment);
	memset(shared, 0, shared_size(query));
	shared->magic = SHARED_MAGIC;
	shared->options.sampling = query->sampling;
	shared->options.only_node = query->only_node;
	shared->options.max_overhead = query->max_overhead;
	shared->nnodes = query->nnodes;
	shared->nparts = query->nparts;
	shared->nworkers = query->nworkers;
	for (const SubplanUse *use = query->uses; use != NULL; use = use->next)
	{
		SharedUse  *shared_use = &shared_uses(shared)[use->place - query->nplaces];

		shared_use->user = use->user->id;
		shared_use->subplan = use->subplan->id;
	}
	shared->text_hash = text_hash(query->desc->sourceText);
	shared->cost = query->cost;
	shared->by_counter = timing_by_counter;

	query->guc_nest_level = NewGUCNestLevel();
	snprintf(value, sizeof(value), "%u", dsm_segment_handle(query->segment));
	(void) set_config_option("clocktiming.worker_timing", value, PGC_SUSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

const NodeRecord *
parallel_timing_records(const QueryTiming *query)
{
	return query->shared == NULL ? NULL : query->shared->records;
}

void
parallel_timing_told(QueryTiming *query)
{
	if (query->guc_nest_level != 0)
		AtEOXact_GUC(true, query->guc_nest_level);
	query->guc_nest_level = 0;
}

void
parallel_timing_release(QueryTiming *query)
{
	parallel_timing_told(query);
	if (query->segment != NULL)
		dsm_detach(query->segment);
	query->segment = NULL;
	query->shared = NULL;
}

/* Installs the wrappers in a worker, unless "desc" is a query within a function. */
void
parallel_timing_join(QueryDesc *desc)
{
	dsm_segment *segment;
	QueryTiming *query;
	SharedTiming *shared;

	if (worker_timing == NULL || worker_timing[0] == '\0' || timed_in_worker != NULL)
		return;
	segment = dsm_attach((dsm_handle) strtoul(worker_timing, NULL, 10));
	if (segment == NULL)
		return;
	shared = dsm_segment_address(segment);
	if (dsm_segment_map_length(segment) < sizeof(SharedTiming) ||
		shared->magic != SHARED_MAGIC ||
		shared->text_hash != text_hash(desc->sourceText) ||
		ParallelWorkerNumber >= shared->nworkers ||
		(shared->by_counter && timing_counter_why_not() != NULL))
	{
		dsm_detach(segment);
		return;
	}
	call_samples_prepare();
	timing_by_counter = shared->by_counter;
	query = plan_attach(desc, &shared->options);
	query->segment = segment;
	query->shared = shared;
	query_set_cost(query, &shared->cost);
	timed_in_worker = query;
	if (query->watcher != NULL)
		query->watcher->attached(query);
	query_timing_start(query);
}

/*
 * Sets the counts and times of one node's calls of a shared subplan.  If no other node in this
 * worker's part of the plan uses the subplan, the node makes all of the subplan's calls.
 */
static void
record_use(QueryTiming *query, const SharedUse *shared, const NodeRecord *nodes, NodeRecord *record)
{
	const NodeTiming *subplan = shared->subplan < query->nnodes ? query->nodes[shared->subplan] :
		NULL;
	const SubplanUse *use = query->uses;

	if (subplan == NULL || subplan->kind != NODE_SAMPLED)
		return;
	if (!subplan->is_shared)
	{
		if (subplan->parent != NULL && subplan->parent->id == shared->user)
			*record = nodes[subplan->id];
		record->part_ns = record->total_ns;
		return;
	}
	while (use != NULL && (use->subplan != subplan || use->user->id != shared->user))
		use = use->next;
	if (use != NULL)
		record_part(use, nodes[subplan->id].total_ns, record);
}

void
parallel_timing_report(QueryDesc *desc)
{
	QueryTiming *query = timed_in_worker;
	SharedTiming *shared;
	NodeRecord *records;
	NodeRecord *nodes;

	if (query == NULL || query->desc != desc)
		return;
	shared = query->shared;
	records = &shared->records[ParallelWorkerNumber * records_of_worker(shared)];
	nodes = MemoryContextAllocZero(query->context, sizeof(NodeRecord) * query->nnodes);
	query_timing_stop(query);
	for (int i = 0; i < Min(query->nnodes, shared->nnodes); i++)
	{
		NodeTiming *t = query->nodes[i];
		NodeRecord *record = &nodes[i];

		if (t == NULL || t->kind == NODE_UNTIMED)
			continue;
		record_node(t, record);
		if (query->desc->instrument_options != 0)
		{
			instr_show(&t->instr, record->rows, record->loops, record->first_ns, record->total_ns);

			/*
			 * The record contains the rows removed by the node's filter.  The
			 * server must not add them again to the leader's counts when
			 * Gather shuts down.  Gather may shut down before the leader makes
			 * its estimates or, below a Limit, within a timed call.
			 */
			instr_forget_removed(&t->instr);
		}

		/* a sum: after a rescan of Gather, new workers reuse these numbers */
		record_add(&records[i], record, 1);
	}
	for (int i = 0; i < shared->nparts; i++)
	{
		NodeRecord	record = {0};

		record_use(query, &shared_uses(shared)[i], nodes, &record);
		record_add(&records[shared->nnodes + i], &record, 1);
	}
	parallel_timing_release(query);
}

static void
assign_worker_timing(const char *newval, void *extra)
{
	(void) extra;
	if (newval != NULL && newval[0] != '\0')
		need_executor_hooks();
}

void
parallel_timing_init(void (*need_hooks) (void))
{
	need_executor_hooks = need_hooks;
	DefineCustomStringVariable("clocktiming.worker_timing",
							   "Tells parallel workers that their plan nodes are being timed.",
							   "Set by clocktiming itself while a query is executed.",
							   &worker_timing, "",
							   PGC_SUSET,
							   GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL | GUC_NOT_IN_SAMPLE |
							   GUC_DISALLOW_IN_FILE,
							   NULL, assign_worker_timing, NULL);
}
