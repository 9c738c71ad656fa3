/*-------------------------------------------------------------------------
 *
 * change_point.h
 *	  Whether what is measured again and again, such as the cost of a reading,
 *	  has changed by more than 20 %.
 *
 * Each value is the smallest of many short measurements in an interval, so that
 * what disturbs some of them does not count.  The test is a two-sided cumulative
 * sum of the logarithm of value / level (Page, Biometrika 41, 1954), in which no
 * value counts for more than somewhat above half of what an alarm takes: one
 * value alone never does, however odd it is.  Two do where the change is 3.5 times
 * or more; 17 do where it is 1.3 times.  The median of the values since the sum was
 * 0 must differ by more than 20 %, too.
 *
 * The rate of false alarms, by simulation in test/unit/change_point_test.c: none
 * in 100,000 values where each is off by a few percent, and at most one in 3.15
 * million, which is a year of intervals of 10 s, on a server where measurements
 * have heavy tails, are interrupted, and slowed down by neighbours for minutes.
 *
 * The level follows by 5 % a day at most what changes slowly, such as a processor's
 * frequency with its temperature.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CHANGE_POINT_H
#define CLOCKTIMING_CHANGE_POINT_H

#include <stdbool.h>

#define CHANGE_RATIO	1.2		/* less is no change */
#define CHANGE_RECENT	16		/* values that are remembered */

/* Values from which the level is learnt, before which there is no change. */
#define CHANGE_LEARN	6

/* Sums of one direction. */
typedef struct ChangeSum
{
	double		sum;
	int			run;			/* values since it was 0 */
} ChangeSum;

/* All zeros at first.  All but the numbers are logarithms. */
typedef struct ChangePoint
{
	int			n;				/* values since the level was set, learning
								 * included */
	bool		learnt;
	bool		changed;		/* from what was normal, which has not come
								 * back */
	double		level;			/* of now */
	double		normal;
	ChangeSum	up;
	ChangeSum	down;
	double		recent[CHANGE_RECENT];	/* the latest one first */
} ChangePoint;

typedef struct Change
{
	bool		ended;			/* the change that was in force is over */
	bool		began;			/* another one is in force now */
	double		before;			/* the levels, in the unit of the values */
	double		after;
	int			run;			/* the latest values that have shown it */
} Change;

/*
 * One more value; true if it shows a change.  One that leads back to what was
 * normal before ends the change in force and begins none.  Values that are no
 * number above 0 are passed over.
 */
extern bool change_point_add(ChangePoint *point, double value, Change *change);

#endif							/* CLOCKTIMING_CHANGE_POINT_H */
