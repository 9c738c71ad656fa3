/*
 * The sampler's main loop.
 *
 * The worker keeps a list of the processes that have a slot.  For each of them it knows when the
 * next sample is due.  Between samples it spins if they are close together and another CPU is idle,
 * else it sleeps.  If no process executes an observed plan, it waits for its latch.
 *
 * Spinning is necessary, because a sleep of 20 us costs as much CPU time as it lasts on a virtual
 * machine, and ends some ten microseconds late.  But without an idle CPU, spinning would slow down
 * the processes that are observed, and make them seem to wait for a CPU.
 *
 * Executions for which nobody waits share a bucket of CPU time.  When it is empty, their samples
 * become so rare that the worker uses BUCKET_RATE of a CPU.
 *
 * The worker reads memory of other processes only where they have published it, and checks each
 * number before it uses it as an index: after an invalid memory access, the postmaster would
 * restart the whole server.
 */
#include "postgres.h"

#include <fcntl.h>
#include <math.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/s_lock.h"
#include "utils/memutils.h"

#include "compat.h"
#include "core/cpu_set.h"
#include "core/cpu_usage.h"
#include "core/random.h"
#include "core/system_clock.h"
#include "plan/sampler/long_executions.h"
#include "plan/sampler/plan_sampler.h"
#include "plan/sampler/plan_sampler_worker.h"

/* The worker ends after this time without a sample, in ms, unless the library is preloaded. */
#define KEPT_MS			60000
#define IDLE_WAIT_MS	10000

/*
 * Time for which the worker spins after it was woken, and after an execution, in ns, if a CPU is
 * idle.  With half, it would more often sleep when the next execution begins, whose first sample
 * is then late by a wake-up; with twice, it would use twice the CPU time after each execution.
 */
#define EXPECT_NS		2e6

/*
 * Shortest sleep, in ns; the worker spins for shorter times.  The kernel adds some ten
 * microseconds, which are a quarter of half as long a sleep.  With twice, it would spin more.
 */
#define LEAST_SLEEP_NS	80e3

/* Longest sleep that a process which begins an execution cannot end, in ns. */
#define DEAF_SLEEP_NS	2e6

/* Time between two questions whether a CPU is idle, in ns. */
#define IDLE_CHECK_NS	1e6

/* Time for which the sampler goes on ticking after a process wanted ticks, in ns. */
#define TICKS_WANTED_NS	3e9

/* First guess of the CPU time of a sample after a sleep, in ns. */
#define SLEEP_CPU_NS	20e3

/*
 * Bucket of CPU time for executions for which nobody waits: capacity in ns, and rate.  It fills in
 * 50 s without work.  While it is empty, the samples of an execution are so far apart that this
 * execution alone uses BUCKET_RATE of a CPU; half or twice the rate is half or twice as many
 * samples.  Several executions use more ("The sampler beside 100 sessions" in doc/benchmarks.md).
 */
#define BUCKET_NS		500e6
#define BUCKET_RATE		0.01

typedef struct Watched
{
	struct Watched *next;
	int			pid;			/* these three: as in the slot */
	dsm_handle	handle;
	uint64		offset;
	dsm_segment *segment;
	ObservedProcess *process;
	uint32		nsums;			/* elements of process->sums, checked */
	volatile uint32 *event;		/* wait_event_info of its PGPROC */
	clockid_t	cpu_clock;
	bool		has_cpu_clock;
	bool		present;		/* its slot was found */
	uint32		noticed;		/* epoch for which due_ns is valid */
	uint32		epoch;			/* epoch of "state" */
	SampleState state;
	uint64		due_ns;			/* time of the next sample */
	uint64		early_ns;		/* time before it at which a sample is welcome */
} Watched;

bool		plan_sampler_is_permanent = false;

static Watched *watched = NULL;
static uint64 random_state = 1;
static SamplePace pace = {.sleep_cpu_ns = SLEEP_CPU_NS};
static double bucket_ns = BUCKET_NS;

static uint64
cpu_clock_of(const Watched *w, uint64 now_ns)
{
	struct timespec ts;

	if (!w->has_cpu_clock || clock_gettime(w->cpu_clock, &ts) != 0)
		return now_ns;			/* as if the process were always on the CPU */
	return (uint64) ts.tv_sec * UINT64CONST(1000000000) + (uint64) ts.tv_nsec;
}

