/* Lists the nodes of a plan, names them, and computes the plan's hash, without executing it. */
#ifndef CLOCKTIMING_PLAN_TREE_H
#define CLOCKTIMING_PLAN_TREE_H

#include "nodes/plannodes.h"

/* Key of the statistics of a plan.  Has no padding, because dynahash hashes its bytes. */
typedef struct PlanKey
{
	Oid			dbid;
	Oid			userid;
	uint64		queryid;
	uint64		planid;
} PlanKey;

#define PLAN_TREE_MAX	200		/* maximum number of nodes in PlanTree */

/*
 * Bytes of the name of a node's type.  The longest one of the server's own types has 33 characters;
 * those of custom scans may be shortened.
 */
#define NODE_TYPE_LENGTH	48

typedef struct PlanTreeNode
{
	const Plan *plan;
	int			parent;			/* index of the parent; -1: none */
	bool		is_subplan;		/* root of an expression's subplan; parent -1 */
} PlanTreeNode;

typedef struct PlanTree
{
	int			n;				/* number of nodes of the plan */
	int			nkept;			/* number of elements of "nodes" */
	PlanTreeNode nodes[PLAN_TREE_MAX];
} PlanTree;

/*
 * Lists the nodes in EXPLAIN's order, each before its children.  But subplans of expressions come
 * last, in reverse order.  Plans with the same hash have the same order.
 */
extern void plan_tree(const PlannedStmt *plan, PlanTree *tree);

/* Returns a hash of the nodes' types, depths, and names of relations and indexes. */
extern uint64 plan_tree_hash(const PlannedStmt *plan);

/*
 * plan_node_type() writes EXPLAIN's name of a node, without the relation. plan_node_index() returns
 * the OID of the node's index, or InvalidOid.
 */
extern void plan_node_type(const Plan *plan, char type[NODE_TYPE_LENGTH]);
extern Oid	plan_node_index(const Plan *plan);

#endif							/* CLOCKTIMING_PLAN_TREE_H */
