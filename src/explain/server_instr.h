/* The server's instrumentation.  Only this file and server_instr.c use its fields, which vary. */
#ifndef CLOCKTIMING_SERVER_INSTR_H
#define CLOCKTIMING_SERVER_INSTR_H

#include "executor/instrument.h"
#include "nodes/execnodes.h"

#include "core/plan_estimate.h"

#if PG_VERSION_NUM >= 190000
typedef NodeInstrumentation NodeInstr;
typedef TriggerInstrumentation TriggerInstr;
#else
typedef Instrumentation NodeInstr;
typedef Instrumentation TriggerInstr;
#endif

/* A number in place of a loop's ticks.  InstrEndLoop(), on a rescan, sets it to 0. */
#if PG_VERSION_NUM >= 160000
#define instr_spare_counter(instr) ((instr)->counter.ticks)
#else
#define instr_spare_counter(instr) ((instr)->counter.tv_nsec)
#endif

/* Returns whether a loop has begun and not ended. */
static inline bool
instr_in_loop(const NodeInstr *instr)
{
	return instr->running;
}

static inline void
instr_begin_loop(NodeInstr *instr)
{
	instr->running = true;
}

/* Returns the number of rows that the node has removed so far in this process. */
static inline int64
instr_removed_rows(const NodeInstr *instr)
{
	return (int64) (instr->nfiltered1 + instr->nfiltered2);
}

/*
 * instr_end() returns the rows, loops, times and removed rows of a node in this process, and ends
 * its current loop.  instr_so_far() does not end the loop.
 */
extern NodeRecord instr_end(NodeInstr *instr);
extern NodeRecord instr_so_far(const NodeInstr *instr);

/*
 * Returns the time in ns since the start of the call that the server is timing; 0 if there is none.
 */
extern double instr_call_ns(const NodeInstr *instr);

/* Returns the start of that call, in seconds of the server's clock; 0 if there is none. */
extern double instr_call_start(const NodeInstr *instr);

/* Return the number of a node's workers; the counts of one, false if there is no such worker. */
extern int	instr_nworkers(const PlanState *node);
extern bool instr_of_worker(const PlanState *node, int worker, NodeRecord *counts);

/* Returns the rows that the node has counted by itself, in ended loops and in the current one. */
extern double instr_own_rows(const NodeInstr *instr);

/* Removes the latest call from the current loop; returns whether it was a tuple; sets its time. */
extern bool instr_take_off_call(NodeInstr *instr, double *ns);

/* Sets the counts and times of a node.  Times below 0 become 0; first_ns is at most total_ns. */
extern void instr_show(NodeInstr *instr, double rows, double loops,
					   double first_ns, double total_ns);

/* Add to rows and loops, with times of 0; add to removed rows; set these to 0. */
extern void instr_add_counts(NodeInstr *instr, double rows, double loops);
extern void instr_add_removed(NodeInstr *instr, const double removed[2]);
extern void instr_forget_removed(NodeInstr *instr);

/* Sets whether the server reads the clock at each call. */
extern void instr_set_timer(NodeInstr *instr, bool need);
extern bool instr_has_timer(const NodeInstr *instr);

/* Returns whether the server has read the clock at the start of a call that has not ended. */
extern bool instr_is_timing(const NodeInstr *instr);

/* Returns whether the server counts buffers or WAL at each call. */
extern bool instr_needs_usage(const NodeInstr *instr);

/* Sets the number of WAL records that EXPLAIN (WAL) prints for a node. */
extern void instr_set_wal_records(NodeInstr *instr, int64 records);

/* The same for a trigger, whose firings the server always counts. */
extern void trigger_set_timer(TriggerInstr *instr, bool need);
extern void trigger_show(TriggerInstr *instr, double total_ns);

#endif							/* CLOCKTIMING_SERVER_INSTR_H */