/*
 * Begins to watch the process of a slot, unless it is being watched.  Reads the slot's members
 * first and its pid again afterwards: if the pid has changed, the members may belong to two
 * processes.  Checks all sizes against that of the segment.
 */
static void
watch_slot(const SamplerSlot *slot, int pid)
{
	dsm_handle	handle = slot->handle;
	uint64		offset = slot->offset;
	int			procno = slot->procno;
	dsm_segment *segment;
	ObservedProcess *process;
	Watched    *w;
	Size		size;
	bool		attached;

	for (w = watched; w != NULL; w = w->next)
	{
		if (w->pid == pid && w->handle == handle && w->offset == offset)
		{
			w->present = true;
			return;
		}
	}
	/* the slot may have changed while it was read */
	pg_read_barrier();
	if (pg_atomic_read_u32(unconstify(pg_atomic_uint32 *, &slot->pid)) != (uint32) pid ||
		procno < 0 ||
		procno >= (int) ProcGlobal->allProcCount)
		return;
	segment = dsm_find_mapping(handle);
	attached = segment == NULL;
	if (attached)
		segment = dsm_attach(handle);
	if (segment == NULL)
		return;
	size = dsm_segment_map_length(segment);
	process = (ObservedProcess *) ((char *) dsm_segment_address(segment) + offset);
	/* another process may have a segment with this handle by now */
	if (offset % LINE_SIZE != 0 || offset > size || size - offset < observed_size(0) ||
		process->nsums > size / sizeof(SampleSums) ||
		size - offset < observed_size(process->nsums))
	{
		if (attached)
			dsm_detach(segment);
		return;
	}
	w = MemoryContextAllocZero(TopMemoryContext, sizeof(Watched));
	w->pid = pid;
	w->handle = handle;
	w->offset = offset;
	w->segment = segment;
	w->process = process;
	w->nsums = process->nsums;
	w->event = &ProcGlobal->allProcs[procno].wait_event_info;
	w->has_cpu_clock = clock_getcpuclockid(pid, &w->cpu_clock) == 0;
	w->present = true;
	w->next = watched;
	watched = w;
}

/* Detaches from a segment that no watched process uses any more. */
static void
forget(Watched *w)
{
	for (const Watched *other = watched; other != NULL; other = other->next)
	{
		if (other->segment == w->segment)
		{
			pfree(w);
			return;
		}
	}
	dsm_detach(w->segment);
	pfree(w);
}

/* Updates the list of processes after slots have changed. */
static void
read_slots(void)
{
	Watched   **next = &watched;

	for (Watched *w = watched; w != NULL; w = w->next)
		w->present = false;
	for (int i = 0; i < plan_sampler_shared->nslots; i++)
	{
		SamplerSlot *slot = &plan_sampler_shared->slots[i];
		uint32		pid = pg_atomic_read_u32(&slot->pid);

		if (pid == 0 || pg_atomic_read_u32(&slot->ready) == 0)
			continue;
		pg_read_barrier();
		watch_slot(slot, (int) pid);
	}
	while (*next != NULL)
	{
		Watched    *w = *next;

		if (w->present)
		{
			next = &w->next;
			continue;
		}
		*next = w->next;
		forget(w);
	}
}

/* Returns the mean time to the next sample of an execution that began elapsed_ns ago. */
static double
interval_ns(const Watched *w, double elapsed_ns)
{
	SamplePace	own = pace;

	if (!w->process->asked && bucket_ns <= 0)
		own.max_share = BUCKET_RATE;
	return sample_interval_ns(&own, elapsed_ns);
}

/* Returns a number between 0 and 1. */
static double
random_part(void)
{
	return ldexp((double) (random_next(&random_state) >> 11), -53);
}

/*
 * Begins an epoch.  If an earlier sampler had begun it before it ended, its sums stay, and no
 * sample stands for the time since its latest one.
 */
