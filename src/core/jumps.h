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
#define JUMPS_MIN_SIDE	3

/* What is no step: ns, and by how much the rate of late may be wrong. */
#define JUMPS_LEAST_NS	1000.0
#define JUMPS_RATE		100e-6

/* From one look to the next. */
typedef struct JumpsInterval
{
	int64_t		look;			/* number of the look that ends it */
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

	/* out */
	JumpsCount	warps;			/* jumped ahead of the reference */
	JumpsCount	lags;			/* fell behind it, backward steps apart */
	double		backward_max_ns;	/* largest step back that was both seen in
									 * readings and judged */

	/* its own: intervals of late, the oldest first, of which ... */
	JumpsInterval late[2 * JUMPS_SIDE + 1];
	int			n;
	int			judged;			/* ... so many are done with */
	double		unexplained_ns; /* backward steps of the interval before */
	int64_t		event_look;		/* the latest step: its look ... */
	double		event_ns;		/* ... and its size, below 0 if backward */
} Jumps;

/* All but what goes in is zero at first.  Intervals come in order. */
extern void jumps_add(Jumps *jumps, const JumpsInterval *interval);

/* Judges what is left.  No interval may follow. */
extern void jumps_end(Jumps *jumps);

/*
 * Counts an interval's step of size_ns that was found in another way.  Steps of
 * successive intervals the same way are one.
 */
extern void jumps_count(Jumps *jumps, const JumpsInterval *interval,
						double size_ns, double bound_ns);

/*
 * Notes an interval without one.  It ends no step if it is so short that a clock
 * which stands still would not have been told.
 */
extern void jumps_pass(Jumps *jumps, const JumpsInterval *interval,
					   double bound_ns);

#endif							/* CLOCKTIMING_JUMPS_H */
