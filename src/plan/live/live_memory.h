/*
 * Running executions in shared memory, for clock_running.  An execution of a plan by one process
 * occupies one or more slots, with LIVE_CHUNK plan nodes each.  The process writes its slots under
 * a sequence number (a seqlock), so that neither it nor a reader waits for a lock.
 */
#ifndef CLOCKTIMING_LIVE_MEMORY_H
#define CLOCKTIMING_LIVE_MEMORY_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "plan/live/live_history.h"

/* Number of plan nodes in a slot, and of slots that an execution may occupy. */
#define LIVE_CHUNK		32
#define LIVE_CHUNKS		8
#define LIVE_NODES		(LIVE_CHUNK * LIVE_CHUNKS)

/* Bytes for the names in a slot.  A name that does not fit is shortened. */
#define LIVE_NAMES		1536

/* State of a plan node's latest loop. */
typedef enum LiveState
{
	LIVE_NOT_STARTED,
	LIVE_RUNNING,
	LIVE_FINISHED,
	LIVE_RESCANNING,			/* a rescan has ended the loop */
	LIVE_UNKNOWN				/* called, but not since counting began */
} LiveState;

/* Description of a plan node.  A node's place is its number in EXPLAIN's order, from 0. */
typedef struct LiveNode
{
	int16		id;				/* plan_node_id */
	int16		parent;			/* place of the parent; -1: none */
	int16		depth;			/* number of nodes above it */
	int16		tag;			/* NodeTag of the Plan */

	/* offsets of names in the slot's LiveChunk.names; 0: none */
	int16		type;
	int16		relation;
	int16		index;

	bool		is_subplan;		/* an InitPlan or a SubPlan of its parent */
	bool		is_cte;			/* a CTE, which is read row by row */
	bool		is_expression;	/* a SubPlan that the parent evaluates */
	bool		is_hashed;		/* such a SubPlan that is executed only once */
	bool		has_condition;	/* it does not return all of its rows */
	bool		spills;			/* sort or hash aggregate that may use disk */
	int16		source;			/* place of the plan of a CTE that a CTE Scan
								 * reads; -1: none */
	int32		width;			/* planner's estimate: bytes per row */
	float		rows;			/* planner's estimate per loop */
	float		startup_cost;
	float		total_cost;
	float		sorting_cost;	/* cost of sorts for DISTINCT and ORDER BY in
								 * aggregates; not part of total_cost */
} LiveNode;

/* Number of wait events of a node: those with the longest times. */
#define LIVE_WAITS		4

typedef struct LiveWait
{
	uint32		event;			/* PostgreSQL's wait_event_info; 0: unused */
	float		ns;
} LiveWait;

/* Counters of a plan node in one process.  Times are in nanoseconds, NAN if unknown. */
typedef struct LiveCounts
{
	LiveState	state;
	float		scanned;		/* share of a relation that a sequential scan
								 * has read in this loop; NAN: unknown */

	/* values of state, scanned and batch when counting began */
	LiveState	first_state;
	float		first_scanned;
	int			first_batch;

	float		known_rows;		/* number of rows that this loop returns in
								 * all, from the node's memory; NAN: unknown */

	/*
	 * for a hash join that keeps rows in files, and for an aggregate that
	 * reads its rows several times; both are 0 otherwise
	 */
	int			batches;		/* number of batches */
	int			batch;			/* current batch; -1: differs by process */

	bool		includes_workers;	/* rows and loops, and times unless
									 * LiveHeader.sampled, include workers
									 * that have ended */
	int64		calls;			/* -1: unknown */
	double		rows;
	double		loops;
	double		total_ns;
	double		total_margin_ns;
	double		self_ns;
	double		self_margin_ns;
	double		wait_ns;		/* part of self_ns in wait events */
	double		cpu_wait_ns;	/* waiting for a CPU; not part of self_ns */
	LiveWait	waits[LIVE_WAITS];	/* in any order; unused ones are last */
} LiveCounts;

