/*
 * Durations of plans' executions, and the calibration of the estimated ranges, in shared memory.
 * They do not depend on clocktiming.track.  They are lost when the server stops.
 */
#ifndef CLOCKTIMING_LIVE_HISTORY_H
#define CLOCKTIMING_LIVE_HISTORY_H

#include "plan/estimate/end_estimate.h"
#include "plan/stats/plan_tree.h"

/* A prediction of an execution's duration, in s, which is scored at the execution's end. */
typedef struct LivePrediction
{
	bool		with_history;	/* the plan had a history */
	double		low;
	double		high;
} LivePrediction;

/* Number of executions by whether they ended within, before or after the predicted range. */
typedef struct LiveScores
{
	int64		held;
	int64		early;
	int64		late;
} LiveScores;

extern void live_history_shmem_request(void);
extern void live_history_shmem_init(void);

/* Returns the history of a plan, and the calibration of estimates with such a history. */
extern EndHistory live_history(const PlanKey *plan, EndCalibration *calibration);

/* Adds the duration of an execution that has ended, in s.  "prediction" may be NULL. */
extern void live_history_add(const PlanKey *plan, double duration,
							 const LivePrediction *prediction);

/* Forgets the plans of a user, a database and a query; 0: of all. */
extern void live_history_forget(Oid userid, Oid dbid, uint64 queryid);

extern LiveScores live_scores(void);

#endif							/* CLOCKTIMING_LIVE_HISTORY_H */
