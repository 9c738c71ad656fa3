/* Detects changes of the clock that EXPLAIN ANALYZE reads; stores and logs them as events. */
#ifndef CLOCKTIMING_WATCH_JUDGE_H
#define CLOCKTIMING_WATCH_JUDGE_H

#include "clock/watch/watch_observe.h"

/* Reports an event if the machine or the clock source has changed since the previous call. */
extern void watch_judge_machine(TimestampTz now);

/* Reports events if VMClock has changed since the previous call.  Logs once if it is unreadable. */
extern void watch_judge_vmclock(TimestampTz now);

/* Reports an event if the time of day was set since the previous call. */
extern void watch_judge_time(void);

/* Reports the changes of the rate and the steps that an observation shows. */
extern void watch_judge_observation(const WatchObservation *observed);

/* Reports changes of all other kinds, by the results of an interval. */
extern void watch_judge(const WatchRow *row, const WatchFindings *found);

#endif							/* CLOCKTIMING_WATCH_JUDGE_H */
