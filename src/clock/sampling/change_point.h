/*
 * Detects changes of more than 20 % in a series of values, such as the cost of a reading.  Each
 * value must be the minimum of many short measurements.  A change by a factor of 3.5 or more is
 * found after two values, and one by 1.3 after 17.  Slow changes, by at most 5 % a day if there is
 * a value every 10 s, do not count.
 */
#ifndef CLOCKTIMING_CHANGE_POINT_H
#define CLOCKTIMING_CHANGE_POINT_H

#include <stdbool.h>

#define CHANGE_RATIO	1.2		/* smallest ratio that is a change */
#define CHANGE_RECENT	16		/* number of values kept */

/* Number of values from which the first level is learnt. */
#define CHANGE_LEARN	6

typedef struct ChangeSum
{
	double		sum;
	int			run;			/* number of values since the sum was 0 */
} ChangeSum;

/* State of a series.  Must be initialised with zeros.  Levels are logarithms. */
typedef struct ChangePoint
{
	int			n;				/* number of values averaged by "level" */
	bool		learnt;			/* the first level has been learnt */
	bool		changed;		/* the level differs from "normal" */
	double		level;			/* current level */
	double		normal;			/* level before the current change */
	ChangeSum	up;				/* sum of increases */
	ChangeSum	down;			/* sum of decreases */
	double		recent[CHANGE_RECENT];	/* logarithms of values, latest first */
} ChangePoint;

typedef struct Change
{
	bool		ended;			/* the previous change is over */
	bool		began;			/* a new change has begun */
	double		before;			/* normal level, in the unit of the values */
	double		after;			/* new level, in the same unit */
	int			run;			/* number of values that showed the change */
} Change;

/*
 * Adds a value; returns whether it shows a change.  A return to the normal level, or a fall from
 * above it to below it, ends the current change without beginning another one.  Ignores values that
 * are not positive and finite.
 */
extern bool change_point_add(ChangePoint *point, double value, Change *change);

#endif							/* CLOCKTIMING_CHANGE_POINT_H */
