/* Reads the statistics of plans. */
#ifndef CLOCKTIMING_STORE_READ_H
#define CLOCKTIMING_STORE_READ_H

#include "plan/stats/store_entries.h"

typedef struct PlanCopy
{
	PlanEntry	entry;
	NodeSlot   *nodes;			/* entry.nslots, in order of place */
} PlanCopy;

/*
 * Returns a consistent copy of all plans, *n elements.  "with_unobserved": the nodes' times contain
 * those in which no node was observed.  These are divided anew after each execution, so that a
 * node's time may fall, which that of a counter must not.
 */
extern PlanCopy *store_copy(int *n, bool with_unobserved);

/*
 * Returns the time outside of the nodes, as a node of the type "Query" with the place -1, whose
 * total is the sum of all self times.
 */
extern NodeSlot store_outside(const PlanEntry *entry);

typedef struct WorstNode
{
	PlanEntry	entry;
	NodeSlot	node;
} WorstNode;

/*
 * Writes up to "most" nodes of a user (0: all) with the longest self times; returns the number.
 * Includes store_outside().  "with_unobserved": as in store_copy().
 */
extern int	store_worst_nodes(Oid userid, bool with_unobserved, WorstNode *worst, int most);

/* Time of all nodes of a type in a wait event. */
typedef struct TypeWait
{
	char		type[NODE_TYPE_LENGTH];
	uint32		event;
	double		ns;
} TypeWait;

/* Writes up to "most" of these of a user (0: all), the longest first; returns the number. */
extern int	store_worst_waits(Oid userid, TypeWait *worst, int most);

/* Number of plans, and evictions since the last reset. */
typedef struct StoreInfo
{
	int64		plans;
	int64		evicted;
	TimestampTz reset_at;
} StoreInfo;

extern StoreInfo store_info(void);

/* Removes the plans of a user, database and query.  An argument of 0 matches all. */
extern void store_reset(Oid userid, Oid dbid, uint64 queryid);

/* Returns a copy of a name, with "?" for non-ASCII characters if it is in another encoding. */
extern char *store_name(const PlanEntry *entry, const char *name);

/* Returns the nodes of a plan, a line each, as EXPLAIN names them. */
extern char *store_plan_text(const PlanCopy *plan);

#endif							/* CLOCKTIMING_STORE_READ_H */
