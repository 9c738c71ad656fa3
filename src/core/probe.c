/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  Tries an instruction that may be forbidden.
 *
 *-------------------------------------------------------------------------
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "core/probe.h"

static sigjmp_buf probe_failed;

static void
probe_handler(int signo)
{
	(void) signo;
	siglongjmp(probe_failed, 1);
}

bool
probe(uint64_t (*read) (void))
{
	static const int signals[] = {SIGSEGV, SIGILL, SIGBUS};
	struct sigaction action;
	struct sigaction saved[3];
	volatile bool survived = false;

	memset(&action, 0, sizeof(action));
	action.sa_handler = probe_handler;
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < 3; i++)
		sigaction(signals[i], &action, &saved[i]);
	if (sigsetjmp(probe_failed, 1) == 0)
	{
		(void) read();
		survived = true;
	}
	for (int i = 0; i < 3; i++)
		sigaction(signals[i], &saved[i], NULL);
	return survived;
}
