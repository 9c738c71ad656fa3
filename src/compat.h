/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What differs between the versions of PostgreSQL, 15 to 19, and where
 *	  messages are translated.
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
#include "miscadmin.h"
#if PG_VERSION_NUM >= 160000
#include "nodes/queryjumble.h"
#else
#include "utils/queryjumble.h"
#endif
#include "portability/instr_time.h"
#include "storage/shmem.h"
#include "tcop/tcopprot.h"

#if PG_VERSION_NUM < 150000
#error "clocktiming needs PostgreSQL 15 or later"
#endif
#if SIZEOF_VOID_P < 8
#error "clocktiming needs a 64-bit processor"
#endif

/*
 * Where ereport() looks for translations: every file that calls it includes this
 * one.  And for text that is not a format of ereport()'s, _().
 */
#undef TEXTDOMAIN
#define TEXTDOMAIN PG_TEXTDOMAIN("clocktiming")
#undef _
#define _(text) dgettext(TEXTDOMAIN, text)

/*
 * Of a setting that has an effect at the server's start.  Where the library is loaded later it has none, but may
 * be in postgresql.conf, and no variable of PGC_POSTMASTER can be made then.
 */
#define PGC_AT_START (process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP)

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
compat_plan_query(Query *query, const char *text, int cursor_options, ParamListInfo params)
{
#if PG_VERSION_NUM >= 190000
	return pg_plan_query(query, text, cursor_options, params, NULL);
#else
	return pg_plan_query(query, text, cursor_options, params);
#endif
}

/* Of so many elements at most, all of which are allocated at once: so since 19. */
static inline HTAB *
compat_ShmemInitHash(const char *name, int n, HASHCTL *info, int flags)
{
#if PG_VERSION_NUM >= 190000
	return ShmemInitHash(name, n, info, flags);
#else
	return ShmemInitHash(name, n, n, info, flags);
#endif
}

/*
 * Since 17 whoever has MAINTAIN may refresh a materialized view, and its query
 * is executed under a search_path of its own.
 */
#if PG_VERSION_NUM >= 170000
#define compat_RestrictSearchPath() RestrictSearchPath()
#else
#define compat_RestrictSearchPath() ((void) 0)
#endif

#endif							/* CLOCKTIMING_COMPAT_H */
