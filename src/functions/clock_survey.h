/* All clocks side by side. */
#ifndef CLOCKTIMING_CLOCK_SURVEY_H
#define CLOCKTIMING_CLOCK_SURVEY_H

#include "clock/reading_cost.h"
#include "core/sampler.h"

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
 * smaller than least_warp_ns are not counted.  Can be cancelled.  *system_call
 * is what the cheapest system call costs, NAN if not known.
 */
extern void survey(SurveyedClock *clocks, int n, double duration_s,
				   double least_warp_ns, ReadingCost *system_call);

#endif							/* CLOCKTIMING_CLOCK_SURVEY_H */
