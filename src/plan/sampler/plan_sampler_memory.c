/*
 * The observed process's side of the sampler.
 *
 * A process that executes observed plans has an ObservedProcess in a segment of dynamic shared
 * memory, and a slot in plan_sampler_shared that names the segment.  It takes both for its first
 * such execution, and keeps them until it exits, so that later executions cost little.  The slot is
 * published last, with a barrier, because the sampler may read it at any time.
 *
 * An epoch begins when the sums begin at 0.  The process increases its number, wakes the sampler,
 * and then starts a part of an execution: it writes the times of the start, and then the number of
 * the epoch once more, as that of the part.  When the sampler sees this number, it reads the times
 * (follow() in plan_sampler_worker.c).  Neither side waits: until the sampler has taken the first
 * sample of an epoch, seen_epoch shows that the sums are those of an earlier one.
 *
 * Without a sampler or without shared memory, the process uses memory of its own, and a timeout
 * adds the samples (sample_self()).
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "core/cpu_usage.h"
#include "core/random.h"
#include "core/system_clock.h"
#include "plan/sampler/plan_sampler.h"
#include "server/settings.h"
#include "server/subtransaction.h"

/* Largest number of slots.  Fits into memory that the server does not reserve for extensions. */
#define MOST_SLOTS		1024

/* Time for which plan_sampler_prepare() waits, in ms, and time between two requests, in ns. */
#define WAIT_MS			200
#define REQUEST_NS		UINT64CONST(1000000000)

/* Time without a tick after which the sampler must be woken, in ns. */
#define TICKS_LATE_NS	1e9

/* Interval of the timeout if the process samples itself, in ms. */
#define TIMEOUT_MS		10

SamplerShared *plan_sampler_shared = NULL;
ObservedProcess *observed = NULL;

/* Number of the node at work if there is no "observed". */
static uint32 no_samples;
volatile uint32 *current_number = &no_samples;

static dsm_segment *own_segment = NULL; /* contains "observed"; or NULL */
static ObservedProcess *in_segment; /* result of create_segment() */
static SamplerSlot *own_slot = NULL;

static bool without_worker = false; /* clocktiming.sampler_off */
static int	timeout_id = -1;
static int	timeout_pid = 0;	/* process that has registered the timeout */
static SampleState timeout_state;
static uint64 random_state;

static int
slots_wanted(void)
{
	return Min(MaxBackends + max_worker_processes, MOST_SLOTS);
}

Size
plan_sampler_shmem_size(void)
{
	return offsetof(SamplerShared, slots) + sizeof(SamplerSlot) * MOST_SLOTS;
}

/* Finds or creates the shared memory.  Raises an error if there is no memory. */
void
plan_sampler_attach(void)
{
	int			nslots = slots_wanted();
	Size		size = offsetof(SamplerShared, slots) + sizeof(SamplerSlot) * nslots;
	SamplerShared *shared;
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("clocktiming sampler", size, &found);
	if (!found)
	{
		memset(shared, 0, size);
		pg_atomic_init_u64(&shared->requested_ns, 0);
		pg_atomic_init_u64(&shared->ticks.wanted_ns, 0);
		for (int i = 0; i < TICKS_KEPT; i++)
			pg_atomic_init_u64(&shared->ticks.times_ns[i], 0);
		shared->nslots = nslots;
	}
	LWLockRelease(AddinShmemInitLock);
	plan_sampler_shared = shared;
}

static void
attach_shared(void *arg)
{
	(void) arg;
	plan_sampler_attach();
}

/* Returns whether the sampler runs. */
static bool
worker_runs(void)
{
	uint32		pid = plan_sampler_shared == NULL ?
		0 : pg_atomic_read_u32(&plan_sampler_shared->worker_pid);

	return pid != 0 && !without_worker;
}

static void
wake_worker(void)
{
	if (pg_atomic_read_u32(&plan_sampler_shared->asleep) != 0)
		SetLatch(&ProcGlobal->allProcs
				 [pg_atomic_read_u32(&plan_sampler_shared->worker_procno)].procLatch);
}

void
plan_sampler_want_ticks(uint64 now_ns)
{
	SamplerTicks *ticks;

	if (plan_sampler_shared == NULL)
		return;
	ticks = &plan_sampler_shared->ticks;
	pg_atomic_write_u64(&ticks->wanted_ns, now_ns);
	if (!worker_runs())
		return;

	/*
	 * wakes it only if it does not tick, because it expects work after it was
	 * woken
	 */
	if ((double) (int64) (now_ns - pg_atomic_read_u64(&ticks->times_ns[ticks->n % TICKS_KEPT])) >
		TICKS_LATE_NS)
		wake_worker();
}

/*
 * Outside of shared_preload_libraries, attaches to the shared memory at the first use, in a
 * subtransaction, because there may be no memory left.  Requests the worker only if no process has
 * done so in the last second, because the postmaster needs some time to start it.
 */
