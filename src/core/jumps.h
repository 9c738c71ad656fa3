/*
 * Detects steps of a clock that is compared with a reference at intervals.  The lead of a clock
 * over the reference changes at a constant rate.  An interval contains a step if the lead changes
 * by much more or less than in the intervals on both sides of it; a change of rate is no step.
 */
#ifndef CLOCKTIMING_JUMPS_H
#define CLOCKTIMING_JUMPS_H

#include <stdbool.h>
#include <stdint.h>

/* Number of neighbours on each side of an interval; odd, so that the median is one of them. */
#define JUMPS_SIDE		7

typedef struct JumpsInterval
{
	int64_t		number;			/* observation at its end, counted from 1 */
	double		passed_ns;		/* advance of the reference */
	double		lead_ns;		/* advance of the clock minus passed_ns */
	double		doubt_ns;		/* bound of the error of lead_ns */
	double		backward_ns;	/* sum of backward steps in readings */
} JumpsInterval;

typedef struct JumpsCount
{
	int64_t		count;
	double		max_ns;
} JumpsCount;

typedef struct Jumps
{
	/* input */
	bool		nominal;		/* the clock has the reference's rate */

	/* called for each interval with a step; may be NULL */
	void		(*found) (void *arg, const JumpsInterval *interval,
						  double size_ns, double bound_ns);
	void	   *arg;

	/* output; successive steps in the same direction count as one */
	JumpsCount	warps;			/* forward steps */
	JumpsCount	lags;			/* backward steps not seen in readings */
	double		backward_max_ns;	/* largest backward step in readings */

	/* internal: the latest intervals, oldest first */
	JumpsInterval recent[2 * JUMPS_SIDE + 1];
	int			n;
	int			judged;			/* number of judged intervals of "recent" */
	double		unexplained_ns; /* previous interval's uncounted backward_ns */
	int64_t		event_number;	/* interval of the latest step; 0: none */
	double		event_ns;		/* size of that step; below 0: backward */
} Jumps;

/* Adds the next interval.  Before the first one, all members but the input must be 0. */
extern void jumps_add(Jumps *jumps, const JumpsInterval *interval);

/* Judges the remaining intervals after the last one was added. */
extern void jumps_end(Jumps *jumps);

/* An observation that a rate is fitted to. */
typedef struct JumpsPair
{
	double		time_ns;		/* time on the reference */
	double		lead_ns;		/* lead of the clock without steps */
	double		bound_ns;		/* bound of the lead's own error */
	double		doubt_ns;		/* error bound of the subtracted steps */
	int64_t		number;			/* used by the caller only */
	double		step_ns;		/* used by the caller only */
} JumpsPair;

/*
 * Finds long stretches in which the clock ran at another rate, for example because it was frozen.
 * Intervals of a stretch differ from most others, but not from their neighbours.  Counts stretches
 * as steps and subtracts them from the leads.  Must be called after jumps_end().  "work" needs
 * 3 * n elements.
 */
extern void jumps_subtract_stretches(Jumps *jumps, JumpsPair *pairs, int n,
									 double *work);

#endif							/* CLOCKTIMING_JUMPS_H */
