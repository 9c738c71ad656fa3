/* Hides differences between PostgreSQL 15 and 20, and sets the text domain of messages. */
#ifndef CLOCKTIMING_COMPAT_H
#define CLOCKTIMING_COMPAT_H

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#if PG_VERSION_NUM >= 160000
#include "nodes/queryjumble.h"
#else
#include "utils/queryjumble.h"
#endif
#include "portability/instr_time.h"
#include "storage/shmem.h"
#include "tcop/tcopprot.h"
#include "utils/wait_event.h"

#if PG_VERSION_NUM < 150000
#error "clocktiming needs PostgreSQL 15 or later"
#endif
#if SIZEOF_VOID_P < 8
#error "clocktiming needs a 64-bit processor"
#endif

/*
 * Text domain in which ereport() looks up translations.  Every file that calls ereport() must
 * include this header.  _() is for text that ereport() does not translate itself.
 */
#undef TEXTDOMAIN
#define TEXTDOMAIN PG_TEXTDOMAIN("clocktiming")
#undef _
#define _(text) dgettext(TEXTDOMAIN, text)

/*
 * GucContext of settings that take effect only at server start.  A PGC_POSTMASTER variable cannot
 * be defined later.  If the library is loaded after server start, the setting is PGC_SIGHUP, and
 * has no effect.
 */
#define PGC_AT_START (process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP)

/* PostgreSQL 18 replaced pg_attribute_noreturn() by pg_noreturn. */
#ifndef pg_noreturn
#define pg_noreturn pg_attribute_noreturn()
#endif

/* PostgreSQL 19 added the setting timing_clock_source and INSTR_TIME_SET_CURRENT_FAST(). */
#if PG_VERSION_NUM >= 190000
#define SERVER_HAS_TIMING_CLOCK_SOURCE 1
#endif
#ifndef INSTR_TIME_SET_CURRENT_FAST
#define INSTR_TIME_SET_CURRENT_FAST(t) INSTR_TIME_SET_CURRENT(t)
#endif

/*
 * Patches that are proposed for PostgreSQL 20 collect buffer and WAL usage in a stack of
 * Instrumentations (InstrPushStack), instead of in pgBufferUsage.  They are not committed, so
 * -DSERVER_HAS_INSTR_STACK=0 compiles for a PostgreSQL 20 without them.
 */
#ifndef SERVER_HAS_INSTR_STACK
#define SERVER_HAS_INSTR_STACK (PG_VERSION_NUM >= 200000)
#endif

static inline uint64
instr_time_ticks(instr_time t)
{
#if PG_VERSION_NUM >= 160000
	return (uint64) t.ticks;
#else
	return (uint64) t.tv_sec * UINT64CONST(1000000000) + (uint64) t.tv_nsec;
#endif
}

/* PostgreSQL 18 removed the parameter execute_once of ExecutorRun(). */
static inline void
compat_ExecutorRun(QueryDesc *desc)
{
#if PG_VERSION_NUM >= 180000
	ExecutorRun(desc, ForwardScanDirection, 0);
#else
	ExecutorRun(desc, ForwardScanDirection, 0, true);
#endif
}

/* PostgreSQL 19 added a parameter for EXPLAIN to pg_plan_query(). */
static inline PlannedStmt *
compat_plan_query(Query *query, const char *text, int cursor_options, ParamListInfo params)
{
#if PG_VERSION_NUM >= 190000
	return pg_plan_query(query, text, cursor_options, params, NULL);
#else
	return pg_plan_query(query, text, cursor_options, params);
#endif
}

/* Allocates all n elements at once.  PostgreSQL 18 and earlier do so only if init_size is n. */
static inline HTAB *
compat_ShmemInitHash(const char *name, int n, HASHCTL *info, int flags)
{
#if PG_VERSION_NUM >= 190000
	return ShmemInitHash(name, n, info, flags);
#else
	return ShmemInitHash(name, n, n, info, flags);
#endif
}

/* Whether the node below sorts an aggregate's input.  PostgreSQL 16 introduced such plans. */
#if PG_VERSION_NUM >= 160000
#define compat_presorted(aggregate) ((aggregate)->aggpresorted)
#else
#define compat_presorted(aggregate) false
#endif

/* PostgreSQL 17 introduced this class of wait events. */
#ifndef PG_WAIT_INJECTIONPOINT
#define PG_WAIT_INJECTIONPOINT 0x0B000000U
#endif

/*
 * Restricts search_path, as REFRESH MATERIALIZED VIEW does in PostgreSQL 17 and later.  Does
 * nothing in older versions, where REFRESH does not restrict it.
 */
#if PG_VERSION_NUM >= 170000
#define compat_RestrictSearchPath() RestrictSearchPath()
#else
#define compat_RestrictSearchPath() ((void) 0)
#endif

#endif							/* CLOCKTIMING_COMPAT_H */