/* An execution in one process.  Its first slot has the header. */
typedef struct LiveHeader
{
	int			nslots;			/* number of slots; 0: not the first slot */
	int			slots[LIVE_CHUNKS]; /* indexes of its slots */
	int			pid;			/* 0: sum of parallel workers that have ended */
	int			procno;			/* index of its PGPROC */
	int			leader_pid;		/* leader of a parallel worker; else 0 */
	uint32		text_hash;		/* hash of the query's text */
	uint32		number;			/* random number of the execution */
	bool		late;			/* the counters began during the execution */
	bool		sampled;		/* times are the sampler's, else the server's */
	int			level;			/* nesting; 0: the client's statement */
	Oid			dbid;
	Oid			userid;			/* user with whose rights it is executed */
	int64		queryid;
	PlanKey		plan;			/* of its history (live_history.h) */
	TimestampTz started_at;
	TimestampTz since;			/* when counting began */
	TimestampTz as_of;			/* when the counters were last published */
	TimestampTz suspended_at;	/* end of the latest ExecutorRun() or
								 * ExecutorFinish(); 0: not ended */
	int64		suspended_us;	/* time between them so far, in us */
	double		run_ns;			/* sum of the nodes' own times; 0: unknown */
	int			innermost;		/* place of the deepest node that is being
								 * called; -1: none */
	uint32		event;			/* wait_event_info at the same time; 0: none */
	int			nnodes;			/* number of nodes; 0: too many for slots */
} LiveHeader;

/* Returns for how long an execution has been at work, without the time when it was suspended. */
static inline int64
live_elapsed_us(const LiveHeader *header, TimestampTz now)
{
	TimestampTz end = header->suspended_at != 0 ? header->suspended_at : now;

	return end - header->started_at - header->suspended_us;
}

/* A slot's part of the plan. */
typedef struct LiveChunk
{
	LiveNode	nodes[LIVE_CHUNK];
	LiveCounts	counts[LIVE_CHUNK];
	char		names[LIVE_NAMES];	/* strings, each with a final zero byte */
} LiveChunk;

/*
 * A copy of an execution's slots in a process's own memory.  The executing process fills an image,
 * and copies it to the slots.  A reader copies the slots to an image.
 */
typedef struct LiveImage
{
	LiveHeader	header;
	LiveCounts *before;			/* counts that ended workers have left in
								 * these slots, indexed by place; or NULL */
	double		before_ns;		/* run_ns of these workers */
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

/* Adds only the times. */
extern void live_add_times(LiveCounts *sum, const LiveCounts *counts);

/* Adds a time in a wait event.  If all LIVE_WAITS are in use, drops the shortest one. */
extern void live_add_wait(LiveCounts *counts, uint32 event, double ns);

/* Sets all times of a node to NAN, and removes its wait events. */
extern void live_forget_times(LiveCounts *counts);

/* Returns a name of the node with this place, or NULL.  The offset is from its LiveNode. */
extern const char *live_name(const LiveImage *image, int place, int16 offset);

extern Size live_image_size(int nnodes);

extern void live_shmem_request(void);
extern void live_shmem_init(void);
extern bool live_memory_ready(void);

/*
 * Occupies slots for an image, and sets its nslots and slots.  If too few slots are free for its
 * nodes, occupies one slot and sets nnodes to 0.  Returns false if no slot is free.
 */
extern bool live_claim(LiveImage *image);

/* Copies an image, or only its header and counts, to its slots.  Signal handlers may call this. */
extern void live_write(const LiveImage *image, bool all);

/*
 * Frees the slots when an execution has ended.  If a parallel worker ends before its leader, and
 * the leader has slots, the worker's slots belong to the leader from then on.  A later worker of
 * the same query takes them over with their counts, and adds its own.
 */
extern void live_release(LiveImage *image);

/*
 * Share of an execution that was shown as done, and the least one that the range allowed.  The
 * readers write it to the execution's first slot.
 */
typedef struct LiveShown
{
	double		share;			/* 0: none */
	double		least;
} LiveShown;

extern LiveShown live_shown(const LiveImage *image);
extern void live_set_shown(const LiveImage *image, LiveShown shown);

/*
 * live_predict() stores a prediction with the execution.  If there are several, one of them is
 * chosen at random, with equal probabilities.  live_predicted() returns false if there is none.
 * Neither waits for a lock.
 */
extern void live_predict(const LiveImage *image, const LivePrediction *prediction);
extern bool live_predicted(const LiveImage *image, LivePrediction *prediction);

/* Returns a LiveImage of each execution, in CurrentMemoryContext.  Waits for no lock. */
extern List *live_read_all(void);

#endif							/* CLOCKTIMING_LIVE_MEMORY_H */
