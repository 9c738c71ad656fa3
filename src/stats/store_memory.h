/*-------------------------------------------------------------------------
 *
 * store_memory.h
 *	  How the statistics of plans lie in shared memory.
 *
 * All of it is allocated when the server starts: a hash table of entries, one a plan,
 * and a pool of slots, one a node, which are linked by index.  So memory is bounded,
 * and does not fragment.
 *
 * Who looks for an entry and adds to it holds "lock" shared, and the entry's one of
 * the "partitions"; who makes, removes or writes entries holds "lock" exclusive.  Nothing is
 * allocated and no error raised while either is held by who changes something.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_STORE_MEMORY_H
#define CLOCKTIMING_STORE_MEMORY_H

#include "datatype/timestamp.h"
#include "storage/lwlock.h"
#include "utils/hsearch.h"

#include "core/weighted_sums.h"
#include "stats/plan_key.h"
#include "stats/plan_tree.h"

#define STORE_PARTITIONS	16

/* On average; of all plans together. */
#define SLOTS_PER_PLAN		12

#define NO_SLOT				(-1)

/* What is known of a node.  Sums are over executions, each times its weight. */
typedef struct NodeSlot
{
	int32		next;			/* the plan's next node, or the next free one;
								 * NO_SLOT: none */
	int32		tag;			/* the plan node's type */
	int16		place;			/* in EXPLAIN's order, from 0 */
	int16		depth;
	char		type[NODE_TYPE_LENGTH];
	NameData	relation;		/* "": none */
	NameData	index;
	WeightedSums total;			/* ns, all processes together */
	WeightedSums self;
	double		share_ns;		/* a process's self time */
	double		w;				/* executions, timed here or not */
	double		estimated_rows; /* by the planner, per loop */
	double		rows;			/* of processes in which it was timed, of all
								 * where it was in none */
	double		loops;
	double		calls;
	double		timed_calls;
	double		begun;			/* executions in which it was executed */
	double		log_factor;		/* of these the logarithm of how many times
								 * the estimated rows were off */
	double		worst_factor;	/* the largest; 0: none */
} NodeSlot;

typedef struct PlanEntry
{
	PlanKey		key;			/* first */
	int32		first_node;		/* NO_SLOT: no execution's nodes were timed */
	int32		nslots;
	int32		nnodes;			/* that the plan has */
	int32		encoding;		/* of names */
	TimestampTz first_seen;
	TimestampTz last_seen;
	WeightedSums whole;			/* ns; of executions timed as a whole, and of
								 * all if the nodes of each were timed */
	WeightedSums with_nodes;	/* ns; of executions whose nodes were timed */
	WeightedSums failed;		/* executions; x is 0 */
	double		value;			/* to be kept, see store_make_room() */
} PlanEntry;

typedef struct EvictionCandidate
{
	double		value;
	PlanEntry  *entry;
} EvictionCandidate;

typedef struct PlanStore
{
	LWLockPadded *locks;		/* the one of all, then the partitions' */
	int32		max_plans;
	int32		nslots;
	int32		nfree;
	int32		first_free;
	int64		evicted;		/* plans, since the last reset */
	TimestampTz reset_at;
	NodeSlot   *slots;
	EvictionCandidate *candidates;	/* room for all plans, used with the lock
									 * of all held */
} PlanStore;

/*
 * For shared_preload_libraries only: clocktiming.track_max, what is called by
 * shmem_request_hook, and by shmem_startup_hook.
 */
extern void store_define_settings(void);
extern void store_shmem_request(void);
extern void store_shmem_init(void);

/* NULL unless clocktiming was loaded when the server was started. */
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

/*
 * Room for a plan, and for so many nodes more: what is worth least is given up where
 * there is none.  With the lock of all held exclusively.
 */
extern void store_make_room(int nslots);

/* A new entry, all 0 and without nodes; NULL: there is no room, or there is one with that key. */
extern PlanEntry *store_new_entry(const PlanKey *key);

/* Gives an entry without nodes a list of so many, all 0; false: there are not as many free. */
extern bool store_give_slots(PlanEntry *entry, int nslots);

/* The times of a plan's executions: those timed as a whole, if there are any. */
static inline const WeightedSums *
plan_times(const PlanEntry *entry)
{
	return entry->whole.n > 0 ? &entry->whole : &entry->with_nodes;
}

extern void store_remove(PlanEntry *entry);

/* The entries in plan_store->candidates, least valuable first; how many. */
extern int	store_by_value(void);

/* The file in which the statistics are while no server runs. */
extern void store_load(void);
extern void store_save(int code, Datum arg);

#endif							/* CLOCKTIMING_STORE_MEMORY_H */
