/*-------------------------------------------------------------------------
 *
 * slow_usage.c
 *	  For LD_PRELOAD: one call of getrusage() sleeps, as if the process were stopped meanwhile.
 *
 * The call sleeps first, so its result counts a wait.  Otherwise, if the process has just lost the
 * CPU, the sleep would look like another loss.
 *
 * The environment variable SLOW_USAGE_CONTROL names the control file (see shim.h).
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/syscall.h>

#include "shim.h"

enum
{
	CALL,						/* the nth call from now on sleeps; 0: none */
	SLEEP,						/* its sleep in ns */
	WORDS
};

static void __attribute__((constructor))
attach(void)
{
	map_control("SLOW_USAGE_CONTROL", WORDS);
}

int
getrusage(__rusage_who_t who, struct rusage *usage)
{
	if (control != NULL && control[CALL] > 0 && --control[CALL] == 0)
	{
		struct timespec sleep = from_ns(control[SLEEP]);

		(void) nanosleep(&sleep, NULL);
	}
	return (int) syscall(SYS_getrusage, who, usage);
}
