/* Detects changes of the watched clock, and reports them as events in watch_store and the log. */
#ifndef CLOCKTIMING_WATCH_JUDGE_H
#define CLOCKTIMING_WATCH_JUDGE_H

#include "watch/watch_observe.h"

/* Reports changes of the machine and the clock source since the previous call. */
extern void watch_judge_machine(TimestampTz now);

/* Reports that the time of day was set since the previous call. */
extern void watch_judge_time(void);

/* Report what an observation shows, and what the results of an interval show. */
extern void watch_judge_observation(const WatchObservation *observed);
extern void watch_judge(const WatchRow *row, const WatchFindings *found);

#endif							/* CLOCKTIMING_WATCH_JUDGE_H */
