/*
 * Counts durations, without losing any and without slowing down the loop that reads the clock.
 *
 * Nearly all durations are shorter than TALLY_DIRECT ticks, and have a counter each.  There are two
 * tables of such counters, because the loop increments them alternately (sampler_loop.h).  Longer
 * durations are counted in a hash table with linear probing.  A long run has more distinct long
 * durations than the table has slots.  When TALLY_FULL slots are used, all long durations are
 * rounded to FIRST_PRECISION significant bits, and then to fewer and fewer.  Durations that become
 * equal share a counter.  So memory is constant, each duration counts, and only the precision of
 * long ones is reduced: to 16 bits, 0.002 %, for the first time.  The largest duration is always
 * exact.
 *
 * Jumps, which are durations of at least "jump" ticks, are also kept in a window until the
 * reference clock is read the next time.  Only then is it known whether the clock or the process
 * has caused them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock/sampling/tally.h"

/* Significant bits of long durations when the hash table has filled for the first time. */
#define FIRST_PRECISION 16

void
tally_init(Tally *tally)
{
	/* touches all pages, so that later durations contain no page faults */
	memset(tally, 0, sizeof(Tally));
	tally->precision_bits = TALLY_EXACT;
	tally->usual = tally->jump = TALLY_DIRECT;
}

void
tally_set_usual(Tally *tally, double ticks)
{
	tally->usual = ticks < 2 ? 2 : ticks < TALLY_DIRECT ? (uint64_t) ticks : TALLY_DIRECT;
	tally->jump = tally->usual;
}

void
tally_set_jump(Tally *tally, double ticks)
{
	tally->jump = ticks > (double) tally->usual ? (uint64_t) fmin(ticks, 9e18) : tally->usual;
}

void
tally_window_reset(Tally *tally)
{
	tally->window.njumps = 0;
	tally->window.backward_ticks = 0;
}

/* Rounds to the nearest value that has no more than "bits" significant bits. */
static uint64_t
round_to_bits(uint64_t ticks, int bits)
{
	int			width = 64 - __builtin_clzll(ticks | 1);
	int			drop = width - bits;
	uint64_t	half = drop > 0 ? UINT64_C(1) << (drop - 1) : 0;

	if (drop <= 0)
		return ticks;
	return ((ticks > UINT64_MAX - half ? ticks : ticks + half) >> drop) << drop;
}

/* Adds to the hash table, which must have a free slot. */
static void
longer_add(Tally *tally, uint64_t ticks, uint64_t count)
{
	/* Fibonacci hashing: high bits of ticks * 2^64 / golden ratio */
	uint64_t	hash = ticks * UINT64_C(0x9E3779B97F4A7C15);
	uint32_t	slot = (uint32_t) (hash >> 32) & (TALLY_LONG - 1);

	while (tally->longer[slot].count != 0 && tally->longer[slot].ticks != ticks)
		slot = (slot + 1) & (TALLY_LONG - 1);
	if (tally->longer[slot].count == 0)
	{
		tally->longer[slot].ticks = ticks;
		tally->nlonger++;
	}
	tally->longer[slot].count += count;
}

void
tally_round(Tally *tally, int bits)
{
	int			n = 0;

	if (bits >= tally->precision_bits)
		return;
	tally->precision_bits = bits;
	for (int i = 0; i < TALLY_LONG; i++)
	{
		if (tally->longer[i].count != 0)
			tally->scratch[n++] = tally->longer[i];
	}
	memset(tally->longer, 0, sizeof(tally->longer));
	tally->nlonger = 0;
	for (int i = 0; i < n; i++)
		longer_add(tally, round_to_bits(tally->scratch[i].ticks, bits), tally->scratch[i].count);
}

/* Reduces the precision until fewer than TALLY_FULL slots are used.  A fuller table is slow. */
static void
give_up_digits(Tally *tally)
{
	while (tally->nlonger >= TALLY_FULL && tally->precision_bits > 1)
		tally_round(tally, tally->precision_bits == TALLY_EXACT ?
					FIRST_PRECISION : tally->precision_bits - 1);
}

void
tally_add(Tally *tally, uint64_t ticks, uint64_t count)
{
	if (count == 0)
		return;
	if (ticks > tally->largest)
		tally->largest = ticks;
	if (ticks < TALLY_DIRECT)
	{
		tally->direct[0][ticks] += count;
		return;
	}
	if (tally->precision_bits != TALLY_EXACT)
		ticks = round_to_bits(ticks, tally->precision_bits);
	longer_add(tally, ticks, count);
	if (tally->nlonger >= TALLY_FULL)
		give_up_digits(tally);
}

/* If the window is full, a longer jump replaces the shortest one. */
void
tally_window_jump(Tally *tally, uint64_t ticks)
{
	TallyWindow *window = &tally->window;
	int			smallest = 0;

	if (window->njumps < TALLY_JUMPS)
		window->jumps[window->njumps++] = 0;
	for (int i = 1; i < window->njumps; i++)
	{
		if (window->jumps[i] < window->jumps[smallest])
			smallest = i;
	}
	if (ticks > window->jumps[smallest])
		window->jumps[smallest] = ticks;
}

