/*-------------------------------------------------------------------------
 *
 * yardstick.h
 *	  How much this machine's speed varies: a fixed piece of work, done again
 *	  and again.
 *
 * Where others share the processor, the same query takes half as long again in
 * one moment as in the next.  A single run cannot know in which of them it was,
 * but what never changes by itself tells how much it matters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_YARDSTICK_H
#define CLOCKTIMING_YARDSTICK_H

/* Does the work n times, some 20 us each, and keeps how long that took. */
extern void yardstick_take(int n);

/*
 * The relative standard deviation of those of the last minute, 64 at most, by
 * the 5 % and 95 % quantiles; those that another process interrupted do not
 * count.  NAN for less than 4.
 */
extern double yardstick_deviation(void);

/*
 * How many times as long the latest eight took as the shortest of this session;
 * NAN for less.
 */
extern double yardstick_factor(void);

#endif							/* CLOCKTIMING_YARDSTICK_H */
