/*-------------------------------------------------------------------------
 *
 * watch_judge.h
 *	  What has changed: events, in memory and in the server's log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_WATCH_JUDGE_H
#define CLOCKTIMING_WATCH_JUDGE_H

#include "watch/watch_look.h"

/* Compares with the machine of late. */
extern void watch_judge_machine(TimestampTz now);

/* Compares the time of day with that since the machine started: has it been set? */
extern void watch_judge_time(void);

/* Of one look; of one interval. */
extern void watch_judge_look(const WatchLook *look);
extern void watch_judge(const WatchRow *row, const WatchFindings *found);

#endif							/* CLOCKTIMING_WATCH_JUDGE_H */