void
plan_sampler_prepare(bool wait)
{
	static bool tried = false;
	uint64		now_ns = system_clock_read();
	uint64		requested_ns;
	BackgroundWorker worker = {0};

	if (plan_sampler_shared == NULL && !tried && !IsInParallelMode() && IsTransactionState())
	{
		tried = true;
		(void) subtransaction_attempt(attach_shared, NULL);
	}
	if (plan_sampler_shared == NULL || without_worker || IsParallelWorker() || !IsUnderPostmaster)
		return;
	if (worker_runs())
	{
		wake_worker();
		return;
	}
	/* only one of the processes that need the sampler requests it */
	requested_ns = pg_atomic_read_u64(&plan_sampler_shared->requested_ns);
	if (now_ns - requested_ns < REQUEST_NS && requested_ns != 0)
		return;
	if (!pg_atomic_compare_exchange_u64(&plan_sampler_shared->requested_ns, &requested_ns, now_ns))
		return;
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker.bgw_start_time = BgWorkerStart_PostmasterStart;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "clocktiming", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "clock_sampler_main", sizeof(worker.bgw_function_name));
	strlcpy(worker.bgw_name, "clocktiming sampler", sizeof(worker.bgw_name));
	strlcpy(worker.bgw_type, "clocktiming sampler", sizeof(worker.bgw_type));
	if (!RegisterDynamicBackgroundWorker(&worker, NULL))
		return;
	for (int ms = 0; wait && ms < WAIT_MS && !worker_runs(); ms++)
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
	}
}

static void
leave_slot(int code, Datum arg)
{
	(void) code;
	(void) arg;
	if (own_slot == NULL)
		return;
	pg_atomic_write_u32(&own_slot->ready, 0);
	pg_write_barrier();
	pg_atomic_write_u32(&own_slot->pid, 0);
	own_slot = NULL;
	pg_atomic_fetch_add_u32(&plan_sampler_shared->changes, 1);
}

/* Announces "observed" to the sampler.  Without a free slot, the process samples itself. */
static void
take_slot(dsm_handle handle, uint64 offset)
{
	static int	registered_for = 0;

	if (plan_sampler_shared == NULL)
		return;
	leave_slot(0, 0);
	for (int i = 0; i < plan_sampler_shared->nslots; i++)
	{
		SamplerSlot *slot = &plan_sampler_shared->slots[i];
		uint32		is_free = 0;

		if (!pg_atomic_compare_exchange_u32(&slot->pid, &is_free, (uint32) MyProcPid))
			continue;
		slot->procno = (int) (MyProc - ProcGlobal->allProcs);
		slot->handle = handle;
		slot->offset = offset;
		pg_write_barrier();
		pg_atomic_write_u32(&slot->ready, 1);
		own_slot = slot;
		break;
	}
	pg_atomic_fetch_add_u32(&plan_sampler_shared->changes, 1);
	if (registered_for != MyProcPid)
		before_shmem_exit(leave_slot, 0);
	registered_for = MyProcPid;
}

static void
use(ObservedProcess *process)
{
	observed = process;
	current_number = &process->current;
}

/*
 * Copies the sums to larger memory: executions that are suspended, such as cursors, have not
 * collected all of them yet.  Before the first sample of an epoch, the sums are old, and count as
 * 0.
 */
static void
carry_over(ObservedProcess *to)
{
	if (observed == NULL || !plan_sampler_has_sampled())
		return;
	memcpy(to->waits, observed->waits, sizeof(to->waits));
	memcpy(to->sums, observed->sums, sizeof(SampleSums) * Min(to->nsums, observed->nsums));
}

/* Creates a segment for the number of numbers that "arg" points to. */
static void
create_segment(void *arg)
{
	uint32		numbers = *(uint32 *) arg;
	dsm_segment *segment = dsm_create(observed_size(numbers), DSM_CREATE_NULL_IF_MAXSEGMENTS);

	in_segment = NULL;
	if (segment == NULL)
		return;
	dsm_pin_mapping(segment);
	in_segment = dsm_segment_address(segment);
	memset(in_segment, 0, observed_size(numbers));
	in_segment->nsums = numbers;
	carry_over(in_segment);
	if (own_segment != NULL)
	{
		leave_slot(0, 0);
		dsm_detach(own_segment);
	}
	own_segment = segment;
}

/*
 * Creates a larger segment if the present one has too few numbers, but not while a number is in
 * use, because the sums in use would be lost.
 */
bool
plan_sampler_join(uint32 numbers)
{
	if (observed != NULL && observed->nsums >= numbers)
		return true;
	if (observed != NULL && observed->current != SAMPLE_IDLE)
		return false;
	numbers = Max(numbers, OBSERVED_NUMBERS);
	in_segment = NULL;
	if (plan_sampler_shared != NULL && !IsInParallelMode() && IsTransactionState())
		(void) subtransaction_attempt(create_segment, &numbers);
	if (in_segment == NULL)
	{
		/* nobody else can see this memory, so the process samples itself */
		in_segment = MemoryContextAllocExtended(TopMemoryContext, observed_size(numbers),
												MCXT_ALLOC_ZERO);
		in_segment->nsums = numbers;
		carry_over(in_segment);
		leave_slot(0, 0);
	}
	else
		take_slot(dsm_segment_handle(own_segment), 0);
	use(in_segment);
	return true;
}

