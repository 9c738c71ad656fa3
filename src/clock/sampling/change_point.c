/*
 * Detects a lasting change of the level of a noisy series, soon and only once.
 *
 * The values are the costs of a reading, which vary by a factor rather than by an amount, so all
 * computations are with logarithms.  The level is a running mean, which follows slow changes: each
 * value moves it by at most FOLLOW * FOLLOW_MOST, which is 5 % a day if there is a value every 10
 * s.
 *
 * Two cumulative sums (Page, Biometrika 41, 1954) detect sudden changes.  Each value adds its
 * difference from the level, minus SLACK, to the sum of increases; and the negative of that
 * difference, minus SLACK, to the sum of decreases.  A sum does not fall below 0.  Without a
 * change, the differences scatter around 0, and SLACK keeps both sums near 0.  After a change by
 * more than SLACK, one of them grows with each value.  When it reaches ALARM, the values since it
 * was 0 are those after the change, and their median is the new level.  A single value adds at most
 * MOST, half of ALARM, so a single outlier is never a change.  A change by a factor of 3.5 or more
 * is found after two values, and one by 1.3 after 17.
 *
 * The level before the first of several changes is the normal one.  A change back to it ends the
 * current change without beginning another.  So does a fall from above the normal level to below
 * it: then other work had raised the values from which the normal level was learnt.  A change from
 * one unusual level to another is reported as one from the normal level.
 */
#include <math.h>
#include <string.h>

#include "clock/sampling/change_point.h"
#include "core/stats.h"

/* Subtracted from each log(value) - level in a sum.  Half of log 1.3 detects 1.3 most quickly. */
#define SLACK			0.131

/* A sum shows a change at ALARM.  A value adds at most MOST, so a single outlier is no change. */
#define ALARM			2.2
#define MOST			1.11

/* A value moves the level by at least FOLLOW of its deviation, which is limited to FOLLOW_MOST. */
#define FOLLOW			(1.0 / 3600)
#define FOLLOW_MOST		0.02

/* Returns the lower median of the latest n values, or the upper median if direction is -1. */
static double
cautious_median(const ChangePoint *point, int n, int direction)
{
	double		x[CHANGE_RECENT];
	double		limit;

	for (int i = 0; i < n; i++)
		x[i] = direction * point->recent[i];
	/* sorts x; "limit" is the lower median */
	(void) stats_low_mean(x, n, (n + 1) / 2, &limit);
	return direction * limit;
}

static double
median_of_recent(const ChangePoint *point, int n)
{
	double		x[CHANGE_RECENT];

	memcpy(x, point->recent, sizeof(double) * n);
	return stats_median(x, n);
}

/* Adds to the sum of increases (direction 1) or decreases (-1); returns true on a change. */
static bool
add_to_sum(const ChangePoint *point, ChangeSum *sum, double excess, int direction)
{
	int			n;

	sum->sum = fmin(sum->sum + fmin(excess - SLACK, MOST), ALARM);
	if (sum->sum <= 0)
	{
		sum->sum = 0;
		sum->run = 0;
		return false;
	}
	sum->run++;
	if (sum->sum < ALARM || excess <= log(CHANGE_RATIO))
		return false;
	n = sum->run < CHANGE_RECENT ? sum->run : CHANGE_RECENT;
	return direction * (cautious_median(point, n, direction) - point->level) > log(CHANGE_RATIO);
}

static void
set_level(ChangePoint *point, double level)
{
	point->level = level;
	point->n = CHANGE_LEARN;
	memset(&point->up, 0, sizeof(point->up));
	memset(&point->down, 0, sizeof(point->down));
}

static void
follow(ChangePoint *point, double excess)
{
	double		share = 1.0 / point->n;

	share = fmax(share, FOLLOW);
	point->level += share * fmax(fmin(excess, FOLLOW_MOST), -FOLLOW_MOST);
	if (!point->changed)
		point->normal = point->level;
}

/*
 * Learns the first level from CHANGE_LEARN values.  Afterwards adds each value to both sums.
 * Without an alarm, the value moves the level; after an alarm, the level is set to the median of
 * the values that showed the change.  If their number is even, the middle value that is nearer to
 * the earlier level is used, so that a change is not overestimated.
 */
bool
change_point_add(ChangePoint *point, double value, Change *change)
{
	double		x;
	double		excess;
	bool		up;
	bool		down;
	bool		was_raised = point->changed && point->level > point->normal;
	int			n;

	memset(change, 0, sizeof(*change));
	if (!(value > 0) || isinf(value))
		return false;
	x = log(value);
	memmove(&point->recent[1], &point->recent[0], sizeof(double) * (CHANGE_RECENT - 1));
	point->recent[0] = x;
	if (point->n < 1000000)
		point->n++;
	if (!point->learnt)
	{
		if (point->n < CHANGE_LEARN)
			return false;
		point->learnt = true;
		set_level(point, median_of_recent(point, CHANGE_LEARN));
		point->normal = point->level;
		return false;
	}

	excess = x - point->level;
	up = add_to_sum(point, &point->up, excess, 1);
	down = add_to_sum(point, &point->down, -excess, -1);
	if (!up && !down)
	{
		follow(point, excess);
		return false;
	}

	n = up ? point->up.run : point->down.run;
	change->run = n;
	change->before = exp(point->normal);
	change->ended = point->changed;
	n = n < CHANGE_RECENT ? n : CHANGE_RECENT;
	set_level(point, cautious_median(point, n, up ? 1 : -1));
	if (fabs(point->level - point->normal) > log(CHANGE_RATIO) &&
		!(was_raised && point->level < point->normal))
	{
		/* for even n, uses the middle value nearer to the normal level */
		set_level(point, cautious_median(point, n, point->level > point->normal ? 1 : -1));
		change->began = fabs(point->level - point->normal) > log(CHANGE_RATIO);
	}
	change->after = exp(point->level);
	point->changed = change->began;
	if (!change->began)
		point->normal = point->level;
	return true;
}
