/*
 * Adds executions to the statistics of plans in shared memory.  A timed execution counts as 1/p
 * executions, where p was the probability that it is timed (Horvitz and Thompson, JASA 47, 1952).
 */
#ifndef CLOCKTIMING_PLAN_STORE_H
#define CLOCKTIMING_PLAN_STORE_H

#include "plan/explain/observation.h"
#include "plan/sampler/plan_sampler.h"
#include "plan/stats/plan_tree.h"

/* About the longest duration in ns of an execution that is not long (plan_draw.c). */
#define MOST_NOT_LONG_NS	(2 * TICK_NS)

/* Returns PlannedStmt.planId of PostgreSQL 18 if it is set, else a hash of the plan tree. */
extern uint64 plan_store_planid(const PlannedStmt *plan);

/* Returns the key of the plan of an execution by the present user. */
extern PlanKey plan_store_key(const QueryDesc *desc);

/* Returns whether clocktiming is in shared_preload_libraries. */
extern bool plan_store_ready(void);

/* Called between ExecutorFinish() and ExecutorEnd(): adds an execution whose nodes were timed. */
extern void plan_store_add(const Observation *observation, const PlanKey *key,
						   const PlanEstimate *estimate, double weight, bool is_long);

/*
 * The following functions raise no error, because ends of transactions call them.
 *
 * Adds a drawn execution without timed nodes, or a failed one.
 */
extern void plan_store_add_whole(const PlanKey *key, bool failed, double weight, double ns);

/* Adds a long execution (plan_draw.c).  "variance": that of the error of "ns". */
extern void plan_store_add_long(const PlanKey *key, double ns, double variance);

/* Adds to the number of executions, of which some may be added by the functions above, too. */
extern void plan_store_count(const PlanKey *key, int64 executions);

#endif							/* CLOCKTIMING_PLAN_STORE_H */