static void
begin_epoch(Watched *w, uint32 epoch)
{
	ObservedProcess *p = w->process;

	if (epoch == pg_atomic_read_u32(&p->seen_epoch))
	{
		uint64		now_ns = system_clock_read();

		sample_begin(&w->state, now_ns, cpu_clock_of(w, now_ns), 0);
		return;
	}
	memset(p->waits, 0, sizeof(p->waits));

	/*
	 * all of them: plans that begin later in the epoch use further numbers
	 */
	memset(p->sums, 0, sizeof(SampleSums) * w->nsums);
	p->samples = p->squares = p->cpu_ns = 0;
	p->pending = SAMPLE_IDLE;
	p->gaps_ns = 0;
	p->head_ns = interval_ns(w, 0) / 2;
	sample_begin(&w->state, p->part_ns, p->part_cpu_ns, p->head_ns);
	pg_write_barrier();
	pg_atomic_write_u32(&p->seen_epoch, epoch);
}

/*
 * Begins the epoch of a process when its first sample is due.  Returns whether it has begun, so
 * that samples may be taken.  "deaf_ns": result of the latest pause_until().
 *
 * The time from the start of an epoch to its first sample must be as random as the end of an
 * interval.  If the first sample were taken as soon as the sampler is woken, it would be the only
 * one of a short execution, and always find the node that works first.
 */
static bool
follow(Watched *w, uint64 now_ns, double deaf_ns)
{
	ObservedProcess *p = w->process;
	uint32		epoch = pg_atomic_read_u32(&p->epoch);
	bool		has_started = pg_atomic_read_u32(&p->part) == epoch;
	double		wait_ns;

	if (epoch == w->epoch)
		return true;
	pg_read_barrier();
	if (epoch != w->noticed || !has_started)
	{
		wait_ns = interval_ns(w, 0) * random_part();
		/* the end of its sleep is a random time for this process already */
		if (has_started && wait_ns < deaf_ns)
			wait_ns = 0;
		w->noticed = epoch;
		w->due_ns = (has_started ? p->part_ns : now_ns) + (uint64) wait_ns;
		w->early_ns = 0;
	}
	if (!has_started || now_ns < w->due_ns)
		return false;
	begin_epoch(w, epoch);
	w->epoch = epoch;
	return true;
}

static void
sample(Watched *w, uint32 number)
{
	ObservedProcess *p = w->process;
	SampleTable table = {
		.sums = p->sums, .nsums = w->nsums, .waits = p->waits, .nwaits = OBSERVED_WAITS, .squares =
		&p->squares
	};
	Sample		seen = {.number = number, .event = *w->event};

	/* the execution has paused or ended after is_at_work() */
	if (number == SAMPLE_IDLE)
		return;
	seen.ns = system_clock_read();
	seen.cpu_ns = cpu_clock_of(w, seen.ns);
	sample_add(&w->state, &table, &seen);
	p->samples++;
	p->sampled_ns = seen.ns;
	p->pending = sample_pending(&w->state, &p->pending_ns, &p->gaps_ns);
}

/*
 * Sets the time of the next sample, with a random deviation of up to half of the interval.  If the
 * sampler sleeps, it may take a sample earlier, together with those of other processes.
 */
static void
set_next_sample(Watched *w, uint64 now_ns)
{
	double		elapsed_ns = now_ns > w->process->part_ns ?
		(double) (now_ns - w->process->part_ns) : 0;
	double		mean_ns = interval_ns(w, elapsed_ns);

	w->due_ns = now_ns + (uint64) (mean_ns * (0.5 + random_part()));
	w->early_ns = pace.cpu_is_idle ? 0 : (uint64) (mean_ns / 2);
}

static bool
is_at_work(const Watched *w)
{
	return w->process->current != SAMPLE_IDLE && !w->process->by_itself;
}

/* Returns the number of processes that execute observed plans, or are about to. */
static int
observed_processes(void)
{
	uint32		n = 0;

	for (const Watched *w = watched; w != NULL; w = w->next)
		n += is_at_work(w) ? w->process->processes : 0;
	return (int) n;
}

/*
 * Sets pace.cpu_is_idle: whether there are at most as many runnable processes as CPUs, with the
 * worker itself, and parallel plans leave a CPU to it.  Without an idle CPU, spinning would slow
 * down the processes that are observed.
 */
