/*-------------------------------------------------------------------------
 *
 * plan_tree.h
 *	  A plan's nodes without its execution, and what they are called.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLAN_TREE_H
#define CLOCKTIMING_PLAN_TREE_H

#include "nodes/plannodes.h"

/* Of a plan with more nodes the first so many have statistics of their own. */
#define PLAN_TREE_MAX	200

#define NODE_TYPE_LENGTH	48

typedef struct PlanTreeNode
{
	const Plan *plan;
	int			parent;			/* its index; -1: none */
	bool		is_subplan;		/* the root of one of an expression, whose
								 * parent the tree alone does not tell */
} PlanTreeNode;

typedef struct PlanTree
{
	int			n;				/* nodes there are */
	int			nkept;			/* at most PLAN_TREE_MAX */
	PlanTreeNode nodes[PLAN_TREE_MAX];
} PlanTree;

/*
 * The nodes, each before those below it, in EXPLAIN's order; but subplans of
 * expressions come last, and of them the first one as the very last.  The order is the same for plans that have the same hash.
 */
extern void plan_tree(const PlannedStmt *plan, PlanTree *tree);

/*
 * Returns a hash of the types of nodes, how they join and aggregate, the names of their
 * relations and indexes, and how deep each is.  Neither costs, constants nor OIDs are in it.
 */
extern uint64 plan_tree_hash(const PlannedStmt *plan);

/* As EXPLAIN calls the node, without what it is of; and its index, InvalidOid if none. */
extern void plan_node_type(const Plan *plan, char type[NODE_TYPE_LENGTH]);
extern Oid	plan_node_index(const Plan *plan);

#endif							/* CLOCKTIMING_PLAN_TREE_H */
