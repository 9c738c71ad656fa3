/*
 * tally_test: tests tallies, which count durations: counts, merges, rounding, and derived figures.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock/sampling/tally.h"
#include "tap.h"

static Tally *tally;

static TallyEntry *
exported(int *n)
{
	TallyEntry *entries = malloc(sizeof(TallyEntry) * (tally_distinct(tally) + 1));

	*n = tally_export(tally, entries);
	return entries;
}

static void
counting(void)
{
	TallyEntry *e;
	int			n;
	TallyMoments m;

	tally_init(tally);
	tally->direct[0][26] = 3;
	tally->direct[1][26] = 4;
	tally_add(tally, 0, 2);
	tally_add(tally, TALLY_DIRECT - 1, 1);
	tally_add(tally, TALLY_DIRECT, 1);
	tally_add(tally, UINT64_MAX / 2, 1);
	tally_add(tally, 7, 0);
	e = exported(&n);
	ok(n == 5 && tally_distinct(tally) == 5, "five distinct durations");
	ok(e[0].ticks == 0 && e[0].count == 2, "durations of 0 are counted");
	ok(e[1].ticks == 26 && e[1].count == 7, "counts of both tables are added up");
	ok(e[2].ticks == TALLY_DIRECT - 1 && e[3].ticks == TALLY_DIRECT,
	   "the last duration of the first table and the next longer one are distinct");
	ok(e[4].ticks == UINT64_MAX / 2 && e[4].count == 1, "a very long duration is exact");
	m = tally_moments(tally);
	ok(m.count == 12, "moments count all durations");
	ok(fabs(m.sum / (26.0 * 7 + TALLY_DIRECT * 2 - 1 + (double) (UINT64_MAX / 2)) - 1) < 1e-12,
	   "moments have the sum of the durations");
	free(e);
}

static void
unusual(void)
{
	tally_init(tally);
	tally_unusual(tally, 100, 100);
	tally_unusual(tally, 100, 100);
	tally_unusual(tally, 100, 100);
	tally_unusual(tally, 200, 200);
	ok(tally->direct[0][0] == 4, "four stalls");
	ok(tally->longest_stall == 3, "the longest of three readings");
	tally_unusual(tally, 200, 190);
	tally_unusual(tally, 5, UINT64_MAX - 4);
	ok(tally->backward_steps == 2 && tally->backward_max == 10, "two backward steps, the larger of 10");
	ok(tally->window.backward_ticks == 20, "the window has the sum of the backward steps");
	tally_init(tally);
	tally_unusual(tally, 0, 5000);
	ok(tally->window.njumps == 1 && tally->window.jumps[0] == 5000, "the window remembers a jump");
	for (uint64_t i = 0; i < 40; i++)
		tally_unusual(tally, 0, 6000 + i);
	ok(tally->window.njumps == TALLY_JUMPS, "the window stores at most TALLY_JUMPS jumps");
	{
		bool		all_large = true;

		for (int i = 0; i < TALLY_JUMPS; i++)
			all_large &= tally->window.jumps[i] >= 6000 + 40 - TALLY_JUMPS;
		ok(all_large, "the window stores the largest jumps");
	}
	tally_init(tally);
	tally_unusual(tally, 1000000, 900000);
	tally_unusual(tally, 900000, 1000010);
	ok(tally->window.njumps == 0 && tally_moments(tally).count == 1,
	   "the way back after a backward step is a duration, but no jump");
	tally_unusual(tally, 1000010, 1100020);
	ok(tally->window.njumps == 1 && tally->window.jumps[0] == 100010, "a long duration after the way back is a jump");
	tally_unusual(tally, 1100020, 1000020);
	tally_unusual(tally, 1000020, 1150020);
	ok(tally->window.njumps == 2 && tally->window.jumps[1] == 50000,
	   "the part of an advance beyond the way back is a jump");
	tally_window_reset(tally);
	ok(tally->window.njumps == 0 && tally->window.backward_ticks == 0, "the reset empties the window");
	ok(tally_moments(tally).count == 3, "backward steps are no durations");
}

/*
 * Tests tallies with more distinct long durations than they can store: these are rounded, not lost.
 */