/*
 * Counts a stall, a backward step, or a duration of "usual" ticks or more.  After a backward step,
 * the clock may return to its earlier time by a jump ahead.  Only the part of that jump beyond the
 * reading before the step is new.
 */
void
tally_unusual(Tally *tally, uint64_t a, uint64_t b)
{
	uint64_t	ticks = b - a;

	if (ticks == 0)
	{
		/* continues the run if the clock still shows the same value */
		tally->stall_run = tally->stall_value == b ? tally->stall_run + 1 : 1;
		tally->stall_value = b;
		if (tally->stall_run > tally->longest_stall)
			tally->longest_stall = tally->stall_run;
		if (tally->stall_run % TALLY_FAILURE == 0)
			tally->failures++;
		tally->direct[0][0]++;
	}
	else if ((int64_t) ticks < 0)
	{
		uint64_t	step = a - b;

		tally->backward_steps++;
		if (step > tally->backward_max)
			tally->backward_max = step;
		tally->window.backward_ticks += step;
		tally->went_back = true;
		tally->back_from = a;
	}
	else
	{
		tally_add(tally, ticks, 1);

		/* the clock's return after a backward step is not part of a jump */
		if (tally->went_back &&
			(int64_t) (tally->back_from - a) > 0 &&
			(int64_t) (b - tally->back_from) >= 0)
		{
			ticks = b - tally->back_from;
			tally->went_back = false;
		}
		if (ticks >= tally->jump)
			tally_window_jump(tally, ticks);
	}
}

int
tally_distinct(const Tally *tally)
{
	int			n = tally->nlonger;

	for (int i = 0; i < TALLY_DIRECT; i++)
		n += (tally->direct[0][i] | tally->direct[1][i]) != 0;
	return n;
}

static int
compare_entries(const void *a, const void *b)
{
	uint64_t	x = ((const TallyEntry *) a)->ticks;
	uint64_t	y = ((const TallyEntry *) b)->ticks;

	return (x > y) - (x < y);
}

/*
 * Writes the direct counters, which are in order, then the sorted entries of the hash table.  If
 * the largest duration was rounded, takes one from the last entry, which contains it, and adds an
 * exact entry.  What is left of the last entry must stay in ascending order.
 */
int
tally_export(const Tally *tally, TallyEntry *entries)
{
	int			n = 0;
	int			first_long;

	for (int i = 0; i < TALLY_DIRECT; i++)
	{
		uint64_t	count = tally->direct[0][i] + tally->direct[1][i];

		if (count == 0)
			continue;
		entries[n].ticks = i;
		entries[n++].count = count;
	}
	first_long = n;
	for (int i = 0; i < TALLY_LONG; i++)
	{
		if (tally->longer[i].count != 0)
			entries[n++] = tally->longer[i];
	}
	qsort(entries + first_long, n - first_long, sizeof(TallyEntry), compare_entries);

	/* moves the largest duration from its rounded entry to an exact one */
	if (n > first_long && entries[n - 1].ticks != tally->largest)
	{
		uint64_t	rest = --entries[n - 1].count;

		/* the rounded entry may be above the largest duration */
		if (rest > 0 && entries[n - 1].ticks > tally->largest)
			entries[n - 1].ticks = tally->largest - 1;
		if (n > 1 && entries[n - 2].ticks >= entries[n - 1].ticks)
		{
			entries[n - 2].count += rest;
			rest = 0;
		}
		if (rest > 0)
			n++;
		entries[n - 1].ticks = tally->largest;
		entries[n - 1].count = 1;
	}
	return n;
}

static void
add_moments(TallyMoments *m, uint64_t count, double ticks)
{
	m->count += count;
	m->sum += (double) count * ticks;
	m->sumsq += (double) count * ticks * ticks;
}

TallyMoments
tally_moments(const Tally *tally)
{
	TallyMoments m = {0, 0, 0};

	for (int i = 0; i < TALLY_DIRECT; i++)
		add_moments(&m, tally->direct[0][i] + tally->direct[1][i], i);
	for (int i = 0; i < TALLY_LONG; i++)
		add_moments(&m, tally->longer[i].count, (double) tally->longer[i].ticks);
	return m;
}

uint64_t
tally_quantile(const TallyEntry *entries, int n, uint64_t total, double q)
{
	/* a rounding error must not raise the rank: 0.07 * 100 is above 7 */
	double		position = (double) total * q * (1 - 1e-12);
	uint64_t	rank = (uint64_t) ceil(position);
	uint64_t	running = 0;

	if (rank < 1)
		rank = 1;
	for (int i = 0; i < n && q < 1; i++)
	{
		running += entries[i].count;
		if (running >= rank)
			return entries[i].ticks;
	}
	return entries[n - 1].ticks;
}
