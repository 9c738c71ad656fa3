/*
 * Detects steps of a clock that is compared with a reference at intervals.  The lead is the clock's
 * advance minus the reference's.  A step is a sudden change of the lead, which no rate explains.
 */
#ifndef CLOCKTIMING_JUMPS_H
#define CLOCKTIMING_JUMPS_H

#include <stdbool.h>
#include <stdint.h>

/* Number of neighbours on each side that an interval is compared with.  Odd, for their median. */
#define JUMPS_SIDE		7

/* The time between two successive observations of both clocks. */
typedef struct JumpsInterval
{
	int64_t		number;			/* counted from 1 */
	double		passed_ns;		/* advance of the reference */
	double		lead_ns;		/* advance of the clock minus passed_ns */
	double		doubt_ns;		/* bound of the error of lead_ns */
	double		backward_ns;	/* sum of decreases from a reading to the next */
} JumpsInterval;

/* Number of steps of one kind, and the largest one. */
typedef struct JumpsCount
{
	int64_t		count;
	double		max_ns;
} JumpsCount;

typedef struct Jumps
{
	/* input */
	bool		nominal;		/* expects a constant lead, ignores neighbours */

	/* called for each step, whose error is at most bound_ns; may be NULL */
	void		(*found) (void *arg, const JumpsInterval *interval,
						  double size_ns, double bound_ns);
	void	   *arg;

	/* output; successive steps in the same direction count as one */
	JumpsCount	warps;			/* forward steps */
	JumpsCount	lags;			/* losses of lead, less backward_ns */
	double		backward_max_ns;	/* largest loss that backward_ns explains */

	/* internal: the latest intervals, oldest first */
	JumpsInterval recent[2 * JUMPS_SIDE + 1];
	int			n;				/* elements of "recent" */
	int			judged;			/* number of them that were checked for a step */
	double		unexplained_ns; /* previous interval's backward_ns if no step
								 * was found in it */
	int64_t		event_number;	/* interval of the latest step; 0: none */
	double		event_ns;		/* size of that step; below 0: backward */
} Jumps;

/* Adds the next interval.  Before the first one, all members but the input must be 0. */
extern void jumps_add(Jumps *jumps, const JumpsInterval *interval);

/* Checks the latest intervals, which still wait for later neighbours, for steps. */
extern void jumps_end(Jumps *jumps);

/* An observation of both clocks.  The caller fits a line to the leads over the times. */
typedef struct JumpsPair
{
	double		time_ns;		/* time on the reference */
	double		lead_ns;		/* lead of the clock without earlier steps */
	double		bound_ns;		/* error bound of the observed lead */
	double		doubt_ns;		/* error bound of the subtracted steps */
	int64_t		number;			/* used by the caller only */
	double		step_ns;		/* used by the caller only */
} JumpsPair;

/*
 * Finds long stretches in which the clock ran at another rate, for example because it was frozen.
 * jumps_add() misses them, because their intervals do not differ from neighbours.  Counts them as
 * steps, and subtracts them from the leads.  Must follow jumps_end().  "work" needs 3 * n elements.
 */
extern void jumps_subtract_stretches(Jumps *jumps, JumpsPair *pairs, int n, double *work);

#endif							/* CLOCKTIMING_JUMPS_H */
