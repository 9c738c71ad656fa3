/*
 * Observes parallel workers.
 *
 * An extension cannot pass anything from the leader to its workers but settings, which the server
 * copies to them.  So the leader creates a segment of shared memory, and puts the segment's handle
 * into the setting clocktiming.worker_observation.  A worker attaches to the segment at its first
 * ExecutorRun().  It occupies one of the areas, installs stubs in its own copy of the plan, and is
 * sampled there.  At its ExecutorFinish(), it adds its results to the area.  The leader reads the
 * areas after its own ExecutorFinish(), when all workers have ended.
 *
 * A Gather that is rescanned starts new workers, which continue with the areas of earlier ones.  So
 * an area is the sum of all workers that have used it.  Several Gather nodes may also have more
 * workers than there are areas; those without an area are not observed.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "common/hashfn.h"

#include "compat.h"
#include "plan/explain/observation_record.h"
#include "plan/explain/parallel_observation.h"
#include "plan/sampler/plan_sampler.h"
#include "server/settings.h"
#include "server/subtransaction.h"

#define SHARED_MAGIC	0x636c6b74

/*
 * Numbers of a worker for executions within functions, in addition to those of its plan.  An
 * execution whose nodes have no numbers is not observed, so its time belongs to the calling node
 * alone.  Each number needs 64 bytes for each worker.
 */
#define NESTED_NUMBERS	256

/*
 * Most workers of a plan that are observed at a time.  Plans with many Gather nodes rarely execute
 * them at the same time.
 */
#define MOST_AREAS		64

/* A worker's part of the segment.  After its end, another worker may continue with the sums. */
typedef struct WorkerArea
{
	pg_atomic_uint32 taken;		/* a worker executes the plan now */
	pg_atomic_uint32 used;		/* the members below are set */
	int			worker;			/* number in EXPLAIN */
	ProcessRun	run;
	int			nwaits;
	ObservedWait waits[OBSERVED_WAITS];
	/* followed by a NodeRecord for each place and by an ObservedProcess */
} WorkerArea;

typedef struct SharedObservation
{
	uint32		magic;
	uint32		text_hash;		/* of the text of the query */
	int			nnodes;
	int			nareas;
	bool		asked;
	int			ids[FLEXIBLE_ARRAY_MEMBER]; /* plan_node_id by place */
	/* followed by the WorkerAreas */
} SharedObservation;

/* Setting clocktiming.worker_observation: handle of the segment; empty if there is none. */
static char *worker_observation = NULL;
static void (*need_executor_hooks) (void);

/* The observation of the plan that this parallel worker executes, and its area; or NULL. */
static Observation *own = NULL;
static WorkerArea *own_area = NULL;

static uint32
text_hash(const char *text)
{
	return hash_bytes((const unsigned char *) text, (int) strlen(text));
}

static Size
records_at(void)
{
	return MAXALIGN(sizeof(WorkerArea));
}

static Size
process_at(int nnodes)
{
	return TYPEALIGN(LINE_SIZE, records_at() + sizeof(NodeRecord) * (Size) nnodes);
}

static uint32
numbers_of(int nnodes)
{
	return (uint32) nnodes + 2 + NESTED_NUMBERS;
}

static Size
area_size(int nnodes)
{
	return process_at(nnodes) + observed_size(numbers_of(nnodes));
}

static Size
areas_at(int nnodes)
{
	return TYPEALIGN(LINE_SIZE, offsetof(SharedObservation, ids) + sizeof(int) * (Size) nnodes);
}

static WorkerArea *
area(const SharedObservation *shared, int i)
{
	return (WorkerArea *) ((char *) shared + areas_at(shared->nnodes) +
						   area_size(shared->nnodes) * (Size) i);
}

static NodeRecord *
records_of(const SharedObservation *shared, WorkerArea *a)
{
	(void) shared;
	return (NodeRecord *) ((char *) a + records_at());
}

