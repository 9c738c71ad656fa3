/*-------------------------------------------------------------------------
 *
 * server_instr.h
 *	  The server's instrumentation of plan nodes and triggers.
 *
 * Only here and in server_instr.c are its fields named, which differ between
 * versions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_SERVER_INSTR_H
#define CLOCKTIMING_SERVER_INSTR_H

#include "executor/instrument.h"
#include "nodes/execnodes.h"

#if PG_VERSION_NUM >= 190000
typedef NodeInstrumentation NodeInstr;
typedef TriggerInstrumentation TriggerInstr;
#else
typedef Instrumentation NodeInstr;
typedef Instrumentation TriggerInstr;
#endif

/*
 * A number kept where the server would keep the ticks of a loop.  InstrEndLoop(),
 * which is called whenever a node is rescanned, sets it to 0.
 */
#if PG_VERSION_NUM >= 160000
#define instr_spare_counter(instr) ((instr)->counter.ticks)
#else
#define instr_spare_counter(instr) ((instr)->counter.tv_nsec)
#endif

/* Whether a loop has begun that has not ended. */
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

/* Rows that the node has removed by now, in this process. */
static inline int64
instr_removed_rows(const NodeInstr *instr)
{
	return (int64) (instr->nfiltered1 + instr->nfiltered2);
}

/* What the server has counted and timed, all loops together. */
typedef struct InstrCounts
{
	double		rows;
	double		loops;
	double		first_ns;		/* until each loop's first tuple */
	double		total_ns;
	double		removed[2];		/* rows: by a join's condition or an index's,
								 * and by others */
} InstrCounts;

/* Of a node in this process, whose loop ends with that. */
extern InstrCounts instr_end(NodeInstr *instr);

/* The same while the node's loop goes on, which stays as it is. */
extern InstrCounts instr_so_far(const NodeInstr *instr);

/* Duration of the call that the server times at this moment, in ns; 0 if there is none. */
extern double instr_call_ns(const NodeInstr *instr);

/* Start of that call, in seconds of the server's clock; 0 if there is none. */
extern double instr_call_start(const NodeInstr *instr);

/* Of a node in its workers: how many, and each; false if there is no such worker. */
extern int	instr_nworkers(const PlanState *node);
extern bool instr_of_worker(const PlanState *node, int worker, InstrCounts *counts);

/* Rows that the node has counted by itself, in loops that have ended or not. */
extern double instr_own_rows(const NodeInstr *instr);

/*
 * Takes off the loop that has not ended what the server has counted in it: whether
 * that was a tuple, and the time, in ns.
 */
extern bool instr_take_off_call(NodeInstr *instr, double *ns);

/* Has the server say this of a node; no time is below 0, and first_ns not above total_ns. */
extern void instr_show(NodeInstr *instr, double rows, double loops,
					   double first_ns, double total_ns);

/* Adds to what the server says of a node's rows and loops, and has it say no times. */
extern void instr_add_counts(NodeInstr *instr, double rows, double loops);
extern void instr_add_removed(NodeInstr *instr, const double removed[2]);
extern void instr_forget_removed(NodeInstr *instr);

/* Whether the server reads the clock at each call. */
extern void instr_set_timer(NodeInstr *instr, bool need);
extern bool instr_has_timer(const NodeInstr *instr);

/* Whether it has read the clock at the start of a call that has not ended. */
extern bool instr_is_timing(const NodeInstr *instr);

/* Whether it counts buffers or WAL at each call. */
extern bool instr_needs_usage(const NodeInstr *instr);

/* What EXPLAIN (WAL) prints of a node. */
extern void instr_set_wal_records(NodeInstr *instr, int64 records);

/* Of a trigger: firings are counted always. */
extern void trigger_set_timer(TriggerInstr *instr, bool need);
extern void trigger_show(TriggerInstr *instr, double total_ns);

#endif							/* CLOCKTIMING_SERVER_INSTR_H */
