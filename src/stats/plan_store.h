/*
 * Adds executions to the statistics of plans in shared memory.  A timed execution counts as 1/p
 * executions, where p was the probability that it is timed (Horvitz and Thompson, JASA 47, 1952).
 */
#ifndef CLOCKTIMING_PLAN_STORE_H
#define CLOCKTIMING_PLAN_STORE_H

#include "explain/observation.h"
#include "stats/plan_tree.h"

/* Returns PlannedStmt.planId of PostgreSQL 18 if it is set, else a hash of the plan tree. */
extern uint64 plan_store_planid(const PlannedStmt *plan);

/* Returns whether clocktiming is in shared_preload_libraries. */
extern bool plan_store_ready(void);

/* Called between ExecutorFinish() and ExecutorEnd(): adds an execution whose nodes were timed. */
extern void plan_store_add(const Observation *observation, const PlanKey *key,
						   const PlanEstimate *estimate, double weight);

/*
 * Adds an execution without timed nodes, or a failed one.  Raises no error, because aborts call it.
 */
extern void plan_store_add_whole(const PlanKey *key, bool failed, double weight, double ns);

#endif							/* CLOCKTIMING_PLAN_STORE_H */
