/*-------------------------------------------------------------------------
 *
 * load_average.c
 *	  For LD_PRELOAD: replaces the load average by the environment variable LOAD_AVERAGE.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <stdlib.h>

int
getloadavg(double loads[], int n)
{
	const char *load = getenv("LOAD_AVERAGE");

	if (load == NULL || n < 1)
		return -1;
	loads[0] = atof(load);
	return 1;
}
