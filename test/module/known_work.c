/*-------------------------------------------------------------------------
 *
 * known_work.c
 *	  A test extension with functions that keep the CPU busy for a requested time ("work"), and add
 *	  up the actual times.
 *
 * The times are added up by slot.  A slot is a number that the query passes to the function:
 * - known_work(slot, progress) works, and returns progress;
 * - known_rows(slot, n) returns the rows 1 to n, and works before each of them;
 * - known_compare(a, b) compares integers, and works in slot 0;
 * - known_trigger(slot) is a trigger that works.
 *
 * The setting known_work.ns is the base time of a call in ns.  If the setting is 0, a call does
 * everything except for the work.  Such calls measure the executor's own time.
 *
 * The setting known_work.kind selects how the times of the calls differ from the base time; the
 * array kinds[] below describes its values.  Some values depend on the argument "progress", a number
 * from 0 to 999 that the query passes: the share of the calls that were made before this call, in
 * thousandths.  Functions without this argument compute a progress from the number of calls so far.
 *
 * known_work_sums() returns, for each slot used since known_work_reset(), the number of calls,
 * their total time, and the part of it in which the process was off the CPU.  All processes keep
 * the sums in a file that they map.  So the sums include those of parallel workers, and the
 * library need not be preloaded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "commands/trigger.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/tuplestore.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(known_work);
PG_FUNCTION_INFO_V1(known_rows);
PG_FUNCTION_INFO_V1(known_compare);
PG_FUNCTION_INFO_V1(known_trigger);
PG_FUNCTION_INFO_V1(known_work_reset);
PG_FUNCTION_INFO_V1(known_work_sums);

void		_PG_init(void);

/* The server empties this directory when it starts. */
#define SUMS_FILE		"pg_stat_tmp/known_work"

#define SLOTS			8
#define PROCESSES		32

/*
 * A function works by reading the clock in a loop, about every 30 ns.  If two successive readings
 * differ by more than this number of ns, the process may have been off the CPU, because a switch to
 * another process takes longer.  Then the process's CPU time is read, to find out.
 */
#define INTERRUPTED		3000

typedef struct Sum
{
	int64		calls;			/* number of calls */
	int64		ns;				/* total time of the calls */
	int64		preempted_ns;	/* part of ns in which the process was off the
								 * CPU */
} Sum;

typedef struct Sums
{
	pg_atomic_uint32 generation;	/* number of resets */
	pg_atomic_uint32 processes; /* number of processes that have used a slot
								 * since the latest reset */
	Sum			of[PROCESSES][SLOTS];
} Sums;

typedef enum Kind
{
	KIND_CONSTANT,
	KIND_EXPONENTIAL,
	KIND_LOGNORMAL,
	KIND_RARE,
	KIND_BEGINNING,
	KIND_END,
	KIND_BIMODAL
} Kind;

static const struct config_enum_entry kinds[] = {
	{"constant", KIND_CONSTANT, false},
	{"exponential", KIND_EXPONENTIAL, false},
	{"lognormal", KIND_LOGNORMAL, false},	/* with sigma = 1.5 */
	{"rare", KIND_RARE, false}, /* one call in 1000 takes 300 times as long */
	{"beginning", KIND_BEGINNING, false},	/* the first tenth takes 10 times
											 * as long */
	{"end", KIND_END, false},	/* the last tenth takes 10 times as long */
	{"bimodal", KIND_BIMODAL, false},	/* 0.2 times the mean for even
										 * "progress", 1.8 times for odd */
	{NULL, 0, false}
};

static int	kind = KIND_CONSTANT;
static double mean_ns = 0;

static Sums *sums = NULL;
static Sum *own = NULL;			/* sums of this process, by slot */
static uint32 own_generation = 0;	/* value of Sums.generation when "own" was set */

static int64 ended = 0;			/* time of the end of the latest call */

static int64 preemption_read_at = 0;	/* time of the latest reading of the CPU time, in ns */
static int64 preemption_cpu = 0;		/* CPU time at that reading, in ns */

static inline int64
clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/*
 * Estimates how long the process was off the CPU between the readings "before" and "now".  Returns
 * the time off the CPU since the previous call of this function, but at most now - before.  This
 * may include time off the CPU that precedes "before".  The error is small: each long interruption
 * leads to a call of this function, so only short interruptions can precede "before".
 */
static int64
off_the_cpu(int64 before, int64 now)
{
	int64		cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int64		off = now - preemption_read_at - (cpu - preemption_cpu);

	preemption_read_at = now;
	preemption_cpu = cpu;
	return Max(Min(off, now - before), 0);
}

/*
 * Returns the current time.  If much time has passed since the previous reading, adds the time off
 * the CPU to *preempted.  Reading the CPU time is a system call, at which a container's limit may
 * stop the process, so the time is read again.
 */
static inline int64
next_reading(int64 before, int64 *preempted)
{
	for (;;)
	{
		int64		now = clock_ns(CLOCK_MONOTONIC);

		if (likely(now - before <= INTERRUPTED))
			return now;
		*preempted += off_the_cpu(before, now);
		before = now;
	}
}

static void
map_sums(void)
{
	int			fd = OpenTransientFile(SUMS_FILE, O_RDWR | O_CREAT);

	if (fd < 0 || ftruncate(fd, sizeof(Sums)) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not create \"%s\": %m", SUMS_FILE)));
	sums = mmap(NULL, sizeof(Sums), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CloseTransientFile(fd);
	if (sums == MAP_FAILED)
	{
		sums = NULL;
		ereport(ERROR, (errmsg("could not map \"%s\": %m", SUMS_FILE)));
	}
}