static void
check_idle_cpus(void)
{
	static int	fd = -1;
	char		line[128];
	ssize_t		length;
	const char *slash;

	pace.cpu_is_idle = false;
#if defined(__linux__)
	if (fd < 0)
		fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : pread(fd, line, sizeof(line) - 1, 0);
	if (length > 0)
	{
		CpuSet		cpus;

		line[length] = '\0';
		slash = strchr(line, '/');
		while (slash != NULL && slash > line && slash[-1] != ' ')
			slash--;
		if (slash != NULL && cpus_allowed(&cpus) == 0)
			pace.cpu_is_idle = atoi(slash) <= CPU_COUNT_S(sizeof(cpus), cpus.parts) &&
				observed_processes() < CPU_COUNT_S(sizeof(cpus), cpus.parts);
	}
#endif
}

/* Charges the worker's CPU time to the processes at work. */
static void
charge(double ns, int active)
{
	bool		unasked = false;

	for (Watched *w = watched; w != NULL; w = w->next)
	{
		if (!is_at_work(w))
			continue;
		w->process->cpu_ns += ns / active;
		unasked |= !w->process->asked;
	}
	if (unasked)
		bucket_ns -= ns;
}

/* Returns whether a process has begun an execution that follow() has not noticed. */
static bool
has_begun(void)
{
	for (const Watched *w = watched; w != NULL; w = w->next)
	{
		if (is_at_work(w) && pg_atomic_read_u32(&w->process->epoch) != w->noticed)
			return true;
	}
	return false;
}

/*
 * Sleeps until a process begins an execution, for at most "ms".  "changes": as read before the
 * slots.  Returns whether the time has passed.
 */
static bool
sleep_on_latch(uint32 changes, long ms)
{
	int			events = 0;

	pg_atomic_write_u32(&plan_sampler_shared->asleep, 1);
	pg_memory_barrier();
	if (pg_atomic_read_u32(&plan_sampler_shared->changes) == changes &&
		!has_begun())
		events = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms,
						   PG_WAIT_EXTENSION);
	pg_atomic_write_u32(&plan_sampler_shared->asleep, 0);
	ResetLatch(MyLatch);
	return (events & WL_TIMEOUT) != 0;
}

/*
 * Samples all processes that are due.  Returns the number at work, and sets the next time.
 * "deaf_ns": as in follow().
 */
static int
sample_all(double deaf_ns, uint64 *next_ns)
{
	int			active = 0;

	*next_ns = PG_UINT64_MAX;
	for (Watched *w = watched; w != NULL; w = w->next)
	{
		uint64		now_ns;

		if (!is_at_work(w))
			continue;
		active++;
		now_ns = system_clock_read();
		if (follow(w, now_ns, deaf_ns) && now_ns + w->early_ns >= w->due_ns)
		{
			/* the node at work now, not when its turn was found */
			sample(w, w->process->current);
			set_next_sample(w, now_ns);
		}
		*next_ns = Min(*next_ns, w->due_ns);
	}
	pace.processes = active;
	return active;
}

/*
 * Waits for the next sample.  Returns the time for which a process that began an execution did not
 * wake the sampler.
 */
static double
pause_until(uint64 next_ns, uint32 changes)
{
	uint64		now_ns = system_clock_read();
	double		left_ns = now_ns < next_ns ? (double) (next_ns - now_ns) : 0;

	if (left_ns < LEAST_SLEEP_NS && pace.cpu_is_idle)
	{
		while (system_clock_read() < next_ns)
		{
			for (int i = 0; i < 4; i++)
				SPIN_DELAY();
		}
	}
	else if (left_ns > DEAF_SLEEP_NS)
	{
		(void) sleep_on_latch(changes, (long) Min(left_ns / 1e6, 1000));
		return 0;
	}
	else
	{
		struct timespec ts = {.tv_nsec = (long) Max(left_ns, 1e3)};

		(void) nanosleep(&ts, NULL);
	}
	return (double) (int64) (system_clock_read() - now_ns);
}

static void
leave(int code, Datum arg)
{
	uint32		pid = (uint32) MyProcPid;

	(void) code;
	(void) arg;
	plan_sampler_shared->ticks.ticking = 0;
	(void) pg_atomic_compare_exchange_u32(&plan_sampler_shared->worker_pid, &pid, 0);
}

