/*-------------------------------------------------------------------------
 *
 * throttle.c
 *	  When a throttled run takes its readings.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "core/throttle.h"

#define RANDOM_BITS		53

/*
 * The mean of -ln((k + 1/2) / n) for k from 0 to n - 1, less 1, is
 *
 *	ln n - (ln gamma(n + 1/2) - ln gamma(1/2)) / n - 1  =  -ln 2 / (2 n)
 *
 * but for terms in 1 / n^2 (Stirling), since a generator of n values leaves
 * out both the values below the first one and the long gaps beyond the last.
 * Dividing by one plus that compensates for it; with 53 bits it is less than a
 * double can express, with 16 it would not be.  (With values from 1 to n in
 * place of the middles it is -ln(2 pi n) / (2 n): hence the factor
 * 1.00055271703 in pgbench of PostgreSQL 9.3, whose n was 10000.)
 */
#define TRUNCATION_BIAS(n) (-M_LN2 / (2 * (n)))

void
throttle_start(Throttle *throttle, double rate, uint64_t seed)
{
	throttle->state = seed;
	throttle->mean_s = 1 / rate;
	throttle->due_s = 0;
	throttle_next(throttle);
}

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
uint64_t
throttle_random(Throttle *throttle)
{
	uint64_t	z = throttle->state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/*
 * By inversion.  (k + 1/2) / n has one bit more than a double from 1/2 on, so
 * it may be rounded up to 1 there: ln 1 would be no gap at all, so that half is
 * taken from the other end, by log1p().
 */
double
throttle_exponential(Throttle *throttle)
{
	double		n = (double) (UINT64_C(1) << RANDOM_BITS);
	uint64_t	k = throttle_random(throttle) >> (64 - RANDOM_BITS);
	uint64_t	mirrored = (UINT64_C(1) << RANDOM_BITS) - 1 - k;
	double		x = k <= mirrored ? -log(((double) k + 0.5) / n) :
		-log1p(-((double) mirrored + 0.5) / n);

	return x / (1 + TRUNCATION_BIAS(n));
}

void
throttle_next(Throttle *throttle)
{
	throttle->due_s += throttle->mean_s * throttle_exponential(throttle);
}
