/*
 * The backend runs on the first CPU, and one background worker on each of the other CPUs in turn.
 * They exchange their readings.  The backend orders the worker to move to a CPU.  The worker then
 * reads the clock until the next order.  Neither process waits for the other one's readings, so
 * both soon notice an interrupt, and the stop or end of the other process.
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/pmsignal.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "clock/measure/reading_cost.h"
#include "clock/measure/skew_run.h"
#include "compat.h"
#include "core/cpu_set.h"
#include "core/reference.h"
#include "core/timing_counter.h"
#include "server/wait.h"

const ClockSource *
skew_default_source(void)
{
	const ClockSource *source = clock_source_find(TIMING_COUNTER_ORDERED);

	return clock_source_why_not(source) == NULL ? source : clock_source_get("system");
}

#ifdef __linux__

PGDLLEXPORT void clock_cpu_skew_worker(Datum main_arg);

/* Number of readings, in about 0.05 ms, between checks for orders, interrupts and the run's end. */
#define READINGS			500

/* Time for measuring the cost of a reading: share of the duration, and maximum in s. */
#define COST_SHARE			0.05
#define COST_MAX_S			0.002

/* Without readings by the backend, the worker sleeps after QUIET_NS, and exits after SILENCE_NS. */
#define QUIET_NS			UINT64CONST(10000000)
#define SILENCE_NS			UINT64CONST(60000000000)

/* Extra time, in ns, to wait for bounds of the offset, because the worker may be off the CPU. */
#define SEEN_NS				UINT64CONST(60000000000)

/* Number of equal readings in a row after which the backend stops waiting for bounds. */
#define STILL_READINGS		READINGS

/* Interval at which the backend checks that the worker exists. */
#define WORKER_CHECK_NS		UINT64CONST(10000000)

#define NO_CPU				(-1)

#define CLOCK_FORBIDDEN		(-1)

typedef struct SkewShared
{
	SkewSide	backend_side;
	SkewSide	worker_side;

	/* written by the backend */
	PGPROC	   *backend;
	char		source[NAMEDATALEN];
	double		cost_s;			/* time to measure the cost of a reading */
	int			cpu;			/* order: CPU to run on, or NO_CPU to stand by */
	int			order;			/* number of the order; written last */
	int			stop;			/* the worker must exit */

	/* written by the worker */
	PGPROC	   *worker;
	double		reading_ns;		/* cost of a reading on "cpu" */
	int			failure;		/* errno or CLOCK_FORBIDDEN; 0: none */
	int			done;			/* number of the latest order carried out */
} SkewShared;

typedef struct SkewRun
{
	Skew		skew;
	SkewClock	clock;
	double		cost_s;
	int			at;				/* index of the current CPU */
	Wait		wait;

	/* resources to be released */
	CpuSet		affinity;		/* original affinity */
	bool		all_cpus;		/* it has all online CPUs */
	bool		pinned;
	dsm_segment *segment;
	SkewShared *shared;
	BackgroundWorkerHandle *worker;
} SkewRun;

static void
find_cpus(SkewRun *run)
{
	errno = cpus_allowed(&run->affinity);
	if (errno != 0)
		ereport(ERROR,
				(errcode(ERRCODE_SYSTEM_ERROR),
				 errmsg("could not find out which CPUs the server may run on: %m")));
	run->all_cpus = cpus_are_all(&run->affinity);
	run->skew.cpus = palloc0(sizeof(CpuSkew) *
							 CPU_COUNT_S(sizeof(CpuSet), run->affinity.parts));
	for (int cpu = 0; cpu < MOST_CPUS; cpu++)
	{
		if (CPU_IN(cpu, &run->affinity))
			run->skew.cpus[run->skew.ncpus++].cpu = cpu;
	}
}

static void
check_pinned(int cpu, int failure)
{
	errno = failure;
	if (failure != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("could not pin a process to CPU %d: %m", cpu),
				 errdetail("Without pinning, it is not known which CPU has read the clock."),
				 errhint("The operating system or the container has to allow sched_setaffinity().")));
}

