/* The method "full": the server's times of nodes, without the cost of measuring them. */
#ifndef CLOCKTIMING_FULL_ESTIMATE_H
#define CLOCKTIMING_FULL_ESTIMATE_H

#include "plan/explain/observation.h"

/*
 * Returns the times of nodes after an execution with the server's timers, in CurrentMemoryContext.
 * run_ns is its duration, plain_ns that of an execution without instrumentation.  Margins and parts
 * of times are NaN.
 *
 * "sampled" is the result of another execution, which tells how the calls of subplans are divided
 * among the nodes that call them.
 */
extern PlanEstimate *full_estimate(const Observation *nodes, const PlanEstimate *sampled,
								   double run_ns, double plain_ns);

#endif							/* CLOCKTIMING_FULL_ESTIMATE_H */
