/* Calibration: measures costs of calls of a dummy node that are not counted, counted, or timed. */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "storage/spin.h"

#include "core/reference.h"
#include "core/stats.h"
#include "explain/call_calibration.h"
#include "explain/call_samples.h"
#include "explain/call_wrapper.h"
#include "explain/timing_clock.h"

#define ROUNDS			12		/* rounds of measurements per calibration */
#define CALLS			512		/* calls per measurement */
#define CALLS_ALL_TIMED	32		/* calls per measurement if all are timed */
#define GAP				64		/* one call in this many is timed */
#define LONG_CALL_TICKS	20000	/* shortest long gap, in ticks */

/* Validity of a calibration, in nanoseconds. */
#define MAX_AGE_NS		UINT64CONST(60000000000)

/* Quantities that each round measures, in ticks per call. */
enum
{
	DIRECT,						/* a call that is neither counted nor timed */
	COUNTED,					/* a call that is only counted */
	UNSEEN,						/* COUNTED, but the wrapper ignores results */
	TIMED,						/* time that timing adds to a counted call */
	INSIDE,						/* time between a timed call's two readings */
	INSIDE_ALL,					/* INSIDE if all calls are timed */
	OUTSIDE,					/* time from a timed call to the next call */
	OUTSIDE_ALL,				/* OUTSIDE if all calls are timed */
	SERVER,						/* time that the server's timer adds to a call */
	SERVER_INSIDE,				/* part of SERVER that is measured, in ns */
	N_MEASURED
};

static TupleTableSlot dummy_slot;

static TupleTableSlot *
dummy_call(PlanState *node)
{
	(void) node;
	return &dummy_slot;
}

/* Volatile, so that the compiler does not replace indirect calls by direct ones. */
static volatile ExecProcNodeMtd dummy_function = dummy_call;

typedef struct Dummy
{
	QueryTiming query;
	NodeTiming	t;
	NodeSamples samples;
	PlanState	node;
} Dummy;

/* Initializes the node.  One call in "gap" will be timed. */
static void
init_dummy(Dummy *dummy, int gap)
{
	memset(dummy, 0, sizeof(Dummy));
	dummy->t.samples = &dummy->samples;
	dummy->t.query = &dummy->query;
	dummy->t.begun = true;
	instr_begin_loop(&dummy->t.instr);
	dummy->query.long_ticks = dummy->query.ask_ticks = LONG_CALL_TICKS;
	dummy->query.all_timed = true;
	dummy->samples.later.policy.batch = POLICY_BATCH;
	set_gap(&dummy->samples.later, gap);
	draw_later(&dummy->t);
	dummy->node.instrument = &dummy->t.instr;
	dummy->node.ExecProcNodeReal = dummy_function;
}

static double
ticks_of_calls(Dummy *dummy, ExecProcNodeMtd call, int n)
{
	uint64		start;
	uint64		stop;

	dummy->node.ExecProcNode = call;
	dummy->t.wrapped = wrapped_node(&dummy->node, call == call_wrapper(true));
	wrappers_use(&dummy->t, true);
	start = dummy->query.last_reading = now_ticks();
	for (int i = 0; i < n; i++)
		(void) ExecProcNode(&dummy->node);
	stop = now_ticks();
	wrappers_use(&dummy->t, false);
	return (double) (int64) (stop - start);
}

/* Returns the mean duration of the timed calls, and sets *n to their number. */
static double
mean_ticks(Dummy *dummy, double *n)
{
	const CallClass *class = &dummy->samples.later;

	add_samples(&dummy->t, &dummy->samples.later);
	*n = (double) Max(class->all_timed + class->drawn.now.timed, 1);
	return (class->all_timed_sum + class->drawn_sum) / *n;
}

static double
mean_outside_ticks(Dummy *dummy, int gap)
{
	init_dummy(dummy, gap);
	dummy->t.is_root = true;
	(void) ticks_of_calls(dummy, call_wrapper(false), gap == 1 ? CALLS_ALL_TIMED : CALLS);
	return dummy->query.outside.sum / (double) Max(dummy->query.outside.n, 1);
}

static void
measure_round(double measured[N_MEASURED][ROUNDS], int i, int gap)
{
	Dummy		dummy;
	NodeInstr	instr;
	uint64		start;
	double		n;

	init_dummy(&dummy, 0);
	measured[DIRECT][i] = ticks_of_calls(&dummy, dummy_call, CALLS) / CALLS;
	measured[COUNTED][i] = ticks_of_calls(&dummy, call_wrapper(false), CALLS) / CALLS;
	measured[UNSEEN][i] = ticks_of_calls(&dummy, call_wrapper(true), CALLS) / CALLS;

	init_dummy(&dummy, gap);
	measured[TIMED][i] = ticks_of_calls(&dummy, call_wrapper(false), CALLS) -
		measured[COUNTED][i] * CALLS;
	measured[INSIDE][i] = mean_ticks(&dummy, &n);
	measured[TIMED][i] /= n;
	measured[OUTSIDE_ALL][i] = mean_outside_ticks(&dummy, 1);
	measured[INSIDE_ALL][i] = mean_ticks(&dummy, &n);
	measured[OUTSIDE][i] = mean_outside_ticks(&dummy, gap);

	memset(&instr, 0, sizeof(instr));
	instr_set_timer(&instr, true);
	start = now_ticks();
	for (int j = 0; j < GAP; j++)
	{
		InstrStartNode(&instr);
		InstrStopNode(&instr, 0);
	}
	measured[SERVER][i] = (double) (int64) (now_ticks() - start) / GAP;
	measured[SERVER_INSIDE][i] = instr_end(&instr).total_ns / GAP;
}

