/*
 * The estimate is a weighted mean of two estimates of the duration, in logarithms.  The weights are
 * the reciprocal variances.
 *
 * - From the progress of the plan's nodes.  The remaining time has a constant relative error, so
 *   the error of the duration falls with the share of the work that is done.
 * - From the durations of earlier executions of the plan, on the condition that this one has not
 *   ended yet.  The history may not apply, because the parameters or the data are others now.  The
 *   probability that it applies follows from Bayes' theorem: by how well it agrees with the
 *   progress, and by whether the execution has outlasted it.
 *
 * The range extends from the estimate by its standard deviation times a factor, which is calibrated
 * by adaptive conformal inference (Gibbs and Candes, "Adaptive Conformal Inference Under
 * Distribution Shift", NeurIPS 2021).  After each scored prediction, the logarithm of a factor
 * rises by a step if the end was outside, and falls by a smaller step if it was inside, such that a
 * share of MISSED is outside in the long run, whatever the distribution of the errors.  Both ends
 * of the range have factors of their own, because executions may last much longer than expected,
 * but not much shorter.
 */
#include <math.h>

#include "core/stats.h"
#include "plan/estimate/end_estimate.h"

/* Number of executions after which older ones begin to count less. */
#define REMEMBERED		8

/*
 * Standard deviations of the logarithm of a duration: the assumed one, which counts as ASSUMED
 * executions; the least one; and the one if the history does not apply.  The ends of the range are
 * calibrated by later executions (MISSED, below), so half or twice as much only matters until then,
 * and for how much the history counts beside the progress.
 */
#define ASSUMED_SD		0.1
#define ASSUMED			3.0
#define LEAST_SD		0.01
#define OTHER_SD		1.5

/* Probability that the history does not apply, without any other evidence. */
#define OTHER_SHARE		0.05

/*
 * Multiple of the standard deviation of the progress that is used beside a history.  The planner's
 * errors have long tails, while durations of the same plan seldom differ much.
 */
#define PROGRESS_MULTIPLE	2.0

/*
 * Share of executions that may end beyond either end of the range; step of the logarithm of a
 * factor; initial factors without and with a history, from replayed executions and from the normal
 * distribution; and largest change of a factor's logarithm.  With half of STEP, the factors would
 * need twice as many executions to follow a change; with twice, they would vary twice as much.
 */
#define MISSED			0.05
#define STEP			0.2
#define FIRST_FACTOR	2.8
#define LATER_FACTOR	1.645
#define MOST_CALIBRATED	3.0

/* Largest logarithm of the ratio of an end of the range to the estimate: a factor of 1000. */
#define MOST_WIDTH		6.9

typedef struct Normal
{
	double		mean;
	double		sd;
} Normal;

void
end_history_add(EndHistory *history, double duration)
{
	double		x = log(fmax(duration, 1e-6));
	double		weight = 1 / fmin(history->n + 1, REMEMBERED);
	double		difference = x - history->mean;

	history->n += 1;
	history->mean += weight * difference;
	history->variance = (1 - weight) * (history->variance + weight * difference * difference);
}

/* Returns the predictive distribution of the next duration's logarithm. */
static Normal
history_normal(const EndHistory *history)
{
	double		n = fmin(history->n, REMEMBERED);
	double		variance = (ASSUMED * ASSUMED_SD * ASSUMED_SD + n * history->variance) /
		(ASSUMED + n - 1);

	return (Normal)
	{
		history->mean, fmax(sqrt(variance * (1 + 1 / n)), LEAST_SD)
	};
}

static double
density(double x, double sd)
{
	return exp(-0.5 * (x / sd) * (x / sd)) / sd;
}

/* Returns the probability that a standard normal variable exceeds z. */
static double
tail(double z)
{
	return 0.5 * erfc(z / sqrt(2));
}

/* Conditions a distribution on being larger than x, approximately. */
static Normal
outlasted(Normal normal, double x)
{
	double		z = (x - normal.mean) / normal.sd;
	double		hazard = z > 8 ? z + 1 / z : exp(-0.5 * z * z) / sqrt(2 * M_PI) / tail(z);
	double		variance = 1 + z * hazard - hazard * hazard;

	return (Normal)
	{
		normal.mean + normal.sd * hazard, normal.sd * sqrt(fmax(variance, 0.01))
	};
}

