/*
 * Shared memory of the statistics of plans: a hash table with an entry per plan, and a pool of
 * slots, one per plan node, which are linked by index.  All of it is allocated when the server
 * starts.
 *
 * To create, remove or save entries, hold store_lock() exclusively.  To find an entry and add to
 * it, hold store_lock() shared, and exclusively one of STORE_PARTITIONS other locks, which
 * partition_lock() chooses by the entry's hash.  A writer allocates nothing and raises no error
 * while it holds a lock.
 */
#ifndef CLOCKTIMING_STORE_ENTRIES_H
#define CLOCKTIMING_STORE_ENTRIES_H

#include "datatype/timestamp.h"
#include "storage/lwlock.h"
#include "utils/hsearch.h"

#include "plan/estimate/population_sums.h"
#include "plan/stats/node_parts.h"
#include "plan/stats/plan_tree.h"

/*
 * Number of the entries' locks, so that sessions which add executions of different plans seldom
 * wait for each other.
 */
#define STORE_PARTITIONS	16

#define NO_SLOT				(-1)

/* Share of an execution below which its observed part does not represent it. */
#define LEAST_SEEN			0.2

/*
 * Statistics of a plan node.  Sums are over executions, each multiplied by its weight, which is 1 /
 * the probability that it was timed.
 */
typedef struct NodeSlot
{
	int32		next;			/* next slot of the plan, or NO_SLOT */
	int32		tag;			/* NodeTag of the plan node */
	int16		place;			/* position in EXPLAIN's output, from 0 */
	int16		depth;
	char		type[NODE_TYPE_LENGTH];
	NameData	relation;		/* empty: none */
	NameData	index;			/* empty: none */
	WeightedSums total;			/* ns, sum over processes */
	WeightedSums self;			/* ns, without children */
	double		share_ns;		/* ns, weighted sum of self times */
	double		w;				/* sum of weights, also if the node was pruned */
	double		estimated_rows; /* planner's rows per loop */
	double		rows;			/* rows in processes that timed the node */
	double		loops;
	double		calls;
	double		begun;			/* sum of weights of runs that executed it */
	double		log_factor;		/* sum of logarithms of row misestimates */
	double		worst_factor;	/* largest row misestimate, a ratio; 0: none */
	NodeParts	parts;			/* of the self times */
	LongTimes	long_times;		/* sums over the long executions */
} NodeSlot;

typedef struct PlanEntry
{
	PlanKey		key;			/* must be the first member */
	int32		first_node;		/* first slot; NO_SLOT: nodes never timed */
	int32		nslots;
	int32		nnodes;			/* number of nodes of the plan */
	int32		encoding;		/* encoding of names */
	TimestampTz first_seen;
	TimestampTz last_seen;
	double		executions;		/* number of all executions, also failed ones */
	PopulationSums times;		/* ns; durations (plan_draw.c) */
	WeightedSums with_nodes;	/* ns; executions whose nodes were timed, but
								 * for long ones (plan_store.c) */
	WeightedSums failed;		/* failed executions, as if they took 0 ns */
	double		share_ns;		/* ns; weighted sum of the self times of all
								 * nodes and of the time outside of them */
	double		value;			/* total time, reduced at each eviction */
	WeightedSums all;			/* ns; self times of all nodes, and the time
								 * outside of them */
	double		cpu_ns;			/* these three: weighted sums of the parts of
								 * "all", and of the time waiting for a CPU */
	double		wait_ns;
	double		cpu_wait_ns;
	WaitSet		waits;
	WeightedSums outside;		/* ns; time outside of the nodes */
	double		outside_share_ns;	/* ns, weighted sum */
	double		unseen_ns;		/* time of long executions in which no node
								 * was observed, and which is not in the
								 * nodes' times yet; and the sum of its
								 * squares */
	double		unseen_squares;
	double		missed_ns;		/* the same for short ones with too few
								 * samples, weighted */
	double		missed_squares;
	double		before_ns;		/* time of long executions before their
								 * observation, which is in the nodes' times */
	NodeParts	outside_parts;
	LongTimes	outside_long;	/* parts of these in long executions */
	LongTimes	all_long;		/* of "all" and the three below it */
	double		long_ns;		/* durations of the long executions, and of
								 * the others whose nodes were timed, scaled
								 * as the times of their nodes */
	double		short_ns;
} PlanEntry;

typedef struct EvictionCandidate
{
	double		value;
	PlanEntry  *entry;
} EvictionCandidate;

typedef struct PlanStore
{
	LWLockPadded *locks;		/* store_lock(), then the other locks */
	int32		max_plans;
	int32		nslots;
	int32		nfree;			/* number of free slots */
	int32		first_free;		/* first one in the list of free slots */
	int64		evicted;		/* plans evicted since the last reset */
	TimestampTz reset_at;
	NodeSlot   *slots;
	EvictionCandidate *candidates;	/* max_plans elements */
} PlanStore;

/* NULL unless clocktiming is in shared_preload_libraries. */
extern PlanStore *plan_store;
extern HTAB *plan_store_hash;

static inline LWLock *
store_lock(void)
{
	return &plan_store->locks[0].lock;
}

static inline LWLock *
partition_lock(uint32 hash)
{
	return &plan_store->locks[1 + hash % STORE_PARTITIONS].lock;
}

/* The caller of the following functions must hold store_lock() exclusively. */

/* Evicts the least valuable plans unless one more plan with nslots nodes fits. */
extern void store_evict(int nslots);

/* Creates an entry without nodes; returns NULL if the hash table is full or has this key. */
extern PlanEntry *store_new_entry(const PlanKey *key);

/* Allocates nslots zeroed slots for an entry without nodes; returns false if fewer are free. */
extern bool store_allocate_slots(PlanEntry *entry, int nslots);
extern void store_free_slot(int32 slot);

extern void store_remove(PlanEntry *entry);

/* Sorts the entries into plan_store->candidates, least valuable first; returns their number. */
extern int	store_sort_by_value(void);

#endif							/* CLOCKTIMING_STORE_ENTRIES_H */
