/*
 * Detects steps of a clock that is compared with a reference at intervals.
 *
 * The lead is the clock's advance minus the reference's.  Without steps it changes at a constant
 * rate, which is unknown: NTP steers clocks, and a counter's stated frequency may be wrong.  So an
 * interval is compared with the intervals around it, its neighbours.  The rate of a side, of the
 * earlier or the later neighbours, is the median of their rates, which steps in less than half of
 * them do not change.  The excess of an interval is the part of its lead that a rate does not
 * explain.  The interval contains a step if its excess over both sides is larger than all known
 * errors allow: judge().
 *
 * The lead of an interval is known only to within the widths of the brackets at its ends.  So each
 * excess has a tolerance, and a step has an error bound.
 *
 * A clock that stands still, or runs at a wrong rate, for longer than the neighbours reach has no
 * intervals that differ from their neighbours.  The longer intervals between pairs are compared
 * with the median rate of the whole run in order to find such stretches:
 * jumps_subtract_stretches().
 */
#include <math.h>
#include <string.h>

#include "clock/sampling/jumps.h"
#include "core/stats.h"

#define MIN_SIDE		3		/* earlier or later neighbours needed for a
								 * rate */
#define MIN_PAIRS		11		/* number of JumpsPairs needed for a rate */

#define LEAST_NS		1000.0	/* smallest step in ns */
#define RATE			100e-6	/* tolerated deviation from neighbours' rate;
								 * see RATE_TOLERANCE in sampler.c */

/* Largest difference of two rates that NTP can explain: it steers by up to 500 ppm either way. */
#define STEERED_RATE	1000e-6

/* Drift of the clock against the reference: 1e-6 is 1 ppm. */
typedef struct Rate
{
	double		rate;
	double		doubt;			/* bound of the rate's error */
	bool		agreed;			/* at least half of the intervals have it */
} Rate;

/* Part of an interval's lead that a rate does not explain. */
typedef struct Excess
{
	double		ns;
	double		tolerance_ns;	/* an excess larger than this is a step */
} Excess;

static const Rate nominal_rate = {.rate = 0, .doubt = 0};

static Excess
excess_over(const JumpsInterval *interval, const Rate *rate, double tolerance)
{
	Excess		excess;

	excess.ns = interval->lead_ns - rate->rate * interval->passed_ns;
	excess.tolerance_ns = LEAST_NS + interval->doubt_ns +
		fabs(interval->passed_ns) * (tolerance + rate->doubt);
	return excess;
}

/* Appends the rate of an interval unless its length is 0; returns the new number of rates. */
static int
add_rate(double *rates, double *doubts, int n, const JumpsInterval *interval)
{
	if (interval->passed_ns == 0)
		return n;
	rates[n] = interval->lead_ns / interval->passed_ns;
	doubts[n] = interval->doubt_ns / fabs(interval->passed_ns);
	return n + 1;
}

/* Returns the median of the rates and of the bounds of their errors.  "work" needs n elements. */
static Rate
rate_of(const double *rates, const double *doubts, int n, double tolerance, double *work)
{
	Rate		rate;
	int			agreeing = 0;

	memcpy(work, rates, n * sizeof(double));
	rate.rate = stats_median(work, n);
	memcpy(work, doubts, n * sizeof(double));
	rate.doubt = stats_median(work, n);
	for (int i = 0; i < n; i++)
		agreeing += fabs(rates[i] - rate.rate) <= tolerance + rate.doubt + doubts[i];
	rate.agreed = 2 * agreeing >= n;
	return rate;
}