/* Reserves the sums of this process in the file. */
static pg_noinline void
claim_sums(void)
{
	uint32		process;

	if (sums == NULL)
		map_sums();
	process = pg_atomic_fetch_add_u32(&sums->processes, 1);
	if (process >= PROCESSES)
		elog(ERROR, "more than %d processes since known_work_reset()", PROCESSES);
	own = sums->of[process];
	own_generation = pg_atomic_read_u32(&sums->generation);
}

static double
requested_ns(int64 progress)
{
	double		u = 1 - pg_prng_double(&pg_global_prng_state);

	switch (kind)
	{
		case KIND_EXPONENTIAL:
			return -log(u) * mean_ns;
		case KIND_LOGNORMAL:
			return mean_ns * exp(1.5 * sqrt(-2 * log(u)) *
								 cos(2 * M_PI * pg_prng_double(&pg_global_prng_state)) -
								 1.5 * 1.5 / 2);
		case KIND_RARE:
			return mean_ns * (u <= 0.001 ? 300 : 1);
		case KIND_BEGINNING:
			return mean_ns * (progress < 100 ? 10 : 1);
		case KIND_END:
			return mean_ns * (progress >= 900 ? 10 : 1);
		case KIND_BIMODAL:
			return mean_ns * (progress % 2 == 0 ? 0.2 : 1.8);
		default:
			return mean_ns;
	}
}

static void
work(int slot, int64 progress)
{
	int64		start = clock_ns(CLOCK_MONOTONIC);
	int64		now = start;
	int64		preempted = 0;
	double		requested;

	if (unlikely(own == NULL || own_generation != pg_atomic_read_u32(&sums->generation)))
	{
		claim_sums();
		ended = start;
		(void) off_the_cpu(start, start);
	}
	if (slot < 0 || slot >= SLOTS)
		elog(ERROR, "there is no slot %d", slot);
	if (progress < 0)
		progress = own[slot].calls / 20 % 1000;

	if (unlikely(start - ended > INTERRUPTED))
		(void) off_the_cpu(ended, start);
	requested = mean_ns > 0 ? requested_ns(progress) : 0;
	do
		now = next_reading(now, &preempted);
	while ((double) (now - start) < requested);

	/*
	 * Reads the clock once more, so that the time of the mispredicted branch at the loop's end
	 * counts as work.  In calls without work, which measure the executor's own time, the loop
	 * always ends after one iteration, and the branch is predicted.
	 */
	now = next_reading(now, &preempted);
	own[slot].calls++;
	own[slot].ns += now - start;
	own[slot].preempted_ns += preempted;
	ended = now;
}

Datum
known_work(PG_FUNCTION_ARGS)
{
	work(PG_GETARG_INT32(0), PG_GETARG_INT32(1));
	PG_RETURN_INT32(PG_GETARG_INT32(1));
}

Datum
known_rows(PG_FUNCTION_ARGS)
{
	FuncCallContext *context;

	if (SRF_IS_FIRSTCALL())
	{
		context = SRF_FIRSTCALL_INIT();
		context->max_calls = PG_GETARG_INT32(1);
	}
	context = SRF_PERCALL_SETUP();
	if (context->call_cntr >= context->max_calls)
		SRF_RETURN_DONE(context);
	work(PG_GETARG_INT32(0), -1);
	SRF_RETURN_NEXT(context, Int32GetDatum((int32) context->call_cntr + 1));
}

Datum
known_compare(PG_FUNCTION_ARGS)
{
	int32		a = PG_GETARG_INT32(0);
	int32		b = PG_GETARG_INT32(1);

	work(0, -1);
	PG_RETURN_INT32((a > b) - (a < b));
}

Datum
known_trigger(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) || data->tg_trigger->tgnargs != 1)
		elog(ERROR, "known_trigger() must be called as a trigger with one argument, the slot");
	work(pg_strtoint32(data->tg_trigger->tgargs[0]), -1);
	return PointerGetDatum(data->tg_trigtuple);
}

Datum
known_work_reset(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	if (sums == NULL)
		map_sums();
	memset(sums->of, 0, sizeof(sums->of));
	pg_atomic_write_u32(&sums->processes, 0);
	pg_atomic_fetch_add_u32(&sums->generation, 1);
	PG_RETURN_VOID();
}

Datum
known_work_sums(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	if (sums == NULL)
		map_sums();
	for (int slot = 0; slot < SLOTS; slot++)
	{
		Sum			all = {0};
		Datum		values[4];
		bool		nulls[4] = {false};

		for (int i = 0; i < PROCESSES; i++)
		{
			all.calls += sums->of[i][slot].calls;
			all.ns += sums->of[i][slot].ns;
			all.preempted_ns += sums->of[i][slot].preempted_ns;
		}
		if (all.calls == 0)
			continue;
		values[0] = Int32GetDatum(slot);
		values[1] = Int64GetDatum(all.calls);
		values[2] = Float8GetDatum((double) all.ns / 1e6);
		values[3] = Float8GetDatum((double) all.preempted_ns / 1e6);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

void
_PG_init(void)
{
	DefineCustomRealVariable("known_work.ns", "Base time of a call, in nanoseconds.", NULL,
							 &mean_ns, 0, 0, 1e7, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("known_work.kind", "Distribution of the times of calls.", NULL, &kind, KIND_CONSTANT,
							 kinds, PGC_USERSET, 0, NULL, NULL, NULL);
}
