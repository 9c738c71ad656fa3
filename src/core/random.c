#include <math.h>

#include "core/random.h"

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

/*
 * Inversion of the distribution function.  From 1/2 on, (k + 1/2) / n needs one bit more than a
 * double has, and may be rounded to 1, whose logarithm is 0.  Therefore that half is computed by
 * log1p() of the distance from 1.
 */
double
random_exponential(uint64_t *state)
{
	double		n = (double) (UINT64_C(1) << RANDOM_BITS);
	uint64_t	k = random_next(state) >> (64 - RANDOM_BITS);
	uint64_t	mirrored = (UINT64_C(1) << RANDOM_BITS) - 1 - k;
	double		x = k <= mirrored ? -log(((double) k + 0.5) / n) :
		-log1p(-((double) mirrored + 0.5) / n);

	return x / (1 + TRUNCATION_BIAS(n));
}