static void
rounding(void)
{
	TallyEntry *e;
	int			n;
	double		sum = 0;
	double		squares = 0;
	uint64_t	largest = 0;
	uint64_t	count = 0;
	bool		ascending = true;
	TallyMoments m;
	const int	many = 300000;

	tally_init(tally);
	srand(1);
	for (int i = 0; i < many; i++)
	{
		uint64_t	ticks = TALLY_DIRECT +
			(((uint64_t) rand() << 31 | (uint64_t) rand()) >> (rand() % 50));

		tally_add(tally, ticks, 1);
		sum += ticks;
		squares += (double) ticks * ticks;
		if (ticks > largest)
			largest = ticks;
	}
	m = tally_moments(tally);
	ok(tally->precision_bits < TALLY_EXACT && tally->precision_bits >= 6,
	   "rounded to %d bits", tally->precision_bits);
	ok(m.count == (uint64_t) many, "no duration is lost");
	ok(fabs(m.sum / sum - 1) < 1e-3, "the sum is kept to 0.1 %%");
	ok(fabs(m.sumsq / squares - 1) < 1e-2, "the sum of squares is kept to 1 %%");
	for (uint64_t i = 1; i < TALLY_DIRECT; i++)
		tally_add(tally, i, 1);
	tally_add(tally, 0, 1);
	e = exported(&n);
	ok(n > TALLY_DIRECT && n <= TALLY_MOST, "%d distinct durations, not above the bound", n);
	for (int i = 0; i < n; i++)
	{
		count += e[i].count;
		ascending &= e[i].count > 0 && (i == 0 || e[i].ticks > e[i - 1].ticks);
	}
	ok(ascending, "exported in ascending order");
	ok(count == (uint64_t) many + TALLY_DIRECT, "exported completely");
	ok(e[n - 1].ticks == largest, "the largest is exact");
	free(e);

	tally_init(tally);
	tally_add(tally, 5000, 3);
	tally_add(tally, 5001, 4);
	tally_round(tally, 8);
	tally_add(tally, 5002, 1);
	tally_round(tally, TALLY_EXACT);
	ok(tally->precision_bits == 8 && tally->nlonger == 1 && tally_moments(tally).count == 8 &&
	   tally_moments(tally).sum == 8 * 4992.0, "after tally_round(), durations are rounded");

	/*
	 * Durations are rounded to multiples of 8.  If "extra" is small, the largest duration is
	 * rounded down to the one before it.  Otherwise it is rounded up, and has an entry of its own.
	 */
	for (uint64_t extra = 0; extra < 6; extra++)
	{
		uint64_t	base = UINT64_C(1) << 40;

		tally_init(tally);
		tally->precision_bits = 38;
		tally_add(tally, base, 5);
		tally_add(tally, base + 8, 2);
		tally_add(tally, base + 8 + extra, 3);
		e = exported(&n);
		count = 0;
		ascending = true;
		for (int i = 0; i < n; i++)
		{
			count += e[i].count;
			ascending &= e[i].count > 0 && (i == 0 || e[i].ticks > e[i - 1].ticks);
		}
		ok(ascending && count == 10 && e[n - 1].ticks == base + 8 + extra,
		   "the largest is exact, %d above the one before", (int) extra);
		free(e);
	}
}

/* Compares quantiles with their definition, for 1 to 40 durations and unusual shares. */
static void
quantiles(void)
{
	static const double q[] = {0, 0.07, 0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999, 1};
	bool		right = true;

	for (int size = 1; size <= 40; size++)
	{
		TallyEntry	entries[40];

		for (int i = 0; i < size; i++)
		{
			entries[i].ticks = 10 * i;
			entries[i].count = 1;
		}
		for (unsigned int k = 0; k < sizeof(q) / sizeof(q[0]); k++)
		{
			/*
			 * The quantile is the smallest i for which (i + 1) / size >= q.  Computes it in
			 * integers.
			 */
			long		shares = lrint(q[k] * 10000);
			int			i = 0;

			while ((i + 1) * 10000L < shares * size)
				i++;
			right &= tally_quantile(entries, size, size, q[k]) == (uint64_t) 10 * i;
		}
	}
	ok(right, "quantiles are the inverse of the empirical distribution function");
}

int
main(void)
{
	tally = malloc(sizeof(Tally));
	counting();
	unusual();
	rounding();
	quantiles();
	free(tally);
	return done();
}