static uint64_t
read_source(const void *arg)
{
	return ((const ClockReader *) arg)->read();
}

static void
carry_out(SkewShared *shared, const ClockSource *source)
{
	if (shared->cpu == NO_CPU)
		return;
	shared->failure = clock_source_why_unreadable(source) == NULL ? pin_to_cpu(shared->cpu) :
		CLOCK_FORBIDDEN;
	if (shared->failure == 0)
		shared->reading_ns = reading_cost(source, shared->cost_s).ns;
}

/*
 * The worker's main function.  Carries out orders, and exchanges readings until the next one.  If
 * it hears nothing from the backend, it sleeps in order not to occupy a CPU, and after a long
 * silence it exits.
 */
void
clock_cpu_skew_worker(Datum main_arg)
{
	dsm_segment *segment;
	SkewShared *shared;
	const ClockSource *source;
	SkewClock	clock = {.read = read_source};
	int			done = 0;
	int64		heard = 0;
	uint64		heard_ns = reference_ns();

	/* after SIGTERM, exits without an error */
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();

	/* NULL if the backend has exited already */
	segment = dsm_attach(DatumGetUInt32(main_arg));
	if (segment == NULL)
		return;
	shared = (SkewShared *) TYPEALIGN(SKEW_ALIGNMENT, dsm_segment_address(segment));
	source = clock_source_find(shared->source);
	clock.arg = source->reader;

	/* from now on, the backend can wake the worker when it gives an order */
	__atomic_store_n(&shared->worker, MyProc, __ATOMIC_SEQ_CST);

	while (!ShutdownRequestPending && !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED))
	{
		int			order = __atomic_load_n(&shared->order, __ATOMIC_SEQ_CST);
		uint64		now = reference_ns();
		bool		standing_by;

		CHECK_FOR_INTERRUPTS();
		if (!PostmasterIsAlive())
			proc_exit(1);

		if (order != done)
		{
			carry_out(shared, source);
			__atomic_store_n(&shared->done, order, __ATOMIC_RELEASE);
			SetLatch(&shared->backend->procLatch);
			done = order;
			heard_ns = now = reference_ns();
		}

		standing_by = shared->cpu == NO_CPU || shared->failure != 0 || done == 0;
		if (!standing_by)
		{
			skew_exchange(&shared->worker_side, &shared->backend_side, &clock, READINGS);

			/* compares numbers of readings, as the readings may be equal */
			if (skew_shared(&shared->backend_side.readings) != heard)
				heard_ns = now;
			heard = skew_shared(&shared->backend_side.readings);
		}
		if (now - heard_ns > SILENCE_NS)
			break;
		if (standing_by || now - heard_ns > QUIET_NS)
			wait_latch(standing_by ? 100 : 1);
	}
	dsm_detach(segment);
}

/*
 * Creates the shared memory, and registers the worker.  The resource owner would release the memory
 * at the end of the transaction; clean_up() does so earlier, and also stops the worker.
 */
static void
start_worker(SkewRun *run)
{
	BackgroundWorker worker;
	MemoryContext caller;
	bool		registered;

	/* larger by one alignment unit, to align the structure */
	run->segment = dsm_create(sizeof(SkewShared) + SKEW_ALIGNMENT, 0);
	run->shared = (SkewShared *) TYPEALIGN(SKEW_ALIGNMENT, dsm_segment_address(run->segment));
	memset(run->shared, 0, sizeof(SkewShared));
	run->shared->backend = MyProc;
	strlcpy(run->shared->source, run->skew.source->name, sizeof(run->shared->source));
	run->shared->cost_s = run->cost_s;
	run->shared->cpu = NO_CPU;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
	/* runs on standbys too */
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "clocktiming", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "clock_cpu_skew_worker", sizeof(worker.bgw_function_name));
	strlcpy(worker.bgw_type, "clock_cpu_skew", sizeof(worker.bgw_type));
	snprintf(worker.bgw_name, sizeof(worker.bgw_name),
			 "clock_cpu_skew worker for PID %d", MyProcPid);
	worker.bgw_main_arg = UInt32GetDatum(dsm_segment_handle(run->segment));
	worker.bgw_notify_pid = MyProcPid;

	/* the handle is needed until the end of the transaction */
	caller = MemoryContextSwitchTo(TopTransactionContext);
	registered = RegisterDynamicBackgroundWorker(&worker, &run->worker);
	MemoryContextSwitchTo(caller);
	if (!registered)
	{
		run->worker = NULL;
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("out of background worker slots"),
				 errdetail("Comparing the clocks of CPUs takes one background worker."),
				 errhint("You might need to increase max_worker_processes, or try again later.")));
	}
}

