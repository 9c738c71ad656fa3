/*-------------------------------------------------------------------------
 *
 * sampled_run.c
 *	  One execution of a plan whose nodes are timed by sampling.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "explain/node_timing.h"
#include "explain/sampled_run.h"

int
sampling_check(const char *name, int64 sampling)
{
	if (sampling < 1 || sampling > NODE_SAMPLING_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and %d", name, NODE_SAMPLING_MAX),
				 errdetail("The number given is " INT64_FORMAT ".", sampling),
				 errhint("One call in so many is timed: 1 times every call, and 64, the default, costs next to nothing.")));
	return (int) sampling;
}

double
max_overhead_check(const char *name, double percent)
{
	/* written so that NaN fails, too */
	if (!(percent > 0 && percent <= 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be greater than 0 and at most 100 percent", name),
				 errdetail("The share given is %g percent.", percent),
				 errhint("Timing may add about this share of the elapsed time: 1, the default, suits most queries, and 100 hardly limits it.")));
	return percent;
}
