/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What differs between the versions of PostgreSQL, 15 to 19.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_COMPAT_H
#define CLOCKTIMING_COMPAT_H

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/executor.h"
#include "executor/instrument.h"
#include "portability/instr_time.h"
#include "tcop/tcopprot.h"

#if PG_VERSION_NUM < 150000
#error "clocktiming needs PostgreSQL 15 or later"
#endif

/* pg_noreturn came with 18, in place of pg_attribute_noreturn() */
#ifndef pg_noreturn
#define pg_noreturn pg_attribute_noreturn()
#endif

/* Timing by the TSC, and INSTR_TIME_SET_CURRENT_FAST, came with 19. */
#if PG_VERSION_NUM >= 190000
#define SERVER_HAS_TIMING_CLOCK_SOURCE 1
#endif
#ifndef INSTR_TIME_SET_CURRENT_FAST
#define INSTR_TIME_SET_CURRENT_FAST(t) INSTR_TIME_SET_CURRENT(t)
#endif

/* The reading in an instr_time, in the ticks of the clock that it came from. */
static inline uint64
instr_time_ticks(instr_time t)
{
#if PG_VERSION_NUM >= 160000
	return (uint64) t.ticks;
#else
	return (uint64) t.tv_sec * UINT64CONST(1000000000) + (uint64) t.tv_nsec;
#endif
}

/*
 * A plan node's instrumentation.  In place of the ticks in "counter" a number
 * can be kept, which InstrEndLoop() sets to 0.
 */
#if PG_VERSION_NUM >= 190000
typedef NodeInstrumentation CompatNodeInstrumentation;
typedef WorkerNodeInstrumentation CompatWorkerInstrumentation;
#define INSTR_COMMON(i) (&(i)->instr)
#else
typedef Instrumentation CompatNodeInstrumentation;
typedef WorkerInstrumentation CompatWorkerInstrumentation;
#define INSTR_COMMON(i) (i)
#endif

#if PG_VERSION_NUM >= 160000
#define instr_next_drawn(i) ((i)->counter.ticks)
#else
#define instr_next_drawn(i) ((i)->counter.tv_nsec)
#endif

static inline void
instr_set_need_timer(CompatNodeInstrumentation *instr, bool need)
{
	INSTR_COMMON(instr)->need_timer = need;
}

/* Whether buffers or WAL are counted at each call. */
static inline bool
instr_needs_usage(const CompatNodeInstrumentation *instr)
{
	return INSTR_COMMON(instr)->need_bufusage || INSTR_COMMON(instr)->need_walusage;
}

/* The time of the loop that has not ended. */
static inline double
instr_counter_ns(const CompatNodeInstrumentation *instr)
{
	return INSTR_TIME_GET_DOUBLE(instr->counter) * 1e9;
}

/* The server keeps ticks of the clock that it times with since 19, not seconds. */
#if PG_VERSION_NUM >= 190000
static inline instr_time
instr_time_of_s(double s)
{
	instr_time	unit;

	unit.ticks = INT64CONST(1) << 40;
	unit.ticks = (int64) (s / INSTR_TIME_GET_DOUBLE(unit) * (double) unit.ticks);
	return unit;
}
#define INSTR_TO_S(t) INSTR_TIME_GET_DOUBLE(t)
#define INSTR_FROM_S(s) instr_time_of_s(s)
#else
#define INSTR_TO_S(t) (t)
#define INSTR_FROM_S(s) (s)
#endif

/* The time of all loops that have ended. */
static inline double
instr_total_s(const CompatNodeInstrumentation *instr)
{
	return INSTR_TO_S(INSTR_COMMON(instr)->total);
}

static inline double
instr_startup_s(const CompatNodeInstrumentation *instr)
{
	return INSTR_TO_S(instr->startup);
}

/*
 * What EXPLAIN prints as a range: whichever way the two were estimated, the end
 * is not before the beginning, and dividing and rounding keep that.
 */
static inline void
instr_set_times(CompatNodeInstrumentation *instr, double startup_s, double total_s)
{
	total_s = Max(total_s, 0);
	instr->startup = INSTR_FROM_S(Min(Max(startup_s, 0), total_s));
	INSTR_COMMON(instr)->total = INSTR_FROM_S(total_s);
}

/*
 * A trigger's instrumentation: firings are counted always, and are timed by the
 * server if it needs a timer, or else a time can be given to it.
 */
#if PG_VERSION_NUM >= 190000
typedef TriggerInstrumentation CompatTriggerInstrumentation;
#else
typedef Instrumentation CompatTriggerInstrumentation;
#endif

static inline void
trigger_set_need_timer(CompatTriggerInstrumentation *instr, bool need)
{
	INSTR_COMMON(instr)->need_timer = need;
}

static inline void
trigger_set_total(CompatTriggerInstrumentation *instr, double s)
{
	INSTR_COMMON(instr)->total = INSTR_FROM_S(s);
}

/* ExecutorRun() knows by itself since 18 whether a plan is executed once. */
static inline void
compat_ExecutorRun(QueryDesc *desc)
{
#if PG_VERSION_NUM >= 180000
	ExecutorRun(desc, ForwardScanDirection, 0);
#else
	ExecutorRun(desc, ForwardScanDirection, 0, true);
#endif
}

/* pg_plan_query() tells an EXPLAIN about the planning since 19. */
static inline PlannedStmt *
compat_plan_query(Query *query, const char *text, int cursor_options)
{
#if PG_VERSION_NUM >= 190000
	return pg_plan_query(query, text, cursor_options, NULL, NULL);
#else
	return pg_plan_query(query, text, cursor_options, NULL);
#endif
}

#endif							/* CLOCKTIMING_COMPAT_H */
