#include <math.h>

#include "core/random.h"

#define RANDOM_BITS		53

/*
 * Inverts the distribution function.  From 1/2 on, (k + 1/2) / n needs one bit more than a double
 * has, and may be rounded to 1, whose logarithm is 0.  Therefore log1p() of the distance from 1
 * computes that half.  The discreteness of k biases the mean by less than 2^-53.
 */
double
random_exponential(uint64_t *state)
{
	double		n = (double) (UINT64_C(1) << RANDOM_BITS);
	uint64_t	k = random_next(state) >> (64 - RANDOM_BITS);
	uint64_t	mirrored = (UINT64_C(1) << RANDOM_BITS) - 1 - k;

	return k <= mirrored ? -log(((double) k + 0.5) / n) : -log1p(-((double) mirrored + 0.5) / n);
}
