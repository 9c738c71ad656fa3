/*-------------------------------------------------------------------------
 *
 * jumps.h
 *	  Steps of a clock that is looked at beside a reference now and then.
 *
 * From one look to the next a clock leads the reference by a little more, or
 * less, as its rate has it.  Where it leads by much more, or less, than in the
 * intervals before and in those after, it has stepped.  A rate that changes
 * agrees with one side or the other, and is no step.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_JUMPS_H
#define CLOCKTIMING_JUMPS_H

#include <stdbool.h>
#include <stdint.h>

/* Intervals either side that one is judged by; odd, for their median. */
#define JUMPS_SIDE		7

/* From one look to the next. */
typedef struct JumpsInterval
{
	int64_t		look;			/* number of the look that ends it, from 1 */
	double		passed_ns;		/* on the reference */
	double		lead_ns;		/* what the clock advanced by, less that */
	double		doubt_ns;		/* bound of the error of lead_ns */
	double		backward_ns;	/* what readings were seen to go back by */
} JumpsInterval;

/* Steps of one kind. */
typedef struct JumpsCount
{
	int64_t		count;
	double		max_ns;
} JumpsCount;

typedef struct Jumps
{
	/* in */
	bool		nominal;		/* judge by the reference's own rate: the
								 * clock's shows in long intervals only */

	/* Is told of every interval with a step, its size and its bound; or NULL. */
	void		(*found) (void *arg, const JumpsInterval *interval,
						  double size_ns, double bound_ns);
	void	   *arg;

	/* out; steps of successive intervals the same way are one */
	JumpsCount	warps;			/* jumped ahead of the reference */
	JumpsCount	lags;			/* fell behind it, backward steps apart */
	double		backward_max_ns;	/* largest step back that was both seen in
									 * readings and judged */

	/* its own: intervals of late, the oldest first, of which ... */
	JumpsInterval late[2 * JUMPS_SIDE + 1];
	int			n;
	int			judged;			/* ... so many are done with */
	double		unexplained_ns; /* backward steps of the interval before */
	int64_t		event_look;		/* the latest step: its look, 0 if none ... */
	double		event_ns;		/* ... and its size, below 0 if backward */
} Jumps;

/* All but what goes in is zero at first.  Intervals come in order. */
extern void jumps_add(Jumps *jumps, const JumpsInterval *interval);

/* Judges what is left.  No interval may follow. */
extern void jumps_end(Jumps *jumps);

/* Some of the looks, which a rate is fitted to. */
typedef struct JumpsPair
{
	double		time_ns;		/* on the reference */
	double		lead_ns;		/* of the clock, steps taken off */
	double		bound_ns;		/* bound of the error of its own */
	double		doubt_ns;		/* bound of that of the steps taken off */
	int64_t		look;			/* its number, for the caller ... */
	double		step_ns;		/* ... as steps before it are */
} JumpsPair;

/*
 * After jumps_end(): finds stretches of many looks in which the clock ran at
 * quite another rate than usual, as one does that was frozen.  No interval
 * differs from those around it there, but all do from most others.  Counts
 * them as steps and takes them off.  "work" has room for 3 * n.
 */
extern void jumps_take_off_stretches(Jumps *jumps, JumpsPair *pairs, int n,
									 double *work);

#endif							/* CLOCKTIMING_JUMPS_H */
