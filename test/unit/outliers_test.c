/*
 * outliers_test: outlier_limits() finds outliers, and the share of regular values that it calls
 * outliers is the stated one.
 */
#include <math.h>

#include "core/random.h"
#include "core/stats.h"
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
		ok(wrong < rounds * 0.06 && (wrong > rounds * 0.02 || sizes[i] < 50), "fleets of %d servers without outliers: at 95 %%, a server of %.1f %% of the fleets is called an outlier",
		   sizes[i], wrong * 100.0 / rounds);
	}
	fleets(1000, 100, 3, 10, 0.05, &wrong, &found);
	ok(found > 995 && wrong < 60, "3 outliers of 100 servers: all found in %.1f %% of the fleets, regular servers called outliers in %.1f %%", found / 10.0, wrong / 10.0);
	fleets(1000, 100, 30, 20, 0.05, &wrong, &found);
	ok(found > 995, "30 outliers of 100 servers do not hide each other: all found in %.1f %% of the fleets", found / 10.0);

	limits = outlier_limits(same, 7, 0.05 / 7, 1);
	ok(limits.median == 7 && limits.low == 6 && limits.high == 8, "if most values are equal, a value that differs by at most the tolerance is no outlier");
	limits = outlier_limits(few, 2, 0.025, 1);
	ok(isnan(limits.median) && isnan(limits.low) && isnan(limits.high), "two values have no limits");
	return done();
}
