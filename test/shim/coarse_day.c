/*-------------------------------------------------------------------------
 *
 * coarse_day.c
 *	  For LD_PRELOAD: the time of day advances in steps of a millisecond.
 *
 * So does clock_timestamp(), but not the clock that EXPLAIN reads.  In PGlite, a PostgreSQL for
 * browsers, the two clocks differ in the same way.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <sys/time.h>

#include "shim.h"

int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec ts;

	(void) tz;
	(void) real_clock_gettime(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000000 * 1000;
	return 0;
}
