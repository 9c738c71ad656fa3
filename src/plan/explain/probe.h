/*
 * Stubs around the functions that execute plan nodes.
 *
 * A stub publishes the node's number as the node at work (plan_sampler.h), calls the node's own
 * function, publishes the number of the node above, and counts a returned row in the server's
 * Instrumentation.  The first 512 numbers have stubs of their own, so that a stub finds its
 * StubSlot at a fixed address.  Nodes with larger numbers share a stub, which samples their
 * StubSlot up.
 *
 * The server may replace the stubs of a running plan by ExecProcNodeFirst().  It does so for a
 * parallel Hash Join, and pg_log_query_plan(), which is proposed for PostgreSQL 20, for all nodes.
 * So ExecProcNodeReal is replaced, too: by a function that restores the stub at the next call.
 */
#ifndef CLOCKTIMING_PROBE_H
#define CLOCKTIMING_PROBE_H

#include "nodes/execnodes.h"

#include "plan/explain/server_instr.h"

/* What a stub needs at each call. */
typedef struct StubSlot
{
	PlanState  *node;			/* node whose calls are ordinary; else NULL */
	ExecProcNodeMtd real;		/* the node's own function */
	NodeInstr  *instr;			/* its Instrumentation */
	uint32		above;			/* number to publish after a call */
} StubSlot;

/* Largest number of different callers of a subplan that are counted. */
#define PROBE_CALLERS	4

typedef struct ProbeCaller
{
	uint32		number;
	double		calls;
	double		loops;			/* number of these calls that began a loop */
	double		timed;			/* number of these that were timed; their time */
	double		first_ns;
} ProbeCaller;

/* A node with a stub. */
typedef struct ProbedNode
{
	StubSlot   *probe;
	StubSlot	own;			/* *probe if the number has no stub of its own */
	PlanState  *node;
	NodeInstr  *instr;
	uint32		number;
	uint32		above;
	ExecProcNodeMtd stub;
	bool		begun;			/* the node was called */
	bool		is_called;		/* subplan: any node may call it */
	bool		counts_usage;	/* the server counts buffers or WAL */
	ProbeCaller callers[PROBE_CALLERS]; /* only if is_called */

	/* first calls of loops, of which some are timed by the clock */
	double		loops;			/* number of loops begun */
	double		timed;			/* number of timed first calls */
	double		first_ns;		/* their time */
	int			skip;			/* loops before the next timed one */

	struct ProbedNode *parent;	/* for begin(); NULL: the root */
	struct ProbedNode *child;
	struct ProbedNode *sibling;
} ProbedNode;

/*
 * Installs the stub of a node; remove frees its number, also after an error.  The members node,
 * instr, number, above, is_called, counts_usage, parent, child and sibling must be set.
 */
extern void probe_install(ProbedNode *probed);
extern void probe_remove(ProbedNode *probed);

/* Sets the number that is published after calls of a node. */
extern void probe_set_above(ProbedNode *probed, uint32 above);

/* Return the estimated time in ns of the first calls of all loops, or of those by a caller. */
extern double probe_first_ns(const ProbedNode *probed);
extern double probe_caller_first_ns(const ProbeCaller *caller);

/* Returns whether a node's ExecProcNode is neither a stub nor the server's instrumentation. */
extern bool has_server_function(const PlanState *node);

/*
 * Returns the function that the server sets as a node's ExecProcNode after its first call, with or
 * without instrumentation.  A signal handler must not be the first caller in a session.
 */
extern ExecProcNodeMtd server_call_function(const PlanState *node);

#endif							/* CLOCKTIMING_PROBE_H */
