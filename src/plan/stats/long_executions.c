/*
 * The sampler ticks every 5 ms (plan_sampler.h).  If it has ticked during an execution, the clock
 * is read at its end.  So short executions only compare two numbers.  The execution began with the
 * client's statement, after the usual time for parsing and planning, if it is the statement's first
 * execution; else between the ticks before and after its beginning.
 *
 * Whether an execution was drawn must not matter for whether it is long, so drawn ones are judged
 * by the same rule.  Executions that pause, as those of cursors, are never long.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "core/system_clock.h"
#include "plan/sampler/plan_sampler.h"
#include "plan/stats/long_executions.h"
#include "plan/stats/plan_store.h"

/* Shortest time between two wishes for ticks. */
#define WANT_TICKS_MS	1000

/* Relative error of the mean time between ticks, beyond those whose times are kept. */
#define RATE_ERROR		0.1

static TimestampTz wanted_at = 0;	/* statement that has wanted ticks */
static TimestampTz latest_statement = 0;	/* with a counted execution */
static LongExecution long_execution;	/* desc NULL: none */

static pg_noinline void
want_ticks(TimestampTz statement)
{
	wanted_at = statement;
	plan_sampler_want_ticks();
}

void
long_execution_begin(CountedStart *start)
{
	TimestampTz statement = GetCurrentStatementStartTimestamp();

	/* also if the clock was set back */
	if (unlikely((uint64) (statement - wanted_at) > WANT_TICKS_MS * UINT64CONST(1000)))
		want_ticks(statement);
	start->counted = true;
	start->first = statement != latest_statement;
	start->ticks = *execution_ticks;
	latest_statement = statement;
}

/*
 * Sets *at to the estimated start of an execution during which the sampler has ticked.  Returns
 * whether the execution has lasted for LONG_EXECUTION_NS.
 */
static bool
find_start(const CountedStart *start, double lead_ns, LongExecution *at)
{
	SamplerTicks *ticks = &plan_sampler_shared->ticks;
	uint64		now_ns = system_clock_read();
	double		statement_ns = 1e3 *
		(double) (GetCurrentTimestamp() - GetCurrentStatementStartTimestamp());
	uint32		passed = ticks->n - start->ticks;
	double		latest,			/* ages in ns between which it began */
				earliest;

	if (passed < TICKS_KEPT - 1)
	{
		latest = (double) (int64)
			(now_ns - pg_atomic_read_u64(&ticks->times_ns[(start->ticks + 1) % TICKS_KEPT]));
		earliest = (double) (int64)
			(now_ns - pg_atomic_read_u64(&ticks->times_ns[start->ticks % TICKS_KEPT]));
	}
	else
	{
		/* these ticks are forgotten; the sampler ticks later than it should */
		uint64		newest = pg_atomic_read_u64(&ticks->times_ns[ticks->n % TICKS_KEPT]);
		uint64		oldest = pg_atomic_read_u64(&ticks->times_ns[(ticks->n + 2) % TICKS_KEPT]);
		double		interval_ns = (double) (newest - oldest) / (TICKS_KEPT - 2);

		latest = (double) (int64) (now_ns - newest) + (passed - 1) * interval_ns;
		earliest = latest * (1 + RATE_ERROR) + interval_ns;
		latest *= 1 - RATE_ERROR;
	}
	latest = Max(latest, 0);
	/* the sampler did not tick before, or the statement began later */
	if (statement_ns < earliest)
		earliest = start->first ? latest = Max(statement_ns - lead_ns, latest) :
			Max(statement_ns, latest);
	at->start_ns = now_ns - (uint64) Max((latest + earliest) / 2, 0);
	/* of a uniform distribution */
	at->variance = (earliest - latest) * (earliest - latest) / 12;
	return (latest + earliest) / 2 >= LONG_EXECUTION_NS;
}

bool
long_execution_was(const CountedStart *start, double lead_ns)
{
	LongExecution at;

	return find_start(start, lead_ns, &at);
}

bool
long_execution_ran(const QueryDesc *desc, const CountedStart *start, double lead_ns)
{
	if (!find_start(start, lead_ns, &long_execution))
		return false;
	long_execution.desc = desc;
	return true;
}

bool
long_execution_take(const QueryDesc *desc, LongExecution *taken)
{
	if (likely(long_execution.desc != desc))
		return false;
	*taken = long_execution;
	long_execution.desc = NULL;
	return true;
}

double
long_execution_add(const QueryDesc *desc, const LongExecution *taken)
{
	PlanKey		key = plan_store_key(desc);
	double		ns = (double) (int64) (system_clock_read() - taken->start_ns);

	plan_store_add_long(&key, ns, taken->variance);
	return ns;
}

void
long_execution_forget(void)
{
	long_execution.desc = NULL;
}
