/* Converts the sums of an observation to the input of plan/estimate/plan_estimate.h. */
#ifndef CLOCKTIMING_OBSERVATION_RECORD_H
#define CLOCKTIMING_OBSERVATION_RECORD_H

#include "plan/explain/observation.h"

/*
 * Add the results of this process: record_run() of the whole execution, record_node() of a node.
 * "places" are the places in the leader, by own place, or NULL if they are the same.
 */
extern void record_run(const Observation *observation, ProcessRun *run);
extern void record_node(const Observation *observation, int place, const int *places,
						NodeRecord *record);

/* Returns the number of samples that were collected. */
extern double record_samples(const Observation *observation);

/* Sets rows, loops and calls from the server's counts. */
extern void record_counts(const ObservedNode *node, NodeEstimate *estimate);

#endif							/* CLOCKTIMING_OBSERVATION_RECORD_H */
