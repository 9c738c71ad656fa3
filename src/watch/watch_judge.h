/* Detects changes of the watched clock, and reports them in watch_store and the server log. */
#ifndef CLOCKTIMING_WATCH_JUDGE_H
#define CLOCKTIMING_WATCH_JUDGE_H

#include "watch/watch_observe.h"

/* Reports changes of the machine and the clock source since the previous call. */
extern void watch_judge_machine(TimestampTz now);

extern void watch_judge_time(void);

extern void watch_judge_observation(const WatchObservation *observed);
extern void watch_judge(const WatchRow *row, const WatchFindings *found);

#endif							/* CLOCKTIMING_WATCH_JUDGE_H */
