/*
 * Adds executions to the statistics of plans in shared memory.  A timed execution has a weight: it
 * counts as 1/p executions, where p was the probability that it is timed.
 */
#ifndef CLOCKTIMING_PLAN_STORE_H
#define CLOCKTIMING_PLAN_STORE_H

#include "plan/explain/observed_run.h"
#include "plan/sampler/plan_sampler.h"
#include "plan/stats/plan_tree.h"

/* About the longest duration in ns of an execution that is neither drawn nor found by a tick. */
#define MOST_UNSEEN_NS	(2 * TICK_NS)

/* Duration in ns from which timing the nodes slows down an execution by next to nothing. */
#define NOT_SLOWED_NS	5e5

/* Returns PlannedStmt.planId of PostgreSQL 18 if it is set, else a hash of the plan tree. */
extern uint64 plan_store_planid(const PlannedStmt *plan);

/* Returns the key of the plan of an execution by the present user. */
extern PlanKey plan_store_key(const QueryDesc *desc);

/* Returns whether clocktiming is in shared_preload_libraries. */
extern bool plan_store_ready(void);

/*
 * Adds the times of nodes.  Called between ExecutorFinish() and ExecutorEnd(), after
 * plan_store_add_time().  "long_ns": duration of a long execution (plan_draw.c), whose weight is 1;
 * else 0.
 */
extern void plan_store_add_nodes(const ObservedRun *run, const PlanKey *key, double weight,
								 double long_ns);

/*
 * The following functions raise no error, because ends of transactions call them.
 *
 * Adds a duration; nothing if the weight is 0.
 */
extern void plan_store_add_time(const PlanKey *key, double ns, double weight);

/* Adds the duration of a long execution whose nodes were not observed. */
extern void plan_store_add_unseen(const PlanKey *key, double ns);

/* Adds a failed execution. */
extern void plan_store_add_failed(const PlanKey *key, double weight);

/* Adds to the number of executions, which includes those added by the functions above. */
extern void plan_store_count(const PlanKey *key, int64 executions);

#endif							/* CLOCKTIMING_PLAN_STORE_H */
