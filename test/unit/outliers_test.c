/*
 * outliers_test: outlier_limits() finds outliers, and calls regular values outliers as rarely as it
 * states.
 */
#include <math.h>

#include "core/stats.h"
#include "core/random.h"
#include "tap.h"

static uint64_t state = 20;

/* Returns a normally distributed number, by the Box-Muller transform. */
static double
normal(void)
{
	double		angle = 2 * M_PI * (random_next(&state) >> 11) / 9007199254740992.0;

	return sqrt(2 * random_exponential(&state)) * cos(angle);
}

/*
 * Simulates fleets of n servers, of which "odd" are outliers.  Counts the fleets in which a regular
 * server is called an outlier, and those in which all outliers are found.
 */
static void
fleets(int rounds, int n, int odd, double by, double all, int *wrong, int *found)
{
	*wrong = *found = 0;
	for (int round = 0; round < rounds; round++)
	{
		double		x[1000],
					work[1000];
		int			others = 0,
					named = 0;
		OutlierLimits limits;

		for (int i = 0; i < n; i++)
			work[i] = x[i] = 100 + 3 * (normal() + (i < odd ? by : 0));
		limits = outlier_limits(work, n, all / n, 0);
		for (int i = 0; i < n; i++)
		{
			bool		outside = x[i] < limits.low || x[i] > limits.high;

			if (i < odd)
				named += outside;
			else
				others += outside;
		}
		*wrong += others > 0;
		*found += named == odd;
	}
}

int
main(void)
{
	static const int sizes[] = {5, 6, 10, 11, 20, 50, 100, 1000};
	int			wrong,
				found;
	double		same[] = {7, 7, 7, 7, 7, 7, 9},
				few[] = {1, 2};
	OutlierLimits limits;

	for (int i = 0; i < 8; i++)
	{
		int			rounds = sizes[i] < 1000 ? 20000 : 4000;

		fleets(rounds, sizes[i], 0, 0, 0.05, &wrong, &found);
		ok(wrong < rounds * 0.06 && (wrong > rounds * 0.02 || sizes[i] < 50), "of fleets of %d servers without an odd one, %.1f %% have one named at 95 %%",
		   sizes[i], wrong * 100.0 / rounds);
	}
	fleets(1000, 100, 3, 10, 0.05, &wrong, &found);
	ok(found > 995 && wrong < 60, "3 of 100 that are odd are named in %.1f %%, and others in %.1f %%", found / 10.0, wrong / 10.0);
	fleets(1000, 100, 30, 20, 0.05, &wrong, &found);
	ok(found > 995, "30 of 100 that are odd do not hide each other: named in %.1f %%", found / 10.0);

	limits = outlier_limits(same, 7, 0.05 / 7, 1);
	ok(limits.median == 7 && limits.low == 6 && limits.high == 8, "where most are the same, what differs by no more than the tolerance is not odd");
	limits = outlier_limits(few, 2, 0.025, 1);
	ok(isnan(limits.median) && isnan(limits.low) && isnan(limits.high), "of two none is odd");
	return done();
}