static void
check_worker(const SkewRun *run)
{
	pid_t		pid;

	/* without the postmaster, the worker exits and its end is not reported */
	if (!PostmasterIsAlive())
		ereport(FATAL,
				(errcode(ERRCODE_ADMIN_SHUTDOWN),
				 errmsg("terminating connection due to unexpected postmaster exit")));
	if (GetBackgroundWorkerPid(run->worker, &pid) == BGWH_STOPPED)
		ereport(ERROR,
				(errcode(ERRCODE_OPERATOR_INTERVENTION),
				 errmsg("background worker of clock_cpu_skew() could not start or ended early"),
				 errhint("More details may be available in the server log.")));
}

/* Releases all resources at the end of the run, after an error, or when the backend exits. */
static void
clean_up(int code, Datum arg)
{
	SkewRun    *run = (SkewRun *) DatumGetPointer(arg);

	(void) code;
	HOLD_INTERRUPTS();
	errno = run->pinned ? restore_cpus(&run->affinity, run->all_cpus) : 0;
	if (errno != 0)
		ereport(WARNING,
				(errmsg("could not restore the CPUs that this process may run on: %m")));
	run->pinned = false;
	if (run->worker != NULL)
	{
		__atomic_store_n(&run->shared->stop, 1, __ATOMIC_RELAXED);
		TerminateBackgroundWorker(run->worker);
		(void) WaitForBackgroundWorkerShutdown(run->worker);
		run->worker = NULL;
	}
	if (run->segment != NULL)
		dsm_detach(run->segment);
	run->segment = NULL;
	RESUME_INTERRUPTS();
}

/* Orders the worker to move to a CPU or to stand by, and waits until it has done so. */
static void
give_order(SkewRun *run, int cpu)
{
	SkewShared *shared = run->shared;
	int			order = shared->order + 1;
	PGPROC	   *worker;

	shared->cpu = cpu;
	__atomic_store_n(&shared->order, order, __ATOMIC_SEQ_CST);
	worker = __atomic_load_n(&shared->worker, __ATOMIC_SEQ_CST);
	if (worker != NULL)
		SetLatch(&worker->procLatch);
	while (__atomic_load_n(&shared->done, __ATOMIC_ACQUIRE) != order)
	{
		check_worker(run);
		wait_latch(100);
	}

	if (shared->failure == CLOCK_FORBIDDEN)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("clock source \"%s\" cannot be read by a background worker",
						run->skew.source->name)));
	check_pinned(cpu, shared->failure);
}

static bool
bounds_may_come(const SkewShared *shared)
{
	return (skew_shared(&shared->backend_side.bounds) == 0 ||
			skew_shared(&shared->worker_side.bounds) == 0) &&
		skew_shared(&shared->backend_side.still) < STILL_READINGS &&
		skew_shared(&shared->worker_side.still) < STILL_READINGS;
}

