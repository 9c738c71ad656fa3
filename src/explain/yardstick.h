/*-------------------------------------------------------------------------
 *
 * yardstick.h
 *	  How steady this machine is: a fixed piece of work, done again and again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_YARDSTICK_H
#define CLOCKTIMING_YARDSTICK_H

/*
 * Does the work so often, which takes some 20 us each time, and keeps how long
 * it took with the latest ones before.
 */
extern void yardstick_take(int n);

/*
 * The relative standard deviation of those of the last minute, 64 at most, by
 * quantiles far out, since a machine that is slow at times is so by much; those that had
 * another process's turn in them do not count.  NAN for less than 4.
 */
extern double yardstick_deviation(void);

/*
 * How many times as long the latest eight took as the shortest of this session; NAN for
 * less.
 */
extern double yardstick_factor(void);

#endif							/* CLOCKTIMING_YARDSTICK_H */
