/*-------------------------------------------------------------------------
 *
 * slow_usage.c
 *	  For LD_PRELOAD: one call of getrusage() sleeps, as if the process were stopped meanwhile.
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
	int			result = (int) syscall(SYS_getrusage, who, usage);

	if (control != NULL && control[CALL] > 0 && --control[CALL] == 0)
	{
		struct timespec sleep = from_ns(control[SLEEP]);

		(void) nanosleep(&sleep, NULL);
	}
	return result;
}
