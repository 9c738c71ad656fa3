/* The server's instrumentation.  Only server_instr.[hc] use its fields, which vary by version. */
#ifndef CLOCKTIMING_SERVER_INSTR_H
#define CLOCKTIMING_SERVER_INSTR_H

#include "executor/instrument.h"
#include "nodes/execnodes.h"

#include "core/plan_estimate.h"

#if PG_VERSION_NUM >= 190000
typedef NodeInstrumentation NodeInstr;
typedef TriggerInstrumentation TriggerInstr;
#define INSTR_COMMON(instrumentation) (&(instrumentation)->instr)
#else
typedef Instrumentation NodeInstr;
typedef Instrumentation TriggerInstr;
#define INSTR_COMMON(instrumentation) (instrumentation)
#endif

/*
 * A counter of clocktiming, in the field in which the server's timer adds up a loop's time.  It is
 * used only without that timer.  InstrEndLoop(), which a rescan calls, sets it to 0.
 */
#if PG_VERSION_NUM >= 160000
#define instr_spare_counter(instr) ((instr)->counter.ticks)
#else
#define instr_spare_counter(instr) ((instr)->counter.tv_nsec)
#endif

/* instr_in_loop() returns whether a loop has begun and not ended. */
#define instr_in_loop(instr) ((instr)->running)
#define instr_begin_loop(instr) ((instr)->running = true)

/*
 * Rows so far in this process.  In this order: rows removed by the node's filters; rows counted by
 * the node's own code.
 */
#define instr_removed_rows(instr) ((int64) ((instr)->nfiltered1 + (instr)->nfiltered2))
#define instr_own_rows(instr) ((instr)->ntuples + (instr)->tuplecount)

/*
 * In this order: whether the server times each call; whether it is timing a call now; the start of
 * that call, in seconds of the server's clock; whether it counts buffers or WAL at each call.
 */
#define instr_has_timer(instr) (INSTR_COMMON(instr)->need_timer)
#define instr_is_timing(instr) (!INSTR_TIME_IS_ZERO(INSTR_COMMON(instr)->starttime))
#define instr_call_start(instr) INSTR_TIME_GET_DOUBLE(INSTR_COMMON(instr)->starttime)
#define instr_needs_usage(instr) \
	(INSTR_COMMON(instr)->need_bufusage || INSTR_COMMON(instr)->need_walusage)

/* Number of WAL records that EXPLAIN (WAL) prints for a node. */
#define instr_wal_records(instr) (INSTR_COMMON(instr)->walusage.wal_records)

/*
 * Return the rows, loops, times and removed rows of a node in this process. instr_end() also ends
 * the current loop; instr_so_far() does not.
 */
extern NodeRecord instr_end(NodeInstr *instr);
extern NodeRecord instr_so_far(const NodeInstr *instr);

/* Returns the time in ns since the start of the call that the server is timing, or 0. */
extern double instr_call_ns(const NodeInstr *instr);

/* Number of a node's workers. */
#define instr_nworkers(node) \
	((node)->worker_instrument == NULL ? 0 : (node)->worker_instrument->num_workers)

/* Returns the counts of a worker; false if there is no such worker. */
extern bool instr_of_worker(const PlanState *node, int worker, NodeRecord *counts);

/*
 * Removes a loop's only call from the counts, and sets *ns to its duration.  Returns whether the
 * call returned a tuple.
 */
extern bool instr_take_off_call(NodeInstr *instr, double *ns);

/* Sets the counts and times of a node.  Times below 0 become 0; first_ns is at most total_ns. */
extern void instr_show(NodeInstr *instr, double rows, double loops,
					   double first_ns, double total_ns);

/* Add to rows and loops, and set times to 0; add to removed rows; set removed rows to 0. */
extern void instr_add_counts(NodeInstr *instr, double rows, double loops);
extern void instr_add_removed(NodeInstr *instr, const double removed[2]);
#define instr_forget_removed(instr) ((instr)->nfiltered1 = (instr)->nfiltered2 = 0)

/* Sets whether the server times each call of a node, or each firing of a trigger. */
extern void instr_common_set_timer(Instrumentation *instr, bool need);
#define instr_set_timer(instr, need) instr_common_set_timer(INSTR_COMMON(instr), need)

/* Sets the time of a trigger, whose firings the server always counts. */
extern void trigger_show(TriggerInstr *instr, double total_ns);

#endif							/* CLOCKTIMING_SERVER_INSTR_H */
