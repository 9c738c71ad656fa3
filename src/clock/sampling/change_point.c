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

bool
change_point_add(ChangePoint *point, double value, Change *change)
{
	double		x;
	double		excess;
	bool		up;
	bool		down;
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
	change->before = exp(point->level);
	change->ended = point->changed;
	n = n < CHANGE_RECENT ? n : CHANGE_RECENT;
	set_level(point, cautious_median(point, n, up ? 1 : -1));
	if (fabs(point->level - point->normal) > log(CHANGE_RATIO))
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
