/*
 * end_test: the estimated end of an execution, from its progress and from earlier executions, and
 * the calibration of its range.
 */
#include <math.h>

#include "core/random.h"
#include "plan/estimate/end_estimate.h"
#include "tap.h"

static const EndCalibration initial = {0};

static EndHistory
history_of(int n, double duration)
{
	EndHistory	history = {0};

	for (int i = 0; i < n; i++)
		end_history_add(&history, duration);
	return history;
}

static bool
is_near(double x, double y, double tolerance)
{
	return fabs(x / y - 1) <= tolerance;
}

static void
test_history(void)
{
	EndHistory	history = {0};

	end_history_add(&history, 1);
	end_history_add(&history, exp(2));
	ok(is_near(history.mean, 1, 1e-9) && is_near(history.variance, 1, 1e-9),
	   "mean and variance of logarithms");
	for (int i = 0; i < 40; i++)
		end_history_add(&history, exp(5));
	ok(is_near(history.mean, 5, 0.01) && history.variance < 0.1, "older executions are forgotten");
}

static void
test_estimate(void)
{
	EndHistory	none = {0};
	EndHistory	ten = history_of(3, 10);
	EndEstimate e = end_estimate(2, NAN, NAN, &none, &initial);

	ok(isnan(e.total), "unknown without progress and history");
	e = end_estimate(2, 8, 0.3, &none, &initial);
	ok(is_near(e.total, 10, 1e-9), "from the progress alone");
	ok(e.low < 10 && e.low > 5 && e.high > 10 && e.high < 20, "its range: %.1f to %.1f", e.low, e.high);
	e = end_estimate(2, 8, 1, &none, &initial);
	ok(e.low >= 2 && e.high > 30, "a wider range in doubt: %.1f to %.1f", e.low, e.high);
	e = end_estimate(9, 1, 1, &none, &initial);
	ok(e.low >= 9 && e.high < 15, "a narrow range near the end: %.1f to %.1f", e.low, e.high);
	e = end_estimate(0.001, NAN, NAN, &ten, &initial);
	ok(is_near(e.total, 10, 0.02) && e.low > 7 && e.high < 14,
	   "from the history, at once: %.1f, %.1f to %.1f", e.total, e.low, e.high);
	e = end_estimate(1, 99, 1, &ten, &initial);
	ok(e.total < 15, "a doubtful progress does not change it much: %.1f", e.total);
	e = end_estimate(1, 99, 0.2, &ten, &initial);
	ok(is_near(e.total, 100, 0.1), "a certain one does: %.1f", e.total);
	e = end_estimate(10.5, NAN, NAN, &ten, &initial);
	ok(e.total > 10.5 && e.total < 13, "an execution that lasts a little longer: %.1f", e.total);
	e = end_estimate(100, NAN, NAN, &ten, &initial);
	ok(e.total > 120 && e.low >= 100 && e.high > 200,
	   "an execution that lasts much longer: %.1f, %.1f to %.1f", e.total, e.low, e.high);
	e = end_estimate(1e9, NAN, NAN, &ten, &initial);
	ok(e.total > 1e9 && isfinite(e.high), "without overflow");
}

static void
test_steady(void)
{
	EndEstimate e = {20, 12, 40};
	EndEstimate s = end_steady(e, 10, 0.4, 0.2);

	ok(s.total == e.total, "progress that rises is not changed");
	s = end_steady(e, 10, 0.6, 0.2);
	ok(is_near(10 / s.total, 0.6, 1e-9), "it does not fall within the range");
	s = end_steady(e, 10, 0.95, 0.2);
	ok(is_near(10 / s.total, 10.0 / 12, 1e-9), "it falls to the range");
	s = end_steady(e, 10, 0.95, 0.9);
	ok(is_near(10 / s.total, 0.9, 1e-9) && s.low <= s.total && s.high >= s.total,
	   "but not by more than its own uncertainty");
}

/*
 * Scores estimates whose errors are not normal, and which are initially far too certain.  In the
 * long run, 5 % of the ends must be on either side of the range.
 */
static void
test_calibration(void)
{
	EndCalibration calibration = {0};
	EndHistory	none = {0};
	uint64_t	state = 1;
	int			n = 20000;

	for (int i = 0; i < n; i++)
	{
		double		u = (double) (random_next(&state) >> 11) / 9007199254740992.0;
		EndEstimate e = end_estimate(1, 9, 0.05, &none, &calibration);

		end_score(&calibration, e.low, e.high, 10 * pow(u + 0.5, 2));
	}
	ok(calibration.held + calibration.early + calibration.late == n, "all are counted");
	ok(fabs(calibration.early / (double) n - 0.05) < 0.005 &&
	   fabs(calibration.late / (double) n - 0.05) < 0.005,
	   "the range is missed in 5 %% on either side: %.1f and %.1f %%",
	   100.0 * calibration.early / n, 100.0 * calibration.late / n);
	calibration = initial;
	end_score(&calibration, 1, 2, 3);
	ok(calibration.late == 1 && calibration.above > 0 && calibration.below < 0,
	   "an end after the range widens it on this side");
}

int
main(void)
{
	test_history();
	test_estimate();
	test_steady();
	test_calibration();
	return done();
}
