/*-------------------------------------------------------------------------
 *
 * clock_survey.h
 *	  All clocks side by side.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLOCKTIMING_CLOCK_SURVEY_H
#define CLOCKTIMING_CLOCK_SURVEY_H

#include "clock/source.h"
#include "core/sampler.h"

/* What one reading costs in a loop that does nothing else. */
typedef struct ReadingCost
{
	double		ns;
	double		error_ns;		/* half of its 95 % confidence interval */
} ReadingCost;

typedef struct SurveyedClock
{
	/* in */
	const ClockSource *source;
	ClockReference reference;

	/* out; all but why_not only if that is NULL */
	const char *why_not;		/* it cannot be read */
	ReadingCost cost;
	const char *read_by;		/* instruction, vDSO or system call; NULL if
								 * not known */
	SamplerRun	run;			/* whose tally is gone */
	int64		stalls;
	int64		failures;
	int64		backward_steps;
	double		observed_ns;	/* smallest step; NAN if it always advances,
								 * or if no step was seen from close by */
} SurveyedClock;

/*
 * Surveys n clocks in so many seconds, with progress reports; warps that are
 * smaller than least_warp_ns are not counted.  Can be cancelled.  *system_call is what the cheapest system call costs, NAN if not
 * known.
 */
extern void survey(SurveyedClock *clocks, int n, double duration_s,
				   double least_warp_ns, ReadingCost *system_call);

/*
 * The cost alone, of a source that is available, from readings in so many
 * seconds.  Can be cancelled.
 */
extern ReadingCost reading_cost(const ClockSource *source, double duration_s);

/*
 * What costs are measured with, a source of NULL being system calls.
 *
 * The time between two readings of the reference clock in a row.
 */
extern double empty_bracket_ns(void);

/* How long n readings take, the reference clock's own reading taken off. */
extern double batch_ns(const ClockSource *source, int n, double bracket_ns);

/*
 * How many readings take some 40 us, a power of two.  They are enough for the
 * reference clock not to matter, and few enough to check for interrupts after.
 */
extern int	batch_size(const ClockSource *source, double bracket_ns);

#endif							/* CLOCKTIMING_CLOCK_SURVEY_H */
