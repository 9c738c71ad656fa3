/*
 * Estimates when an execution ends, from its progress and from earlier executions of its plan, and
 * calibrates the range of the estimate by how earlier estimates came true.
 *
 * All times are in seconds, from the start of the execution.
 */
#ifndef CLOCKTIMING_END_ESTIMATE_H
#define CLOCKTIMING_END_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

/* Durations of a plan's executions: moments of their logarithms.  Older ones count less. */
typedef struct EndHistory
{
	double		n;				/* number of executions; 0: no history */
	double		mean;
	double		variance;
} EndHistory;

/* The factors of the ranges and the numbers of scored predictions, of one kind of estimate. */
typedef struct EndCalibration
{
	double		below;			/* logarithm of the factor for the range's
								 * beginning, relative to the initial one */
	double		above;			/* the same for its end */
	int64_t		held;			/* executions that ended within the range, */
	int64_t		early;			/* before it, */
	int64_t		late;			/* and after it */
} EndCalibration;

/* The estimated duration of an execution, and a range that contains it in 90 % of the cases. */
typedef struct EndEstimate
{
	double		total;			/* NAN: unknown */
	double		low;
	double		high;
} EndEstimate;

extern void end_history_add(EndHistory *history, double duration);

/*
 * Estimates the duration of an execution that has lasted for "elapsed" > 0.  "left": remaining time
 * according to its progress, NAN if unknown; "doubt": standard deviation of the logarithm of left.
 */
extern EndEstimate end_estimate(double elapsed, double left, double doubt,
								const EndHistory *history, const EndCalibration *calibration);

/* Changes an estimate so that the shown progress does not fall: see end_estimate.c. */
extern EndEstimate end_steady(EndEstimate estimate, double elapsed, double share,
							  double least_share);

/* Scores a prediction when the execution has ended. */
extern void end_score(EndCalibration *calibration, double low, double high, double duration);

#endif							/* CLOCKTIMING_END_ESTIMATE_H */