void
plan_sampler_join_worker(ObservedProcess *process, dsm_handle handle, uint64 offset)
{
	/* the leader has created it */
	if (plan_sampler_shared == NULL)
		plan_sampler_attach();
	use(process);
	take_slot(handle, offset);
}

void
plan_sampler_leave_worker(void)
{
	leave_slot(0, 0);
	observed = NULL;
	current_number = &no_samples;
}

/* Returns whether the times of the latest part's start are valid. */
static bool
has_started(void)
{
	return pg_atomic_read_u32(&observed->part) == pg_atomic_read_u32(&observed->epoch);
}

/* The timeout's handler, called by a signal handler: a sample of this process by itself. */
static void
sample_self(void)
{
	SampleTable table;
	Sample		sample;

	/* when the process ends, it unmaps the memory */
	if (proc_exit_inprogress || observed == NULL || observed->current == SAMPLE_IDLE ||
		!observed->by_itself || !has_started())
		return;
	table = (SampleTable)
	{
		.sums = observed->sums, .nsums = observed->nsums, .waits = observed->waits,
			.nwaits = OBSERVED_WAITS, .squares = &observed->squares
	};
	sample = (Sample)
	{
		.ns = system_clock_read(), .cpu_ns = (uint64) cpu_time_ns(),
			.number = observed->current, .event = *(volatile uint32 *) my_wait_event_info
	};
	sample_add(&timeout_state, &table, &sample);
	observed->samples++;
	observed->sampled_ns = sample.ns;
	observed->pending = sample_pending(&timeout_state, &observed->pending_ns, &observed->gaps_ns);
	enable_timeout_after(timeout_id, TIMEOUT_MS);
}

static void
start_timeouts(void)
{
	if (timeout_pid != MyProcPid)
	{
		timeout_id = RegisterTimeout(USER_TIMEOUT, sample_self);
		timeout_pid = MyProcPid;
		random_state = (uint64) MyProcPid * UINT64CONST(0x9e3779b97f4a7c15);
	}
	/* random, as that of the sampler: see follow() in plan_sampler_worker.c */
	enable_timeout_after(timeout_id, 1 + (int) (random_next(&random_state) % TIMEOUT_MS));
}

/*
 * Once it sees the number of the node at work, the sampler does not go to sleep on its latch.  But
 * it takes no sample before the part has started: while the process wakes the sampler, the sampler
 * may use the process's CPU for milliseconds, which are no time of the execution.
 */
void
plan_sampler_begin(uint32 number, bool asked, uint32 numbers, uint32 processes)
{
	observed->by_itself = own_slot == NULL || !worker_runs();
	observed->asked = asked;
	observed->processes = processes;
	if (observed->by_itself)
	{
		memset(observed->waits, 0, sizeof(observed->waits));
		memset(observed->sums, 0, sizeof(SampleSums) * Min(numbers, observed->nsums));
		observed->samples = observed->squares = observed->cpu_ns = 0;
		observed->pending = SAMPLE_IDLE;
		observed->gaps_ns = 0;
		observed->head_ns = TIMEOUT_MS * 1e6 / 2;
	}
	pg_write_barrier();
	pg_atomic_write_u32(&observed->epoch, pg_atomic_read_u32(&observed->epoch) + 1);
	pg_write_barrier();
	observed->current = number;
	if (observed->by_itself)
		pg_atomic_write_u32(&observed->seen_epoch, pg_atomic_read_u32(&observed->epoch));
	else
	{
		pg_memory_barrier();
		wake_worker();
	}
}

/* The sampler sees the new part's number last, so the times of its start are valid then. */
void
plan_sampler_start(uint64 *ns, uint64 *cpu_ns)
{
	*cpu_ns = observed->part_cpu_ns = (uint64) cpu_time_ns();
	*ns = observed->part_ns = system_clock_read();
	if (observed->by_itself)
		sample_begin(&timeout_state, *ns, *cpu_ns, observed->head_ns);
	pg_write_barrier();
	pg_atomic_write_u32(&observed->part, pg_atomic_read_u32(&observed->epoch));
	if (observed->by_itself)
		start_timeouts();
}

void
plan_sampler_pause(uint64 *ns, uint64 *cpu_ns)
{
	*ns = system_clock_read();
	observed->current = SAMPLE_IDLE;
	*cpu_ns = (uint64) cpu_time_ns();
}

bool
plan_sampler_has_sampled(void)
{
	return pg_atomic_read_u32(&observed->seen_epoch) == pg_atomic_read_u32(&observed->epoch);
}

void
plan_sampler_define_settings(void)
{
	setting_define_bool(SETTING_SAMPLER_OFF, &without_worker, NULL, NULL);
}
