/* Random numbers by xorshift64* (Vigna, ACM TOMS 42(4), 2016).  *state begins as any seed but 0. */
#ifndef CLOCKTIMING_RANDOM_H
#define CLOCKTIMING_RANDOM_H

#include <stdint.h>

/* Returns a uniformly distributed number, never 0.  The high bits are the most random. */
static inline uint64_t
random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545F4914F6CDD1D);
}

/* Returns an exponentially distributed number with mean 1, from 5.5e-17 to 37.5. */
extern double random_exponential(uint64_t *state);

#endif							/* CLOCKTIMING_RANDOM_H */
