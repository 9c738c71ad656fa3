/*
 * Running executions in shared memory.
 *
 * An execution of a process occupies a chain of slots, of LIVE_CHUNK plan nodes each.
 * Its process writes them under a sequence number (a seqlock), so that neither it nor
 * a reader waits for a lock.
 */
#ifndef CLOCKTIMING_LIVE_MEMORY_H
#define CLOCKTIMING_LIVE_MEMORY_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

/* Number of plan nodes in a slot, and of slots that an execution may occupy. */
#define LIVE_CHUNK		32
#define LIVE_CHUNKS		8
#define LIVE_NODES		(LIVE_CHUNK * LIVE_CHUNKS)

/* Bytes for the names in a slot.  A name that does not fit is shortened. */
#define LIVE_NAMES		1536

typedef enum LiveState
{
	LIVE_NOT_STARTED,
	LIVE_RUNNING,
	LIVE_FINISHED,
	LIVE_RESCANNING,			/* the loop was ended by a rescan */
	LIVE_UNKNOWN				/* the node was called before it was watched */
} LiveState;

/* A plan node as it was planned. */
typedef struct LiveNode
{
	int16		id;				/* plan_node_id */
	int16		parent;			/* its place; -1: none */
	int16		depth;
	int16		tag;			/* NodeTag of the Plan */

	/* offsets of names in the LiveChunk; 0: none */
	int16		type;
	int16		relation;
	int16		index;

	bool		is_subplan;		/* an InitPlan or a SubPlan of its parent */
	bool		is_cte;			/* a CTE, which is read row by row */
	bool		is_expression;	/* a SubPlan that the parent evaluates */
	bool		spills;			/* a sort that is expected to write to disk */
	int32		width;
	float		rows;			/* per loop, as the planner expects */
	float		startup_cost;
	float		total_cost;
} LiveNode;

/* Counters of a plan node in one process.  Times are in nanoseconds, NAN if unknown. */
typedef struct LiveCounts
{
	LiveState	state;
	float		scanned;		/* share of a relation that a sequential scan
								 * has read in this loop; NAN: unknown */

	/* values when the counters began */
	LiveState	first_state;
	float		first_scanned;
	int			first_batch;

	/*
	 * Of a hash join that keeps its rows in files: number of batches and the
	 * current one, which is -1 if several processes work on different ones.
	 * Otherwise both are 0.
	 */
	int			batches;
	int			batch;

	bool		includes_workers;	/* includes workers that have ended */
	int64		calls;			/* -1: unknown */
	double		rows;
	double		loops;
	double		total_ns;
	double		total_margin_ns;
	double		self_ns;
	double		self_margin_ns;
} LiveCounts;

typedef struct LiveHeader
{
	int			nslots;			/* 0: not the first slot of an execution */
	int			slots[LIVE_CHUNKS];
	int			pid;			/* 0: of parallel workers that have ended */
	int			leader_pid;		/* of a parallel worker; else 0 */
	uint32		text_hash;		/* of the query's text */
	bool		late;			/* the counters began during the execution */
	int			level;			/* 0: executed by a statement of the client */
	Oid			dbid;
	Oid			userid;			/* session user */
	int64		queryid;
	TimestampTz started_at;
	TimestampTz since;			/* beginning of the counters */
	TimestampTz as_of;			/* latest publication */
	double		run_ns;			/* from "since" to "as_of", without pauses */
	int			innermost;		/* place of the deepest node that is being
								 * called; -1: none */
	int			nnodes;			/* of the plan; 0: too many for the slots */
} LiveHeader;

typedef struct LiveChunk
{
	LiveNode	nodes[LIVE_CHUNK];
	LiveCounts	counts[LIVE_CHUNK];
	char		names[LIVE_NAMES];
} LiveChunk;

/*
 * An execution in a process's own memory.  The executing process copies it to the slots, and a
 * reader copies the slots to an image.
 */
typedef struct LiveImage
{
	LiveHeader	header;
	LiveCounts *before;			/* by place: counters that the slots had when
								 * they were claimed; or NULL */
	double		before_ns;		/* run_ns that the slots had then */
	LiveChunk	chunks[LIVE_CHUNKS];	/* only header.nslots are allocated */
} LiveImage;

static inline LiveNode *
live_node(LiveImage *image, int place)
{
	return &image->chunks[place / LIVE_CHUNK].nodes[place % LIVE_CHUNK];
}

static inline LiveCounts *
live_counts(LiveImage *image, int place)
{
	return &image->chunks[place / LIVE_CHUNK].counts[place % LIVE_CHUNK];
}

/* Adds a node's counters in another process to a sum, and combines the states. */
extern void live_add_counts(LiveCounts *sum, const LiveCounts *counts);

extern const char *live_name(const LiveImage *image, int place, int16 offset);

/* Bytes of an image. */
extern Size live_image_size(int nnodes);

/* Number of nodes that are shown. */
static inline int
live_shown(const LiveHeader *header)
{
	return header->nnodes;
}

extern void live_shmem_request(void);
extern void live_shmem_init(void);
extern bool live_memory_ready(void);

/*
 * Occupies slots for an image, and sets its nslots and slots.  If too few slots are free for its
 * nodes, occupies one slot and sets nnodes to 0.  Returns false if no slot is free.
 */
extern bool live_claim(LiveImage *image);

/* Publishes an image: the header and counters, or all of it.  A signal handler may call it. */
extern void live_write(const LiveImage *image, bool all);

/*
 * Frees the slots when an execution has ended.  A parallel worker leaves them to its leader, if
 * that is published; a later worker of the same query claims them and adds to their counters.
 */
extern void live_release(LiveImage *image);

/*
 * Returns copies of all executions, a LiveImage each, in CurrentMemoryContext, and waits for no
 * lock.
 */
extern List *live_read_all(void);

#endif							/* CLOCKTIMING_LIVE_MEMORY_H */
