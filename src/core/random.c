/*
 * Exponentially distributed random numbers, by inversion: if u is uniformly distributed between 0
 * and 1, -log(u) has an exponential distribution with mean 1.
 */
#include <math.h>

#include "core/random.h"

#define RANDOM_BITS		53		/* significant bits of a double */

/*
 * Returns -log(u) for the uniform u = (k + 1/2) / n.  In the upper half, u needs one bit more than
 * a double has, and may be rounded to 1, whose logarithm is 0.  So the upper half is computed by
 * log1p() from 1 - u.  As u has only n = 2^53 values, the mean differs from 1, by less than 2^-53.
 */
double
random_exponential(uint64_t *state)
{
	double		n = (double) (UINT64_C(1) << RANDOM_BITS);
	uint64_t	k = random_next(state) >> (64 - RANDOM_BITS);
	uint64_t	mirrored = (UINT64_C(1) << RANDOM_BITS) - 1 - k;

	return k <= mirrored ? -log(((double) k + 0.5) / n) : -log1p(-((double) mirrored + 0.5) / n);
}
