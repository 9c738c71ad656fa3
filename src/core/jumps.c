/*-------------------------------------------------------------------------
 *
 * jumps.c
 *	  Steps of a clock that is looked at beside a reference now and then.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <string.h>

#include "core/jumps.h"

/* The middle one of an odd number of values, which are sorted. */
static double
middle(double *values, int n)
{
	for (int i = 1; i < n; i++)
	{
		double		value = values[i];
		int			j = i;

		for (; j > 0 && values[j - 1] > value; j--)
			values[j] = values[j - 1];
		values[j] = value;
	}
	return values[n / 2];
}

/*
 * By how much more the interval's lead is than that of its neighbours, from
 * "first" on in steps of "direction"; false if there are too few of them.
 *
 * Each neighbour knows the rate to within its doubt over its time, and so does
 * the median of an odd number of them to within the median of these bounds.
 */
static bool
excess_over(const Jumps *jumps, int i, int first, int direction,
			double *excess_ns, double *tolerance_ns)
{
	const JumpsInterval *interval = &jumps->late[i];
	double		rates[JUMPS_SIDE];
	double		doubts[JUMPS_SIDE];
	int			n = 0;

	for (int j = first; j >= 0 && j < jumps->n && n < JUMPS_SIDE; j += direction)
	{
		const JumpsInterval *neighbour = &jumps->late[j];

		if (neighbour->passed_ns == 0)
			continue;
		rates[n] = neighbour->lead_ns / neighbour->passed_ns;
		doubts[n] = neighbour->doubt_ns / fabs(neighbour->passed_ns);
		n++;
	}
	if (n < JUMPS_MIN_SIDE)
		return false;
	n -= n % 2 == 0;
	*excess_ns = interval->lead_ns - middle(rates, n) * interval->passed_ns;
	*tolerance_ns = JUMPS_LEAST_NS + interval->doubt_ns +
		fabs(interval->passed_ns) * (JUMPS_RATE + middle(doubts, n));
	return true;
}

static void
count_one(JumpsCount *count, double ns, bool goes_on)
{
	if (!goes_on || count->count == 0)
		count->count++;
	count->max_ns = fmax(count->max_ns, ns);
}

void
jumps_count(Jumps *jumps, const JumpsInterval *interval, double size_ns,
			double bound_ns)
{
	bool		goes_on = jumps->event_look > 0 &&
		interval->look == jumps->event_look + 1 &&
		(size_ns > 0) == (jumps->event_ns > 0);
	double		backward_ns = interval->backward_ns + jumps->unexplained_ns;

	if (jumps->found != NULL)
		jumps->found(jumps->arg, interval, size_ns, bound_ns);
	jumps->unexplained_ns = 0;

	/*
	 * Readings show less of a step back than it was, by the time that passed
	 * between them.
	 */
	if (size_ns < 0 && backward_ns > 0)
	{
		double		most_ns = backward_ns + fabs(interval->passed_ns);

		jumps->backward_max_ns = fmax(jumps->backward_max_ns, fmin(-size_ns, most_ns));
		size_ns += most_ns;
		if (size_ns > -bound_ns)
			return;
	}
	jumps->event_ns = goes_on ? jumps->event_ns + size_ns : size_ns;
	jumps->event_look = interval->look;
	count_one(size_ns > 0 ? &jumps->warps : &jumps->lags,
			  fabs(jumps->event_ns), goes_on);
}

void
jumps_pass(Jumps *jumps, const JumpsInterval *interval, double bound_ns)
{
	jumps->unexplained_ns = interval->backward_ns;
	if (interval->look == jumps->event_look + 1 && jumps->event_look > 0 &&
		bound_ns >= fabs(interval->passed_ns))
		jumps->event_look = interval->look;
}

static void
judge(Jumps *jumps, int i)
{
	const JumpsInterval *interval = &jumps->late[i];
	double		excess_ns[2] = {0, 0};
	double		tolerance_ns[2] = {0, 0};
	int			by = 0;

	if (jumps->nominal)
	{
		excess_ns[0] = interval->lead_ns;
		tolerance_ns[0] = JUMPS_LEAST_NS + interval->doubt_ns +
			fabs(interval->passed_ns) * JUMPS_RATE;
	}
	else
	{
		bool		before = excess_over(jumps, i, i - 1, -1, &excess_ns[0], &tolerance_ns[0]);
		bool		after = excess_over(jumps, i, i + 1, 1, &excess_ns[1], &tolerance_ns[1]);

		if (before && after)
		{
			/* between the two rates: that is where it changed */
			if ((excess_ns[0] > 0) != (excess_ns[1] > 0))
				excess_ns[0] = excess_ns[1] = 0;
			by = fabs(excess_ns[1]) < fabs(excess_ns[0]);
		}
		else
			by = after;
	}
	if (fabs(excess_ns[by]) > tolerance_ns[by])
		jumps_count(jumps, interval, excess_ns[by], tolerance_ns[by]);
	else
		jumps_pass(jumps, interval, tolerance_ns[by]);
}

void
jumps_add(Jumps *jumps, const JumpsInterval *interval)
{
	const int	room = 2 * JUMPS_SIDE + 1;

	if (jumps->n == room)
	{
		memmove(&jumps->late[0], &jumps->late[1], (room - 1) * sizeof(JumpsInterval));
		jumps->n--;
		jumps->judged--;
	}
	jumps->late[jumps->n++] = *interval;
	if (jumps->n - jumps->judged > JUMPS_SIDE)
		judge(jumps, jumps->judged++);
}

void
jumps_end(Jumps *jumps)
{
	while (jumps->judged < jumps->n)
		judge(jumps, jumps->judged++);
}