/* Compares a CPU with the first one until end_ns, or SEEN_NS longer if bounds are still missing. */
static void
compare_cpu(SkewRun *run, CpuSkew *skew, uint64 end_ns)
{
	SkewShared *shared = run->shared;
	uint64		now_ns;
	uint64		checked_ns = 0;

	skew_init(&shared->backend_side);
	skew_init(&shared->worker_side);
	give_order(run, skew->cpu);
	skew->reading_ns = shared->reading_ns;
	do
	{
		skew_exchange(&shared->backend_side, &shared->worker_side, &run->clock, READINGS);
		now_ns = reference_ns();
		wait_poll(&run->wait, (now_ns - run->wait.progress.start_ns) / 1e9);
		if (now_ns - checked_ns > WORKER_CHECK_NS)
		{
			check_worker(run);
			checked_ns = now_ns;
		}
	} while (now_ns < end_ns || (now_ns < end_ns + SEEN_NS && bounds_may_come(shared)));

	give_order(run, NO_CPU);
	skew->result = skew_result(&shared->backend_side, &shared->worker_side);
	if (!skew->result.known && skew->result.still < STILL_READINGS)
		ereport(ERROR,
				(errcode(ERRCODE_OPERATOR_INTERVENTION),
				 errmsg("CPUs %d and %d did not see each other's readings of clock source \"%s\"",
						run->skew.cpus[0].cpu, skew->cpu, run->skew.source->name)));
}

static void
add_up(Skew *skew, const CpuSkew *cpu)
{
	const SkewResult *result = &cpu->result;
	int64		certain = Max(Max(result->offset_min, -result->offset_max), 0);

	skew->reading_ns = Max(skew->reading_ns, cpu->reading_ns);
	skew->warps += result->warps;
	skew->warp_max = Max(skew->warp_max, result->warp_max);
	/* the first CPU, whose offset is 0, is the worst only if it is alone */
	if (cpu <= &skew->cpus[1] || certain > skew->certain)
	{
		skew->worst = cpu;
		skew->certain = certain;
	}
}

/*
 * Compares each CPU with the first one for an equal part of the duration.  The ends of these parts
 * are fixed, so that the delay of a CPU does not prolong the run.
 */
static void
compare_cpus(SkewRun *run, double duration_s)
{
	CpuSkew    *first = &run->skew.cpus[0];
	int			others = run->skew.ncpus - 1;

	check_pinned(first->cpu, pin_to_cpu(first->cpu));
	run->pinned = true;
	if (others > 0)
		start_worker(run);

	/* the first CPU is the reference */
	first->reading_ns = reading_cost(run->skew.source, run->cost_s).ns;
	first->result.known = true;
	first->result.steady = true;
	first->result.round_trip = INT64_MAX;

	add_up(&run->skew, first);
	for (run->at = 1; run->at <= others; run->at++)
	{
		compare_cpu(run, &run->skew.cpus[run->at], run->wait.progress.start_ns +
					(uint64) (duration_s * 1e9 * run->at / others));
		add_up(&run->skew, &run->skew.cpus[run->at]);
	}
}

static void
report(void *arg, double elapsed_s)
{
	SkewRun    *run = arg;

	progress_report(&run->wait.progress, elapsed_s, "CPU %d, %d of %d",
					run->skew.cpus[run->at].cpu, run->at, run->skew.ncpus - 1);
}

/*
 * Compares the clocks of all CPUs.  After the run or an ERROR, stops the worker and restores the
 * CPU affinity of this process.
 */
Skew
skew_run(const ClockSource *source, double duration_s)
{
	SkewRun    *run = palloc0(sizeof(SkewRun));

	run->skew.source = source;
	/* calibrates before the run begins */
	run->skew.tick_ns = 1e9 / clock_source_hz(source, NULL);
	run->clock.read = read_source;
	run->clock.arg = source->reader;
	find_cpus(run);
	run->cost_s = Min(duration_s * COST_SHARE / run->skew.ncpus, COST_MAX_S);

	wait_start(&run->wait, "clock_cpu_skew", duration_s, report, run);
	PG_ENSURE_ERROR_CLEANUP(clean_up, PointerGetDatum(run));
	{
		compare_cpus(run, duration_s);
	}
	PG_END_ENSURE_ERROR_CLEANUP(clean_up, PointerGetDatum(run));
	clean_up(0, PointerGetDatum(run));
	return run->skew;
}

#else							/* !__linux__ */

Skew
skew_run(const ClockSource *source, double duration_s)
{
	(void) source;
	(void) duration_s;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("clock_cpu_skew() is not supported on this platform"),
			 errdetail("Processes cannot be pinned to CPUs.")));
}

#endif							/* __linux__ */