/* Returns the probability that the history applies to this execution. */
static double
applies(Normal before, double elapsed, Normal progress)
{
	double		own = 1 - OTHER_SHARE;
	double		other = OTHER_SHARE;

	own *= tail((log(elapsed) - before.mean) / before.sd);
	other *= tail((log(elapsed) - before.mean) / OTHER_SD);
	if (!isnan(progress.mean))
	{
		double		difference = progress.mean - before.mean;

		own *= density(difference, hypot(progress.sd, before.sd));
		other *= density(difference, hypot(progress.sd, OTHER_SD));
	}
	return own / (own + other);
}

/*
 * Combines the estimate from the progress with that from the history.  Without a progress, the
 * result is a mixture of two distributions: that of the history if it applies, and a wide one if it
 * does not.
 */
EndEstimate
end_estimate(double elapsed, double left, double doubt, const EndHistory *history,
			 const EndCalibration *calibration)
{
	EndEstimate estimate = {NAN, NAN, NAN};
	Normal		progress = {NAN, NAN};
	Normal		both;

	if (!isnan(left))
	{
		progress.mean = log(elapsed + left);
		progress.sd = fmax(doubt * left / (elapsed + left), LEAST_SD);
	}
	both = progress;
	if (history->n > 0)
	{
		Normal		before = history_normal(history);
		double		share = applies(before, elapsed, progress);
		double		difference;

		before = outlasted(before, log(elapsed));
		if (isnan(progress.mean))
		{
			Normal		other = {history->mean, OTHER_SD};

			other = outlasted(other, log(elapsed));
			difference = before.mean - other.mean;
			both.mean = other.mean + share * difference;
			both.sd = share * before.sd + (1 - share) * other.sd +
				share * (1 - share) * fabs(difference);
		}
		else
		{
			double		of_before = share / (before.sd * before.sd);
			double		sd = PROGRESS_MULTIPLE * progress.sd;
			double		of_progress = 1 / (sd * sd);
			double		variance = 1 / (of_before + of_progress);
			double		weight = of_before * variance;

			difference = before.mean - progress.mean;
			both.mean = progress.mean + weight * difference;
			/* two estimates that disagree are less certain */
			both.sd = sqrt(variance + weight * (1 - weight) * difference * difference);
		}
	}
	if (isnan(both.mean))
		return estimate;
	both.sd *= history->n > 0 ? LATER_FACTOR : FIRST_FACTOR;
	estimate.total = fmax(exp(both.mean), elapsed);
	estimate.low = fmax(exp(both.mean - fmin(both.sd * exp(calibration->below), MOST_WIDTH)),
						elapsed);
	estimate.high = fmax(exp(both.mean + fmin(both.sd * exp(calibration->above), MOST_WIDTH)),
						 elapsed * (1 + LEAST_SD));
	return estimate;
}

/*
 * The share of the time that has passed was shown as "share", and its range began at "least_share".
 * As long as the range still contains this share, it is shown again instead of a smaller one.  In
 * any case at least least_share is shown.
 */
EndEstimate
end_steady(EndEstimate estimate, double elapsed, double share, double least_share)
{
	double		shown = elapsed / estimate.total;

	if (isnan(estimate.total) || shown >= share)
		return estimate;
	shown = fmax(shown, fmin(share, elapsed / estimate.low));
	shown = fmax(shown, least_share);
	estimate.total = fmax(elapsed / shown, elapsed);
	estimate.low = fmin(estimate.low, estimate.total);
	estimate.high = fmax(estimate.high, estimate.total);
	return estimate;
}

static void
move_factor(double *factor, bool missed)
{
	*factor += STEP * (missed ? 1 : -MISSED / (1 - MISSED));
	*factor = fmax(fmin(*factor, MOST_CALIBRATED), -MOST_CALIBRATED);
}

void
end_score(EndCalibration *calibration, double low, double high, double duration)
{
	calibration->early += duration < low;
	calibration->late += duration > high;
	calibration->held += duration >= low && duration <= high;
	move_factor(&calibration->below, duration < low);
	move_factor(&calibration->above, duration > high);
}
