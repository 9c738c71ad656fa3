/*-------------------------------------------------------------------------
 *
 * store_read.h
 *	  The statistics of plans, for those who show them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_STORE_READ_H
#define CLOCKTIMING_STORE_READ_H

#include "stats/store_memory.h"

typedef struct PlanCopy
{
	PlanEntry	entry;
	NodeSlot   *nodes;			/* entry.nslots of them, by their places */
} PlanCopy;

/* A copy of all, as it is at this moment; their number is put into "n". */
extern PlanCopy *store_copy(int *n);

typedef struct WorstNode
{
	PlanEntry	entry;
	NodeSlot	node;
} WorstNode;

/*
 * The nodes that have taken most time themselves, the worst first, of a user's plans;
 * 0: of all.  Returns how many there are, at most "most".
 */
extern int	store_worst_nodes(Oid userid, WorstNode *worst, int most);

/* Of how many there are statistics, how many were given up since when. */
typedef struct StoreInfo
{
	int64		plans;
	int64		evicted;
	TimestampTz reset_at;
} StoreInfo;

extern StoreInfo store_info(void);

/* Removes the plans of a user, of a database, of a query; 0: of all. */
extern void store_reset(Oid userid, Oid dbid, uint64 queryid);

/* A name of a plan's, as far as this database's encoding has it. */
extern char *store_name(const PlanEntry *entry, const char *name);

/* How EXPLAIN would call a node, and the plan's nodes so, a line each. */
extern char *store_node_line(const PlanEntry *entry, const NodeSlot *node);
extern char *store_plan_text(const PlanCopy *plan);

#endif							/* CLOCKTIMING_STORE_READ_H */
