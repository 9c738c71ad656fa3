/* The server's instrumentation.  Only server_instr.[hc] use its fields, which vary by version. */
#ifndef CLOCKTIMING_SERVER_INSTR_H
#define CLOCKTIMING_SERVER_INSTR_H

#include "executor/instrument.h"
#include "nodes/execnodes.h"

#include "compat.h"

#if PG_VERSION_NUM >= 190000
typedef NodeInstrumentation NodeInstr;
typedef TriggerInstrumentation TriggerInstr;
#define INSTR_COMMON(instrumentation) (&(instrumentation)->instr)
#else
typedef Instrumentation NodeInstr;
typedef Instrumentation TriggerInstr;
#define INSTR_COMMON(instrumentation) (instrumentation)
#endif

/* Returns whether a loop has begun and not ended. */
#define instr_in_loop(instr) ((instr)->running)

/*
 * In this order: whether the server times each call; whether it is timing a call now; the start of
 * that call, in seconds of the server's clock; whether it counts buffers or WAL at each call.
 */
#define instr_has_timer(instr) (INSTR_COMMON(instr)->need_timer)
#define instr_is_timing(instr) (!INSTR_TIME_IS_ZERO(INSTR_COMMON(instr)->starttime))
#define instr_call_start(instr) INSTR_TIME_GET_DOUBLE(INSTR_COMMON(instr)->starttime)
#if SERVER_HAS_INSTR_STACK
#define instr_needs_usage(instr) (INSTR_COMMON(instr)->need_stack)
#else
#define instr_needs_usage(instr) \
	(INSTR_COMMON(instr)->need_bufusage || INSTR_COMMON(instr)->need_walusage)
#endif

/* Number of rows that a scan's condition has removed. */
#define instr_removed(instr) ((instr)->nfiltered1)

/* Number of WAL records that EXPLAIN (WAL) prints for a node. */
#define instr_wal_records(instr) (INSTR_COMMON(instr)->walusage.wal_records)

/* Counts and times of a node in the server's Instrumentation. */
typedef struct ServerCounts
{
	double		rows;
	double		loops;
	double		first_ns;		/* time of the first calls of loops */
	double		total_ns;
} ServerCounts;

/* Allocates an Instrumentation that counts rows. */
extern NodeInstr *instr_alloc(bool async);

/*
 * Return the counts of a node.  instr_end() also ends the current loop; instr_so_far() does not.
 */
extern ServerCounts instr_end(NodeInstr *instr);
extern ServerCounts instr_so_far(const NodeInstr *instr);

/* Returns the time in ns since the start of the call that the server is timing, or 0. */
extern double instr_call_ns(const NodeInstr *instr);

/* Number of a node's workers, and their counts, which the leader's counts include. */
#define instr_nworkers(node) \
	((node)->worker_instrument == NULL ? 0 : (node)->worker_instrument->num_workers)
extern ServerCounts instr_of_worker(const PlanState *node, int worker);

/* Sets the times of a node.  Times below 0 become 0; first_ns is at most total_ns. */
extern void instr_show(NodeInstr *instr, double first_ns, double total_ns);

/* Sets whether the server times each call of a node, or each firing of a trigger. */
extern void instr_common_set_timer(Instrumentation *instr, bool need);
#define instr_set_timer(instr, need) instr_common_set_timer(INSTR_COMMON(instr), need)

/*
 * Return and set the instrumentation of nodes, InstrumentOptions, that workers inherit and that the
 * server allocates from now on.
 */
extern int	instr_options(const EState *estate);
extern void instr_set_options(EState *estate, int options);

/*
 * Returns the time of the execution in ns, or NAN if neither an extension such as auto_explain nor
 * instr_time_query() has requested it.
 */
extern double instr_query_ns(const QueryDesc *desc);

/*
 * Requests the time of an execution before its first ExecutorRun().  If it returns true, call
 * instr_forget_query() after ExecutorFinish(), because other extensions take a time for their own.
 */
extern bool instr_time_query(QueryDesc *desc);
extern void instr_forget_query(QueryDesc *desc);

#endif							/* CLOCKTIMING_SERVER_INSTR_H */