/* Sets the rate of interval i's later (direction 1) or earlier (-1) neighbours; false: too few. */
static bool
rate_of_side(const Jumps *jumps, int i, int direction, Rate *rate)
{
	double		rates[JUMPS_SIDE];
	double		doubts[JUMPS_SIDE];
	double		work[JUMPS_SIDE];
	int			n = 0;

	for (int j = i + direction; j >= 0 && j < jumps->n && n < JUMPS_SIDE; j += direction)
		n = add_rate(rates, doubts, n, &jumps->recent[j]);
	if (n < MIN_SIDE)
		return false;
	*rate = rate_of(rates, doubts, n - (n % 2 == 0), RATE, work);
	if (!rate->agreed)
	{
		/* neighbours disagree; the interval may have the nearest one's rate */
		Rate		nearest = {rates[0], doubts[0], true};
		Excess		excess = excess_over(&jumps->recent[i], &nearest, RATE);

		if (fabs(excess.ns) <= excess.tolerance_ns)
			*rate = nearest;
	}
	return true;
}

/* Counts a step, which may continue the step of the previous interval. */
static void
count(Jumps *jumps, const JumpsInterval *interval, double size_ns, double bound_ns)
{
	bool		goes_on = jumps->event_number > 0 &&
		interval->number == jumps->event_number + 1 &&
		(size_ns > 0) == (jumps->event_ns > 0);
	double		backward_ns = interval->backward_ns + jumps->unexplained_ns;
	JumpsCount *kind;

	if (jumps->found != NULL)
		jumps->found(jumps->arg, interval, size_ns, bound_ns);
	jumps->unexplained_ns = 0;

	/*
	 * Readings show a backward step of S ns as a decrease by S minus the time
	 * between the two readings, which is at most passed_ns.  So backward
	 * steps explain a loss of up to most_ns.  The rest is a lag.
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
	jumps->event_number = interval->number;
	kind = size_ns > 0 ? &jumps->warps : &jumps->lags;
	kind->count += !goes_on || kind->count == 0;
	kind->max_ns = fmax(kind->max_ns, fabs(jumps->event_ns));
}

/* Counts a step if the interval's excess is larger than the tolerance. */
static void
count_or_pass(Jumps *jumps, const JumpsInterval *interval, Excess excess)
{
	if (fabs(excess.ns) > excess.tolerance_ns)
	{
		count(jumps, interval, excess.ns, excess.tolerance_ns);
		return;
	}
	jumps->unexplained_ns = interval->backward_ns;

	/* a step goes on if the interval is too short to show that it has ended */
	if (jumps->event_number > 0 && interval->number == jumps->event_number + 1 &&
		excess.tolerance_ns >= fabs(interval->passed_ns))
		jumps->event_number = interval->number;
}

/* Returns the smaller excess; 0 if the signs differ or one is within its tolerance. */
static Excess
smaller(Excess a, Excess b)
{
	Excess		none = {0, fmax(a.tolerance_ns, b.tolerance_ns)};

	if ((a.ns > 0) != (b.ns > 0) ||
		fabs(a.ns) <= a.tolerance_ns || fabs(b.ns) <= b.tolerance_ns)
		return none;
	return fabs(a.ns) <= fabs(b.ns) ? a : b;
}

/*
 * Computes the interval's excess over the rate of the earlier neighbours, and over the rate of the
 * later ones.  The smaller one decides.  If the two have different signs, the rate has changed,
 * which is no step.  If the neighbours of a side do not agree, because they contain steps
 * themselves, the nominal rate 0 replaces theirs.  In two cases, the excess over the nominal rate
 * must be a step, too:
 * - Only one side has enough neighbours, because the interval is among the first or last ones.
 * - NTP does not explain the rate of a side.  Exception: the sides have equal rates, and the
 *   interval's rate deviates from the nominal rate as theirs do.  This is the clock's own rate.
 */
static void
judge(Jumps *jumps, int i)
{
	const JumpsInterval *interval = &jumps->recent[i];
	Excess		nominal = excess_over(interval, &nominal_rate, STEERED_RATE);
	Excess		excess = {0, 0};
	Rate		rates[2];
	int			n = 0;
	int			agreed = 0;
	bool		odd = false;

	if (jumps->nominal)
		excess = nominal;
	else
	{
		for (int direction = -1; direction <= 1; direction += 2)
		{
			Excess		other;

			if (!rate_of_side(jumps, i, direction, &rates[n]))
				continue;
			other = rates[n].agreed ? excess_over(interval, &rates[n], RATE) : nominal;
			agreed += rates[n].agreed;
			odd |= rates[n].agreed && fabs(rates[n].rate) > STEERED_RATE + rates[n].doubt;
			excess = n++ == 0 ? other : smaller(excess, other);
		}
		if (n == 1 ||
			(odd && !(agreed == 2 &&
					  fabs(rates[0].rate - rates[1].rate) <= RATE + rates[0].doubt +
					  rates[1].doubt &&
					  fabs(nominal.ns) > nominal.tolerance_ns)))
			excess = smaller(excess, nominal);
	}
	count_or_pass(jumps, interval, excess);
}

void
jumps_add(Jumps *jumps, const JumpsInterval *interval)
{
	const int	capacity = 2 * JUMPS_SIDE + 1;

	if (jumps->n == capacity)
	{
		memmove(&jumps->recent[0], &jumps->recent[1], (capacity - 1) * sizeof(JumpsInterval));
		jumps->n--;
		jumps->judged--;
	}
	jumps->recent[jumps->n++] = *interval;
	if (jumps->n - jumps->judged > JUMPS_SIDE)
		judge(jumps, jumps->judged++);
}

void
jumps_end(Jumps *jumps)
{
	while (jumps->judged < jumps->n)
		judge(jumps, jumps->judged++);
}

static JumpsInterval
interval_between(const JumpsPair *last, const JumpsPair *pair)
{
	JumpsInterval interval = {
		.passed_ns = pair->time_ns - last->time_ns,
		.lead_ns = pair->lead_ns - last->lead_ns,
		.doubt_ns = last->bound_ns + pair->bound_ns
	};

	return interval;
}

/*
 * Compares each interval between two pairs with the median rate of all of them.  An excess counts
 * as a step, and is subtracted from the leads of this pair and of all later ones.  The size of a
 * step is uncertain by its tolerance, which therefore adds to their error bounds.
 */
void
jumps_subtract_stretches(Jumps *jumps, JumpsPair *pairs, int n, double *work)
{
	double	   *rates = work;
	double	   *doubts = work + n;
	int			nrates = 0;
	Rate		rate;
	double		stepped_ns = 0;
	double		doubt_ns = 0;

	for (int i = 1; i < n; i++)
	{
		JumpsInterval interval = interval_between(&pairs[i - 1], &pairs[i]);

		nrates = add_rate(rates, doubts, nrates, &interval);
	}
	if (nrates < MIN_PAIRS - 1)
		return;
	rate = rate_of(rates, doubts, nrates, STEERED_RATE, work + 2 * n);
	if (!rate.agreed)
		rate = nominal_rate;

	jumps->found = NULL;
	jumps->event_number = 0;
	jumps->unexplained_ns = 0;
	for (int i = 1; i < n; i++)
	{
		JumpsPair	last = pairs[i - 1];
		JumpsInterval interval;
		Excess		excess;

		/* undoes the correction of the previous pair */
		last.lead_ns += stepped_ns;
		last.doubt_ns -= doubt_ns;
		interval = interval_between(&last, &pairs[i]);
		interval.number = i;
		interval.doubt_ns += pairs[i].doubt_ns - last.doubt_ns;
		excess = excess_over(&interval, &rate, STEERED_RATE);
		count_or_pass(jumps, &interval, excess);
		if (fabs(excess.ns) > excess.tolerance_ns)
		{
			stepped_ns += excess.ns;
			doubt_ns += excess.tolerance_ns;
		}
		pairs[i].lead_ns -= stepped_ns;
		pairs[i].doubt_ns += doubt_ns;
	}
}
