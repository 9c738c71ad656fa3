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
probe(Probe *probe)
{
	static const int signals[] = {SIGSEGV, SIGILL, SIGBUS};
	struct sigaction action;
	struct sigaction saved[3];

	if (probe->done)
		return probe->survived;
	probe->done = true;
	memset(&action, 0, sizeof(action));
	action.sa_handler = probe_handler;
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < 3; i++)
		sigaction(signals[i], &action, &saved[i]);
	if (sigsetjmp(probe_failed, 1) == 0)
	{
		(void) probe->read();
		probe->survived = true;
	}
	for (int i = 0; i < 3; i++)
		sigaction(signals[i], &saved[i], NULL);
	return probe->survived;
}
