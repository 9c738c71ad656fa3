/* Surveys clocks: measures the cost of a reading, and compares them with a reference clock. */
#ifndef CLOCKTIMING_SURVEY_RUN_H
#define CLOCKTIMING_SURVEY_RUN_H

#include "clock/measure/reading_cost.h"
#include "clock/sampling/sampler.h"

typedef struct SurveyedClock
{
	/* input */
	const ClockSource *source;
	ClockReference reference;

	/* output; if why_not is not NULL, the other members are not set */
	const char *why_not;		/* why it cannot be read, or NULL */
	ReadingCost cost;
	const char *read_by;		/* instruction, library, vDSO or system call;
								 * NULL if not known */
	SamplerRun	run;			/* findings of the run; its tally is NULL */
	int64		stalls;
	int64		failures;
	int64		backward_steps;
	double		observed_ns;	/* smallest step; NAN if each reading
								 * advances, or if no step was observed
								 * precisely */
} SurveyedClock;

/*
 * Surveys n clocks for duration_s seconds, with progress reports.  Does not count warps smaller
 * than least_warp_ns.  Sets *system_call to the cost of a cheap system call, NAN if unknown.
 * Can be cancelled.
 */
extern void survey_run(SurveyedClock *clocks, int n, double duration_s,
					   double least_warp_ns, ReadingCost *system_call);

#endif							/* CLOCKTIMING_SURVEY_RUN_H */