/* Ticks if a tick is due.  Returns the time of the next one; PG_UINT64_MAX: nobody wants ticks. */
static uint64
tick(uint64 now_ns)
{
	static uint64 due_ns = 0;
	static bool paused = true;
	SamplerTicks *ticks = &plan_sampler_shared->ticks;
	uint64		wanted_ns = pg_atomic_read_u64(&ticks->wanted_ns);

	if (wanted_ns == 0 || (double) (int64) (now_ns - wanted_ns) > TICKS_WANTED_NS)
	{
		paused = true;
		ticks->ticking = 0;
		return PG_UINT64_MAX;
	}
	if (now_ns >= due_ns)
	{
		uint32		n = ticks->n + 1;
		double		part = (double) random_next(&random_state) / (double) PG_UINT64_MAX;

		pg_atomic_write_u64(&ticks->times_ns[n % TICKS_KEPT], now_ns);
		pg_write_barrier();
		if (paused)
			ticks->first = n;
		paused = false;
		ticks->n = n;
		ticks->ticking = 1;
		long_executions_look();
		due_ns = now_ns + (uint64) (TICK_NS * (0.75 + part / 2));
	}
	return due_ns;
}

/* Samples until the worker must exit. */
static void
run(void)
{
	uint32		changes = pg_atomic_read_u32(&plan_sampler_shared->changes) - 1;
	uint64		expected_ns = system_clock_read() + (uint64) EXPECT_NS;
	uint64		checked_ns = 0;
	double		cpu_ns = cpu_time_ns();
	double		deaf_ns = 0;
	int			idle_ms = 0;
	int			processes = 0;

	while (!ShutdownRequestPending)
	{
		uint64		next_ns;
		uint64		tick_ns;
		uint64		now_ns;
		int			active;

		CHECK_FOR_INTERRUPTS();
		if (pg_atomic_read_u32(&plan_sampler_shared->changes) != changes)
		{
			changes = pg_atomic_read_u32(&plan_sampler_shared->changes);
			pg_read_barrier();
			read_slots();
		}
		now_ns = system_clock_read();
		if ((now_ns - checked_ns > IDLE_CHECK_NS && processes > 0) ||
			observed_processes() != processes)
		{
			double		used_ns = cpu_time_ns() - cpu_ns;

			check_idle_cpus();
			active = 0;
			for (const Watched *w = watched; w != NULL; w = w->next)
				active += is_at_work(w);
			/* without a process at work, the worker has ticked at most */
			if (active > 0 && processes > 0)
				charge(used_ns, active);
			bucket_ns = Min(bucket_ns + BUCKET_RATE * (double) (now_ns - checked_ns), BUCKET_NS);
			cpu_ns += used_ns;
			checked_ns = now_ns;
			processes = observed_processes();
		}
		tick_ns = tick(now_ns);
		active = sample_all(deaf_ns, &next_ns);
		deaf_ns = 0;
		if (active > 0)
		{
			idle_ms = 0;
			expected_ns = now_ns + (uint64) EXPECT_NS;
			deaf_ns = pause_until(Min(next_ns, tick_ns), changes);
		}
		else if (now_ns < expected_ns && pace.cpu_is_idle)
			SPIN_DELAY();
		else if (tick_ns != PG_UINT64_MAX)
		{
			now_ns = system_clock_read();
			if (now_ns < tick_ns &&
				!sleep_on_latch(changes, (long) ((double) (tick_ns - now_ns) / 1e6) + 1))
				expected_ns = system_clock_read() + (uint64) EXPECT_NS;
		}
		else
		{
			idle_ms += sleep_on_latch(changes, IDLE_WAIT_MS) ? IDLE_WAIT_MS : 0;
			if (idle_ms >= KEPT_MS && !plan_sampler_is_permanent)
				break;
			expected_ns = system_clock_read() + (uint64) EXPECT_NS;
		}
	}
}

/* Main function of the sampler.  Exits if another sampler has already stored its process ID. */
void
clock_sampler_main(Datum arg)
{
	uint32		nobody = 0;

	(void) arg;
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	plan_sampler_attach();
	pg_atomic_write_u32(&plan_sampler_shared->worker_procno,
						(uint32) (MyProc - ProcGlobal->allProcs));
	pg_write_barrier();
	if (!pg_atomic_compare_exchange_u32(&plan_sampler_shared->worker_pid, &nobody,
										(uint32) MyProcPid))
		proc_exit(0);			/* another one was faster */
	before_shmem_exit(leave, 0);
#if defined(__linux__)
	(void) prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
#endif
	random_state = (uint64) MyProcPid * UINT64CONST(0x9e3779b97f4a7c15);
	run();
	proc_exit(0);
}
