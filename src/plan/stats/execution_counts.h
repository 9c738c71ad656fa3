/*
 * Numbers of executions by plan that a process has not yet added to the statistics in shared
 * memory.
 */
#ifndef CLOCKTIMING_EXECUTION_COUNTS_H
#define CLOCKTIMING_EXECUTION_COUNTS_H

#include "plan/stats/plan_tree.h"

extern void count_executions(const PlanKey *plan, int64 executions);

/* Adds the numbers to the statistics, or forgets them.  Neither allocates nor raises errors. */
extern void execution_counts_flush(void);
extern void execution_counts_forget(void);

#endif							/* CLOCKTIMING_EXECUTION_COUNTS_H */