/*
 * Measures the costs of calls of which one in "gap" is timed.  If few calls are timed, the CPU may
 * mispredict branches in them, which costs more than a reading.  The calibration may have
 * mispredictions that the query does not have.  To exclude them, inside_ns and outside_ns are
 * measured twice: with one call in "gap" timed, and with every call timed.  The smaller result
 * counts.
 */
static CallCost
calibrate(int gap)
{
	double		measured[N_MEASURED][ROUNDS];
	double		median[N_MEASURED];
	uint64		start_ns = reference_ns();
	uint64		start_ticks = now_ticks();
	double		tick_ns = 1;
	double		direct;
	CallCost	cost;

	for (int i = 0; i < ROUNDS; i++)
	{
		CHECK_FOR_INTERRUPTS();
		measure_round(measured, i, gap);
	}
	if (timing_by_counter)
		tick_ns = (double) (reference_ns() - start_ns) /
			Max((double) (int64) (now_ticks() - start_ticks), 1);
	cost.ticks_per_ns = 1 / tick_ns;

	direct = stats_min(measured[DIRECT], ROUNDS);
	cost.counted_ns = Max(stats_min(measured[COUNTED], ROUNDS) - direct, 0) * tick_ns;
	cost.unseen_ns = Max(stats_min(measured[UNSEEN], ROUNDS) - direct, 0) * tick_ns;
	for (int i = TIMED; i < N_MEASURED; i++)
		median[i] = stats_median(measured[i], ROUNDS);
	cost.inside_ns = Max(Min(median[INSIDE], median[INSIDE_ALL]) - direct, 0) * tick_ns;
	cost.outside_ns = Max(Min(median[OUTSIDE], median[OUTSIDE_ALL]) - direct, 0) * tick_ns;
	cost.timed_ns = Max(cost.counted_ns + median[TIMED] * tick_ns, cost.inside_ns);
	cost.whole_ns = median[SERVER_INSIDE];
	cost.server_ns = median[SERVER] * tick_ns;
	elog(DEBUG1, "calls timed by %s, one in %d: %.2f ns counted, %.2f unseen, %.2f timed, %.2f inside, %.2f outside; %.2f by the server, %.2f inside; direct %.2f; took %.3f ms",
		 timing_clock_name(), gap, cost.counted_ns, cost.unseen_ns, cost.timed_ns,
		 cost.inside_ns, cost.outside_ns, cost.server_ns, cost.whole_ns, direct * tick_ns,
		 (double) (reference_ns() - start_ns) / 1e6);
	return cost;
}

typedef struct Calibration
{
	CallCost	cost;
	uint64		at_ns;			/* time of calibration; 0: none */
	bool		by_counter;
} Calibration;

/* Latest calibrations: [0] if one call in GAP is timed; [1] if all calls are timed. */
static Calibration kept[2];

/* Calibrations that all backends share, if clocktiming is in shared_preload_libraries. */
typedef struct SharedCalibrations
{
	slock_t		mutex;
	Calibration kept[2];
} SharedCalibrations;

static SharedCalibrations *shared = NULL;

Size
call_calibration_shmem_size(void)
{
	return sizeof(SharedCalibrations);
}

void
call_calibration_shmem_init(void)
{
	bool		found;

	shared = ShmemInitStruct("clocktiming calibrations", sizeof(SharedCalibrations), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(SharedCalibrations));
		SpinLockInit(&shared->mutex);
	}
}

static bool
is_valid(const Calibration *calibration, uint64 now_ns)
{
	return calibration->at_ns != 0 && calibration->by_counter == timing_by_counter &&
		now_ns - calibration->at_ns <= MAX_AGE_NS;
}

const CallCost *
call_cost(bool all_timed)
{
	Calibration *own = &kept[all_timed];
	uint64		now_ns = reference_ns();

	if (!is_valid(own, now_ns) && shared != NULL)
	{
		SpinLockAcquire(&shared->mutex);
		*own = shared->kept[all_timed];

		/* while this backend calibrates, other backends use the old result */
		if (own->at_ns != 0 && own->by_counter == timing_by_counter && !is_valid(own, now_ns))
			shared->kept[all_timed].at_ns = now_ns;
		SpinLockRelease(&shared->mutex);
	}
	if (!is_valid(own, now_ns))
	{
		own->cost = calibrate(all_timed ? 1 : GAP);
		own->at_ns = now_ns;
		own->by_counter = timing_by_counter;
		if (shared != NULL)
		{
			SpinLockAcquire(&shared->mutex);
			shared->kept[all_timed] = *own;
			SpinLockRelease(&shared->mutex);
		}
	}
	return &own->cost;
}
