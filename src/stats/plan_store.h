/*-------------------------------------------------------------------------
 *
 * plan_store.h
 *	  Statistics of plans and their nodes, in shared memory.
 *
 * An entry is a plan of a query of a user in a database.  Executions of which a
 * random part is timed are added up in it, each timed one standing for 1/p
 * executions, where p was its chance of being timed (Horvitz and Thompson, JASA
 * 47, 1952).
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_PLAN_STORE_H
#define CLOCKTIMING_PLAN_STORE_H

#include "executor/execdesc.h"

#include "core/plan_estimate.h"
#include "stats/plan_key.h"

/* The plan's id: 18's planId if it is set, else a hash of its tree. */
extern uint64 plan_store_planid(const PlannedStmt *plan);

/* Whether there is a store: clocktiming is in shared_preload_libraries. */
extern bool plan_store_ready(void);

/*
 * Adds an execution whose nodes were timed, and which stands for "weight" executions.
 * Called between ExecutorFinish() and ExecutorEnd().
 */
extern void plan_store_add(QueryDesc *desc, const PlanKey *key,
						   const PlanEstimate *estimate, double weight);

/*
 * Adds an execution that was timed as a whole, or has failed.  Called while a transaction is being
 * aborted, too: takes locks, but allocates nothing, and raises no error.
 */
extern void plan_store_add_whole(const PlanKey *key, bool failed, double weight, double ns);

#endif							/* CLOCKTIMING_PLAN_STORE_H */