static int
areas_of(const Observation *o)
{
	return Min(o->nworkers, MOST_AREAS);
}

static Size
shared_size(const Observation *o)
{
	return areas_at(o->nnodes) + area_size(o->nnodes) * (Size) areas_of(o);
}

/* Creates the segment.  Called in a subtransaction, which the segment outlives. */
static void
create_segment(void *arg)
{
	Observation *o = arg;

	o->segment = dsm_create(shared_size(o), DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (o->segment != NULL)
		dsm_pin_mapping(o->segment);
}

/*
 * Creates the segment in a subtransaction, so that the query is executed, without observed workers,
 * if there is no memory.  The setting is local to a GUC nest level, which also ends after an error.
 */
void
parallel_observation_share(Observation *o)
{
	SharedObservation *shared;
	char		value[32];

	if (o->nworkers == 0 || IsParallelWorker())
		return;

	/* without a segment, workers are not observed */
	if (!IsInParallelMode())
		(void) subtransaction_attempt(create_segment, o);
	o->workers_hidden = o->segment == NULL;
	if (o->workers_hidden)
		return;
	dsm_unpin_mapping(o->segment);
	o->shared = shared = dsm_segment_address(o->segment);
	memset(shared, 0, shared_size(o));
	shared->magic = SHARED_MAGIC;
	shared->text_hash = text_hash(o->desc->sourceText);
	shared->nnodes = o->nnodes;
	shared->nareas = areas_of(o);
	shared->asked = o->options.asked;
	for (int i = 0; i < o->nnodes; i++)
		shared->ids[i] = o->nodes[i].id;

	o->guc_nest_level = NewGUCNestLevel();
	snprintf(value, sizeof(value), "%u", dsm_segment_handle(o->segment));
	(void) set_config_option("clocktiming.worker_observation", value, PGC_SUSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

void
parallel_observation_told(Observation *o)
{
	if (o->guc_nest_level != 0)
		AtEOXact_GUC(true, o->guc_nest_level);
	o->guc_nest_level = 0;
}

void
parallel_observation_release(Observation *o)
{
	if (o->segment != NULL)
		dsm_detach(o->segment);
	o->segment = NULL;
	o->shared = NULL;
}

/*
 * Called before a worker's segment is unmapped, also when a transaction is aborted: stubs must not
 * write to it any more.
 */
static void
leave_area(dsm_segment *segment, Datum arg)
{
	(void) segment;
	(void) arg;
	plan_sampler_leave_worker();
	if (own_area != NULL)
		pg_atomic_write_u32(&own_area->taken, 0);
	own_area = NULL;
}

static WorkerArea *
used_area(const Observation *o, int n)
{
	for (int i = 0; o->shared != NULL && i < o->shared->nareas; i++)
	{
		WorkerArea *a = area(o->shared, i);

		if (pg_atomic_read_u32(&a->used) != 0 && n-- == 0)
			return a;
	}
	return NULL;
}

int
parallel_observation_processes(const Observation *o)
{
	int			n = 0;

	while (used_area(o, n) != NULL)
		n++;
	return n;
}

const ProcessRun *
parallel_observation_result(const Observation *o, int i, const NodeRecord **records,
							const ObservedWait **waits, int *nwaits, int *worker)
{
	WorkerArea *a = used_area(o, i);

	*records = records_of(o->shared, a);
	*waits = a->waits;
	*nwaits = a->nwaits;
	*worker = a->worker;
	return &a->run;
}

/* Takes a free area, preferably the one with the worker's number. */
static WorkerArea *
take_area(const SharedObservation *shared)
{
	for (int i = 0; i < shared->nareas; i++)
	{
		WorkerArea *a = area(shared, (ParallelWorkerNumber + i) % shared->nareas);
		uint32		is_free = 0;

		if (pg_atomic_compare_exchange_u32(&a->taken, &is_free, 1))
			return a;
	}
	return NULL;
}

/* Reset callback of the query's memory context; called after an error, too. */
static void
forget_own(void *arg)
{
	(void) arg;
	own = NULL;
}

/* Begins the observation in a worker, unless "desc" is a query within a function. */
void
parallel_observation_join(QueryDesc *desc)
{
	ObserveOptions options = {.no_workers = true};
	SharedObservation *shared;
	dsm_segment *segment;
	dsm_handle	handle;
	WorkerArea *a = NULL;
	MemoryContextCallback *at_end;

	if (worker_observation == NULL || worker_observation[0] == '\0' || own != NULL)
		return;
	handle = (dsm_handle) strtoul(worker_observation, NULL, 10);
	segment = dsm_attach(handle);
	if (segment == NULL)
		return;
	shared = dsm_segment_address(segment);
	if (dsm_segment_map_length(segment) >= sizeof(SharedObservation) &&
		shared->magic == SHARED_MAGIC && shared->text_hash == text_hash(desc->sourceText))
		a = take_area(shared);
	if (a != NULL)
	{
		ObservedProcess *process = (ObservedProcess *) ((char *) a + process_at(shared->nnodes));

		process->nsums = numbers_of(shared->nnodes);
		plan_sampler_join_worker(process, handle, (uint64) ((char *) process - (char *) shared));
		options.asked = shared->asked;
		own_area = a;
		on_dsm_detach(segment, leave_area, (Datum) 0);
		own = observe_attach(desc, &options);
	}
	if (own == NULL)
	{
		dsm_detach(segment);
		return;
	}
	own->segment = segment;
	own->shared = shared;
	at_end = MemoryContextAlloc(own->context, sizeof(MemoryContextCallback));
	at_end->func = forget_own;
	at_end->arg = NULL;
	MemoryContextRegisterResetCallback(own->context, at_end);
	observe_begin_part(own);
}

/*
 * Returns the leader's place of a node.  A worker's plan may lack nodes, and several nodes may have
 * the same plan_node_id, but the order is the same.
 */
static int
leader_place(const SharedObservation *shared, int id, int *from)
{
	for (int i = 0; i < shared->nnodes; i++)
	{
		int			place = (*from + i) % shared->nnodes;

		if (shared->ids[place] == id)
		{
			*from = place + 1;
			return place;
		}
	}
	return -1;
}

/* Adds the worker's results to its area: after a rescan of Gather, new workers reuse it. */
void
parallel_observation_report(QueryDesc *desc)
{
	int			from = 0;
	int		   *places;

	if (own == NULL || own->desc != desc)
		return;
	observe_end_part(own);
	own_area->worker = ParallelWorkerNumber;
	record_run(own, &own_area->run);
	places = MemoryContextAlloc(own->context, sizeof(int) * (own->nnodes + 1));
	for (int i = 0; i < own->nnodes; i++)
		places[i] = leader_place(own->shared, own->nodes[i].id, &from);
	if (own_area->run.pending >= 0)
		own_area->run.pending = places[own_area->run.pending];
	for (int i = 0; i < own->nnodes; i++)
	{
		if (places[i] >= 0)
			record_node(own, i, places, &records_of(own->shared, own_area)[places[i]]);
	}
	for (int i = 0; i < own->nwaits; i++)
	{
		ObservedWait wait = own->waits[i];

		if (wait.place >= 0)
			wait.place = places[wait.place];
		if (own_area->nwaits < OBSERVED_WAITS)
			own_area->waits[own_area->nwaits++] = wait;
	}
	pg_write_barrier();
	pg_atomic_write_u32(&own_area->used, 1);
	parallel_observation_release(own);
	own = NULL;
}

static void
assign_worker_observation(const char *newval, void *extra)
{
	(void) extra;
	if (newval != NULL && newval[0] != '\0')
		need_executor_hooks();
}

void
parallel_observation_init(void (*need_hooks) (void))
{
	need_executor_hooks = need_hooks;
	setting_define_string(SETTING_WORKER_OBSERVATION, &worker_observation,
						  assign_worker_observation);
}
